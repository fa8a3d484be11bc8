"""The one room that opens files for writing, and those that a user names for reading.

Outputs follow these rules, whatever writes them:

* A regular file is replaced whole, and a new one appears whole: complete or not at all. It keeps its permissions, and its
  owner and group as far as the system allows; a new file has those of the caller's umask. A file that may not be written
  is not replaced, although its folder would allow that. Other hard links keep the previous content.
* A symbolic link stays; the file that it leads to is replaced or made.
* A device that takes characters, a pipe, and a descriptor of this process, such as ``/dev/stdout``, get the content when it
  is complete. A pipe that nothing reads is refused, so that nothing waits for ever.
* Folders, sockets and disks are refused.
* Missing folders are made.

Inputs are regular files and pipes with a writer; everything else is refused.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import math
import os
import re
import select
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from dumbbell.errors import ResultsError

PARTIAL = ".*.partial"
"""Pattern of the incomplete files that a killed process may leave."""

# As many as Linux follows.
MOST_LINKS = 40

# Opening a pipe does not wait for its other end then, nor a terminal for its line; zero where there is no such thing.
AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)

# Time in which something begins to write to a pipe that is an input.
WRITER_S = 1.0

# How much is read at once of a file of limited size.
PART_BYTES = 1 << 20

DESCRIPTORS = re.compile(rf"(/proc/{os.getpid()}(/task/[0-9]+)?|/dev)/fd")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file whose content appears under a path when everything is written; the module states the rules.

    Until then a regular file keeps its previous content, even if the process is killed or the disk is full, and a stream
    gets nothing. The file can be read and positioned.

    Parameters
    ----------
    path
        Where the content appears.

    Raises
    ------
    ResultsError
        It could not be written, or the path leads to something that is no file.
    """
    with _errors_name(path):
        place = _place(path)
        opened = _replaced(place) if isinstance(place, Path) and not _is_node(place) else _streamed(place)
        with opened as file:
            yield file


def prepare(path: Path) -> None:
    """Make the folder of an output, and refuse a path that `replacing` would refuse: before a long run, not after it.

    Raises
    ------
    ResultsError
        The folder could not be made, or the path leads to something that is no file.
    """
    with _errors_name(path):
        _place(path)


@contextmanager
def output_folder(folder: Path) -> Iterator[None]:
    """Make a folder as `make_folder`, and remove what was made if what follows fails before anything is in it."""
    made = make_folder(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for each in reversed(made):
                each.rmdir()
        raise


def make_folder(folder: Path) -> list[Path]:
    """Make a folder for outputs, with those above it, unless it is there; this user must be able to write to it.

    Returns
    -------
    list of Path
        The folders that were made, the outer ones first.

    Raises
    ------
    ResultsError
        It could not be made, is no folder, or may not be written to.
    """
    with _errors_name(folder):
        whole = Path(os.path.realpath(folder))
        missing: list[Path] = []
        while not whole.exists():
            missing.insert(0, whole)
            whole = whole.parent
        for made in missing:
            # Another process may make it at the same time.
            made.mkdir(exist_ok=True)
            _sync(made.parent)
        if not folder.is_dir():
            raise _refused(folder, errno.ENOTDIR, "is not a folder; accepted: a folder for results")
        by_effective_user = os.access in os.supports_effective_ids
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=by_effective_user):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    return missing


def lock_file(path: Path) -> BinaryIO:
    """Return a file that is open to be locked, never to be written; it is made if it is missing.

    Raises
    ------
    ResultsError
        It could not be opened.
    """
    with _errors_name(path):
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | AT_ONCE, 0o666), "ab")


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a folder whose names match a pattern, sorted; none if the folder does not exist.

    Raises
    ------
    ResultsError
        The folder could not be read. `Path.glob` would find nothing in it then.
    """
    try:
        names = os.listdir(folder)  # noqa: PTH208 - `Path.iterdir` makes a path of every name
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unread(folder, error, "a folder that this user can read") from error
    return [folder / name for name in sorted(fnmatch.filter(names, pattern))]


def move(path: Path, to: Path) -> None:
    """Rename a file of results, and replace what has the new name.

    Raises
    ------
    ResultsError
        It could not be renamed.
    """
    with _errors_name(path, "renamed"):
        path.replace(to)


def remove(path: Path) -> None:
    """Remove a file of results, if it is there.

    Raises
    ------
    ResultsError
        It could not be removed.
    """
    with _errors_name(path, "removed"):
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8, see `replacing`."""
    with replacing(path) as file:
        file.write(text.encode())


def plain(value: Any) -> Any:
    """Return a value in the types of JSON: ``None`` instead of NaN and infinity, no NumPy numbers."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if type(value).__module__ == "numpy" and not value.shape:
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write plain data as JSON for readers and programs, see `replacing`."""
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def read_input(path: Path, most: int = -1) -> bytes:
    """Return the content of a file that a user has named.

    Parameters
    ----------
    path
        A regular file, or a pipe with a writer.
    most
        Number of bytes after which reading ends; all if it is negative.

    Raises
    ------
    OSError
        It could not be read, or is something else; the error names it.
    """
    kind = path.stat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
        reason = f"is {_named(kind)}; accepted: a file, or a pipe with a writer"
        raise OSError(errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL, reason, str(path))
    with os.fdopen(os.open(path, os.O_RDONLY | AT_ONCE | getattr(os, "O_BINARY", 0)), "rb") as file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            # The end of a pipe is found if nothing writes to it, and nothing yet if something does. It may be about to.
            select.select([file], [], [], WRITER_S)
            first = file.read(1)
            if first == b"":
                reason = "is a pipe that nothing is written to; accepted: a pipe with a writer, or a file"
                raise OSError(errno.ENXIO, reason, str(path))
            os.set_blocking(file.fileno(), True)
            return (first or b"") + _up_to(file, most if most < 0 or not first else most - 1)
        return _up_to(file, most)


