"""What the engine says about itself."""

from __future__ import annotations

import json
from typing import Any, cast

from dumbbell import _engine

__all__ = ["catalogue", "schema", "table3", "version"]


def version() -> str:
    """Return the engine's version, which every stored result names."""
    return _engine.version()


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario, as ``dumbbell schema`` prints it."""
    return cast(dict[str, Any], json.loads(_engine.schema()))


def catalogue() -> dict[str, list[Any]]:
    """Return what the engine knows, by kind (``"algorithms"``, …), as ``dumbbell list`` prints it.

    The entries of a registry have a ``name``, a ``summary`` and their ``parameters``, each with ``name``,
    ``description``, ``default``, ``unit``, ``accepted`` and ``source``. ``"tcp"`` is the list of a
    connection's parameters itself, ``"variants"`` a list of names.
    """
    return cast(dict[str, list[Any]], json.loads(_engine.catalogue()))


def table3(*, corrected: bool) -> list[dict[str, Any]]:
    """Return the engine's Vegas replaying the events of [hengartner2000 table 3].

    Parameters
    ----------
    corrected
        Whether the three corrections are on.

    Returns
    -------
    list of dict
        One row per event: ``event``, the two rates' numerators ``eq3`` and ``eq4`` where they are computed,
        and the state after it, ``beg_seq``, ``snd_nxt``, ``snd_una``, in segments.
    """
    return _engine.table3(corrected)
