"""Aligned tables on standard output."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["Column", "console", "print_table"]

# A file or a pipe has no width; lines there are as long as they need to be.
UNBOUNDED_WIDTH = 1000


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    heading
        What stands over it; the unit is in its second line.
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
            return value
        return f"{value * self.scale:.{self.digits}f}"


class _Output(Console):
    def on_broken_pipe(self) -> None:
        # The reader of a pipe went away; the command line answers that in one place for all commands.
        raise BrokenPipeError from None


def console() -> Console:
    """Return the console of standard output: as wide as the terminal, or as the lines need in a file."""
    found = _Output(highlight=False)
    return found if found.is_terminal else _Output(highlight=False, width=UNBOUNDED_WIDTH)


def print_table(
    columns: Sequence[Column], records: Sequence[Mapping[str, Any]], *, title: str | None = None
) -> None:
    """Print records as a table: text to the left, numbers to the right."""
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False, padding=(0, 1))
    for column in columns:
        is_text = all(isinstance(record.get(column.key), str | None) for record in records)
        table.add_column(column.heading, justify="left" if is_text else "right", overflow="fold")
    for record in records:
        table.add_row(*(Text(column.text(record.get(column.key))) for column in columns))
    console().print(table)
