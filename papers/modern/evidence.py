"""The evidence for the claims: the rows and traces of runs, and numbers with intervals from them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.judge.estimate import NotMeasured
from dumbbell.judge.reads import Remembered, Results
from dumbbell.judge.runs import KeyedRuns

from . import means
from .network import BACKGROUND, FORWARD
from .plan import BASE

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """A quantity over time; a value holds until the next one.

    Parameters
    ----------
    times
        Times, s.
    values
        The values.
    """

    times: Values
    values: Values

    def at(self, time_s: ArrayLike) -> Values:
        """Return the value at some times; the first one before it."""
        index = np.searchsorted(self.times, np.asarray(time_s, dtype=np.float64), side="right") - 1
        return np.asarray(self.values[np.maximum(index, 0)])

    def between(self, begin_s: float, end_s: float) -> Trace:
        """Return the part between two times."""
        inside = (self.times >= begin_s) & (self.times < end_s)
        return Trace(self.times[inside], self.values[inside])

    def stays(
        self, is_meant: Callable[[Values], NDArray[np.bool_]], end_s: float
    ) -> list[tuple[float, float]]:
        """Return begin and end of each stay where the value satisfies a condition, s."""
        flags = is_meant(self.values)
        edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(int), [0]))))
        times = np.append(self.times, end_s)
        return [(float(times[begin]), float(times[end])) for begin, end in edges.reshape(-1, 2)]


class Events(list[dict[str, Any]]):
    """The events of a connection, in order."""

    def of(self, *kinds: str) -> Events:
        """Return the events of some kinds."""
        return Events(event for event in self if event["kind"] in kinds)

    @property
    def times(self) -> Values:
        """Their times, s."""
        return np.array([event["time_s"] for event in self])


class Run:
    """One run.

    Parameters
    ----------
    row
        Its row of the results.
    """

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    @cached_property
    def flows(self) -> dict[str, dict[str, Any]]:
        """The rows of the flows, by name."""
        return dict(json.loads(self._row["flows"]))

    @cached_property
    def links(self) -> dict[str, dict[str, Any]]:
        """The rows of the links, by name."""
        return dict(json.loads(self._row["links"]))

    @cached_property
    def _traces(self) -> dict[str, dict[str, dict[str, list[Any]]]]:
        return dict(json.loads(self._row["traces"]))

    def flow(self, column: str, name: str = "f") -> float:
        """Return a number of a flow; NaN if it has none."""
        value = self.flows[name][column]
        return math.nan if value is None else float(value)

    def link(self, column: str, name: str = FORWARD) -> float:
        """Return a number of a link; NaN if it has none."""
        value = self.links[name][column]
        return math.nan if value is None else float(value)

    def goodput(self, prefix: str = "f") -> float:
        """Return the goodput of all flows whose names begin so, Mbit/s."""
        return self.total("goodput_bps", prefix) / 1e6

    def total(self, column: str, prefix: str = "") -> float:
        """Return the sum of a column over the flows whose names begin so."""
        return float(sum(row[column] or 0 for name, row in self.flows.items() if name.startswith(prefix)))

    def share(self, prefix: str) -> float:
        """Return the part of the goodput that flows have whose names begin so, from 0 to 1; without the background."""
        return self.goodput(prefix) / (self.goodput("") - self.goodput(BACKGROUND))

    def trace(self, quantity: str, name: str = "f") -> Trace:
        """Return a trace.

        Raises
        ------
        NotMeasured
            Nothing was recorded.
        """
        found = self._traces.get(quantity, {}).get(name)
        if not found or not found["time_s"]:
            raise NotMeasured(f"No value of {quantity} was recorded.")
        values = [math.nan if value is None else value for value in found["value"]]
        return Trace(np.asarray(found["time_s"], dtype=np.float64), np.asarray(values, dtype=np.float64))

    def events(self, name: str = "f") -> Events:
        """Return the events of a flow."""
        found = self._traces.get("tcp_events", {}).get(name, {"time_s": []})
        return Events(dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True))


class Evidence(KeyedRuns):
    """The results of the runs, with the chosen assumptions or with one of them varied.

    Parameters
    ----------
    results
        The table of results: ``key``, ``run`` and the columns of the collection.
    seed
        Seed of the resampling.
    """

    def __init__(self, results: Results, *, seed: int = 1) -> None:
        super().__init__(results, BASE, seed=seed)
        self._runs: Remembered[str, list[Run]] = Remembered()

    def runs(self, name: str) -> list[Run]:
        """Return the runs of a scenario.

        Raises
        ------
        NotMeasured
            There are none: the engine lacks what the scenario needs.
        """
        try:
            key = self.key(name)
        except NotMeasured as reason:
            lack = means.lacking().get(name)
            raise NotMeasured(f"The engine lacks {lack}." if lack else str(reason)) from None
        return self._runs.of(key, lambda: [Run(row) for row in self.records(name)])[: self._limit]

    def one(self, name: str) -> Run:
        """Return the run of a scenario without random numbers."""
        return self.runs(name)[0]

    def each(self, name: str, reading: Callable[[Run], float]) -> Values:
        """Return a number of each run of a scenario."""
        return np.array([reading(run) for run in self.runs(name)], dtype=np.float64)
