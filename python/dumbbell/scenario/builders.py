"""The typed parts of a scenario, made from the engine's schema when they are first used: see `dumbbell.scenario.declared`."""

from __future__ import annotations

from typing import Any

from dumbbell.scenario import declared


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if not name.startswith("_") and name in declared.names():
        return declared.class_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(declared.names())
