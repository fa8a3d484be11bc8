"""Folders outside the package: those of papers, peers and examples, in a checkout or installed beside the package.

Papers and peers differ in how they are imported. What they share is here: finding the folder, cleaning up after a
failed import, and locating an error in the folder.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.errors import ScenarioError, refusal


def folder_of(name: str, path: str | Path | None = None) -> Path:
    """Return a folder of the checkout, or what a wheel installs of it.

    Parameters
    ----------
    name
        Its name in the checkout: ``"papers"``, ``"peers"`` or ``"examples"``.
    path
        The folder, if it is known. Otherwise an environment variable such as ``DUMBBELL_PAPERS`` names it. The default
        is the folder of the checkout that the package runs from, and without a checkout the folder that is installed
        beside the package, such as ``dumbbell_papers``.

    Raises
    ------
    ScenarioError
        There is no such folder.
    """
    variable = f"DUMBBELL_{name.upper()}"
    stated = path or os.environ.get(variable)
    package = Path(dumbbell.__file__).resolve().parent
    known = [package.parents[1] / name, package.parent / f"dumbbell_{name}"]
    place = Path(stated) if stated else next((folder for folder in known if folder.is_dir()), known[0])
    if not place.is_dir():
        raise refusal(
            name,
            str(place),
            f"the {name}/ folder of a checkout, given by --{name} or by the environment variable {variable}",
            problem="is not a folder",
        )
    return place


def some(names: Sequence[str], what: str, place: Path, accepted: str) -> list[str]:
    """Return the names that were found in a folder, in order.

    Raises
    ------
    ScenarioError
        There are none.
    """
    if not names:
        raise refusal(what, str(place), accepted, problem=f"has no {what}")
    return sorted(names)


def checked_members(
    found: Any, member: str, required: Sequence[str], *, kind: str, name: str, protocol: str
) -> Any:
    """Return the peer or grid that a module defines, if it has all required attributes.

    Parameters
    ----------
    found
        The value; ``None`` if the module defines none.
    member
        Name of the value, as ``"PEER"``.
    required
        The attributes it must have.
    kind, name
        What an error names: ``"peer"`` or ``"grid"``, and which one.
    protocol
        The protocol of the value, as ``"dumbbell.crossvalidation.Peer"``.

    Raises
    ------
    ScenarioError
        The value or one of its attributes is missing.
    """
    missing = [member] if found is None else [part for part in required if not hasattr(found, part)]
    if missing:
        raise refusal(kind, name, f"the members of {protocol}", problem=f"has no {', '.join(missing)}")
    return found


def forget(package: str) -> None:
    """Remove a package and its modules from the interpreter, so that the next import reads them again."""
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]


def where(error: BaseException, place: Path) -> str:
    """Return the message of an exception, with the last line of its traceback in a folder.

    Parameters
    ----------
    error
        The exception.
    place
        The folder of a paper, or of the peers.
    """
    text = str(error) if isinstance(error, ScenarioError) else f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename:
        return f"{text} in {error.filename}"
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).resolve().is_relative_to(place.resolve())
    ]
    return f"{text} (line {inside[-1].lineno} of {inside[-1].filename})" if inside else text
