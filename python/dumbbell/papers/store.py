"""Where finished runs are kept, so that none is ever made twice.

A store is a folder of Parquet files. Runs are added a few at a time, about once a second, and each addition is a file that
appears under its name only when it is whole. Files are named by the numbers of the first and the last addition they hold;
when eight of a size have come together they are merged into one, and a finished reproduction merges them all. A process
that is killed between writing a merged file and removing what it was merged from leaves both: the smaller ranges lie inside
the larger, and the next process removes them. Nothing is lost by a kill but the runs that were not added yet.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dumbbell import _engine
from dumbbell.errors import refusal

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = ["INDEX", "Store", "engine_identity"]

INDEX = ["hash", "seed", "run"]
"""The columns that name a run: the scenario's hash, the seed and the number of the replication."""

EMPTY = pa.table(
    {"hash": pa.array([], pa.string()), "seed": pa.array([], pa.uint64()), "run": pa.array([], pa.uint64())}
)

NAME = re.compile(r"(\d{8})-(\d{8})\.parquet")

# So many files of a size are merged into one.
MERGED = 8


@cache
def engine_identity() -> str:
    """Return a name of the engine: its version and a digest of what determines its results.

    That is its sources, the compiler and the profile it was built with, so that two checkouts of one state share their
    stores.
    """
    return f"{_engine.version()}-{_engine.digest()}"


@dataclass(frozen=True)
class Segment:
    """A file of the store.

    Parameters
    ----------
    first, last
        Numbers of the first and the last addition it holds.
    table
        Its runs.
    """

    first: int
    last: int
    table: pa.Table

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.first:08d}-{self.last:08d}.parquet"

    @property
    def width(self) -> int:
        """Number of additions it holds."""
        return self.last - self.first + 1


class Store:
    """Finished runs of one paper on one build of the engine, or of what else makes runs. One process at a time has it open.

    Parameters
    ----------
    place
        Folder of the store.
    columns
        The columns of a reduced run. What was kept with other columns, or by another build of the engine, is in another
        folder beside this one.
    fresh
        Forget what was kept.
    identity
        Name of what makes the runs; this build of the engine if it is left out.

    Raises
    ------
    ScenarioError
        Another process has the store open.
    """

    def __init__(
        self, place: Path, columns: Sequence[str], *, fresh: bool = False, identity: str | None = None
    ) -> None:
        names = hashlib.blake2b("\n".join(columns).encode(), digest_size=4).hexdigest()
        self.place = place / f"{engine_identity() if identity is None else identity}-{names}"
        self.place.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.place)
        for file in self.place.glob(".*.partial"):
            file.unlink()
        if fresh:
            for file in self.place.glob("*.parquet"):
                file.unlink()
        self._segments = self._read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes open the store."""
        self._lock.close()

    def _read(self) -> list[Segment]:
        """Return the files that count, in the order of what they hold; remove the others."""
        named = [
            (int(match[1]), int(match[2]), file)
            for file in self.place.glob("*.parquet")
            if (match := NAME.fullmatch(file.name))
        ]
        segments: list[Segment] = []
        # A merged file comes before everything it was merged from.
        for first, last, file in sorted(named, key=lambda item: (item[0], -item[1])):
            if not segments or last > segments[-1].last:
                try:
                    segments.append(Segment(first, last, pq.read_table(file, partitioning=None)))
                    continue
                except (OSError, ValueError):  # cut short by a crash of the machine
                    pass
            file.unlink()
        return segments

    def _write(self, segment: Segment) -> None:
        partial = self.place / f".{segment.name}.partial"
        with partial.open("wb") as file:
            pq.write_table(segment.table, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.place / segment.name)

    def frame(self) -> pd.DataFrame:
        """Return everything kept: the columns of `INDEX` and the reduced ones, lists as NumPy arrays."""
        tables = [segment.table for segment in self._segments] or [EMPTY]
        frame: pd.DataFrame = _joined(tables).to_pandas()
        return frame

    def known(self) -> pd.MultiIndex:
        """Return the names of the runs kept."""
        names = _joined([EMPTY, *(segment.table.select(INDEX) for segment in self._segments)])
        return pd.MultiIndex.from_frame(names.to_pandas())

    def add(self, frame: pd.DataFrame) -> None:
        """Keep some more runs.

        Parameters
        ----------
        frame
            The columns of `INDEX` and the reduced ones, one row for each run. None of them is kept already.
        """
        number = self._segments[-1].last + 1 if self._segments else 0
        segment = Segment(number, number, _arrow(frame))
        self._write(segment)
        self._segments.append(segment)
        while len(self._segments) >= MERGED and len({s.width for s in self._segments[-MERGED:]}) == 1:
            self._merge(MERGED)

    def compact(self) -> None:
        """Put everything kept into one file."""
        if len(self._segments) > 1:
            self._merge(len(self._segments))

    def _merge(self, count: int) -> None:
        """Replace the last `count` files by one."""
        old = self._segments[-count:]
        merged = Segment(old[0].first, old[-1].last, _joined([segment.table for segment in old]))
        self._write(merged)
        self._segments[-count:] = [merged]
        for segment in old:
            (self.place / segment.name).unlink()


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables below each other; a column that had no value yet takes the type of the others."""
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _arrow(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as an Arrow table; arrays of more than one dimension become lists of lists."""
    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if column.dtype == object:
            columns[str(name)] = [
                value.tolist() if isinstance(value, np.ndarray) else value for value in column
            ]
        else:
            columns[str(name)] = column
    return pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})


def _locked(place: Path) -> BinaryIO:
    """Return a file whose lock is held until it is closed, at the latest by the end of the process."""
    file = (place / ".lock").open("ab")
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise refusal(
                "output", str(place), "a folder of its own", problem="is being written by another process"
            ) from None
    return file
