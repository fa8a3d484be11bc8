"""Catalogue, schema and version of the engine."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

from dumbbell import _engine


def version() -> str:
    """Return the engine's version, which every stored result names."""
    return _engine.version()


@cache
def identity() -> str:
    """Return the identity of the engine: its version and a digest of everything that determines its results.

    That is its sources, the compiler and the profile it was built with, so that two checkouts of one state share their
    stores.
    """
    return f"{_engine.version()}-{_engine.digest()}"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario, as ``dumbbell schema`` prints it."""
    return cast(dict[str, Any], json.loads(_engine.schema()))


def catalogue() -> dict[str, list[Any]]:
    """Return everything that scenarios can name, by kind (``"algorithms"``, …), as ``dumbbell list`` prints it.

    The entries of a registry have a ``name``, a ``summary`` and their ``parameters``, each with ``name``,
    ``description``, ``default``, ``unit``, ``accepted`` and ``source``. ``"tcp"`` is the list of a
    connection's parameters itself; ``"variants"`` are names with what they stand for in each environment.
    """
    return cast(dict[str, list[Any]], json.loads(_catalogue()))


@cache
def _catalogue() -> str:
    """Return what the engine tells only once: it takes as long as a short run."""
    return _engine.catalogue()
