"""What a figure of many runs is made from: the rows that count, its axes, panels and colours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from dumbbell.errors import refusal
from dumbbell.judge.quantity import Quantity
from dumbbell.plots.asked import DEFAULT, MEANS, Asked, ManyResults, completed, hidden_names
from dumbbell.plots.axis import Axis, axis_of, is_even_in_logarithm
from dumbbell.plots.naming import labels_of, quantity_of
from dumbbell.plots.picture import Picture
from dumbbell.pooling import counted

if TYPE_CHECKING:
    from dumbbell.plots.panel import Panel
    from dumbbell.pooling import Recorded

MOST_PANELS = 36
MOST_NAMED = 4
"""Flows that a note names."""
TRANSFERS = "transfers."
"""What begins the name of a quantity of single transfers, which probes record."""
OF_EVENTS = ("rtt", "wait")
"""Probed quantities with a value for every packet, which have a distribution."""


def drawing_of(runs: ManyResults, asked: Asked) -> Drawing:
    """Return what a figure is made from: the rows that count, and the arguments with their defaults.

    Raises
    ------
    ScenarioError
        There is no such column, name or value, or no completed run.
    """
    wanted = asked.x if asked.of_kind == "cdf" else asked.hue if asked.of_kind == "heat" else asked.y
    frame = rows_of(runs, wanted or DEFAULT, asked)
    frame = selected(frame, asked)
    asked = completed(asked, runs, frame)
    for role, column in asked.columns.items():
        if column not in frame.columns:
            raise unknown(role, column, runs)
    role = {"cdf": "x", "heat": "hue"}.get(asked.of_kind, "y")
    column = asked.columns.get(role, DEFAULT)
    if not is_numeric_dtype(frame[column]) or is_bool_dtype(frame[column]):
        raise refusal(role, column, "a column of numbers")
    if not frame[column].notna().any():
        raise refusal(role, column, "a column with values", problem="has no value in any run")
    found = Drawing(runs=runs, asked=asked, frame=frame, column=column)
    found.check_labels()
    return found


def unknown(role: str, column: str, runs: ManyResults) -> Exception:
    """Return the error of a column that is not there, or not in the table of the other columns."""
    for table, frame in (("flows", runs.flows), ("links", runs.links)):
        if column in frame.columns:
            accepted = "a column of the table that the rest is of"
            return refusal(role, column, accepted, problem=f"is a column of {table}")
    columns = list(dict.fromkeys([*runs.flows.columns, *runs.links.columns]))
    given = [name for name in runs.parameters.columns if name in columns]
    accepted = f"a column of results, which `dumbbell list columns` shows, or {', '.join(given)}"
    if column.startswith(TRANSFERS):
        accepted = "completion_s, of single transfers; workloads have it with the probe `transfers`"
    elif column in OF_EVENTS:
        accepted = f"runs with the probe `{column}`, as a distribution"
    return refusal(role, column, accepted, names=columns, problem="is no column")


def rows_of(runs: ManyResults, quantity: str, asked: Asked, role: str = "") -> pd.DataFrame:
    """Return the table with a quantity: flows, links, or for distributions single transfers and packets that count."""
    if asked.of_kind == "cdf" and quantity not in runs.flows.columns and quantity not in runs.links.columns:
        if quantity.startswith(TRANSFERS) and "transfers" in runs.traces:
            trace = runs.traces["transfers"]
            name = quantity.removeprefix(TRANSFERS)
            if name in trace.columns:
                return counted(cast("Recorded", runs), trace).rename(columns={name: quantity})
        if quantity in OF_EVENTS and quantity in runs.traces:
            return counted(cast("Recorded", runs), runs.traces[quantity]).rename(columns={"value": quantity})
    frame = runs.flows if quantity in runs.flows.columns else runs.links
    # A parameter of the runs is in both tables.
    given = [column for column in (asked.x, asked.y, asked.hue) if column is not None]
    if not all(column in frame.columns for column in given) and all(
        column in runs.links.columns for column in given
    ):
        frame = runs.links
    if quantity not in frame.columns:
        role = role or {"cdf": "x", "heat": "hue"}.get(asked.of_kind, "y")
        raise unknown(role, quantity, runs)
    return frame


def selected(frame: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Return the rows of some names and values.

    Raises
    ------
    ScenarioError
        One is not there, or no row is left.
    """
    if asked.names is not None:
        wanted = [asked.names] if isinstance(asked.names, str) else list(asked.names)
        known = list(dict.fromkeys(frame["name"]))
        for name in wanted:
            if name not in known:
                raise refusal("names", name, ", ".join(map(str, known)), names=map(str, known))
        frame = frame[frame["name"].isin(wanted)]
    for column, value in (asked.where or {}).items():
        if column not in frame.columns:
            raise refusal(
                f"where.{column}", value, ", ".join(frame.columns), names=frame.columns, near=column
            )
        values = list(value) if isinstance(value, list | tuple | set) else [value]
        known = list(dict.fromkeys(frame[column]))
        for one in values:
            if one not in known:
                listed = [str(other) for other in known]
                raise refusal(f"where.{column}", str(one), ", ".join(listed), names=listed)
        frame = frame[frame[column].isin(values)]
    if frame.empty:
        raise refusal("runs", "no run", "at least one completed run", quoted=False)
    return frame


