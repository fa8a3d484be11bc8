"""The evidence for the claims: throughputs by point and repetition, and traces.

[chan2010 §4.1]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured
from dumbbell.judge.reads import Remembered, Results, RunsByKey, by_key
from dumbbell.papers import Measured
from dumbbell.papers.real_time import runs_of
from dumbbell.statistics import Interval
from dumbbell.traces import StepFunction

from .linux import GROUP
from .network import PACKET, VARIANTS
from .printed import interval

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Run:
    """One run.

    Parameters
    ----------
    row
        Its reduction.
    """

    row: Mapping[str, Any]

    @cached_property
    def names(self) -> list[str]:
        """The connections, in the order of the scenario."""
        return [str(name) for name in self.row["names"]]

    def of(self, column: str, prefix: str) -> Values:
        """Return the numbers of a column for the connections whose names begin so."""
        values = np.asarray(self.row[column], dtype=np.float64)
        return values[[name.startswith(prefix) for name in self.names]]

    def one(self, column: str, name: str) -> float:
        """Return the number of a column for one connection."""
        return float(np.asarray(self.row[column], dtype=np.float64)[self.names.index(name)])

    @cached_property
    def _traces(self) -> dict[str, StepFunction]:
        lengths = np.asarray(self.row["trace_length"], dtype=np.int64)
        bounds = np.concatenate([[0], np.cumsum(lengths)])
        times = np.asarray(self.row["trace_time"], dtype=np.float64)
        values = np.asarray(self.row["trace_value"], dtype=np.float64)
        return {
            str(name): StepFunction(times[begin:end], values[begin:end])
            for name, begin, end in zip(self.row["trace_of"], bounds[:-1], bounds[1:], strict=True)
        }

    def trace(self, quantity: str, name: str = "variant") -> StepFunction:
        """Return a probed quantity."""
        return self._traces[f"{name} {quantity}"]

    def has_trace(self, quantity: str, name: str = "variant") -> bool:
        """Return whether a quantity was probed and ever recorded."""
        return f"{name} {quantity}" in self._traces


@dataclass(frozen=True)
class Evidence:
    """The results of all runs, seen through one reading.

    Parameters
    ----------
    results
        The table of results, or the runs by key.
    group
        Reading the sweeps are taken from: ``"base"`` or the name of a variation.
    runs
        Take only so many of the first repetitions of each point of a sweep; all by default.
    points
        Points of each figure to take; all by default.
    linux
        The runs in real time; ``None`` if there are none.
    """

    results: Results
    group: str = "base"
    runs: int | None = None
    points: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    linux: Measured | None = None

    @cached_property
    def kernel(self) -> Evidence:
        """The runs of the kernel; raises `NotMeasured` if there are none."""
        return Evidence(runs_of(self.linux), group=GROUP)

    @cached_property
    def kernel_simulated(self) -> Evidence:
        """The scenarios of the kernel in the simulator."""
        return Evidence(self._by_key, group=GROUP)

    @cached_property
    def _by_key(self) -> RunsByKey:
        return by_key(self.results)

    @cached_property
    def _runs(self) -> Remembered[str, list[Run]]:
        return Remembered()

    @property
    def table(self) -> pd.DataFrame:
        """All runs as one table."""
        return self._by_key.table

    def keys(self) -> Iterable[str]:
        """Return the names of all configurations."""
        return self._by_key.keys()

    def all_runs(self, key: str) -> list[Run]:
        """Return the runs of a configuration, in the order of the repetitions.

        Raises
        ------
        NotMeasured
            There are none.
        """
        if key not in self._by_key:
            raise NotMeasured(f"There are no runs of {key}.")
        return self._runs.of(
            key,
            lambda: [Run(cast(Mapping[str, Any], row)) for row in self._by_key[key].to_dict("records")],
        )

    def traced(self, figure: str) -> list[Run]:
        """Return the runs of a figure of windows against time."""
        return self.all_runs(f"{self.group}/{figure}")[: self.runs]

    def short(self, kind: str, size: int, place: str) -> list[Run]:
        """Return the runs of a short transfer, alone or beside a Reno connection."""
        return self.all_runs(f"{self.group}/startup/{kind}/{size}/{place}")[: self.runs]

    def swept(self, figure: str, kind: str) -> list[int]:
        """Return the points at which a figure's sweep was run for a variant.

        Raises
        ------
        NotMeasured
            There are none.
        """
        start = f"{self.group}/{figure}/{kind}/"
        found = sorted(int(key.removeprefix(start)) for key in self._by_key if key.startswith(start))
        wanted = self.points.get(figure)
        chosen = [point for point in found if wanted is None or point in wanted]
        if not chosen:
            raise NotMeasured(f"There are no runs of {figure} with {kind}.")
        return chosen

    def has(self, figure: str) -> bool:
        """Return whether a figure's sweep was run."""
        return any(key.startswith(f"{self.group}/{figure}/") for key in self._by_key)

    def point(self, figure: str, kind: str, point: int) -> list[Run]:
        """Return the runs of a point of a sweep."""
        return self.all_runs(f"{self.group}/{figure}/{kind}/{point}")[: self.runs]

    def goodputs(self, figure: str, kind: str, point: int) -> tuple[Values, Values]:
        """Return the mean goodputs of the variant's and of Reno's connections in each repetition, bit/s."""
        runs = self.point(figure, kind, point)
        return (
            np.array([run.of("goodput", "variant").mean() for run in runs]),
            np.array([run.of("goodput", "reno").mean() for run in runs]),
        )

    def ratios(self, figure: str, kind: str, point: int) -> Values:
        """Return the ratio of the variant's goodput to Reno's in each repetition."""
        variant, reno = self.goodputs(figure, kind, point)
        return variant / reno

    def means(self, figure: str, kind: str) -> Values:
        """Return the mean ratio at each point."""
        return np.array([self.ratios(figure, kind, point).mean() for point in self.swept(figure, kind)])

    def all_ratios(self, figure: str, kind: str) -> Values:
        """Return the ratio of each repetition at every point."""
        return np.concatenate([self.ratios(figure, kind, point) for point in self.swept(figure, kind)])

    def pooled(self, figure: str, kind: str, confidence: float = 0.95) -> Interval:
        """Return the mean ratio over all points and repetitions, with the paper's interval."""
        return interval(self.all_ratios(figure, kind), confidence)

    def over_points(self, figure: str, kind: str, confidence: float = 0.95) -> Interval:
        """Return the mean ratio over the means of the points, with the paper's interval."""
        return interval(self.means(figure, kind), confidence)

    def distances(self, figure: str) -> dict[str, float]:
        """Return how far each variant's pooled mean ratio is from 1."""
        return {kind: abs(self.pooled(figure, kind).estimate - 1) for kind in VARIANTS}

    def queued(self, kind: str, rate: int) -> Values:
        """Return the mean number of packets the variant has at the bottleneck of Fig. 9, in each repetition.

        By Little's law: what it delivers times the excess of its round-trip time over the minimum.
        """
        return np.array(
            [
                run.one("goodput", "variant")
                * (run.one("rtt_mean", "variant") - run.one("rtt_min", "variant"))
                / (8 * PACKET)
                for run in self.point("fig9", kind, rate)
            ]
        )
