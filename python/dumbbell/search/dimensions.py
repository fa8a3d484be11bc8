"""The dimensions of a search: what it varies, within which bounds, and what is plain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dumbbell.arguments import file_path
from dumbbell.documents import toml_of
from dumbbell.errors import refusal
from dumbbell.files import read_input

Value: TypeAlias = float | str

Values: TypeAlias = Mapping[str, Value]
"""A value for each dimension, by name."""

DIGITS = 4
"""Significant digits of the values that a search tries."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """A dimension of numbers.

    Parameters
    ----------
    name, part
        Its name, and the part of the scenario that it belongs to.
    unit
        Unit of its values.
    plain
        Value in the plain scenario.
    low, high
        Bounds of the search.
    least, most
        Bounds that it accepts.
    logarithmic
        Whether the search varies it by factors.
    meaning
        What it is, in one phrase.
    """

    name: str
    part: str
    unit: str
    plain: float
    low: float
    high: float
    least: float
    most: float
    logarithmic: bool = False
    meaning: str

    @property
    def is_fixed(self) -> bool:
        """Whether it has one value only."""
        return self.low == self.high

    def near(self, value: float, digits: int = DIGITS) -> float:
        """Return a value rounded to so many significant digits, within the bounds."""
        return min(max(float(f"{value:.{digits}g}"), self.low), self.high)

    def bounded(self, bounds: Any) -> Range:
        """Return the dimension within other bounds: one number, or a list of two.

        Raises
        ------
        ScenarioError
            They are not numbers within the accepted range, in order.
        """
        given = list(bounds) if isinstance(bounds, list | tuple) else [bounds] * 2
        is_number = [isinstance(item, int | float) and not isinstance(item, bool) for item in given]
        if len(given) != 2 or not all(is_number) or not self.least <= given[0] <= given[1] <= self.most:
            accepted = f"one or two numbers of {self.unit} in order, from {self.least:g} to {self.most:g}"
            raise refusal(f"bounds.{self.name}", bounds, accepted)
        low, high = map(float, given)
        return replace(self, low=low, high=high, plain=min(max(self.plain, low), high))

    def written(self, value: Value) -> str:
        """Return a value with its unit."""
        return f"{value:g} {self.unit}" if isinstance(value, float) else value


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A dimension of names; see `Range`.

    Parameters
    ----------
    name, part, plain, meaning
        As of `Range`.
    choices
        Its values.
    accepted
        All values that it can have.
    """

    name: str
    part: str
    plain: str
    choices: tuple[str, ...]
    accepted: tuple[str, ...]
    meaning: str

    @property
    def is_fixed(self) -> bool:
        """Whether it has one value only."""
        return len(self.choices) == 1

    def near(self, value: Any) -> str:
        """Return a value, which may come from a journal.

        Raises
        ------
        ScenarioError
            It is none of this dimension: a name there is no reason to load code.
        """
        if value not in self.choices:
            raise refusal(self.name, value, ", ".join(self.choices), problem="is not a value of this search")
        return str(value)

    def bounded(self, bounds: Any) -> Choice:
        """Return the dimension with other values: one, or a list of some.

        Raises
        ------
        ScenarioError
            One is not accepted, or there is none.
        """
        given = [bounds] if isinstance(bounds, str) else bounds
        if not isinstance(given, list | tuple) or not given or any(one not in self.accepted for one in given):
            accepted = ", ".join(self.accepted)
            raise refusal(f"bounds.{self.name}", bounds, accepted, names=self.accepted, near=str(bounds))
        return replace(self, choices=tuple(given), plain=self.plain if self.plain in given else str(given[0]))

    def written(self, value: Value) -> str:
        """Return a value."""
        return str(value)


Dimension: TypeAlias = Range | Choice

