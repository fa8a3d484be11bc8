"""Signals that end a command: SIGTERM and SIGHUP interrupt it as Ctrl-C does, so that completed runs are kept."""

from __future__ import annotations

import signal
from types import FrameType

INTERRUPTED = 2
"""Exit code of an interruption from the keyboard."""

# Windows lacks some.
ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]

received: list[int] = []


def interrupt_by_signals() -> None:
    """Turn signals that would end the process at once into interruptions; those that the caller ignores stay ignored."""
    for number in ENDING:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def exit_code() -> int:
    """Return the exit code of an interrupted command: for a signal, that of a shell."""
    return 128 + received[0] if received else INTERRUPTED


def _interrupt(number: int, _frame: FrameType | None) -> None:
    if not received:
        received.append(number)
        raise KeyboardInterrupt
