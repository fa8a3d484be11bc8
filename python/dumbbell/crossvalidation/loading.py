"""Finding and importing the contents of the folder of peers: drivers, grids, and shared modules."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from dumbbell.checkout import folder_of, forget, where
from dumbbell.errors import refusal

PACKAGE = "dumbbell_peers"
"""Name under which the folder is imported, so that its modules may import each other relatively."""


def folder(path: str | Path | None = None) -> Path:
    """Return the folder that holds the peers and the grids.

    Parameters
    ----------
    path
        The folder, if it is known. Otherwise the environment variable ``DUMBBELL_PEERS`` names it, and without one it is
        ``peers/`` of the checkout the package runs from.

    Raises
    ------
    ScenarioError
        There is no such folder.
    """
    return folder_of("peers", path).resolve()


def imported(name: str, place: Path) -> ModuleType:
    """Return a module of the folder; a failure leaves nothing of the folder behind.

    Parameters
    ----------
    name
        Its name inside the folder, as ``"ns2"`` or ``"grids.single_flows"``.
    place
        The folder, from `folder`.

    Raises
    ------
    ScenarioError
        The module cannot be imported.
    """
    root = sys.modules.get(PACKAGE)
    if root is None or list(root.__path__) != [str(place)]:
        forget(PACKAGE)
        root = ModuleType(PACKAGE)
        root.__path__ = [str(place)]
        sys.modules[PACKAGE] = root
    # Files may have appeared since the folder was last looked at.
    importlib.invalidate_caches()
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except Exception as error:
        forget(PACKAGE)
        raise refusal(
            "peers", name, "a module that can be imported", problem=f"cannot be loaded: {where(error, place)}"
        ) from error