DIMENSIONS: tuple[Dimension, ...] = (
    Range(
        name="rate", part="rate", unit="Mbit/s", plain=10.0, low=2.0, high=20.0, least=0.1, most=1000.0,
        logarithmic=True, meaning="rate of the bottleneck",
    ),
    Range(
        name="rtt", part="rtt", unit="ms", plain=40.0, low=10.0, high=200.0, least=1.0, most=2000.0,
        logarithmic=True, meaning="round-trip propagation delay",
    ),
    Range(
        name="buffer", part="buffer", unit="BDP", plain=1.0, low=0.1, high=4.0, least=0.01, most=100.0,
        logarithmic=True, meaning="drop-tail buffer, in bandwidth-delay products, at least 2 packets",
    ),
    Range(
        name="loss", part="loss", unit="%", plain=0.0, low=0.0, high=2.0, least=0.0, most=50.0,
        meaning="random loss of data packets",
    ),
    Range(
        name="reroute", part="reroute", unit="ms", plain=0.0, low=0.0, high=200.0, least=0.0, most=2000.0,
        meaning="growth of the round-trip delay after a third of the run",
    ),
    Choice(
        name="competitor", part="competitor", plain="none", choices=("none", "same", "reno", "cubic"),
        accepted=("none", "same", "reno", "cubic"), meaning="congestion control of a second flow",
    ),
    Range(
        name="competitor_rtt", part="competitor", unit="times the RTT", plain=1.0, low=0.25, high=4.0,
        least=0.01, most=100.0, logarithmic=True, meaning="round-trip propagation delay of the second flow",
    ),
    Range(
        name="head_start", part="competitor", unit="s", plain=0.0, low=0.0, high=20.0, least=0.0, most=20.0,
        meaning="time by which the second flow starts earlier",
    ),
    Range(
        name="pulse_load", part="pulses", unit="% of the rate", plain=0.0, low=0.0, high=20.0, least=0.0,
        most=90.0, meaning="mean rate of periodic bursts of datagrams",
    ),
    Range(
        name="pulse_period", part="pulses", unit="s", plain=1.0, low=0.2, high=4.0, least=0.01, most=30.0,
        logarithmic=True, meaning="period of the bursts",
    ),
    Range(
        name="pulse_height", part="pulses", unit="times the rate", plain=1.0, low=1.0, high=3.0, least=1.0,
        most=100.0, logarithmic=True, meaning="rate within a burst",
    ),
)  # fmt: skip
"""All dimensions. A dimension that a search does not vary has its plain value."""

PARTS = tuple(dict.fromkeys(dimension.part for dimension in DIMENSIONS))


def space(
    parts: Iterable[str], bounds: Mapping[str, Any], *, excluded: Mapping[str, str]
) -> tuple[Dimension, ...]:
    """Return all dimensions, those of other parts fixed at their plain values.

    Parameters
    ----------
    parts
        What varies, of `PARTS`. A dimension with bounds of its own has these in any case.
    bounds
        Bounds by the name of a dimension: numbers, one or a list of two; or names.
    excluded
        Values that a search cannot have, by the name of a dimension of names.

    Raises
    ------
    ScenarioError
        A part, a dimension or a bound is not accepted, or nothing varies.
    """
    names = [dimension.name for dimension in DIMENSIONS]
    for part in (varied := list(parts)):
        if part not in PARTS:
            raise refusal("vary", part, ", ".join(PARTS), names=PARTS)
    for name in bounds:
        if name not in names:
            raise refusal("bounds", name, ", ".join(names), names=names, problem="is not a dimension")
    made: list[Dimension] = []
    for dimension in DIMENSIONS:
        allowed: Dimension = dimension
        if isinstance(allowed, Choice) and (never := excluded.get(allowed.name)):
            left = tuple(choice for choice in allowed.accepted if choice != never)
            allowed = replace(allowed, choices=left, accepted=left, plain=left[0])
        if dimension.name in bounds:
            allowed = allowed.bounded(bounds[dimension.name])
        elif dimension.part not in varied:
            allowed = allowed.bounded(allowed.plain)
        made.append(allowed)
    if all(dimension.is_fixed for dimension in made):
        raise refusal("bounds", "none that varies", "at least one dimension that varies", quoted=False)
    return tuple(made)


def written_bounds(texts: Iterable[str]) -> dict[str, Any]:
    """Return bounds that are written as ``"rtt=10..100"``, ``"rate=5"`` or ``"competitor=reno,cubic"``.

    Raises
    ------
    ScenarioError
        A text is not of this form.

    Examples
    --------
    >>> written_bounds(["rtt=10..100", "rate=5", "competitor=reno,cubic"])
    {'rtt': [10.0, 100.0], 'rate': [5.0, 5.0], 'competitor': ['reno', 'cubic']}
    """
    bounds: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise refusal("bound", text, "NAME=LOW..HIGH, NAME=VALUE or NAME=A,B, such as rtt=10..100")
        low, dots, high = value.partition("..")
        try:
            numbers = [float(low), float(high if dots else low)]
        except ValueError:
            bounds[name] = value.split(",")
        else:
            if not all(map(math.isfinite, numbers)):
                raise refusal("bound", text, "finite numbers")
            bounds[name] = numbers
    return bounds


def bounds_from_file(path: Any) -> dict[str, Any]:
    """Return the bounds of a TOML file: a value, or a list, by the name of each dimension.

    Raises
    ------
    ScenarioError
        The file is not TOML.
    OSError
        The file cannot be read.
    """
    file = file_path("bounds", path)
    return toml_of(read_input(file), str(path))
