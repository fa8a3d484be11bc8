"""The stub of `dumbbell.scenario.builders`: the same classes as text, for type checkers and editors.

``python -m dumbbell.scenario.stub`` writes it beside the module.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from dumbbell.files import write_text
from dumbbell.scenario import builders, declared

HEADER = '''"""Made by `dumbbell.scenario.stub` from the schema of the engine; see `dumbbell.scenario.builders`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.parts import Data, External, Part
from dumbbell.transports import Transport
'''

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}

ALSO = {
    ("Flow", "tcp"): ("Congestion", "External", "Transport"),
    ("Flow", "transport"): ("Transport",),
    ("Tcp", "external"): ("External",),
}
"""What else a field accepts, by its class and its name."""


def text() -> str:
    """Return the stub."""
    families = [_class(name, "Part", found.about, []) for name, found in declared.FAMILIES.items()]
    parts = [_part(name) for name in (*declared.PARTS, *declared.kinds())]
    names = f"__all__ = {json.dumps(sorted(declared.names()), indent=4)}\n"
    return "\n".join([HEADER, names, *families, *parts])


def _part(name: str) -> str:
    place, members = declared.place_of(name), declared.members_of(name)
    fields = []
    for member in members:
        kinds = _kinds(member.schema, f"{place}.{member.name}")
        stated = [
            kind for kind in dict.fromkeys([*kinds, *ALSO.get((name, member.name), ())]) if kind != "None"
        ]
        either = " | ".join(stated) if member.required else f"{' | '.join(stated)} | None = ..."
        fields.append(f"{member.attribute}: {either}")
    decorator = "@dataclass(frozen=True, kw_only=True)\n"
    return decorator + _class(name, declared.base_of(name), declared.documentation(name), fields)


def _class(name: str, base: str, about: str, fields: list[str]) -> str:
    quotes = '"""'
    lines = f"{quotes}{inspect.cleandoc(about)}\n{quotes}" if "\n" in about else f"{quotes}{about}{quotes}"
    return f"class {name}({base}):\n{indent(chr(10).join([lines, '', *fields]).rstrip(), '    ')}\n"


def _kinds(node: Mapping[str, Any], place: str) -> list[str]:
    """Return the types of the values that a node of the schema accepts."""
    if "anyOf" in node:
        return list(dict.fromkeys(kind for inner in node["anyOf"] for kind in _kinds(inner, place)))
    if node.get("type") == "array":
        return [f"Sequence[{' | '.join(_kinds(node['items'], place))}]"]
    if node.get("type") == "object":
        name = declared.class_at(place)
        return [name, "Data"] if name is not None else ["Mapping[str, Any]"]
    if node.get("type") == "null":
        return ["None"]
    return [SCALARS[node["type"]]]


if __name__ == "__main__":
    write_text(Path(builders.__file__).with_suffix(".pyi"), text())
