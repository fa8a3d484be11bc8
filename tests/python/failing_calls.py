"""Run an operation in a child process in which one call of the operating system fails.

The child is forked, so that everything is imported already, and strace attaches to it just before the operation begins.
The calls that strace sees are thus those of the operation, and each of them can be made to fail in turn.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ERRORS: dict[str, tuple[str, ...]] = {
    "openat": ("EMFILE", "EIO", "ENOSPC", "EACCES"),
    "read": ("EIO", "EINTR", "ENOMEM"),
    "pread64": ("EIO",),
    "write": ("ENOSPC", "EIO", "EINTR", "EDQUOT"),
    "pwrite64": ("ENOSPC", "EIO"),
    "writev": ("ENOSPC", "EIO"),
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
    "rename": ("EIO", "ENOSPC", "EACCES"),
    "renameat": ("EIO", "ENOSPC"),
    "renameat2": ("EIO", "ENOSPC"),
    "unlink": ("EIO", "EACCES"),
    "unlinkat": ("EIO", "EACCES"),
    "mkdir": ("ENOSPC", "EACCES"),
    "mkdirat": ("ENOSPC", "EACCES"),
    "newfstatat": ("EIO", "EACCES"),
    "stat": ("EIO", "EACCES"),
    "lstat": ("EIO", "EACCES"),
    "fstat": ("EIO", "ENOMEM"),
    "statx": ("EIO", "EACCES"),
    "close": ("EIO", "EINTR"),
    "flock": ("EIO", "ENOLCK", "EINTR"),
    "fcntl": ("EIO", "EMFILE"),
    "ftruncate": ("EIO", "ENOSPC"),
    "lseek": ("EIO",),
    "ioctl": ("EIO",),
    "getdents64": ("EIO", "EACCES"),
    "readlink": ("EIO", "EACCES"),
    "chmod": ("EIO",),
    "fchmod": ("EIO",),
    "fchown": ("EIO",),
}
"""Calls on files and the errors with which they fail, the most frequent one first."""

MEMORY: dict[str, tuple[str, ...]] = {"mmap": ("ENOMEM",), "brk": ("ENOMEM",), "mremap": ("ENOMEM",)}
"""Calls that ask for memory."""

# Tells strace where the operation ends.
END = "/end-of-the-operation"

# Option of prctl that lets any process attach, which only a parent may do otherwise.
PR_SET_PTRACER = 0x59616D61

# An operation that takes longer has hung.
LONGEST_S = 300

CALL = re.compile(r"^\d+ +(\w+)\(")


@dataclass(frozen=True)
class Failure:
    """Which call fails, and how.

    Parameters
    ----------
    call
        Name of the call, as in `ERRORS`.
    number
        Which call of this name in the thread, from 1.
    error
        The error that it returns.
    and_later
        Whether all later calls fail, too, as on a disk that stays full.
    """

    call: str
    number: int
    error: str
    and_later: bool = False

    def __str__(self) -> str:
        return f"{self.call} {self.number}{' and later' if self.and_later else ''}: {self.error}"


@dataclass(frozen=True)
class Outcome:
    """The end of an operation.

    Parameters
    ----------
    value
        What it returned.
    error
        The exception that it raised; ``None`` without.
    signal
        The signal that ended the process; 0 without.
    calls
        The calls of the operation, in order: their names and their lines in the output of strace.
    failed
        The lines of the calls that failed on request.
    """

    value: Any
    error: BaseException | None
    signal: int
    calls: list[tuple[str, str]]
    failed: list[str]


@cache
def missing() -> str:
    """Return what calls cannot be made to fail for; empty if they can."""
    if shutil.which("strace") is None:
        return "strace is missing (Debian: strace)"
    try:
        outcome = traced(lambda: Path("/").stat(), Failure("newfstatat", 1, "EIO"))
    except RuntimeError as error:
        return f"strace cannot attach to a process: {error}"
    return "" if isinstance(outcome.error, OSError) else "strace makes no call fail"


def traced(
    operation: Callable[[], Any], failure: Failure | None = None, *, among: Iterable[str] | None = None
) -> Outcome:
    """Run an operation in a child of this process.

    Parameters
    ----------
    operation
        What it returns and raises can be pickled.
    failure
        The call that fails; none by default.
    among
        The names of the calls that are listed; those in `ERRORS` by default.

    Raises
    ------
    RuntimeError
        strace could not attach.
    """
    names = [*(ERRORS if among is None else among), *([] if failure is None else [failure.call])]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls"
        ready, start = os.pipe()
        mine, theirs = socket.socketpair()
        with warnings.catch_warnings():
            # A library may have threads, which are not in the child.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(start)
            _attend(operation, ready, theirs)
        theirs.close()
        os.close(ready)
        try:
            with _attached(child, log, names, failure):
                os.write(start, b"s")
                answer = _answer(mine)
                # It has ended, or hangs.
                os.kill(child, signal.SIGKILL)
        finally:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            os.close(start)
            mine.close()
        lines = log.read_text(errors="replace").splitlines()
    value, error = pickle.loads(answer) if answer else (None, None)
    end = next((at for at, line in enumerate(lines) if END in line), len(lines))
    calls = [(found[1], line) for line in lines[:end] if (found := CALL.match(line)) and found[1] in names]
    return Outcome(
        value,
        error,
        os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        calls,
        _failed(lines),
    )


def _failed(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if line.endswith("(INJECTED)")]


@contextmanager
def failing(process: int, failure: Failure) -> Iterator[list[str]]:
    """Let a call of a process fail that runs already; the lines of the calls that failed are added to what it yields.

    Parameters
    ----------
    process
        Its id.
    failure
        The call; it is counted from now on.
    """
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "calls"
        with _attached(process, log, [failure.call], failure) as strace:
            yield failed
            strace.terminate()
        failed += _failed(log.read_text(errors="replace").splitlines())


@contextmanager
def _attached(
    process: int, log: Path, names: Iterable[str], failure: Failure | None
) -> Iterator[subprocess.Popen[str]]:
    """Attach strace to a process, and wait until it ends or strace is terminated."""
    # A name that this machine's architecture lacks is no error.
    traced = ",".join(f"?{name}" for name in ("access", "faccessat", "faccessat2", *names))
    command = ["strace", "-f", "-y", "-o", str(log), "-p", str(process), "-e", f"trace={traced}"]
    if failure is not None:
        when = f"{failure.number}{'+' if failure.and_later else ''}"
        command += ["-e", f"inject={failure.call}:error={failure.error}:when={when}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as strace:
        assert strace.stderr is not None
        said = strace.stderr.readline()
        if "attached" not in said:
            raise RuntimeError((said + strace.stderr.read()).strip())
        yield strace


def _answer(answers: socket.socket) -> bytes:
    """Return what the child sends until it ends; nothing if it hangs."""
    answers.settimeout(LONGEST_S)
    try:
        return b"".join(iter(lambda: answers.recv(1 << 16), b""))
    except TimeoutError:
        return b""


def _attend(operation: Callable[[], Any], ready: int, answers: socket.socket) -> None:
    """Wait for strace, run the operation, answer and end the process."""
    value, error = None, None
    try:
        ctypes.CDLL(None).prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
        waiting = select.poll()
        waiting.register(ready, select.POLLIN)
        waiting.poll()
        try:
            value = operation()
        except BaseException as raised:
            error = raised
        os.access(END, 0)
        # Calls that never fail here: the answer arrives even if all writes fail.
        answers.sendall(_pickled(value, error))
    finally:
        os._exit(0)


def _pickled(value: Any, error: BaseException | None) -> bytes:
    """Return an answer; an error that cannot be pickled is told in words."""
    try:
        return pickle.dumps((value, error))
    except Exception as problem:
        return pickle.dumps((None, RuntimeError(f"{error or value!r}, which cannot be pickled: {problem}")))
