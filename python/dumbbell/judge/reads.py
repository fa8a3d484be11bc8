"""Which runs a claim rests on: runs by key that record what is read of them.

A measure gets its runs by key. While `recorded` is active, every key that is looked up is kept, so that the list of runs that
a claim rests on comes from judging it and cannot go stale. To list the keys, or to ask whether there are runs of one, records
nothing: a paper's plan decides that, and a measure looks up those it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeAlias, TypeVar

import pandas as pd

K = TypeVar("K")
V = TypeVar("V")

SIMULATED = "simulated"
"""Origin of the runs that a paper plans."""

Reads: TypeAlias = dict[str, dict[str, None]]
"""The keys that were read, in the order of reading, by the origin of their runs."""

_READERS: ContextVar[tuple[Reads, ...]] = ContextVar("_READERS", default=())


@contextmanager
def recorded() -> Iterator[Reads]:
    """Yield what gets the keys that are read in the block; an outer block gets them as well."""
    reads: Reads = {}
    token = _READERS.set((*_READERS.get(), reads))
    try:
        yield reads
    finally:
        _READERS.reset(token)


def _mark(origin: str, key: str) -> None:
    for reads in _READERS.get():
        reads.setdefault(origin, {})[key] = None


class RunsByKey(Mapping[str, pd.DataFrame]):
    """Runs by key. A key is recorded when it is looked up; its runs may be made then.

    Parameters
    ----------
    keys
        The keys, in the order of the plan.
    rows
        Returns the runs of a key, one row for each.
    table
        Returns the runs of all keys as one table.
    origin
        Where the runs are from.
    """

    def __init__(
        self,
        keys: Sequence[str],
        rows: Callable[[str], pd.DataFrame],
        table: Callable[[], pd.DataFrame],
        *,
        origin: str = SIMULATED,
    ) -> None:
        self._keys = dict.fromkeys(keys)
        self._rows = rows
        self._table = table
        self._origin = origin

    @property
    def table(self) -> pd.DataFrame:
        """The runs of all keys as one table; nothing is recorded."""
        return self._table()

    def __getitem__(self, key: str) -> pd.DataFrame:
        """Return the runs of a key."""
        if key not in self._keys:
            raise KeyError(key)
        _mark(self._origin, key)
        return self._rows(key)

    def __contains__(self, key: object) -> bool:
        """Return whether there are runs of a key; nothing is recorded."""
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        """Return the keys; nothing is recorded."""
        return iter(self._keys)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._keys)

    def of(self, *prefixes: str) -> pd.DataFrame | None:
        """Return the runs of the keys that begin so, as one table; ``None`` if there are none."""
        chosen = [self[key] for key in self if key.startswith(prefixes)]
        return pd.concat(chosen) if chosen else None


Results: TypeAlias = "pd.DataFrame | RunsByKey"
"""Runs as a table with the column ``key``, or by key."""


def by_key(results: Results, *, origin: str = SIMULATED) -> RunsByKey:
    """Return runs by key.

    Parameters
    ----------
    results
        The runs.
    origin
        Where the runs of a table are from.
    """
    if isinstance(results, RunsByKey):
        return results
    parts = {str(key): rows for key, rows in results.groupby("key", sort=False)}
    return RunsByKey(list(parts), parts.__getitem__, lambda: results, origin=origin)


class Remembered(Generic[K, V]):
    """What was computed from runs, by name. To ask for it again is to read the same runs."""

    def __init__(self) -> None:
        self._kept: dict[K, tuple[V, Reads]] = {}

    def of(self, name: K, compute: Callable[[], V]) -> V:
        """Return what `compute` returns, or what it returned for this name before."""
        if name in self._kept:
            value, reads = self._kept[name]
            for origin, keys in reads.items():
                for key in keys:
                    _mark(origin, key)
            return value
        with recorded() as reads:
            value = compute()
        self._kept[name] = (value, reads)
        return value
