"""The typed parts of a scenario, made from the engine's schema when they are first used: see `dumbbell.scenario.declared`."""

from __future__ import annotations

from typing import Any

from dumbbell.scenario import declared

__all__ = declared.NAMES  # the names are known when the schema is


def __getattr__(name: str) -> Any:
    if name in declared.NAMES:
        return declared.class_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(declared.NAMES)
