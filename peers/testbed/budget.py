"""How much the machine carries at once: runs in real time disturb each other if their links need more than its cores give."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Budget:
    """A total that concurrent users share; each waits its turn until its part is free.

    Parameters
    ----------
    total
        What all users together may hold, in any unit. A user that wants more is admitted alone.

    Examples
    --------
    >>> budget = Budget(100.0)
    >>> with budget.held(60.0), budget.held(40.0):
    ...     budget.free
    0.0
    """

    def __init__(self, total: float) -> None:
        self._total = total
        self._used = 0.0
        self._changed = threading.Condition()
        # Turns, so that users with large parts are not passed over for ever.
        self._next_turn = 0
        self._turn = 0

    @property
    def free(self) -> float:
        """What no user holds."""
        with self._changed:
            return self._total - self._used

    @contextmanager
    def held(self, part: float) -> Iterator[None]:
        """Hold a part, after those who asked before and as soon as it is free."""
        part = min(part, self._total)
        with self._changed:
            turn = self._next_turn
            self._next_turn += 1
            self._changed.wait_for(lambda: self._turn == turn and self._used + part <= self._total)
            self._turn += 1
            self._used += part
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._used -= part
                self._changed.notify_all()
