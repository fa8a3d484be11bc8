"""The points of a campaign: a base scenario with other values at some of its fields."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.addressing import value_at
from dumbbell.arguments import MOST_RUNS
from dumbbell.errors import ScenarioError, refusal
from dumbbell.parameters import Labelled, shown
from dumbbell.parts import plain
from dumbbell.scenario import Data, Scenario

MOST_POINTS = 10_000_000


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes, each with the same replications.

    Parameters
    ----------
    axes
        Values by the addresses they are set at; one with a label is a `Labelled`.
    runs
        Numbers of the replications.
    """

    axes: Mapping[str, tuple[Any, ...]]
    runs: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Point:
    """A scenario of a campaign.

    Parameters
    ----------
    parameters
        The values of the axes as the frames show them: by their label, a table as text, and ``None`` for a field that
        is not set.
    scenario
        The scenario of the point.
    runs
        Numbers of the replications, ascending.
    """

    parameters: Mapping[str, Any]
    scenario: Scenario
    runs: tuple[int, ...]


def grid_of(axes: Mapping[str, Iterable[Any]], runs: int | Iterable[int]) -> Grid:
    """Return a grid of the given axes and runs.

    Raises
    ------
    ScenarioError
        An axis has no values or is not a list, or the replications are not whole numbers from 0.
    """
    if not isinstance(axes, Mapping):
        raise refusal("axes", type(axes).__name__, "a table of lists of values by addresses")
    listed: dict[str, tuple[Any, ...]] = {}
    for address, values in axes.items():
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            accepted = "a list of values, or a table of values by labels"
            raise refusal(f"axes.{address}", plain(values, str(address)), accepted)
        listed[str(address)] = _labelled(str(address), values)
        if not listed[str(address)]:
            raise refusal(f"axes.{address}", "[]", "at least one value", quoted=False)
    size = 1
    for values in listed.values():
        size *= len(values)
    if size > MOST_POINTS:
        raise refusal(
            "axes", f"{size} points", f"at most {MOST_POINTS}", problem="are too many", quoted=False
        )
    return Grid(listed, replications(runs))


def _labelled(address: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values of an axis; those in a table by labels, and those that state one, are `Labelled`."""
    if isinstance(values, Mapping):
        found: list[Any] = [Labelled(str(label), value) for label, value in values.items()]
    else:
        found = [
            Labelled(str(value["label"]), value["value"])
            if isinstance(value, Mapping) and set(value) == {"label", "value"}
            else value
            for value in values
        ]
    labels = [value.label for value in found if isinstance(value, Labelled)]
    for label in labels:
        if not label or labels.count(label) > 1:
            accepted = "different labels, of at least one character"
            raise refusal(f"axes.{address}", label, accepted)
    return tuple(found)


def replications(runs: int | Iterable[int]) -> tuple[int, ...]:
    """Return the numbers of replications, ascending.

    Raises
    ------
    ScenarioError
        They are not whole numbers from 0.
    """
    accepted = "a whole number from 1, or whole numbers from 0 to 2^64 - 1"
    if (
        isinstance(runs, bool)
        or not isinstance(runs, int | Iterable)
        or isinstance(runs, str | bytes | Mapping)
    ):
        raise refusal("runs", str(runs), accepted)
    if isinstance(runs, int):
        if not 1 <= runs <= MOST_RUNS:
            raise refusal("runs", runs, accepted if runs < 1 else f"at most {MOST_RUNS}")
        return tuple(range(runs))
    numbers = list(runs)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**64:
            raise refusal("runs", str(number), accepted)
    if not numbers:
        raise refusal("runs", "[]", accepted, quoted=False)
    return tuple(sorted(set(numbers)))


def points_of(base: Scenario, grids: Sequence[Grid]) -> list[Point]:
    """Return the points of some grids. Duplicates become one point with the replications of both.

    Raises
    ------
    ScenarioError
        An address leads nowhere, or a value is not accepted there.
    """
    addresses = list(dict.fromkeys(address for grid in grids for address in grid.axes))
    stated, resolved = base.to_dict(), base.resolved()
    unmoved = {address: _stated(stated, resolved, address) for address in addresses}
    points: dict[str, Point] = {}
    for grid in grids:
        for values in itertools.product(*grid.axes.values()):
            changes = dict(zip(grid.axes, values, strict=True))
            scenario = _changed(base, changes)
            known = points.get(scenario.hash)
            if known is None:
                parameters = unmoved | {name: shown(value, name) for name, value in changes.items()}
                points[scenario.hash] = Point(parameters, scenario, grid.runs)
            else:
                runs = tuple(sorted({*known.runs, *grid.runs}))
                points[scenario.hash] = Point(known.parameters, known.scenario, runs)
    return list(points.values())


def _changed(base: Scenario, changes: Mapping[str, Any]) -> Scenario:
    if not changes:
        return base
    values = {name: value.value if isinstance(value, Labelled) else value for name, value in changes.items()}
    try:
        return base.with_values(values)
    except ScenarioError as error:
        stated = ", ".join(f"{name} = {shown(value, name)!r}" for name, value in changes.items())
        refused = ScenarioError(f"axes: {stated}: {error}")
        for name in ("field", "value", "accepted", "suggestion"):
            setattr(refused, name, getattr(error, name, None))
        raise refused from None


def _stated(stated: Data, resolved: Data, address: str) -> Any:
    """Return the value of the base scenario at an address, as shown in frames; ``None`` if not set."""
    for data in (stated, resolved):
        try:
            return shown(value_at(data, address), address)
        except ScenarioError:
            continue
    return None
