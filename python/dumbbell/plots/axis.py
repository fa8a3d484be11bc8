"""Axes: values that are numbers or quantities have places, others are categories in their order."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dumbbell.errors import ScenarioError
from dumbbell.plots.naming import unit_for, value_names, without_suffix
from dumbbell.quantities import bits_per_second, nanoseconds, size_bytes

WRITTEN = re.compile(r"\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµ%][A-Za-zµ/]*)?\s*")
"""A number with its unit."""

SPELLED: Mapping[str, str] = {
    "packet": "packets",
    "segment": "segments",
    "byte": "bytes",
    "us": "µs",
    "bps": "bit/s",
    "bdp": "BDP",
}
UNITS = frozenset(
    {
        *("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "s", "ms", "µs", "ns", "min", "h", "%", "BDP", "packets"),
        *("segments", "bytes", "B", "kB", "KB", "KiB", "MB", "MiB", "GB", "GiB", "Hz", "flows", "hops"),
    }
)

DECADE = 10.0
"""A logarithmic axis is chosen from this ratio of the largest to the smallest value on."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The values of a parameter, and where they are.

    Parameters
    ----------
    unit
        Unit of the places; none for categories, counts and ratios.
    places
        The place of each value: its number, or its position among the categories.
    names
        What each value is called, with its unit.
    is_numeric
        Whether the places are numbers.
    """

    unit: str | None = None
    places: Mapping[Any, float] = field(default_factory=dict)
    names: Mapping[Any, str] = field(default_factory=dict)
    is_numeric: bool = False

    @property
    def ordered(self) -> list[Any]:
        """The values in the order of their places."""
        return sorted(self.places, key=lambda value: self.places[value])

    @property
    def ticks(self) -> list[str]:
        """Names of the places 0, 1, … of categories; empty for numbers."""
        return [] if self.is_numeric else [self.names[value] for value in self.ordered]


def axis_of(column: str, values: Sequence[Any]) -> Axis:
    """Return the axis of the values of a column.

    Parameters
    ----------
    column
        Its name, whose suffix may state a unit, as ``delay_ms``.
    values
        The values, in order of their first appearance.

    Examples
    --------
    >>> axis_of("links.r1-r2.queue.limit", ["0.5 BDP", "2 BDP"]).places
    {'0.5 BDP': 0.5, '2 BDP': 2.0}
    >>> axis_of("flows.a.tcp", ["reno", "vegas"]).ticks
    ['reno', 'vegas']
    """
    listed = list(dict.fromkeys(values))
    numbers = (int, float, np.number)
    if listed and all(
        isinstance(value, numbers) and not isinstance(value, bool | np.bool_) for value in listed
    ):
        unit = without_suffix(column)[1]
        names = {value: f"{value:g} {unit}" if unit else f"{value:g}" for value in listed}
        return Axis(unit=unit, places={v: float(v) for v in listed}, names=names, is_numeric=True)
    found = _quantities([str(value) for value in listed]) if listed else None
    if found is not None:
        unit, places = found
        names = {value: _spelled(str(value)) for value in listed}
        return Axis(unit=unit, places=dict(zip(listed, places, strict=True)), names=names, is_numeric=True)
    names = value_names(listed)
    return Axis(places={value: float(place) for place, value in enumerate(listed)}, names=names)


def _quantities(texts: Sequence[str]) -> tuple[str | None, list[float]] | None:
    """Return the unit and the numbers of quantities; ``None`` if one is none, or they do not share a dimension."""
    split = [WRITTEN.fullmatch(text) for text in texts]
    if not all(split):
        return None
    try:
        numbers = [float(part[1]) for part in split if part]
    except ValueError:
        return None
    units = [SPELLED.get(part[2], part[2]) if part and part[2] else None for part in split]
    if not all(map(math.isfinite, numbers)) or any(unit not in UNITS for unit in units if unit is not None):
        return None
    if len(set(units)) == 1:
        return units[0], numbers
    readers: tuple[tuple[Callable[[str, str], int], str, float], ...] = (
        (bits_per_second, "bit/s", 1.0),
        (nanoseconds, "s", 1e9),
        (size_bytes, "bytes", 1.0),
    )
    for read, base, size in readers:
        try:
            exact = [read(text, "axis") / size for text in texts]
        except ScenarioError:
            continue
        unit = unit_for(base, max(exact))
        factor = (
            {"G": 1e9, "M": 1e6, "k": 1e3, "m": 1e-3, "µ": 1e-6}.get(unit[0], 1.0) if unit != base else 1.0
        )
        return unit, [value / factor for value in exact]
    return None


def _spelled(text: str) -> str:
    found = WRITTEN.fullmatch(text)
    if found is None or not found[2]:
        return text
    unit = SPELLED.get(found[2], found[2])
    if found[2] in ("packet", "segment", "byte") or (
        float(found[1]) == 1.0 and unit in ("packets", "segments", "bytes")
    ):
        unit = unit.removesuffix("s") if float(found[1]) == 1.0 else unit
    return f"{found[1]} {unit}"


def is_even_in_logarithm(values: Sequence[float]) -> bool:
    """Return whether a logarithmic axis suits values: above 0, over a decade or more, in steps more even by ratio.

    The evenness of steps is their standard deviation by their mean.

    Examples
    --------
    >>> is_even_in_logarithm([0.1, 0.5, 1, 2, 5, 10]), is_even_in_logarithm([1, 5, 10, 15, 20])
    (True, False)
    """
    places = np.unique([value for value in values if math.isfinite(value)])
    if len(places) < 3 or places[0] <= 0.0 or places[-1] < DECADE * places[0]:
        return False
    linear, ratios = np.diff(places), np.diff(np.log(places))
    return bool(ratios.std() / ratios.mean() < linear.std() / linear.mean())
