"""A panel of a picture: curves over one pair of axes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Points of one curve in a picture; more cannot be seen. Lows and highs between them are kept.
MOST_POINTS = 4000

Curve = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """Curves over one pair of axes.

    Parameters
    ----------
    title
        Text over the panel.
    x_label, y_label
        Quantities of the axes.
    x_unit, y_unit
        Their units; none for counts and ratios.
    series
        Times, or other values, and values of each curve by label.
    intervals
        Lower and upper ends of the intervals around the values, for curves that have some.
    steps
        Whether a value holds until the next one.
    ticks
        Names of the values 0, 1, … of the x axis, if it has names and no numbers.
    """

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Curve]
    x_unit: str | None = None
    y_unit: str | None = None
    intervals: Mapping[str, Curve] = field(default_factory=dict)
    steps: bool = False
    ticks: Sequence[str] = ()

    @property
    def labels(self) -> tuple[str, str]:
        """The texts at the axes."""
        return (
            f"{self.x_label} [{self.x_unit}]" if self.x_unit else self.x_label,
            f"{self.y_label} [{self.y_unit}]" if self.y_unit else self.y_label,
        )

    @cached_property
    def thinned(self) -> dict[str, Curve]:
        """The curves with at most about `MOST_POINTS` points."""
        return {label: _thinned(*curve) for label, curve in self.series.items()}


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> Curve:
    """Return a curve with fewer points: of each stretch of points the first, the lowest, the highest and the last."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) <= MOST_POINTS:
        return x, y
    edges = np.linspace(0, len(x), MOST_POINTS // 4 + 1).astype(int)
    kept: set[int] = set()
    for start, end in itertools.pairwise(edges):
        part = y[start:end]
        kept.update((start, end - 1))
        if not np.isnan(part).all():
            kept.update((start + int(np.nanargmin(part)), start + int(np.nanargmax(part))))
    chosen = np.array(sorted(kept))
    return x[chosen], y[chosen]
