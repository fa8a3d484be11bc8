"""Observations from traces of single runs: the runs needed, the reduction of each, and the conclusions.

A run that is looked at has the name of the look as the name of its scenario. What is kept of it are a few arrays by name,
in the columns `SEEN` and `SEEN_VALUES` of the table of results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings

from .traces import TracedRun, Values

SEEN, SEEN_VALUES = "seen", "seen_values"

PREFIX = "look"

Seen: TypeAlias = Mapping[str, Values]
"""The reduction of a run: arrays by name; none for a run without observations."""


def scenario_name(look: str) -> str:
    """Return the name of the scenarios of a look."""
    return f"{PREFIX}/{look}"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Runs of one kind.

    Parameters
    ----------
    label
        Their name within the look.
    scenario
        The scenario.
    seed, runs
        Seed, and numbers of the replications.
    """

    label: str
    scenario: Scenario
    seed: int = 1
    runs: Iterable[int] = (0,)


@dataclass(frozen=True, kw_only=True)
class Look:
    """Something that is looked for in runs and their traces.

    Parameters
    ----------
    name
        Its name, as in `Evidence.observation`.
    parts
        Returns the runs it takes.
    read
        Returns what to keep of a run: numbers and arrays by name.
    conclude
        Returns what follows, from what was kept of the runs, by label and in the order of the parts.
    stage
        What progress calls its runs.
    """

    name: str
    parts: Callable[[Settings], Iterable[Part]]
    read: Callable[[TracedRun], Mapping[str, Any]]
    conclude: Callable[[Mapping[str, Sequence[Seen]]], Any]
    stage: str = "scripted runs"

    def plan(self, settings: Settings) -> list[PlannedRun]:
        """Return its runs."""
        return [
            PlannedRun(
                key=f"{PREFIX}/{self.name}/{part.label}",
                scenario=part.scenario,
                seed=part.seed,
                run=run,
                stage=self.stage,
            )
            for part in self.parts(settings)
            for run in part.runs
        ]

    def kept(self, run: TracedRun) -> tuple[list[str], list[list[float]]]:
        """Return what is kept of a run, as the two columns hold it."""
        seen = {
            name: np.atleast_1d(np.asarray(value, dtype=np.float64)) for name, value in self.read(run).items()
        }
        return list(seen), [values.tolist() for values in seen.values()]

    def concluded(self, results: pd.DataFrame) -> Any:
        """Return what follows from the table of results; ``None`` if its runs are not there."""
        start = f"{PREFIX}/{self.name}/"
        rows = results[results["key"].astype(str).str.startswith(start)]
        if rows.empty:
            return None
        seen: dict[str, list[Seen]] = {}
        for key, names, values in zip(rows["key"], rows[SEEN], rows[SEEN_VALUES], strict=True):
            seen.setdefault(key.removeprefix(start), []).append(
                {name: np.asarray(value, dtype=np.float64) for name, value in zip(names, values, strict=True)}
            )
        return self.conclude(seen)
