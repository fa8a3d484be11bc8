"""What varies between runs, as columns of frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dumbbell.parts import plain

if TYPE_CHECKING:
    import pyarrow as pa


TAGS = ("kind", "variant", "name")
"""Members that name a table, in this order."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A value of an axis with the label under which frames show it."""

    label: str
    value: Any


def shown(value: Any, address: str) -> Any:
    """Return a value as frames show it: by its label, and a table or a list as text.

    Parameters
    ----------
    value
        A value of a scenario, or a `Labelled` one.
    address
        Where it is, for errors.

    Examples
    --------
    >>> shown({"kind": "droptail", "limit": "10 packets"}, "queue")
    'droptail (limit = 10 packets)'
    >>> shown({"variant": "reno", "pacing": {"gain": 1.2}}, "tcp")
    'reno (pacing.gain = 1.2)'
    >>> shown({"external": {"name": "python:mine.Slow", "digest": "...", "parameters": {"gain": 0.5}}}, "tcp")
    'Slow (gain = 0.5)'
    >>> shown(Labelled("no pacing", {"pacing": None}), "tcp")
    'no pacing'
    """
    if value is None:
        return None
    if isinstance(value, Labelled):
        return value.label
    return _text(plain(value, address))


def _text(data: Any) -> Any:
    """Return a table or a list as text; other values are returned unchanged."""
    if isinstance(data, list):
        return f"[{', '.join(_word(_text(item)) for item in data)}]"
    if not isinstance(data, dict):
        return data
    members = dict(data)
    external = members.pop("external", None)
    if isinstance(external, dict) and isinstance(external.get("name"), str):
        # A control of the user's is known by its class or file; the digest of its code says nothing.
        head = external["name"].rpartition("/")[2].rpartition(":")[2]
        head = head.rpartition(".")[2] if external["name"].startswith("python:") else head
        members = {**external.get("parameters", {}), **members}
    else:
        tag = next((tag for tag in TAGS if isinstance(members.get(tag), str)), None)
        head = "" if tag is None else members.pop(tag)
    rest = ", ".join(f"{name} = {_word(item)}" for name, item in _flat(members, ""))
    return f"{head} ({rest})" if head and rest else head or rest


def _flat(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the members of a table; those of tables in it that have no name, by their path."""
    for name, value in table.items():
        address = f"{path}{name}"
        if isinstance(value, dict) and value and not any(isinstance(value.get(tag), str) for tag in TAGS):
            yield from _flat(value, f"{address}.")
        else:
            yield address, _text(value)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
