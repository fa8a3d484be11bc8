"""Aligned tables on standard output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from dumbbell.printable import printable

# Tables in a file or a pipe are read by programs; their lines are as long as they need to be.
UNBOUNDED_WIDTH = 1000

# From this value on, a column is shown in larger units.
LARGE = 10_000.0


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    heading
        Title of the column; the unit is in its second line.
    key
        The field of the records it shows.
    scale
        Factor from the field's unit to the heading's.
    digits
        Decimals shown of a number; whole numbers have none.
    """

    heading: str
    key: str
    scale: float = 1.0
    digits: int = 0

    def text(self, value: Any) -> str:
        """Return a value as the table shows it; what is missing is a dash."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "–"
        if isinstance(value, str):
            return printable(value).replace("\n", "\\n")
        return f"{value * self.scale:.{self.digits}f}"


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # The pipe was closed; the command line handles this in one place for all commands.
        raise BrokenPipeError from None


def console(*, reader: bool = False) -> Console:
    """Return the console of standard output: as wide as the terminal, or as the lines need in a file.

    Parameters
    ----------
    reader
        Whether what is in a pipe is read by a person, in a pager: it is as wide as the terminal then, or 80 columns.
    """
    found = _Output(highlight=False)
    return found if found.is_terminal or reader else _Output(highlight=False, width=UNBOUNDED_WIDTH)


def print_table(columns: Sequence[Column], records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as a table, text to the left and numbers to the right.

    A table of text folds its cells to fit a terminal. A number is never folded: a terminal too narrow for a
    table of numbers gets each record as a list.
    """
    is_text = [
        all(isinstance(record.get(column.key), str | None) for record in records) for column in columns
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column, is_left in zip(columns, is_text, strict=True):
        table.add_column(
            Text(printable(column.heading)), justify="left" if is_left else "right", overflow="fold"
        )
    for record in records:
        table.add_row(*(Text(column.text(record.get(column.key))) for column in columns))
    out = console()
    unbounded = out.options.update(width=UNBOUNDED_WIDTH)
    if all(is_text) or Measurement.get(out, unbounded, table).maximum <= out.width:
        out.print(table)
    else:
        _print_lists(out, columns, records)


def _print_lists(out: Console, columns: Sequence[Column], records: Sequence[Mapping[str, Any]]) -> None:
    head, *rest = columns
    for record in records:
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_row(Text(in_one_line(head.heading)), Text(head.text(record.get(head.key)), overflow="fold"))
        for column in rest:
            grid.add_row(Text(f"  {in_one_line(column.heading)}"), Text(column.text(record.get(column.key))))
        out.print(grid)
    out.print()


def in_large_units(column: Column, records: Sequence[Mapping[str, Any]]) -> Column:
    """Return a column of kbit/s or kB in units of a thousand times that if its values are so large."""
    for small, large in (("kbit/s", "Mbit/s"), ("kB", "MB")):
        values = [record.get(column.key) for record in records]
        largest = max((abs(value) for value in values if isinstance(value, int | float)), default=0.0)
        if column.heading.endswith(f"\n{small}") and largest * column.scale >= LARGE:
            heading = column.heading.replace(small, large)
            return replace(column, heading=heading, scale=column.scale * 1e-3, digits=3)
    return column


def in_one_line(heading: str) -> str:
    """Return a heading without its line feeds and hyphens."""
    return printable(heading).replace("-\n", "").replace("\n", " ").strip()
