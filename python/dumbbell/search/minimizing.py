"""Reduction of a bad point to what makes it bad: delta debugging over its dimensions [zeller2002]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dumbbell.search.dimensions import DIGITS, Dimension, Range, Values

Means = Callable[[Sequence[Values]], list[float]]
"""Returns the objective at each of several points."""


def minimized(
    point: Values, dimensions: Sequence[Dimension], means: Means, least: float
) -> dict[str, float | str]:
    """Return a point whose objective is still at least as stated, and that is as plain as possible.

    Whole parts and single dimensions return to their plain values, in each turn the one after which the objective is
    largest, until each that is left is needed. Then each number is rounded to as few digits as possible.

    Parameters
    ----------
    point
        A value for each dimension.
    dimensions
        The dimensions.
    means
        Returns the objective at points.
    least
        The smallest acceptable objective.

    Examples
    --------
    >>> from dumbbell.search.dimensions import DIMENSIONS
    >>> point = {dimension.name: dimension.plain for dimension in DIMENSIONS} | {"loss": 1.234, "rtt": 56.78}
    >>> small = minimized(point, DIMENSIONS, lambda points: [at["loss"] for at in points], 0.9)
    >>> small["loss"], small["rtt"]
    (1.0, 40.0)
    """
    found = dict(point)
    while candidates := list(_plainer(found, dimensions)):
        values = means(candidates)
        best = max(range(len(candidates)), key=values.__getitem__)
        if values[best] < least:
            break
        found = candidates[best]
    for dimension in dimensions:
        if isinstance(dimension, Range) and found[dimension.name] != dimension.plain:
            rounded = list(_rounder(found, dimension))
            acceptable = (at for at, value in zip(rounded, means(rounded), strict=True) if value >= least)
            found = next(acceptable, found)
    return found


def _plainer(point: Values, dimensions: Sequence[Dimension]) -> Iterator[dict[str, float | str]]:
    """Yield the points at which a part or a dimension has returned to its plain values."""
    changed = [dimension for dimension in dimensions if point[dimension.name] != dimension.plain]
    parts = dict.fromkeys(dimension.part for dimension in changed)
    groups = [[dimension for dimension in changed if dimension.part == part] for part in parts]
    single = [[dimension] for group in groups if len(group) > 1 for dimension in group]
    for group in [*groups, *single]:
        yield {**point, **{dimension.name: dimension.plain for dimension in group}}


def _rounder(point: Values, dimension: Range) -> Iterator[dict[str, float | str]]:
    """Yield points with fewer digits of a number, the fewest first."""
    exact = float(point[dimension.name])
    values = (dimension.near(exact, digits) for digits in range(1, DIGITS))
    for value in dict.fromkeys(values):
        if value != exact:
            yield {**point, dimension.name: value}
