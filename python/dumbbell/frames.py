"""Data frames of Arrow tables, and their rows by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def arrow(columns: Any) -> pa.Table:
    """Return columns of the engine as a table of the same memory; a table is returned as it is."""
    import pyarrow as pa

    if isinstance(columns, pa.Table):
        return columns
    # `pyarrow.table` would import pandas.
    return pa.Table.from_batches([pa.record_batch(columns)])


def frame(table: pa.Table) -> pd.DataFrame:
    """Return a table as a data frame of the same memory."""
    # One block per column: pandas then takes the Arrow buffers as they are instead of copying them side by
    # side.
    made: pd.DataFrame = table.to_pandas(split_blocks=True)
    return made


def row(table: pd.DataFrame, name: str, kind: str) -> pd.Series[Any]:
    """Return the row with this name."""
    rows = table[[known == name for known in table["name"]]]
    if rows.empty:
        raise KeyError(f'no {kind} is named "{name}"; there are: {", ".join(table["name"])}')
    return rows.iloc[0]
