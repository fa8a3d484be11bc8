"""What the tests of evaluations share: a study, results at one point, and a run with given deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.evaluation.algorithm import algorithm
from dumbbell.evaluation.items.competing import COEXISTENCE
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Study
from dumbbell.judge.baseline import Comparison, Limit, compared


def study(name: str = "vegas", *, quick: bool = True, runs: int = 3) -> Study:
    """Return the evaluation of an algorithm against Reno."""
    return Study(
        subject=algorithm(name),
        baselines=(algorithm("reno"),),
        quick=quick,
        seed=1,
        runs=runs,
        against=("reno",),
    )


LIMIT = Limit(column="delay", label="delay", unit="ms", factor=1.5, slack=0.01)


def table(**values: Sequence[float]) -> pd.DataFrame:
    """Return results at one point: three values of the delay by role."""
    return pd.DataFrame(
        [
            {"point": "here", "x": 1.0, "panel": "", "role": role, "run": run, "delay": value}
            for role, column in values.items()
            for run, value in enumerate(column)
        ]
    )


def one_comparison(limit: Limit, **values: Sequence[float]) -> Comparison:
    """Return the comparison at the one point of `table`."""
    item = replace(COEXISTENCE, limits=(limit,))
    (found,) = compared(item.limits, table(**values), "subject")
    return found


def record(values: Sequence[Sequence[float]], *, period: float = 1.0) -> Record:
    """Return a run whose flows a0, a1, … deliver the given bytes per period."""
    traces = []
    for number, column in enumerate(values):
        total = np.concatenate([[0.0], np.cumsum(column)])
        times = (np.arange(total.size) * period).tolist()
        traces.append(
            {"quantity": "delivered", "name": f"a{number}", "time_s": times, "value": total.tolist()}
        )
    return run_with(traces=traces, duration_s=period * len(values[0]))


def run_with(
    flows: Sequence[dict[str, Any]] = (), *, traces: Sequence[dict[str, Any]] = (), duration_s: float = 1.0
) -> Record:
    """Return a run of which only flows or traces were stored."""
    return Record(flows=[*flows], links=[], delay_s=[], traces=[*traces], duration_s=duration_s)
