"""Two connections of captures beside each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell import _engine
from dumbbell.arguments import file_path
from dumbbell.files import make_folder, plain, write_json, write_text
from dumbbell.inspection.overlaid import overlay
from dumbbell.inspection.shown import Shown
from dumbbell.plots import to_svg
from dumbbell.plots.picture import Picture
from dumbbell.report import Column, Figure, Section, Table, Text, render_page
from dumbbell.report.numbers import fixed, number

if TYPE_CHECKING:
    import pandas as pd

PAGE, DATA = "index.html", "comparison.json"

ONE_EACH = "One connection each: a difference is no effect of anything unless it repeats over several."

# What a connection is, not what it did.
NOT_MEASURED = {"connection", "interface", "start_s", "window_scale", "receive_window_limited"}

# Units of tables, with their factors.
SHOWN = {"s": ("ms", 1e3), "bit/s": ("Mbit/s", 1e-6), "bytes": ("kB", 1e-3), "-": ("%", 100.0)}


class Difference(NamedTuple):
    """A column of both connections.

    Parameters
    ----------
    quantity, unit
        Name and unit of the column, see `dumbbell.Inspection.connections`.
    a, b
        Its values; ``None`` is missing.
    """

    quantity: str
    unit: str
    a: float | None
    b: float | None

    @property
    def difference(self) -> float | None:
        """B minus A; ``None`` if one is missing."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The quantity with the unit it is shown in, A, B, and B minus A."""
        unit, factor = SHOWN.get(self.unit, (self.unit, 1.0))
        is_count = self.unit not in SHOWN
        values = [None if one is None else one * factor for one in (self.a, self.b, self.difference)]
        a, b, difference = (
            "–" if one is None else fixed(one, 0) if is_count else number(one, digits=4) for one in values
        )
        name = self.quantity.removesuffix("_bps").removesuffix("_s").removesuffix("_bytes").replace("_", " ")
        return f"{name} [{unit}]", a, b, difference


@dataclass(frozen=True, kw_only=True, eq=False)
class CapturedComparison:
    """Two connections of captures, one column of `dumbbell.Inspection.connections` after the other.

    Parameters
    ----------
    a, b
        The connections.
    """

    a: Shown
    b: Shown

    @property
    def names(self) -> tuple[str, str]:
        """What A and B are: the file, the number of the connection, and its ends."""
        return _name(self.a), _name(self.b)

    @cached_property
    def rows(self) -> tuple[Difference, ...]:
        """What was measured of a connection, without what is zero or missing in both."""
        found = []
        for name, unit, _ in _engine.inspect_columns():
            a, b = _measured(self.a.row, name), _measured(self.b.row, name)
            if name not in NOT_MEASURED and (a or b):
                found.append(Difference(name, unit, a, b))
        return tuple(found)

    @property
    def table(self) -> pd.DataFrame:
        """One row per quantity: ``quantity``, ``unit``, ``a``, ``b``, ``difference`` (B minus A)."""
        import pandas as pd

        rows = [(*row, row.difference) for row in self.rows]
        return pd.DataFrame(rows, columns=["quantity", "unit", "a", "b", "difference"])

    @cached_property
    def picture(self) -> Picture:
        """Data in flight, round-trip times, goodput and retransmissions of both, each from its first data on."""
        return overlay({"A": self.a, "B": self.b}, title="A: {}   B: {}".format(*self.names))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain data; ``None`` is missing."""
        sides = {side: {"name": name, "sentence": one.sentence}
                 for side, name, one in zip("ab", self.names, (self.a, self.b), strict=True)}  # fmt: skip
        found: dict[str, Any] = plain(sides | {"note": ONE_EACH, "results": self.table.to_dict("records")})
        return found

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write a page, ``index.html``, and its data, ``comparison.json``, to a folder; return the page.

        Raises
        ------
        ResultsError
            A file could not be written.
        """
        place = file_path("folder", folder, "the name of a folder")
        text = _page(self)
        make_folder(place)
        write_json(place / DATA, self.to_dict())
        write_text(place / PAGE, text)
        return place / PAGE

    def __str__(self) -> str:
        head = [f"{side}: {name}" for side, name in zip("AB", self.names, strict=True)]
        rows = [("quantity", "A", "B", "B − A"), *(row.texts for row in self.rows)]
        widths = [max(len(row[place]) for row in rows) for place in range(4)]
        cells = [[row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
                 for row in rows]  # fmt: skip
        return "\n".join([*head, *("  ".join(row) for row in cells), ONE_EACH])

    def __repr__(self) -> str:
        return "CapturedComparison({!r}, {!r})".format(*self.names)


def _name(one: Shown) -> str:
    return f"{one.path.name}, connection {one.number}: {one.name}"


def _measured(row: Mapping[str, Any], name: str) -> float | None:
    value = row[name]
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _page(found: CapturedComparison) -> str:
    columns = [*Column.words("quantity"), *Column.numbers("A", "B", "B − A")]
    told = [f"{side}: {one.sentence}" for side, one in zip("AB", (found.a, found.b), strict=True)]
    return render_page(
        title="Two connections",
        subtitle="A: {}; B: {}".format(*found.names),
        facts=[],
        sections=[
            Section(anchor="limits", title="What limited them", blocks=[Text(paragraphs=told)]),
            Section(anchor="curves", title="Over time", blocks=[
                Figure(svg=to_svg(found.picture.figure), caption="Times are those since the first data of each."),
            ]),
            Section(anchor="results", title="Results", blocks=[
                Table(caption="", columns=columns, rows=[list(row.texts) for row in found.rows]),
                Text(paragraphs=[ONE_EACH]),
            ]),
        ],
    )  # fmt: skip
