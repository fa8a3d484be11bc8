"""Print the dictionary of the fuzz target of scenarios: names of fields and choices from the schema, units, and TOML's tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import dumbbell

UNITS = (
    *("B", "B/s", "bit/s", "bytes", "Gbit/s", "kB", "kB/s", "kbit/s", "KiB", "KiB/s", "MB", "Mbit/s", "MiB"),
    *("h", "min", "ms", "ns", "packets", "s", "segments", "us"),
)
SYNTAX = (
    "*",
    "0",
    "1e18",
    "9e18",
    "[[flows]]",
    "[[links]]",
    "[[probes]]",
    "[flows.tcp]",
    "false",
    "null",
    "true",
    "unlimited",
)


def names(schema: Any) -> Iterator[str]:
    """Yield the names of fields and choices in a part of the schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield from schema["properties"]
        choices = [schema.get("const"), *(schema.get("enum") or ())]
        yield from (choice for choice in choices if isinstance(choice, str))
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from names(part)


def dictionary() -> list[str]:
    """Return the words as lines of a dictionary of libFuzzer."""
    words = {*names(dumbbell.schema()), *SYNTAX, *(f" {unit}" for unit in UNITS)}
    # JSON escapes quotation marks and backslashes as libFuzzer does.
    return [json.dumps(word) for word in sorted(words)]


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in dictionary())
