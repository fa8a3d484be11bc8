"""Which source files decide how runs are reduced, and a digest of them, which is part of the key of a store.

These are the file that defines the reduction; the files of its folder (that of a paper, or of the peers) that it
imports, directly or indirectly; the data files named by any of them; and the package itself, except the parts that
only evaluate and show results. An edit of a claim, a figure or a sentence of the report therefore repeats no runs
if the reduction is in a separate module, and an edit of the reduction repeats its runs.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import dumbbell

# Parts of the package that use runs only after reduction, or not at all.
OUTSIDE_REDUCTION = (
    "bench",
    "campaign",
    "claim_classes.py",
    "claims.py",
    "cli",
    "crossvalidation",
    "evaluation",
    "judge",
    "papers",
    "plots",
    "report",
    "sensitivity.py",
)

# Files within those parts that pass runs to a reduction.
REDUCTION_CALLERS = (
    "campaign/execution.py",
    "papers/runs.py",
    "crossvalidation/running.py",
    "crossvalidation/traces.py",
)

# Folders of installed modules, which are identified by version and not edited.
LIBRARIES = tuple(
    Path(path).resolve() for name, path in sysconfig.get_paths().items() if name.endswith("lib")
)


def is_installed(file: str | Path) -> bool:
    """Return whether a file belongs to Python or to an installed package."""
    return any(Path(file).resolve().is_relative_to(place) for place in LIBRARIES)


def reduction_identity(owner: Any) -> str:
    """Return a digest of the source files that decide how runs are reduced.

    Parameters
    ----------
    owner
        A paper or a grid. If its ``reduce`` is a plain function (``reduce = staticmethod(measures.reduce)``), the module
        of that function defines it; if it is a method, the modules of its classes do.
    """
    if inspect.isfunction(owner.reduce):
        names = [owner.reduce.__module__]
    else:
        folder = _top(type(owner).__module__)
        names = [kind.__module__ for kind in type(owner).__mro__ if _top(kind.__module__) == folder]
    return module_identity(*names)


def module_identity(*names: str) -> str:
    """Return a digest of the source files that decide how functions of some modules reduce runs.

    Parameters
    ----------
    names
        Names of modules of one folder, which were imported.
    """
    digest = hashlib.blake2b(digest_size=6)
    for file in [*sources([sys.modules[name] for name in names]), *_package()]:
        content = file.read_bytes()
        digest.update(f"{file.name}/{len(content)}/".encode())
        digest.update(content)
    return digest.hexdigest()


def sources(modules: Sequence[ModuleType]) -> list[Path]:
    """Return the files that modules of one folder consist of, in order of their paths.

    These are their own files, those of modules in the folder that they import directly or indirectly, and data
    files beside them whose names occur as strings.

    Parameters
    ----------
    modules
        Modules that were imported under the name of the folder, see `dumbbell.papers.load`.
    """
    found: dict[str, Path] = {}
    named: set[Path] = set()
    waiting = [module.__name__ for module in modules]
    while waiting:
        name = waiting.pop()
        loaded = sys.modules.get(name)
        file = getattr(loaded, "__file__", None)
        if name in found or loaded is None or file is None:
            continue
        found[name] = Path(file)
        tree = ast.parse(found[name].read_bytes())
        waiting.extend(
            imported for imported in _imports(tree, loaded.__package__ or "") if _top(imported) == _top(name)
        )
        folder = getattr(sys.modules[_top(name)], "__path__", None)
        if folder is not None:
            named.update(_files_named(tree, Path(folder[0])))
    return sorted({*found.values(), *named})


def own_sources(name: str) -> list[Path]:
    """Return the files of a module that was imported, see `sources`; none of an installed one, which its version names."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or _top(name) == "dumbbell":
        return []
    if is_installed(file):
        return []
    return sources([sys.modules[name]])


def _top(name: str) -> str:
    """Return the first part of the name of a module."""
    return name.split(".")[0]


def _imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the names of the modules that a source file may import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(name, package) if node.level else name
            for alias in node.names:
                # A name imported from a package is a module of it or defined in its own file.
                inner = f"{base}.{alias.name}"
                yield inner if inner in sys.modules else base


def _files_named(tree: ast.AST, folder: Path) -> Iterator[Path]:
    """Yield the data files in a folder that a text in a source file names, or ends their names, as ``"*.csv"`` does."""
    texts = {
        node.value.rsplit("/", 1)[-1].lstrip("*")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    endings = tuple(text for text in texts if "." in text)
    for file in folder.rglob("*"):
        if file.suffix not in (".py", ".pyc") and file.name.endswith(endings) and file.is_file():
            yield file


@cache
def _package() -> tuple[Path, ...]:
    """Return the files of the package that take part in a reduction."""
    root = Path(dumbbell.__file__).parent
    files = [file for file in root.rglob("*.py") if file.relative_to(root).parts[0] not in OUTSIDE_REDUCTION]
    return tuple(sorted(files) + [root / name for name in REDUCTION_CALLERS])
