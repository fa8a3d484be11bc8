"""Tables of agreement for reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd

from dumbbell.judge.pairs import within
from dumbbell.report import Cell, Column, Table

NOTHING = "–"


def peer_title(table: pd.DataFrame) -> str:
    """Return the title of the peer in a table of results, or in one derived from it."""
    return str(table.attrs.get("peer", "peer"))


def comparison_table(
    table: pd.DataFrame,
    *,
    caption: str,
    factors: Sequence[str],
    quantity: str,
    scale: float = 1.0,
    digits: int = 2,
    bound: float | None = None,
    note: str = "",
) -> Table:
    """Return the table of values on both sides, with the ratio or the difference of each point.

    Parameters
    ----------
    table
        From `ratios` or `differences`.
    caption
        What the table shows.
    factors
        Columns of `table` that name a point.
    quantity
        The quantity with its unit, as ``"goodput [Mbit/s]"``.
    scale
        Factor from the unit of the table to the one shown.
    digits
        Decimals shown of the quantity.
    bound
        The largest distance of the ratio from 1, or of the difference from 0 (in the unit of the table), that counts as
        agreement; a point beyond it is marked.
    note
        A remark under the table.
    """
    kind = "ratio" if "ratio" in table.columns else "difference"
    inside = [True] * len(table) if bound is None else within(table, bound, kind).tolist()
    factor, decimals = (1.0, 3) if kind == "ratio" else (scale, digits)
    rows: list[list[Cell | str]] = [
        [
            *(shown(row[name]) for name in factors),
            *(_number(row[side] * scale, digits) for side in ("ours", "peer")),
            _compared(row, kind, factor, decimals, agrees=agrees),
            str(row["n"]),
        ]
        for (_, row), agrees in zip(table.iterrows(), inside, strict=True)
    ]
    return Table(
        caption=caption,
        groups=[("", len(factors)), (quantity, 2), ("", 2)],
        columns=[
            *(Column(title=name, align="left") for name in factors),
            *Column.numbers("Dumbbell", peer_title(table), kind, "n"),
        ],
        rows=rows,
        note=note,
    )


def _compared(row: pd.Series[Any], kind: str, factor: float, digits: int, *, agrees: bool) -> Cell:
    """Return the cell of a ratio or difference with its interval."""
    low, high = row["low"] * factor, row["high"] * factor
    interval = f"{low:.{digits}f} to {high:.{digits}f}" if math.isfinite(low) and math.isfinite(high) else ""
    return Cell(text=_number(row[kind] * factor, digits), detail=interval, tone="" if agrees else "bad")


def points_table(points: pd.DataFrame, *, caption: str, note: str = "") -> Table:
    """Return a table of points with all their columns except ``agrees``.

    Parameters
    ----------
    points
        Some rows of `Agreement.points`.
    caption
        What the table shows.
    note
        A remark under the table.
    """
    names = [str(name) for name in points.columns if name not in ("agrees", "explanation")]
    texts = [pd.api.types.is_numeric_dtype(points[name].dtype) for name in names]
    columns = [
        Column(title=name.replace("_", " "), align="right" if is_number else "left")
        for name, is_number in zip(names, texts, strict=True)
    ]
    rows: list[list[Cell | str]] = []
    for _, row in points.iterrows():
        why = str(row.get("explanation", "") or "")
        rows.append([*(shown(row[name]) for name in names), why or Cell(text="no known reason", tone="bad")])
    return Table(
        caption=caption, columns=[*columns, Column(title="traced to", align="left")], rows=rows, note=note
    )


def shown(value: Any) -> str:
    """Return a value as shown in a table: numbers with four digits, missing values as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _number(value: float, digits: int) -> str:
    return NOTHING if math.isnan(value) else f"{value:.{digits}f}"
