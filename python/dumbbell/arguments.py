"""Checks of arguments of Python functions that no scenario states, such as numbers of runs and names of files."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dumbbell.errors import refusal

LARGEST_SEED = 2**64 - 1

MOST_RUNS = 10_000_000
"""Largest number of replications of one scenario in a batch: each needs memory before it runs."""

MOST_REPLICATIONS = 10_000
"""Largest number of replications of each configuration of a plan, which may have thousands of configurations."""

MOST_THREADS = 4096


def whole_number(field: str, value: Any, least: int, most: int) -> int:
    """Return a whole number, as NumPy has them too.

    Parameters
    ----------
    field
        Name of the argument, for the error.
    value
        The argument.
    least, most
        The accepted range.

    Raises
    ------
    ScenarioError
        It is not a whole number in this range; ``True`` is none.

    Examples
    --------
    >>> whole_number("runs", 20, 1, 100)
    20
    """
    # The largest seed is written as a power: its digits mean nothing to a reader.
    shown = {LARGEST_SEED: "2^64 - 1"}.get(most, str(most))
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise refusal(field, value, f"a whole number from {least} to {shown}")
    return number


def thread_count(threads: Any) -> int | None:
    """Return a number of threads; ``None`` for the default.

    Raises
    ------
    ScenarioError
        It is not a whole number from 1.
    """
    return None if threads is None else whole_number("threads", threads, 1, MOST_THREADS)


def function(field: str, value: Any, accepted: str) -> Callable[..., Any]:
    """Return a function.

    Raises
    ------
    ScenarioError
        It cannot be called.
    """
    if not callable(value):
        raise refusal(field, value, accepted)
    return value  # type: ignore[no-any-return]  # what it takes and returns is up to its user


def file_path(field: str, value: Any, accepted: str = "the name of a file") -> Path:
    """Return the path of a file or folder.

    Raises
    ------
    ScenarioError
        It is no name of a file.
    """
    if not isinstance(value, str | os.PathLike) or "\0" in os.fspath(value) or not os.fspath(value):
        raise refusal(field, value, accepted)
    return Path(value)
