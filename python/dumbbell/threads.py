"""Threads that cannot be started without memory, and say so."""

from __future__ import annotations

import _thread
import contextlib
import sys
import weakref
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

# Held while errors are not reported.
_SILENCE = _thread.allocate_lock()


class _Life:
    """Exists at least until its thread begins or ends."""


class Thread:
    """A thread that has been started and ends with the process at the latest.

    Parameters
    ----------
    ended
        Gets an item when the thread ends.
    """

    def __init__(self, ended: SimpleQueue[Any]) -> None:
        self._ended = ended

    def join(self) -> None:
        """Wait for its end."""
        self._ended.put(self._ended.get())


def start(function: Callable[[], object]) -> Thread:
    """Run a function in a new thread.

    `threading.Thread.start` waits for ever for a thread that has ended before its first line, because there was no memory
    for its first frame (CPython 3.11). This one waits for the first line or the end.

    Raises
    ------
    MemoryError
        There is no memory for another thread.
    """
    begun: SimpleQueue[Any] = SimpleQueue()
    ended: SimpleQueue[Any] = SimpleQueue()

    def run(_life: _Life) -> None:
        try:
            begun.put(None)
            # Errors of the function are reported.
            with _SILENCE:
                pass
            function()
        finally:
            ended.put(None)

    life = _Life()
    # A method in C, which needs no frame itself.
    unborn = weakref.ref(life, begun.put)
    with _unreported():
        try:
            _thread.start_new_thread(run, (life,))
        except RuntimeError as error:
            raise MemoryError("no thread could be started") from error
        del life
        if begun.get() is unborn:
            raise MemoryError("a thread could not begin")
    return Thread(ended)


@contextlib.contextmanager
def _unreported() -> Iterator[None]:
    """Let the interpreter print nothing of a thread that could not begin: its starter raises the error."""
    with _SILENCE:
        before = sys.unraisablehook
        # In C, as a frame of Python has no memory either.
        sys.unraisablehook = id
        try:
            yield
        finally:
            sys.unraisablehook = before
