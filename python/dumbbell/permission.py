"""Which code a scenario may load by its name.

A scenario, a campaign file or a stored result is data from anywhere. If it names a class in Python or a shared library, the
code is loaded only if the caller has allowed this name, or has passed the class or the library itself. WebAssembly
modules need no permission: they run in a sandbox.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dumbbell.errors import refusal

CLASS = "python:"
"""Prefix of the names of classes in scenarios."""

LIBRARY = "library:"
"""Prefix of the names of libraries in scenarios."""

PREFIXES = (CLASS, LIBRARY)
"""Prefixes of the names of controls from outside the registry."""

MODULE = "module:"
"""Prefix under which a module is allowed that a kernel in simulated time loads, with the path as the scenario states it."""

NOT_LOADED = "not loaded"
"""Digest of code that was not loaded, where scenarios are only inspected."""

# The names that this process may load; paths are absolute.
_allowed: set[str] = set()

# The names that were not loaded, where scenarios are only inspected.
_left_out: ContextVar[list[str] | None] = ContextVar("left_out", default=None)


def allow(*names: str) -> None:
    """Allow the scenarios of this process to load code that they name.

    Code in Python and in shared libraries has the rights of the process: allow only what you would run yourself. A
    permission is that of a name. It loads nothing, and holds as long as the process.

    Parameters
    ----------
    *names
        Names as in a scenario: ``"python:module.Class"``, or ``"library:"`` and a path, which counts from the working
        directory; ``"module:"`` and the path of a module of the transport ``linux``.

    Raises
    ------
    ScenarioError
        A name is of none of these forms.

    Examples
    --------
    >>> import dumbbell
    >>> dumbbell.allow("python:gradient.Gradient", "library:build/aimd.so")
    """
    for name in names:
        forms = (*PREFIXES, MODULE)
        if not isinstance(name, str) or not name.startswith(forms) or name in forms:
            raise refusal("allow", name, f"{CLASS}module.Class, {LIBRARY}PATH or {MODULE}PATH")
    _allowed.update(map(_identified, names))


def is_allowed(name: str) -> bool:
    """Return whether scenarios may load the code with this name."""
    return _identified(name) in _allowed


def require(name: str, field: str) -> None:
    """Refuse code that the caller has not allowed.

    Parameters
    ----------
    name
        Its name, as in a scenario; a path counts from the working directory.
    field
        The path of the field that names it, for the error.

    Raises
    ------
    ScenarioError
        It is not allowed.
    """
    if not is_allowed(name):
        accepted = f"permission: --allow {shlex.quote(name)}, or dumbbell.allow({name!r}) in Python"
        raise refusal(field, name, accepted, problem="is code of a file, which runs only if you allow it")


@contextmanager
def without_loading() -> Iterator[list[str]]:
    """Read scenarios without the code that they name and that is not allowed, until the end of the block.

    Such a scenario is checked except for its controls. Its hash means nothing, and it cannot run. One that states the
    digests of all code is complete, and has its hash.

    Yields
    ------
    list of str
        The names that were not loaded.
    """
    names: list[str] = []
    token = _left_out.set(names)
    try:
        yield names
    finally:
        _left_out.reset(token)


def left_out(name: str) -> bool:
    """Return whether code is not loaded because scenarios are only inspected, and note its name."""
    names = _left_out.get()
    if names is None or is_allowed(name):
        return False
    # Once, as the scenario names it.
    if _identified(name) not in map(_identified, names):
        names.append(name)
    return True


def _identified(name: str) -> str:
    """Return a name with the absolute path of a library or module."""
    for prefix in (LIBRARY, MODULE):
        if name.startswith(prefix):
            return f"{prefix}{os.path.realpath(name.removeprefix(prefix))}"
    return name
