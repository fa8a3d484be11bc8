"""Whether two sides draw the same random numbers, so that their runs can be compared in pairs.

Each node, link and flow draws from streams of its own, seeded by the seed, the run and its name. Runs with the same seed and
number are a pair if what both sides draw for is stated alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.scenario import Scenario

DRAWING_QUEUES = ("red", "pie", "fqpie", "dualpi2", "cobalt")
"""Queues that draw for each packet."""

OTHER_QUEUES = ("droptail", "policer", "codel", "tokenbucket", "fqcodel", "drr", "sfq", "fq")
"""Queues that draw nothing, or once, before any packet, a number that does not depend on their parameters."""

FIXED_SOURCES = ("greedy", "transfer", "frames", "ping", "media")
"""Sources that draw nothing."""


def conflict(a: Scenario, b: Scenario) -> str:
    """Return the first random element that both scenarios have and state differently; an empty text if there is none."""
    ours, theirs = (dict(_elements(json.loads(one.canonical_json))) for one in (a, b))
    return next((name for name, stated in ours.items() if name in theirs and stated != theirs[name]), "")


def _elements(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what draws random numbers, by its address, and how it is stated."""
    for node in data["nodes"]:
        if node.get("tick_phase") == "random":
            yield f"nodes.{node['name']}.tick_phase", "random"
    for link in data["links"]:
        name = f"links.{link['name']}"
        if link["impairments"]:
            yield f"{name}.impairments", link["impairments"]
        if link["queue"]["kind"] not in OTHER_QUEUES:
            yield f"{name}.queue", link["queue"]
        for field in ("trace", "wifi"):
            if link.get(field):
                yield f"{name}.{field}", link[field]
    for flow in data["flows"]:
        name = f"flows.{flow['name']}"
        if isinstance(flow.get("start"), Mapping):
            yield f"{name}.start", flow["start"]
        source = flow.get("source") or {}
        if source.get("kind") not in FIXED_SOURCES:
            yield f"{name}.source", source
