"""Progress of a single run, of a file that is read, or of a fit: how much of it is done, and how long the rest takes."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TextIO

from dumbbell.durations import LINE_S, duration
from dumbbell.threads import start

if TYPE_CHECKING:
    from rich.console import Console

# A shorter run shows nothing.
QUIET_S = 1.0
# Time between two looks, s.
LOOK_S = 0.25
# Before this share of a run is simulated, its pace is not known.
LEAST_SHARE = 0.002


class Pace:
    """The time that the rest of a run takes, at the pace of the second half of the time it has taken so far.

    The pace of a run changes, as flows start and stop; only what is recent tells about the rest, and a single moment
    tells little.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque([(0.0, 0.0)])

    def see(self, elapsed_s: float, reached_s: float) -> None:
        """Record the simulated time reached after some time, both ascending, s."""
        self._seen.append((elapsed_s, reached_s))
        while len(self._seen) > 2 and self._seen[1][0] <= elapsed_s / 2.0:
            self._seen.popleft()

    def left(self, end_s: float) -> float | None:
        """Return the remaining time, s, up to the simulated time `end_s`; ``None`` while the pace is not known."""
        (begin, start), (elapsed, reached) = self._seen[0], self._seen[-1]
        if reached < LEAST_SHARE * end_s or reached <= start or elapsed <= begin:
            return None
        return (end_s - reached) * (elapsed - begin) / (reached - start)


class _Clock:
    """The simulated time reached, and that of the end, s; written by the run and read by the display."""

    def __init__(self) -> None:
        self.reached = self.end = 0.0

    def __call__(self, reached_s: float, end_s: float) -> None:
        self.reached, self.end = reached_s, end_s


class Words(NamedTuple):
    """What is done, and what was done of a number."""

    doing: str
    done: str


SIMULATED = Words("running", "s simulated")
READ = Words("reading", "MB read")


@contextmanager
def running(
    stream: TextIO, *, is_at_most: bool = False, words: Words = SIMULATED
) -> Iterator[Callable[[float, float], None]]:
    """Show the progress of a run, on a terminal from the first second on, elsewhere in a line every half minute.

    Parameters
    ----------
    stream
        Where to.
    is_at_most
        Whether the run may end earlier than its duration.
    words
        What is done: `SIMULATED`, `READ` of a file, or others.

    Yields
    ------
    Callable
        To be called with the simulated time so far and the duration, s; or with what was read of a file and its size, MB.
    """
    ended = threading.Event()
    clock = _Clock()

    def show() -> None:
        if not ended.wait(QUIET_S):
            _show(stream, clock, ended, words, is_at_most=is_at_most)

    shown = start(show)
    try:
        yield clock
    finally:
        ended.set()
        shown.join()


def _show(stream: TextIO, clock: _Clock, ended: threading.Event, words: Words, *, is_at_most: bool) -> None:
    # A short run ends before this is imported.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(file=stream, highlight=False)
    if not console.is_terminal:
        _print_lines(console, clock, ended, words, is_at_most=is_at_most)
        return
    columns = (
        SpinnerColumn(),
        TextColumn(words.doing),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    begin, pace = time.monotonic() - QUIET_S, Pace()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        while not ended.wait(LOOK_S):
            text = _progress(clock, pace, time.monotonic() - begin, words, is_at_most=is_at_most)
            bar.update(task, total=clock.end or None, completed=clock.reached, description=text)


def _print_lines(
    console: Console, clock: _Clock, ended: threading.Event, words: Words, *, is_at_most: bool
) -> None:
    begin, pace, lines = time.monotonic() - QUIET_S, Pace(), 0
    while not ended.wait(LOOK_S):
        elapsed = time.monotonic() - begin
        text = _progress(clock, pace, elapsed, words, is_at_most=is_at_most)
        if elapsed >= (lines + 1) * LINE_S:
            lines += 1
            console.print(f"{words.doing} for {duration(elapsed)}: {text}", soft_wrap=True)


def _progress(clock: _Clock, pace: Pace, elapsed_s: float, words: Words, *, is_at_most: bool) -> str:
    """Return how much of a run is done, and the time that the rest takes."""
    if clock.end <= 0.0:
        return "starting"
    pace.see(elapsed_s, clock.reached)
    left = pace.left(clock.end)
    text = f"{clock.reached:.4g} of {clock.end:.4g} {words.done}"
    return text if left is None else f"{text}, {'at most ' if is_at_most else ''}{duration(left)} left"
