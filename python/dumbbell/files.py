"""Result files: each appears complete or not at all, and errors name the file."""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dumbbell.errors import ResultsError

__all__ = ["PARTIAL", "plain", "read_bytes", "replacing", "write_json", "write_text"]

PARTIAL = ".*.partial"
"""Pattern of the incomplete files that a killed process may leave."""


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Yield a file that appears under a path when everything written to it is on the disk.

    Until then the path keeps its previous content, even if the process is killed or the disk is full.

    Parameters
    ----------
    path
        Where the file appears.

    Raises
    ------
    ResultsError
        It could not be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        try:
            with partial.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _sync(path.parent)
    except ResultsError:
        # It names another file, written meanwhile.
        raise
    except OSError as error:
        raise ResultsError(
            error.errno,
            f"could not be written: {_reason(error)}; accepted: a folder on a disk with free space",
            str(path),
        ) from error


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
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write plain data as JSON for readers and programs, see `replacing`."""
    write_text(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    ResultsError
        It could not be read, for lack of permission for instance.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ResultsError(
            error.errno,
            f"could not be read: {_reason(error)}; accepted: a file that this user can read, or no file",
            str(path),
        ) from error


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
