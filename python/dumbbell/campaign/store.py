"""The store of completed runs, which are reused, with detection of damage.

A store is a folder of Parquet files, its parts. Runs are added in small batches, about once per second, and each
addition is a part. Eight parts of similar size are merged into one. A finished campaign merges all of them, sorted
by the identity of the runs, so that its store depends neither on the order in which they ended nor on
interruptions. The name of a part consists of the numbers of its first and last addition and a checksum over its
bytes, these numbers and the name of the store. It appears under this name only when complete, so a part always has
a checksum. The file ``parts.json`` lists the valid parts and has its own checksum; it is rewritten after a new part
has appeared and before the parts merged into it are removed.

A process may be killed between any two of these steps. Then a new part is not listed yet, which is accepted, or
merged parts still exist and are removed. Both cases are recognized by their numbers and need no warning; only runs
that were not added yet are lost. Everything else is damage: a part that does not match its checksum is set aside as
``….parquet.damaged`` and never read again; a listed part that does not exist is missing; and a damaged list is
rebuilt from the parts. `Store.warnings` reports this, and the affected runs are repeated. A part that cannot be
read, for example for lack of permission, is not damage: opening the store fails, and nothing in it is changed.

Any number of processes may read a store while one writes to it: a snapshot takes no lock and changes nothing.
"""

from __future__ import annotations

import errno
import hashlib
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dumbbell import engine
from dumbbell.errors import ResultsError, refusal
from dumbbell.files import PARTIAL, lock_file, make_folder, matching, move, read_bytes, remove, replacing

if TYPE_CHECKING:
    from typing import BinaryIO

INDEX = ["hash", "seed", "run"]
"""The columns that name a run: the scenario's hash, the seed and the number of the replication."""

EMPTY = pa.table(
    {"hash": pa.array([], pa.string()), "seed": pa.array([], pa.uint64()), "run": pa.array([], pa.uint64())}
)

PARTS = "*.parquet"
NAME = re.compile(r"(\d{8})-(\d{8})-([0-9a-f]{32})\.parquet")
DAMAGED = ".damaged"
LIST = "parts.json"
REBUILT = "rebuilt from the existing parts; runs of missing parts are repeated"

# Number of parts of similar size that are merged into one.
MERGED = 8

# So often a snapshot is begun again because parts were merged under it.
ATTEMPTS = 100


engine_identity = engine.identity


@dataclass(frozen=True)
class Part:
    """A file of the store.

    Parameters
    ----------
    first, last
        Numbers of the first and the last addition it holds.
    name
        Name of the file.
    table
        Its runs.
    """

    first: int
    last: int
    name: str
    table: pa.Table

    @property
    def width(self) -> int:
        """Number of additions it holds."""
        return self.last - self.first + 1


