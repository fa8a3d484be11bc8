"""What is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from dumbbell.statistics import Interval


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
    scale
        Factor from the unit of the column to the one shown.
    digits
        Decimals shown.
    least, most
        Its bounds, in the unit of the column: a delay is not negative, Jain's index at most 1.
    """

    column: str
    label: str
    unit: str = ""
    scale: float = 1.0
    digits: int = 3
    least: float = 0.0
    most: float = math.inf

    @property
    def title(self) -> str:
        """Label and unit, as ``"goodput [Mbit/s]"``."""
        return f"{self.label} [{self.unit}]" if self.unit else self.label

    def bounded(self, interval: Interval) -> Interval:
        """Return the part of an interval inside the bounds of the quantity.

        The true value is inside the bounds, so that the part covers it as often as the whole.
        """
        low, high = (min(max(limit, self.least), self.most) for limit in (interval.low, interval.high))
        return replace(interval, low=low, high=high)
