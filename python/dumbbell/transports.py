"""The transports other than the engine's TCP that flows can have: stacks that somebody else wrote, in simulated time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dumbbell.engine import catalogue

CONGESTION = "congestion"
"""The parameter of every transport that names its congestion control."""


@cache
def parameters() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the parameters of each transport."""
    return {
        entry["name"]: tuple(parameter["name"] for parameter in entry["parameters"])
        for entry in catalogue()["transports"]
    }