def matching(column: pd.Series[Any], value: Any) -> pd.Series[bool]:
    """Return where a column has a value; a missing one does not equal itself."""
    found: pd.Series[bool] = column.isna() if pd.isna(value) else column == value
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
    """What a figure is made from.

    Parameters
    ----------
    runs
        The runs.
    asked
        The arguments, with their defaults.
    frame
        The rows that count.
    column
        The quantity.
    largest
        The largest value of the quantity, if not that of the rows.
    """

    runs: ManyResults
    asked: Asked
    frame: pd.DataFrame
    column: str
    largest: float | None = None
    places: dict[str, Axis] = field(default_factory=dict)

    @cached_property
    def quantity(self) -> Quantity:
        """The quantity in the unit that is shown."""
        largest = float(self.frame[self.column].abs().max()) if self.largest is None else self.largest
        return quantity_of(self.column.removeprefix(TRANSFERS), largest)

    @property
    def label(self) -> str:
        """What the quantity is called."""
        return (self.asked.labels or {}).get(self.column, self.quantity.label)

    @cached_property
    def labels(self) -> dict[str, str]:
        """What the columns are called."""
        found = labels_of(self.asked.columns.values(), self.asked.labels)
        if "name" in found and "name" not in (self.asked.labels or {}):
            found["name"] = "link" if "utilization" in self.frame.columns else "flow"
        return found

    def axis(self, column: str) -> Axis:
        """Return the axis of a column."""
        if column not in self.places:
            found = axis_of(column, list(dict.fromkeys(self.frame[column])))
            given = self.asked.labels or {}
            named = {value: given.get(str(value), name) for value, name in found.names.items()}
            self.places[column] = Axis(
                unit=found.unit, places=found.places, names=named, is_numeric=found.is_numeric
            )
        return self.places[column]

    def check_labels(self) -> None:
        """Refuse labels of what is not in the figure."""
        known = ["note", self.column, *self.asked.columns.values()]
        for column in (self.asked.hue, self.asked.col, self.asked.row, self.asked.x):
            if column is not None and column != self.column and column in self.frame.columns:
                axis = axis_of(column, list(dict.fromkeys(self.frame[column])))
                known += [
                    str(value) for value in axis.places if not axis.is_numeric or column != self.asked.x
                ]
        for key in self.asked.labels or {}:
            if key not in known:
                raise refusal(
                    f"labels.{key}",
                    (self.asked.labels or {})[key],
                    f"a label of {', '.join(known)}",
                    names=known,
                    near=key,
                )

    def is_logarithmic(self, role: str, values: Sequence[float], *, is_numeric: bool = True) -> bool:
        """Return whether the axis of x or y is logarithmic: as asked for, or as suits the values of a sweep."""
        wanted = self.asked.logx if role == "x" else self.asked.logy
        if wanted is None:
            return role == "x" and is_numeric and is_even_in_logarithm(values)
        if wanted and not is_numeric:
            raise refusal(f"log{role}", "true", "an axis of numbers; these are categories", quoted=False)
        if wanted and min(values, default=1.0) <= 0.0:
            raise refusal(f"log{role}", "true", "an axis of values above 0", quoted=False)
        return bool(wanted)

    def facets(self) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the title and the rows of each panel, by rows.

        Raises
        ------
        ScenarioError
            There would be too many panels.
        """
        roles = [column for column in (self.asked.row, self.asked.col) if column is not None]
        axes = [self.axis(column) for column in roles]
        ordered = [axis.ordered if axis.is_numeric else list(axis.places) for axis in axes]
        count = 1
        for values in ordered:
            count *= len(values)
        if count > MOST_PANELS:
            accepted = f"at most {MOST_PANELS}; `where` chooses values"
            raise refusal("col", f"{count} panels", accepted, problem="are too many", quoted=False)
        for chosen in itertools.product(*ordered):
            part, titles = self.frame, []
            for column, axis, value in zip(roles, axes, chosen, strict=True):
                part = part[matching(part[column], value)]
                titles.append(self._title(column, axis, value))
            yield ", ".join(titles), part

    def _title(self, column: str, axis: Axis, value: Any) -> str:
        name = axis.names[value]
        return (
            f"{self.labels[column]} {name}" if axis.is_numeric or name in ("on", "off", "default") else name
        )

    def groups(self, frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield the label and the rows of each colour."""
        if self.asked.hue is None or self.asked.of_kind == "heat":
            yield self.label, frame
            return
        axis = self.axis(self.asked.hue)
        for value in axis.ordered if axis.is_numeric else axis.places:
            part = frame[matching(frame[self.asked.hue], value)]
            if not part.empty:
                yield axis.names[value], part

    @cached_property
    def looks(self) -> dict[str, str]:
        """The names that decide on colours: values as they are, whatever their label."""
        if self.asked.hue is None or self.asked.of_kind == "heat":
            return {}
        axis = self.axis(self.asked.hue)
        plain = axis_of(self.asked.hue, list(axis.places)).names
        return {axis.names[value]: plain[value] for value in axis.places}

    @property
    def legend_title(self) -> str:
        """What the names of the legend are, where they do not say it themselves."""
        if self.asked.hue in (None, "name") or self.asked.of_kind == "heat":
            return ""
        return self.labels[str(self.asked.hue)]

    @property
    def together(self) -> str:
        """The sentence of the note on flows that have no colours or panels of their own; empty if all have."""
        flows = hidden_names(self.asked, self.frame)
        if not flows:
            return ""
        more = len(flows) - MOST_NAMED
        named = ", ".join(flows[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        of = "Means over the flows" if self.asked.of_kind in MEANS else "The flows together:"
        return f" {of} {named}."

    def picture(self, panels: Sequence[Panel], note: str) -> Picture:
        """Return the picture of some panels."""
        given: Mapping[str, Any] = self.asked.labels or {}
        shown = [
            self.labels.get(c, c) for r, c in self.asked.columns.items() if r != "y" and c != self.column
        ]
        title = self.label + (f" by {', '.join(shown)}" if shown else "")
        columns = len(self.axis(self.asked.col).places) if self.asked.col is not None else 1
        return Picture(
            panels=panels,
            title=title,
            note=given.get("note", f"{note}{self.together}"),
            style=self.asked.style,
            columns=columns,
            is_shared=True,
            is_headed=False,
            legend_title=self.legend_title,
        )
