"""What changed between two scenarios: each field of the canonical form, by its address."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dumbbell.scenario import Scenario

ABSENT = "–"
"""Shown where a side does not have a field."""

LONGEST = 80
"""A longer value is cut where it is shown."""


class Change(NamedTuple):
    """A field that differs, with its value on both sides as text."""

    field: str
    a: str
    b: str


def changes(a: Scenario, b: Scenario) -> list[Change]:
    """Return the fields of two scenarios that differ, in the order of the canonical form.

    A node, link or flow that only one of them has is one change.

    Examples
    --------
    >>> from dumbbell import Flow, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1 Mbit/s", delay="20 ms")
    >>> base = shape.scenario(duration="5 s", flows=[Flow(name="f", from_="s1", to="d1", tcp="reno")])
    >>> changes(base, base.with_values({"links.r1-r2.delay": "30 ms"}))
    [Change(field='links.r1-r2.delay', a='20 ms', b='30 ms')]
    """
    if a.canonical_json == b.canonical_json:
        return []
    return list(_changed(json.loads(a.canonical_json), json.loads(b.canonical_json), ""))


_NOTHING = object()


def _changed(a: Any, b: Any, path: str) -> Iterator[Change]:
    if a == b and type(a) is type(b):
        return
    first, second = _fields(a), _fields(b)
    if first is None or second is None:
        yield Change(path, _shown(a), _shown(b))
        return
    for name in dict.fromkeys([*first, *second]):
        inner = f"{path}.{name}" if path else name
        yield from _changed(first.get(name, _NOTHING), second.get(name, _NOTHING), inner)


def _fields(value: Any) -> Mapping[str, Any] | None:
    """Return a table, or a list of tables, by the names of its parts; ``None`` for any other value."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        names = [str(item.get("name", number)) for number, item in enumerate(value)]
        if len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
    return None


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return ABSENT
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"
