"""Finding and importing the contents of the folder of peers: drivers, grids, and shared modules."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import dumbbell
from dumbbell.errors import refusal
from dumbbell.papers.paper import where

__all__ = ["PACKAGE", "folder", "imported"]

FOLDER_VARIABLE = "DUMBBELL_PEERS"

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
    stated = path or os.environ.get(FOLDER_VARIABLE)
    place = Path(stated) if stated else Path(dumbbell.__file__).resolve().parents[2] / "peers"
    if not place.is_dir():
        raise refusal(
            "peers",
            str(place),
            f"the peers/ folder of a checkout, given by --peers or by the environment variable {FOLDER_VARIABLE}",
            problem="is not a folder",
        )
    return place.resolve()


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
        _forget()
        root = ModuleType(PACKAGE)
        root.__path__ = [str(place)]
        sys.modules[PACKAGE] = root
    # Files may have appeared since the folder was last looked at.
    importlib.invalidate_caches()
    try:
        return importlib.import_module(f"{PACKAGE}.{name}")
    except Exception as error:
        _forget()
        raise refusal(
            "peers", name, "a module that can be imported", problem=f"cannot be loaded: {where(error, place)}"
        ) from error


def _forget() -> None:
    """Remove everything imported from a folder of peers from the interpreter."""
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
