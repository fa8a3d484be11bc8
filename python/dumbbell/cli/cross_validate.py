"""``dumbbell cross-validate``: the same runs here and in another simulator, and how far both agree."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import crossvalidation
from dumbbell.caller import become_caller
from dumbbell.campaign import duration
from dumbbell.cli.options import Fresh, Json, Output, Peers, repeated
from dumbbell.cli.refusals import UNFINISHED, note, say_json
from dumbbell.cli.segments import cross_validate_segments
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.crossvalidation import CrossValidation, PeerAbsent
from dumbbell.crossvalidation.page import cpu_text
from dumbbell.errors import refusal

ABSENT = 3
"""Exit code where the peer is not on this machine."""

SEGMENTS = "linux-segments"
"""The peer whose segments are compared, instead of results."""

DISAGREED = 1
"""Exit code of ``--strict`` where a criterion does not hold."""

# Lines about cases in which the peer failed; the report has them all.
LISTED_FAILURES = 5


def cross_validate(
    peer: Annotated[
        str,
        typer.Argument(metavar="PEER", help="Name of the peer: ns2, ns3, linux, testbed or linux-segments."),
    ],
    grids: Annotated[list[str] | None, repeated("--grid", "NAME", "Grid to run")] = None,
    share: Annotated[
        float,
        typer.Option("--share", metavar="F", help="Fraction of each grid to run, above 0 and at most 1."),
    ] = 1.0,
    json_output: Json = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 1 if a criterion does not hold.")
    ] = False,
    output: Output = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", help="Number of threads and processes; default: all cores, or that of the peer."
        ),
    ] = None,
    fresh: Fresh = False,
    folder: Peers = None,
) -> None:
    """Run grids in Dumbbell and in another simulator or in the kernel, and report their agreement.

    With linux-segments, every segment of rules = linux is compared with those of the kernel in simulated time, in 500
    conversations of each kind; the kinds are the grids.
    """
    # Only the testbed behind the peer needs root.
    become_caller(draws=True)
    if peer == SEGMENTS:
        if fresh or folder is not None:
            option = "--fresh" if fresh else "--peers"
            raise refusal(
                option, folder or True, f"left out with {SEGMENTS}, which stores no runs and has no folder"
            )
        holds = cross_validate_segments(
            grids or [],
            share=share,
            threads=threads,
            output=output or Path("results"),
            json_output=json_output,
        )
        raise typer.Exit(0 if holds or not strict else DISAGREED)
    try:
        done = crossvalidation.cross_validate(
            peer,
            grids=grids or (),
            share=share,
            output=output,
            threads=threads,
            fresh=fresh,
            peers=folder,
        )
    except PeerAbsent as absent:
        note(f"error: {' '.join(str(absent).split())}")
        raise typer.Exit(ABSENT) from None
    if json_output:
        say_json(done.data)
    else:
        _print(done)
    for grid, why in done.failures.items():
        note(f"error: {grid}: {' '.join(why.split())}")
    for (grid, key), why in list(done.failed_cases.items())[:LISTED_FAILURES]:
        note(f"error: {grid}: {key}: {' '.join(why.split())}")
    if len(done.failed_cases) > LISTED_FAILURES:
        note(f"error: {len(done.failed_cases)} cases failed altogether; the report lists them")
    if done.failures or done.failed_cases:
        raise typer.Exit(UNFINISHED)
    if strict and not done.holds:
        raise typer.Exit(DISAGREED)


def _print(done: CrossValidation) -> None:
    """Print the criteria as a table, then how much was run and where the report is."""
    columns = [
        Column("grid", "grid"),
        Column("criterion", "name"),
        Column("wanted", "wanted"),
        Column("measured", "measured"),
        Column("holds", "holds"),
    ]
    records = [
        {
            "grid": grid,
            "name": one.name,
            "wanted": one.wanted,
            "measured": one.measured,
            "holds": "yes" if one.holds else "no",
        }
        for grid, criteria in done.criteria.items()
        for one in criteria
    ]
    print_table(columns, records)
    cpu_s = done.data["cpu_s"]
    out = console()
    out.print(
        f"{done.data['runs']} runs, {duration(done.run_time_s)}; CPU time: Dumbbell {cpu_text(cpu_s['ours'])}, "
        f"{done.data['title']} {cpu_text(cpu_s['peer'])}",
        soft_wrap=True,
    )
    out.print(f"report: {done.report.resolve()}", soft_wrap=True)