def check_file(path: Path) -> None:
    """Refuse an input that is no regular file: it is read by others than this room, maybe twice.

    Raises
    ------
    OSError
        It is missing, or something else; the error names it.
    """
    kind = path.stat().st_mode
    if not stat.S_ISREG(kind):
        number = errno.EISDIR if stat.S_ISDIR(kind) else errno.EINVAL
        raise OSError(number, f"is {_named(kind)}; accepted: a file", str(path))


def _up_to(file: BinaryIO, most: int) -> bytes:
    """Read a number of bytes; memory is asked for as they come, not for all that may come."""
    if most < 0:
        return file.read()
    parts = []
    while most > 0 and (part := file.read(min(most, PART_BYTES))):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8 that a user has named, see `read_input`; other bytes are replaced by a sign."""
    return read_input(path).decode(errors="replace")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file of results.

    Raises
    ------
    ResultsError
        It could not be read, for lack of permission for instance.
    """
    try:
        return read_input(path)
    except OSError as error:
        raise _unread(path, error, "a file that this user can read, or no file") from error


@contextmanager
def _errors_name(path: Path, done: str = "written") -> Iterator[None]:
    """Turn errors of the system into those of a file of results, and say what could not be done with it."""
    try:
        yield
    except ResultsError:
        # It names another file, written meanwhile.
        raise
    except OSError as error:
        raise unwritten(path, error, done) from error


def unwritten(path: Path, error: OSError, done: str = "written") -> ResultsError:
    """Return the error that a file could not be written, or renamed or removed, from that of the system."""
    accepted = "a folder on a disk with free space where this user may write"
    return _refused(path, error.errno, f"could not be {done}: {_reason(error)}; accepted: {accepted}")


def _unread(path: Path, error: OSError, accepted: str) -> ResultsError:
    return _refused(path, error.errno, f"could not be read: {_reason(error)}; accepted: {accepted}")


def _refused(path: Path, number: int | None, text: str) -> ResultsError:
    return ResultsError(number, text, str(path))


def _place(path: Path) -> Path | int:
    """Return where an output goes: a path without links at its end, or a descriptor of this process."""
    place = _followed(path)
    if isinstance(place, int):
        return place
    try:
        kind = place.lstat().st_mode
    except FileNotFoundError:
        make_folder(place.parent)
        return place
    if stat.S_ISDIR(kind):
        raise _refused(path, errno.EISDIR, "is a folder; accepted: the name of a file")
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISCHR(kind)):
        raise _refused(path, errno.EINVAL, f"is {_named(kind)}; accepted: a file, or a pipe with a reader")
    return place


def _followed(path: Path) -> Path | int:
    """Follow the links at the end of a path, of which the last may lead nowhere."""
    for _ in range(MOST_LINKS):
        folder = os.path.realpath(path.parent)
        if path.name.isdecimal() and DESCRIPTORS.fullmatch(folder):
            return int(path.name)
        path = Path(folder, path.name)
        try:
            path = Path(folder, path.readlink())
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return path
            raise
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _named(kind: int) -> str:
    if stat.S_ISDIR(kind):
        return "a folder"
    if stat.S_ISFIFO(kind):
        return "a pipe"
    return "a socket" if stat.S_ISSOCK(kind) else "a device"


def _is_node(path: Path) -> bool:
    return path.exists() and not path.is_file()


@contextmanager
def _streamed(place: Path | int) -> Iterator[BinaryIO]:
    """Yield a temporary file, and copy it to a stream at the end. The stream is open from the beginning."""
    with _opened(place) as stream, tempfile.NamedTemporaryFile(prefix="dumbbell-") as file:
        yield cast(BinaryIO, file)
        file.flush()
        file.seek(0)
        # What was printed before comes before.
        if sys.stdout is not None:
            sys.stdout.flush()
        shutil.copyfileobj(file, stream)


def _opened(place: Path | int) -> BinaryIO:
    if isinstance(place, int):
        return os.fdopen(os.dup(place), "wb")
    try:
        descriptor = os.open(place, os.O_WRONLY | AT_ONCE)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        text = "is a pipe that nothing reads; accepted: a file, or a pipe with a reader"
        raise _refused(place, errno.ENXIO, text) from error
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "wb")


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file beside a path, and rename it to the path when it is on the disk."""
    before = path.stat() if path.exists() else None
    if before is not None:
        # Its folder would allow its replacement; the system is asked whether the file may be changed.
        os.close(os.open(path, os.O_WRONLY))
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with _new(partial) as file:
            yield file
            file.flush()
            if before is not None:
                _keep_rights(file.fileno(), before)
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _new(path: Path) -> BinaryIO:
    """Make a file; a link in its place is not followed."""
    try:
        return path.open("xb+")
    except FileExistsError:
        # Left by a process of the same number that was killed.
        path.unlink()
        return path.open("xb+")


def _keep_rights(descriptor: int, before: os.stat_result) -> None:
    """Give a new file the permissions, and as far as possible the owner and the group, of the one that it replaces."""
    if os.name != "posix":
        return
    with suppress(PermissionError):
        os.fchown(descriptor, -1, before.st_gid)
        os.fchown(descriptor, before.st_uid, -1)
    kept = os.fstat(descriptor).st_gid == before.st_gid
    # What a group was allowed is not for another one.
    os.fchmod(descriptor, before.st_mode & (0o777 if kept else 0o707))


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else str(error)


def _sync(folder: Path) -> None:
    """Flush the entries of a folder to the disk."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems need no explicit flush of folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
