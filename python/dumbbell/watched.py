"""The progress of a batch of runs: a bar on a terminal or in a notebook, or a function of the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[int, int], None]
"""Told the number of finished runs and of all runs, about ten times a second."""


@contextmanager
def watched(progress: bool | Progress, total: int) -> Iterator[Progress]:
    """Yield the progress callback of the engine.

    The engine is always given a function, even an idle one: it is where an interrupt from the keyboard is
    noticed.
    """
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield lambda _done, _total: None
        return
    columns = (
        TextColumn("runs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("runs", total=total)
        yield lambda done, _total: bar.update(task, completed=done)
