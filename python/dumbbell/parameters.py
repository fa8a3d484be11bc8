"""What varies between runs, as columns of frames."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.parts import plain

if TYPE_CHECKING:
    import pyarrow as pa


def shown(value: Any, address: str) -> Any:
    """Return a value as frames show it: a table or a list is JSON text."""
    if value is None:
        return None
    data = plain(value, address)
    return json.dumps(data, ensure_ascii=False) if isinstance(data, dict | list) else data


def column(values: Sequence[Any]) -> pa.Array:
    """Return the values of a parameter as an Arrow column; those of several types are text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        values = [
            value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False)
            for value in values
        ]
    elif kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, type=pa.string() if not kinds else None)


def columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, pa.Array]:
    """Return the parameters of some runs as Arrow columns by name; one that a run does not have is missing there."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: column([row.get(name) for row in rows]) for name in names}
