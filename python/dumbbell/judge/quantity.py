"""What is measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dumbbell.statistics import Interval, mean_interval

CONFIDENCE = 0.90
"""Confidence of all intervals that decide verdicts."""

SCALES: Mapping[str, float] = {
    "%": 100.0,
    "ms": 1e3,
    "µs": 1e6,
    "kbit/s": 1e-3,
    "Mbit/s": 1e-6,
    "Gbit/s": 1e-9,
    "kB": 1e-3,
    "MB": 1e-6,
    "GB": 1e-9,
}
"""Factors from the units of results (shares, s, bit/s, bytes) to those shown; other units are shown as they are."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity of runs.

    Parameters
    ----------
    column
        Its name in results.
    label
        What it is, in words.
    unit
        Its unit as shown; empty for a number.
    digits
        Decimals shown.
    least, most
        Its bounds, in the unit of the column: a delay is not negative, Jain's index at most 1.
    """

    column: str
    label: str
    unit: str = ""
    digits: int = 3
    least: float = 0.0
    most: float = math.inf

    @property
    def scale(self) -> float:
        """Factor from the unit of the column to the one shown."""
        return SCALES.get(self.unit, 1.0)

    @property
    def title(self) -> str:
        """Label and unit, as ``"goodput [Mbit/s]"``."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label

    def mean(self, rows: pd.DataFrame) -> Interval | None:
        """Return the mean over replications, with the part of Student's interval inside the bounds.

        Parameters
        ----------
        rows
            One row for each replication.

        Returns
        -------
        Interval or None
            None with fewer than two replications, or where one has no finite value.
        """
        values = rows[self.column].to_numpy(dtype=np.float64)
        if values.size < 2 or not np.isfinite(values).all():
            return None
        return self.bounded(mean_interval(values, confidence=CONFIDENCE))

    def means(self, rows: pd.DataFrame, by: str) -> dict[str, Interval]:
        """Return the mean of each group of rows that has one."""
        found = {str(name): self.mean(part) for name, part in rows.groupby(by, sort=False)}
        return {name: mean for name, mean in found.items() if mean is not None}

    def bounded(self, interval: Interval) -> Interval:
        """Return the part of an interval inside the bounds of the quantity.

        The true value is inside the bounds, so that the part covers it as often as the whole.
        """
        low, high = (min(max(limit, self.least), self.most) for limit in (interval.low, interval.high))
        return replace(interval, low=low, high=high)
