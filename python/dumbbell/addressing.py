"""Addresses inside a scenario's plain data: ``flows.fg.tcp.mechanisms.A``.

An address is a path of fields joined by dots. Items of a list are addressed by their name, by their index
from 0, or all at once by ``*``. Names may contain dots themselves: the longest matching name is used.
"""

from __future__ import annotations

import copy
from typing import Any

from dumbbell.errors import refusal

MECHANISMS = "ABCDEFGHIJ"

# The longest address of a scenario, with names that contain dots, has fewer.
MOST_STEPS = 64

# Short forms of fields: the field of the table that the text represents.
_SHORT_FORMS = {
    "nodes": "name",
    "tcp": "variant",
    "transport": "name",
    "congestion": "name",
    "queue": "kind",
    "source": "kind",
    "timer": "kind",
    "impairments": "kind",
}


def set_value(data: dict[str, Any], address: str, value: Any, resolved: Any = None) -> None:
    """Set the value at `address` in place.

    Parameters
    ----------
    data
        Plain data of a scenario.
    address
        Where.
    value
        Plain data, or ``None`` to remove the field.
    resolved
        The same scenario with every default stated. A table on the path that `data` does not contain is copied from
        here, so that setting one of its fields keeps the others.

    Raises
    ------
    ScenarioError
        A step of the address is not there.
    """
    _set(data, _steps(address), value, resolved, "")


def value_at(data: Any, address: str) -> Any:
    """Return the value at `address`; with ``*`` in it, the list of the values.

    Raises
    ------
    ScenarioError
        A step of the address is not there.
    """
    return _value_at(data, _steps(address), "")


def _steps(address: str) -> list[str]:
    steps = address.split(".")
    if len(steps) > MOST_STEPS:
        raise refusal("address", address, f"at most {MOST_STEPS} steps")
    return steps


def _set(data: Any, steps: list[str], value: Any, resolved: Any, path: str) -> None:
    if isinstance(data, list):
        indices, rest = _items(data, steps, path)
        for index in indices:
            item_path = _join(path, _label(data[index], index))
            if not rest:
                data[index] = value
                continue
            field = path.rpartition(".")[2]
            data[index] = _written_out(data[index], field, item_path, _inner(resolved, index))
            _set(data[index], rest, value, _inner(resolved, index), item_path)
        return
    step, rest = steps[0], steps[1:]
    if not step:
        raise refusal(path or "address", ".".join(steps), "a path of fields joined by dots")
    if not rest:
        if value is None:
            data.pop(step, None)
        else:
            data[step] = value
        return
    inner = _inner(resolved, step)
    if step not in data:
        # A default that is a table is stated in full before one of its fields is changed.
        data[step] = copy.deepcopy(inner) if isinstance(inner, dict | list | str) else {}
    data[step] = _written_out(data[step], step, _join(path, step), inner)
    _set(data[step], rest, value, inner, _join(path, step))


def _value_at(data: Any, steps: list[str], path: str) -> Any:
    if not steps:
        return data
    if isinstance(data, list):
        indices, rest = _items(data, steps, path)
        found = [_value_at(data[index], rest, _join(path, _label(data[index], index))) for index in indices]
        return found if steps[0] == "*" else found[0]
    if not isinstance(data, dict):
        raise refusal(path, data, "a value without fields", problem=f'has no field "{steps[0]}"')
    if steps[0] not in data:
        raise refusal(
            path or "scenario", steps[0], ", ".join(data), names=data, problem="is not a field here"
        )
    return _value_at(data[steps[0]], steps[1:], _join(path, steps[0]))


def _items(items: list[Any], steps: list[str], path: str) -> tuple[list[int], list[str]]:
    """Return the indices of the items the first steps address, and the steps left."""
    if steps[0] == "*":
        return list(range(len(items))), steps[1:]
    names = [_name(item) for item in items]
    for length in range(len(steps), 0, -1):
        name = ".".join(steps[:length])
        if name in names:
            return [names.index(name)], steps[length:]
    if steps[0].isdecimal() and int(steps[0]) < len(items):
        return [int(steps[0])], steps[1:]
    known = [name for name in names if name is not None]
    accepted = ", ".join(known) if known else f"an index below {len(items)}"
    raise refusal(path, steps[0], f"{accepted} or *", names=known, problem="is not an item here")


def _written_out(value: Any, field: str, path: str, resolved: Any) -> Any:
    """Return the table for a short form; tables and lists are returned unchanged."""
    if isinstance(value, dict | list):
        return value
    if isinstance(value, str):
        if field == "mechanisms":
            return {letter: letter in value for letter in MECHANISMS}
        if field in _SHORT_FORMS:
            return {_SHORT_FORMS[field]: value}
    if isinstance(resolved, dict):
        return copy.deepcopy(resolved)
    raise refusal(path, value, "a value, not a path into it", problem="has no fields")


def _inner(resolved: Any, step: str | int) -> Any:
    if isinstance(resolved, dict) and isinstance(step, str):
        return resolved.get(step)
    if isinstance(resolved, list) and isinstance(step, int) and step < len(resolved):
        return resolved[step]
    return None


def _name(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    if isinstance(item, dict):
        name = item.get("name")
        return name if isinstance(name, str) else None
    return None


def _label(item: Any, index: int) -> str:
    return _name(item) or str(index)


def _join(path: str, step: str) -> str:
    return f"{path}.{step}" if path else step