class Store:
    """Completed runs of one campaign on one build of the engine. One process at a time may open it for writing.

    Parameters
    ----------
    place
        Folder of the store.
    columns
        The columns of a reduced run. Runs with other columns, or another identity, are in a separate folder beside
        this one.
    fresh
        Delete the stored runs.
    identity
        Identity of the code that executes and reduces the runs; by default this build of the engine.
    read_only
        Take a snapshot of the store, even while another process writes. Nothing on disk is changed, and nothing can
        be added.

    Attributes
    ----------
    place
        Folder of the parts.
    warnings
        Damage found when the store was opened, and its treatment: one line per file, to be shown to the user. Lost
        runs are no longer in the store.

    Raises
    ------
    ScenarioError
        Another process has the store open.
    ResultsError
        A part cannot be read, or the folder cannot be written to.
    """

    def __init__(
        self,
        place: Path,
        columns: Sequence[str],
        *,
        fresh: bool = False,
        identity: str | None = None,
        read_only: bool = False,
    ) -> None:
        names = hashlib.blake2b("\n".join(columns).encode(), digest_size=4).hexdigest()
        self.place = place / f"{engine_identity() if identity is None else identity}-{names}"
        self.warnings: list[str] = []
        self._parts: list[Part] = []
        # Names of parts that may be there and are not, or no longer, in the list.
        self._unlisted: list[str] = []
        self._lock: BinaryIO | None = None
        if read_only:
            self._scan()
            return
        make_folder(self.place)
        self._lock = self._locked()
        try:
            for file in matching(self.place, PARTIAL):
                remove(file)
            if fresh:
                self._forget()
            self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes open the store."""
        if self._lock is not None:
            # It is closed even if that ends with an error, and nothing was written to it.
            with suppress(OSError):
                self._lock.close()

    def _forget(self) -> None:
        """Delete everything, including files set aside. The list is deleted first, so that a kill leaves no missing part."""
        self._list()
        for pattern in (PARTS, PARTS + DAMAGED):
            for file in matching(self.place, pattern):
                remove(file)

    def _scan(self) -> None:
        """Read the valid parts and report damage, without changing anything."""
        for attempt in range(ATTEMPTS):
            files = matching(self.place, PARTS)
            try:
                read = {file: self._read(file) for file in files}
            except ResultsError as error:
                # Another process has merged it meanwhile.
                if error.errno != errno.ENOENT or attempt == ATTEMPTS - 1:
                    raise
                continue
            break
        self.warnings += [f"{file}: is damaged" for file, part in read.items() if part is None]
        self._take([part for part in read.values() if part is not None], [])
        self._parts = list(_without_repeats(self._parts))

    def _take(self, sound: Sequence[Part], names: Sequence[str]) -> list[Part]:
        """Read the valid parts, and return those whose additions they contain; `names` are the listed ones."""
        spare: list[Part] = []
        # A merged part comes before everything that was merged into it.
        for part in sorted(sound, key=lambda part: (part.first, -part.last, part.name not in names)):
            is_spare = self._parts and part.last <= self._parts[-1].last
            (spare if is_spare else self._parts).append(part)
        return spare

    def _open(self) -> None:
        """Read the valid parts, report damage, and remove leftovers of a killed process."""
        files = matching(self.place, PARTS)
        listed = self._listed(new=not files)
        # Everything is read before anything is moved: a store with an unreadable file stays unchanged.
        read = {file: self._read(file) for file in files}
        for file in (file for file, part in read.items() if part is None):
            self._set_aside(file)
        sound = [part for part in read.values() if part is not None]
        names = listed or []
        spare = self._take(sound, names)
        there = {file.name for file in files}
        for name in names:
            if name not in there and not self._holds(name):
                self.warnings.append(f"{self.place / name}: is missing; its runs are repeated")
        if listed != [part.name for part in self._parts]:
            self._list()
        self._unlisted = [part.name for part in spare]
        self._clear()
        self._parts = list(_without_repeats(self._parts))

    def _read(self, file: Path) -> Part | None:
        """Return a part; ``None`` for a file that is not a part or does not match its checksum."""
        content = read_bytes(file)
        match = NAME.fullmatch(file.name)
        if match is None or file.name != self._name(int(match[1]), int(match[2]), content):
            return None
        try:
            table = _table(content)
        except (OSError, ValueError) as error:
            raise ResultsError(
                0,
                f"is complete, but could not be read as Parquet by pyarrow {pa.__version__}: {error}",
                str(file),
            ) from error
        return Part(int(match[1]), int(match[2]), file.name, table)

    def _set_aside(self, file: Path) -> None:
        """Rename a damaged file, so that it is kept and never read again."""
        aside = file.with_name(file.name + DAMAGED)
        move(file, aside)
        self.warnings.append(
            f"{file}: is damaged; set aside as {aside.name}, and runs that no other part contains are repeated"
        )

    def _name(self, first: int, last: int, content: bytes | pa.Buffer) -> str:
        """Return the name of a part. A part that is renamed, or comes from another store, does not have its name."""
        checksum = hashlib.blake2b(digest_size=16)
        checksum.update(f"{self.place.name}/{first}-{last}/".encode())
        checksum.update(content)
        return f"{first:08d}-{last:08d}-{checksum.hexdigest()}.parquet"

    def _holds(self, name: str) -> bool:
        """Return whether the additions of a missing part are contained in others."""
        match = NAME.fullmatch(name)
        return match is not None and any(
            part.first <= int(match[1]) and int(match[2]) <= part.last for part in self._parts
        )

    def _listed(self, *, new: bool) -> list[str] | None:
        """Return the names in the list of parts; ``None`` without a list that can be trusted, as in a new store."""
        file = self.place / LIST
        try:
            content = read_bytes(file)
        except ResultsError as error:
            if error.errno != errno.ENOENT:
                raise
            if not new:
                self.warnings.append(f"{file}: is missing; {REBUILT}")
            return None
        try:
            names = [str(name) for name in json.loads(content)["parts"]]
        except (ValueError, TypeError, LookupError):
            names = []
        if content != self._list_of(names):
            self.warnings.append(f"{file}: is damaged; {REBUILT}")
            return None
        return names

    def _list(self) -> None:
        """Write the list of parts."""
        with replacing(self.place / LIST) as file:
            file.write(self._list_of([part.name for part in self._parts]))

    def _list_of(self, names: Sequence[str]) -> bytes:
        """Return the content of a list of parts."""
        checksum = hashlib.blake2b("\n".join([self.place.name, *names]).encode(), digest_size=16).hexdigest()
        return (json.dumps({"parts": list(names), "checksum": checksum}, indent=1) + "\n").encode()

    def frame(self, hashes: Sequence[str] | None = None) -> pd.DataFrame:
        """Return stored runs: the columns of `INDEX` and the reduced ones, lists as NumPy arrays.

        Parameters
        ----------
        hashes
            Those of the scenarios whose runs to return; all by default.
        """
        table = self.table()
        if hashes is not None:
            table = table.filter(pc.is_in(table["hash"], pa.array(hashes, pa.string())))
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def table(self) -> pa.Table:
        """Return all stored runs as an Arrow table: the columns of `INDEX` and the reduced ones."""
        return _joined([part.table for part in self._parts] or [EMPTY])

    def known(self) -> pd.MultiIndex:
        """Return the identities of the stored runs."""
        return _names(self._parts)

    def add(self, runs: pd.DataFrame | pa.Table) -> None:
        """Add runs.

        Parameters
        ----------
        runs
            The columns of `INDEX` and the reduced ones, one row per run. None of them is stored already, except by an
            addition that was interrupted just before it returned: its runs may be passed again.

        Raises
        ------
        ResultsError
            They could not be written, as on a full disk. Earlier results are kept, and none of these are stored.
        """
        number = self._parts[-1].last + 1 if self._parts else 0
        table = runs if isinstance(runs, pa.Table) else arrow(runs)
        for name in INDEX:
            # A text of pandas may be another type of Arrow.
            table = table.set_column(
                table.column_names.index(name), name, table[name].cast(EMPTY.schema.field(name).type)
            )
        stored = _names([Part(number, number, "", table)]).isin(_names(self._parts[-1:]))
        if stored.all():
            return
        # Before the runs are added, because an error means that they were not.
        while len(self._parts) >= MERGED and len({part.width for part in self._parts[-MERGED:]}) == 1:
            self._merge(MERGED)
        self._replace(0, self._write(number, number, table.filter(pa.array(~stored)).combine_chunks()))

    def compact(self) -> None:
        """Merge all stored runs into one part, sorted by `INDEX`.

        The same runs give the same part, byte for byte, whatever the order and number of additions: its last
        addition is numbered as if each run had been added separately.

        Raises
        ------
        ResultsError
            It could not be written, as on a full disk. Earlier results are kept.
        """
        if not self._parts:
            return
        table = self.table()
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in INDEX]).to_numpy()
        is_sorted = bool((order == np.arange(len(order))).all())
        last = max(table.num_rows - 1, self._parts[-1].last)
        only = self._parts[0] if len(self._parts) == 1 else None
        if only is not None and is_sorted and (only.first, only.last) == (0, last):
            if self._unlisted:
                self._list()
                self._clear()
            return
        whole = table if is_sorted else table.take(order).combine_chunks()
        self._replace(len(self._parts), self._write(0, last, whole))
        self._clear()

    def _merge(self, count: int) -> None:
        """Merge the last `count` parts into one."""
        old = self._parts[-count:]
        self._replace(count, self._write(old[0].first, old[-1].last, _joined([part.table for part in old])))
        self._clear()

    def _clear(self) -> None:
        """Remove the parts that are not in the list. One that cannot be removed is removed later, or by the next process."""
        while self._unlisted:
            remove(self.place / self._unlisted[-1])
            self._unlisted.pop()

    def _write(self, first: int, last: int, table: pa.Table) -> Part:
        """Write a part that is not listed yet, and return it as the next process reads it."""
        content = pa.BufferOutputStream()
        # The types are those of Parquet: Arrow has several that come to the same, and which one it is may not matter.
        pq.write_table(table, content, store_schema=False)
        buffer = content.getvalue()
        name = self._name(first, last, buffer)
        self._unlisted = [*self._unlisted, name]
        with replacing(self.place / name) as file:
            file.write(buffer)
        return Part(first, last, name, _table(buffer))

    def _replace(self, count: int, part: Part) -> None:
        """Replace the last `count` parts by a new one in the list."""
        before, unlisted = self._parts, self._unlisted
        at = len(before) - count
        try:
            self._parts = [*before[:at], part]
            self._list()
            # What is interrupted up to here is undone in memory, and the next list that is written says the same.
            names = [*unlisted, *(old.name for old in before[at:])]
            self._unlisted = [name for name in names if name != part.name]
        except BaseException:
            self._parts, self._unlisted = before, unlisted
            raise

    def _locked(self) -> BinaryIO:
        """Return a file whose lock is held until it is closed or the process ends."""
        file = lock_file(self.place / ".lock")
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                raise refusal(
                    "output",
                    str(self.place),
                    "a folder of its own",
                    problem="is being written by another process",
                ) from None
            except OSError as error:
                self.warnings.append(
                    f"{self.place}: cannot be locked ({error.strerror}); "
                    "two processes that write there at the same time repeat the same runs"
                )
        return file


def _table(content: bytes | pa.Buffer) -> pa.Table:
    """Return the table of a part. Arrow starts no threads for it, for which there may be no memory."""
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; a column without values takes the type of the others."""
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def arrow(frame: pd.DataFrame) -> pa.Table:
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


def _names(parts: Sequence[Part]) -> pd.MultiIndex:
    """Return the names of the runs of some parts, in their order."""
    names = _joined([EMPTY, *(part.table.select(INDEX) for part in parts)])
    return pd.MultiIndex.from_frame(names.to_pandas())


def _without_repeats(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts without runs that an earlier one holds.

    They occur if a missing part reappears, or if two processes wrote at the same time.
    """
    repeated = _names(parts).duplicated()
    row = 0
    for part in parts:
        rows = slice(row, row + part.table.num_rows)
        yield (
            replace(part, table=part.table.filter(pa.array(~repeated[rows])))
            if repeated[rows].any()
            else part
        )
        row = rows.stop
