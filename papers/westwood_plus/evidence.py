"""The evidence for the claims: runs by key, and quantities with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured
from dumbbell.judge.reads import Remembered, Results, by_key
from dumbbell.papers import Measured
from dumbbell.papers.real_time import runs_of
from dumbbell.traces import StepFunction

Values = NDArray[np.float64]


class Evidence:
    """The runs of one reading.

    Parameters
    ----------
    results
        One row for each run: ``key``, ``run`` and the columns of `reduction.COLUMNS`; or the same by key.
    reading
        Name of the reading; empty for the main one.
    only
        Keys to keep, with the number of runs of each; all runs of the reading without.
    linux
        The runs in real time; ``None`` if there are none.
    """

    def __init__(
        self,
        results: Results,
        reading: str = "",
        only: dict[str, int] | None = None,
        *,
        linux: Measured | None = None,
    ) -> None:
        self._by_key = by_key(results)
        self.linux = linux
        self._only = only
        self._ordered: Remembered[str, pd.DataFrame] = Remembered()
        mark = f"{reading}|" if reading else ""
        # The key of each configuration of the reading.
        self._keys: dict[str, str] = {}
        for key in self._by_key:
            name = key.removeprefix(mark)
            is_of_reading = key.startswith(mark) if reading else "|" not in key
            if is_of_reading and (only is None or name in only):
                self._keys[name] = key

    @property
    def results(self) -> pd.DataFrame:
        """All runs as one table."""
        return self._by_key.table

    @cached_property
    def kernel(self) -> Evidence:
        """The runs of the kernel; raises `NotMeasured` if there are none."""
        return Evidence(runs_of(self.linux))

    def counts(self) -> dict[str, int]:
        """Return the number of runs of each key."""
        return {key: len(self.runs(key)) for key in self._keys}

    def runs(self, key: str) -> pd.DataFrame:
        """Return the runs of a key, in their order.

        Raises
        ------
        NotMeasured
            There are none.
        """
        if key not in self._keys:
            raise NotMeasured(f"There are no runs of {key}.")
        ordered = self._ordered.of(key, lambda: self._by_key[self._keys[key]].sort_values("run"))
        return ordered if self._only is None else ordered.head(self._only[key])

    def each(self, key: str, column: str) -> list[Values]:
        """Return a column's list of each run.

        Raises
        ------
        NotMeasured
            It was not recorded in one of them.
        """
        lists = [np.asarray(value, dtype=np.float64) for value in self.runs(key)[column]]
        if any(values.size == 0 for values in lists):
            raise NotMeasured(f"The runs of {key} have no {column}.")
        return lists

    def stacked(self, key: str, column: str) -> Values:
        """Return a column's lists, one row for each run."""
        return np.vstack(self.each(key, column))

    def total(self, key: str, column: str = "goodput") -> Values:
        """Return the sum of a column's list, for each run."""
        return np.array([values.sum() for values in self.each(key, column)])

    def of(self, key: str, measure: Callable[[pd.Series], float]) -> Values:
        """Return the value of a function for each run."""
        return np.array([measure(row) for _, row in self.runs(key).iterrows()], dtype=np.float64)

    def grid(self, prefix: str) -> list[str]:
        """Return the parts of keys after ``prefix/``, in ascending order of the numbers.

        Raises
        ------
        NotMeasured
            No key begins so.
        """
        points = {key.removeprefix(f"{prefix}/") for key in self._keys if key.startswith(f"{prefix}/")}
        if not points:
            raise NotMeasured(f"There are no runs of {prefix}.")
        return sorted(points, key=float)


def signed(value: float, digits: int = 1) -> str:
    """Return a number with its sign and a true minus; nothing rounds to a signed zero."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{digits}f}") == 0 else text


def windowed(row: pd.Series, quantity: str, spans: Sequence[tuple[float, float]]) -> Values:
    """Return the recorded values of a quantity in some spans of time.

    Raises
    ------
    NotMeasured
        There are none.
    """
    times = np.asarray(row[f"{quantity}_s"], dtype=np.float64)
    inside = np.zeros(times.size, dtype=np.bool_)
    for begin, end in spans:
        inside |= (times >= begin) & (times < end)
    values: Values = np.asarray(row[quantity], dtype=np.float64)[inside]
    if not values.size:
        raise NotMeasured(f"The runs have no {quantity} at these times.")
    return values


def recorded(row: pd.Series, quantity: str) -> StepFunction:
    """Return a quantity as it was recorded in a run."""
    return StepFunction(row[f"{quantity}_s"], row[quantity])
