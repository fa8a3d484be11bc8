"""Where two tables differ, compared by their bits: NaN equals NaN, and a negative zero is not zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NAMED = 5
"""Columns of one table that are named; more are counted."""

# Columns that tell a reader which row it is.
NAMING = ("job", "seed", "run", "name", "time_s")


def differences(
    ours: Mapping[str, pa.Table], theirs: Mapping[str, pa.Table], sides: tuple[str, str]
) -> list[str]:
    """Return where two sets of tables differ, a sentence for each column; nothing if all bits are equal.

    Parameters
    ----------
    ours, theirs
        Tables by name.
    sides
        What the sides are called, such as ``("in the bundle", "here")``.
    """
    found: list[str] = []
    for name in dict.fromkeys([*ours, *theirs]):
        if name not in ours or name not in theirs:
            found.append(f"{name}: the table is only {sides[0] if name in ours else sides[1]}")
        else:
            found += [f"{name}: {text}" for text in _of_table(ours[name], theirs[name], sides)]
    return found


def _of_table(ours: pa.Table, theirs: pa.Table, sides: tuple[str, str]) -> list[str]:
    if ours.column_names != theirs.column_names:
        names = [set(ours.column_names), set(theirs.column_names)]
        alone = [", ".join(sorted(names[k] - names[1 - k])) or "none" for k in (0, 1)]
        return [f"columns only {sides[0]}: {alone[0]}; only {sides[1]}: {alone[1]}"]
    if ours.num_rows != theirs.num_rows:
        return [f"{ours.num_rows} rows {sides[0]}, {theirs.num_rows} {sides[1]}"]
    found = [text for column in ours.column_names if (text := _of_column(ours, theirs, column, sides))]
    more = [f"{len(found) - MOST_NAMED} more columns differ"] if len(found) > MOST_NAMED else []
    return found[:MOST_NAMED] + more


def _of_column(ours: pa.Table, theirs: pa.Table, column: str, sides: tuple[str, str]) -> str:
    """Return what the first differing cell of a column holds on both sides; an empty text if there is none."""
    import numpy as np

    first, second = ours.schema.field(column).type, theirs.schema.field(column).type
    if first != second:
        return f"{column} is {first} {sides[0]}, {second} {sides[1]}"
    differ = np.flatnonzero(_unequal(ours[column], theirs[column]))
    if not differ.size:
        return ""
    place = int(differ[0])
    row = ", ".join(
        f"{name} {ours[name][place].as_py()}"
        for name in NAMING
        if name in ours.column_names and name != column
    )
    values = [repr(table[column][place].as_py()) for table in (ours, theirs)]
    count = f" ({differ.size} rows differ)" if differ.size > 1 else ""
    return f"{column} in row {place} ({row}) is {values[0]} {sides[0]}, {values[1]} {sides[1]}{count}"


def _unequal(ours: pa.ChunkedArray, theirs: pa.ChunkedArray) -> Any:
    """Return for each cell whether its bits differ; what is missing is equal to nothing else."""
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_floating(ours.type):
        return np.array(ours.to_pylist(), dtype=object) != np.array(theirs.to_pylist(), dtype=object)
    bits = np.dtype(f"u{ours.type.bit_width // 8}")
    first, second = (side.fill_null(0.0).to_numpy().view(bits) for side in (ours, theirs))
    return (first != second) | (ours.is_null().to_numpy() != theirs.is_null().to_numpy())
