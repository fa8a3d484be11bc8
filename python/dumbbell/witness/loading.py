"""Finding and importing what lies in the folder of the peers: drivers, grids, and what they share."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import dumbbell
from dumbbell.errors import refusal
from dumbbell.papers.paper import where

__all__ = ["PACKAGE", "folder", "imported", "sources"]

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
            problem="is no folder",
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
    """Take everything imported from a folder of peers out of the interpreter."""
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def sources(module: ModuleType) -> list[Path]:
    """Return the files of the folder that a module consists of: its own, and those it imports, in order of their paths.

    Parameters
    ----------
    module
        A module from `imported`.
    """
    found: dict[str, Path] = {}
    waiting = [module.__name__]
    while waiting:
        name = waiting.pop()
        loaded = sys.modules.get(name)
        file = getattr(loaded, "__file__", None)
        if name in found or loaded is None or file is None:
            continue
        found[name] = Path(file)
        waiting.extend(_imports(Path(file), loaded.__package__ or ""))
    return sorted(found.values())


def _imports(file: Path, package: str) -> Iterator[str]:
    """Yield the names of modules of the folder that a file may import."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(name, package) if node.level else name
            named = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in named if name.split(".")[0] == PACKAGE)
