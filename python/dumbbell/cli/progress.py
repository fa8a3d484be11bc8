"""Signs of life of a single run, which reports nothing until it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from dumbbell.campaign.progress import LINE_S, duration

__all__ = ["running"]

# A shorter run shows nothing.
QUIET_S = 1.0


@contextmanager
def running(stream: TextIO) -> Iterator[None]:
    """Show how long a run has taken, on a terminal from the first second on, elsewhere in a line every half minute."""
    console = Console(file=stream, highlight=False)
    ended = threading.Event()

    def show() -> None:
        if not console.is_terminal:
            begin = time.monotonic()
            while not ended.wait(LINE_S):
                console.print(f"running for {duration(time.monotonic() - begin)}")
        elif not ended.wait(QUIET_S):
            columns = (SpinnerColumn(), TextColumn("running"), TimeElapsedColumn())
            with Progress(*columns, console=console, transient=True) as bar:
                bar.add_task("running", total=None)
                ended.wait()

    shown = threading.Thread(target=show, daemon=True)
    shown.start()
    try:
        yield
    finally:
        ended.set()
        shown.join()
