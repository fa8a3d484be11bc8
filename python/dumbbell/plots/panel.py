"""A panel of a picture: curves over one pair of axes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Points of one curve in a picture; more cannot be seen. Lows and highs between them are kept.
MOST_POINTS = 4000

Curve = tuple["NDArray[np.float64]", "NDArray[np.float64]"]

Mark = Literal["line", "means", "scatter", "cdf", "box", "bar", "heat"]
"""What stands for the values: see `Panel`."""


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
    mark
        ``"line"`` joins many points, with bands if there are intervals; ``"means"`` marks few of them, and joins them if
        the x axis has numbers; ``"scatter"`` and ``"bar"`` join none; ``"cdf"`` is a step function from 0 to 1; ``"box"``
        shows the quartiles of `samples`; ``"heat"`` shows each curve as a row of coloured cells.
    samples
        For boxes, the values at each place of a curve; the curve itself has their medians.
    log_x, log_y
        Whether the axis is logarithmic.
    looks
        For labels that are not the names of algorithms themselves, the name that decides on colour and marker.
    dashed
        Labels of curves that are drawn as dashed lines; only lines can be.
    references
        Values of the y axis drawn as dashed lines, by the text beside them.
    z_label, z_unit, z_range
        Quantity of the cells, its unit, and the values at the ends of the colours.
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
    mark: Mark = "line"
    samples: Mapping[str, Sequence[NDArray[np.float64]]] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    looks: Mapping[str, str] = field(default_factory=dict)
    dashed: frozenset[str] = frozenset()
    references: Mapping[str, float] = field(default_factory=dict)
    z_label: str = ""
    z_unit: str | None = None
    z_range: tuple[float, float] | None = None

    @property
    def labels(self) -> tuple[str, str]:
        """The texts at the axes."""
        return labelled(self.x_label, self.x_unit), labelled(self.y_label, self.y_unit)

    @property
    def is_from_zero(self) -> bool:
        """Whether the y axis begins at zero: nothing is negative, and it is no logarithm."""
        return self._end(np.nanmin, 0.0) >= 0.0 and not self.log_y and self.mark not in ("scatter", "heat")

    @property
    def highest(self) -> float:
        """The largest value of curves, intervals and samples; 0 without any."""
        return self._end(np.nanmax, 0.0)

    def _end(self, of: Callable[[NDArray[np.float64]], float], otherwise: float) -> float:
        parts = [
            *(y for _, y in self.series.values()),
            *(end for ends in self.intervals.values() for end in ends),
            *(values for samples in self.samples.values() for values in samples),
        ]
        known = [float(of(part)) for part in parts if np.isfinite(part).any()]
        return float(of(np.array(known))) if known else otherwise

    @cached_property
    def thinned(self) -> dict[str, Curve]:
        """The curves with at most about `MOST_POINTS` points."""
        return {label: _thinned(*curve) for label, curve in self.series.items()}


def labelled(label: str, unit: str | None) -> str:
    """Return the text at an axis: a quantity and its unit."""
    return f"{label} [{unit}]" if unit else label


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
