"""The evidence for the claims: results of the runs, with resamples.

Every quantity is an array whose first entry comes from all runs and whose other entries come from resamples of the runs (the
bootstrap). Runs of one number met the same variable-rate traffic in every configuration, so they are drawn together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured
from dumbbell.judge.reads import Results
from dumbbell.judge.runs import KeyedRuns
from dumbbell.papers import Measured
from dumbbell.papers.real_time import runs_of
from dumbbell.statistics import jain_index

from .assumptions import PACKET_BYTES, Assumptions, payload_bytes

Values = NDArray[np.float64]
Row = dict[str, Any]
Reading = Callable[[Row], float]

PAPER = "paper"
"""Name of the group of runs with the main assumptions; in each other group, one assumption is varied."""

RESAMPLES = 400
ENTRY_AVERAGE_S = 10.0


def interval(values: Values) -> tuple[float, float, float]:
    """Return a quantity with the limits of its 90 % interval; NaN where no run differs from another."""
    if np.ptp(values) == 0.0:
        return float(values[0]), float("nan"), float("nan")
    low, high = np.quantile(values[1:], (0.05, 0.95))
    return float(values[0]), float(low), float(high)


def worst(parts: Iterable[Values], aim: float) -> Values:
    """Return the quantity farthest from its expected value, on every resample."""
    table = np.array(list(parts))
    rows = np.argmax(np.abs(table - aim), axis=0)
    return np.asarray(table[rows, np.arange(table.shape[1])])


class Evidence(KeyedRuns):
    """The results of the runs.

    Parameters
    ----------
    results
        The table of results: ``key``, ``run`` and the columns of `reduction.COLUMNS`. A key is the group, the experiment, the
        variant and, where there are several, the point of a sweep, as ``paper|fig-10|vegas|0.9``.
    base
        The assumptions of the paper's runs.
    seed
        Seed of the resampling.
    linux
        The runs in real time; ``None`` if there are none.
    """

    def __init__(
        self,
        results: Results,
        base: Assumptions,
        *,
        seed: int = 1,
        linux: Measured | None = None,
    ) -> None:
        super().__init__(results, PAPER, seed=seed, resamples=RESAMPLES)
        self.base = base
        self._moved = base
        self.linux = linux

    @cached_property
    def kernel(self) -> Evidence:
        """The runs of the kernel; raises `NotMeasured` if there are none."""
        return Evidence(runs_of(self.linux), self.base, seed=self._seed)

    def varied(self, group: str, moved: Assumptions, limit: int) -> Evidence:
        """Return the evidence of a group of other assumptions, or of this one, at a limited number of runs."""
        other = self.of_group(group, limit)
        other._moved = moved
        return other

    def place(self, experiment: str) -> Assumptions:
        """Return the assumptions that an experiment's runs were made with: those of the group, if it ran them."""
        return self._moved if self.has_runs(self.group, f"{experiment}|") else self.base

    def groups(self) -> set[str]:
        """Return the names of the groups that were run."""
        return {key.split("|", 1)[0] for key in self._by_key}

    def points(self, experiment: str, variant: str) -> list[float]:
        """Return the points of a sweep that were run, ascending.

        Raises
        ------
        NotMeasured
            There are none.
        """
        for group in (self.group, PAPER):
            start = f"{group}|{experiment}|{variant}|"
            found = sorted(float(key.removeprefix(start)) for key in self._by_key if key.startswith(start))
            if found:
                return found
        raise NotMeasured(f"There are no runs of {experiment}, {variant}.")

    def has(self, experiment: str) -> bool:
        """Return whether an experiment was run."""
        return any(key.split("|")[1] == experiment for key in self._by_key)

    def rows(self, experiment: str, variant: str, point: float | str = "") -> list[Row]:
        """Return the runs of a configuration.

        Raises
        ------
        NotMeasured
            There are none.
        """
        end = f"|{point:g}" if isinstance(point, float | int) else f"|{point}" if point else ""
        return self.records(f"{experiment}|{variant}{end}")

    def mean_of(self, rows: Sequence[Row], reading: Reading) -> Values:
        """Return the mean of a value read from each run, with resamples."""
        values = np.array([reading(row) for row in rows], dtype=np.float64)
        if len(values) == 1:
            return np.full(1 + RESAMPLES, values[0])
        return np.asarray(self.weights(len(values)) @ values)

    def throughput(
        self, experiment: str, variant: str, point: float | str = "", connection: int = 1
    ) -> Values:
        """Return the mean throughput of a connection in the measurement window, kbit/s."""
        return self.mean_of(
            self.rows(experiment, variant, point), lambda row: float(row["throughput"][connection - 1])
        )

    def throughputs(self, experiment: str, variant: str, point: float | str = "") -> list[Values]:
        """Return the mean throughput of every connection, kbit/s."""
        count = len(self.rows(experiment, variant, point)[0]["throughput"])
        return [self.throughput(experiment, variant, point, index) for index in range(1, count + 1)]

    def packets(self, experiment: str, variant: str, point: float | str = "") -> Values:
        """Return the throughput of the first connection in packets, option and all, kbit/s on the wire."""
        return self.throughput(experiment, variant, point) * PACKET_BYTES / payload_bytes(variant)

    def rate(
        self,
        experiment: str,
        variant: str,
        point: float | str,
        start_s: float,
        end_s: float,
        connection: int = 1,
    ) -> Values:
        """Return the mean throughput of a connection between two whole seconds, kbit/s."""
        return self.mean_of(
            self.rows(experiment, variant, point),
            lambda row: float(bins(row, connection, start_s, end_s).mean()),
        )

    def first(
        self, column: str, index: int, experiment: str, variant: str, point: float | str = ""
    ) -> Values:
        """Return the mean of one entry of a column of lists."""
        return self.mean_of(self.rows(experiment, variant, point), lambda row: float(row[column][index]))

    def entry(self, column: str, name: str, index: int = 0) -> Values:
        """Return the same of a configuration, named as experiment, variant and point: ``"ana|vegas|8"``."""
        return self.mean_of(self.records(name), lambda row: float(row[column][index]))

    def jain(self, experiment: str, panel: str) -> Values:
        """Return the mean fairness index of the connections' throughputs."""
        return self.mean_of(self.rows(experiment, panel), lambda row: float(jain_index(row["throughput"])))

    def queue_after(self, variant: str, connections: int) -> Values:
        """Return the queue of Fig. 15 with so many connections: its mean in the last 10 s before the next one enters."""
        end = 20 * connections
        window = slice(int(end - ENTRY_AVERAGE_S), end)
        return self.mean_of(
            self.rows("fig-15", variant), lambda row: float(np.mean(row["queue_bins"][window]))
        )

    def correlation(
        self, experiment: str, variants: tuple[str, str], point: float | str, from_s: float
    ) -> Values:
        """Return the mean correlation of two variants' throughput from second to second, run by run."""
        pairs = zip(*(self.rows(experiment, variant, point) for variant in variants), strict=True)
        end = float("inf")
        values = np.array(
            [np.corrcoef(bins(one, 1, from_s, end), bins(two, 1, from_s, end))[0, 1] for one, two in pairs]
        )
        return np.asarray(self.weights(len(values)) @ values)


def bins(row: Row, connection: int, start_s: float, end_s: float) -> Values:
    """Return the throughput of a connection in each second between two whole seconds, kbit/s."""
    table = np.asarray(row["bins"], dtype=np.float64).reshape(len(row["throughput"]), -1)
    last = table.shape[1] if end_s == float("inf") else int(end_s)
    return np.asarray(table[connection - 1, int(start_s) : last])
