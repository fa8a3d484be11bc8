"""``dumbbell search``: the scenario in which an algorithm does worst."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dumbbell import search as searches
from dumbbell.campaign import duration
from dumbbell.cli.options import Algorithm, Json, Seed, Threads, folder
from dumbbell.cli.refusals import refuse, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.durations import LINE_S
from dumbbell.search import Found
from dumbbell.search.dimensions import bounds_from_file, written_bounds
from dumbbell.search.writing import record
from dumbbell.tracebacks import frames_of

ObjectiveOption = Annotated[
    str,
    typer.Option(
        "--objective", metavar="NAME", help="low-utilization, starvation or delay.", show_default=False
    ),
]
BudgetOption = Annotated[
    str, typer.Option("--budget", metavar="N|TIME", help='Number of points, or a time such as "5 min".')
]
VaryOption = Annotated[
    str | None,
    typer.Option(
        "--vary",
        metavar="PARTS",
        help="What varies, of rate,rtt,buffer,loss,reroute,competitor,pulses; default: that of the objective.",
    ),
]
BoundOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        metavar="NAME=LOW..HIGH",
        help="Bounds of a dimension, such as rtt=10..100, rate=5 or competitor=reno,cubic; may be repeated.",
    ),
]
BoundsOption = Annotated[
    Path | None,
    typer.Option("--bounds", metavar="FILE", help="Bounds of dimensions as TOML: rtt = [10, 100]."),
]
OutputOption = Annotated[
    Path | None,
    folder(
        "--output",
        "Folder of the scenario and the journal; default: results/search-ALGORITHM-OBJECTIVE.",
    ),
]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Begin again instead of going on.")]


def search(
    algorithm: Algorithm,
    objective: ObjectiveOption,
    budget: BudgetOption = "300",
    vary: VaryOption = None,
    bound: BoundOption = None,
    bounds: BoundsOption = None,
    seed: Seed = 1,
    output: OutputOption = None,
    threads: Threads = None,
    fresh: FreshOption = False,
    json_output: Json = False,
) -> None:
    """Search for the scenario in which an algorithm does worst.

    Links, buffers, losses, routes, competitors and bursts vary within bounds. The worst scenario is reduced to what makes
    it bad and written to worst.toml, which `dumbbell run` reproduces. After an interruption, the same command goes on.
    docs/search.md lists the dimensions. Needs the package optuna.
    """
    given = {} if bounds is None else bounds_from_file(bounds)
    given |= written_bounds(bound or ())
    with _Progress(quiet=json_output) as progress:
        try:
            found = searches.search(
                algorithm,
                objective,
                budget=budget,
                vary=None if vary is None else vary.split(","),
                bounds=given,
                seed=seed,
                output=output,
                threads=threads,
                fresh=fresh,
                progress=progress,
            )
        except ModuleNotFoundError as error:
            if frames_of(error):
                # A module of the user's lacks it.
                raise
            refuse(str(error))
    if json_output:
        say_json(record(found))
    else:
        _print(found)


class _Progress:
    """Shows the points of a search as a bar on a terminal, and as occasional lines in a log."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._lines = not quiet and not self._console.is_terminal
        self._bar = Progress(
            TextColumn("points"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("worst so far {task.fields[worst]:.3f}"),
            console=self._console,
            disable=quiet or self._lines,
            transient=True,
        )
        self._task = self._bar.add_task("points", total=None, worst=0.0)
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, done: int, points: int | None, worst: float) -> None:
        self._bar.update(self._task, completed=done, total=points, worst=worst)
        now = time.monotonic()
        if self._lines and now - self._last > LINE_S:
            self._last = now
            of = "" if points is None else f" of {points}"
            self._console.print(f"points: {done}{of}, worst so far {worst:.3f}")


def _print(found: Found) -> None:
    out = console()
    out.print(
        f"{found.objective} of {found.subject}: {found.value:.3f}, plain: {found.plain_value:.3f}",
        soft_wrap=True,
        markup=False,
    )
    if found.changes:
        columns = [
            Column("dimension", "name"),
            Column("plain", "plain"),
            Column("worst", "value"),
            Column("meaning", "meaning"),
        ]
        print_table(columns, found.changes)
    else:
        out.print("nothing within the bounds is worse than the plain scenario", soft_wrap=True)
    out.print(f"{found.points} points, {duration(found.elapsed_s)}", soft_wrap=True)
    out.print(f"scenario: {found.file.resolve()}", soft_wrap=True, markup=False)
