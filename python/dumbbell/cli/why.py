"""``dumbbell why``: what a sender learned and did around a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dumbbell import permission
from dumbbell.cli.options import Allow, File, Json, RunNumber, Seed, Set
from dumbbell.cli.progress import running
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.settings import changes
from dumbbell.cli.simulate import read_scenario, run_quietly
from dumbbell.cli.tables import Column, print_table
from dumbbell.files import prepare

COLUMNS = (Column("time [s]", "time"), Column("what", "kind"), Column("details", "text"))


def explain(
    file: File,
    flow: Annotated[str, typer.Option("--flow", metavar="NAME", help="Flow to explain.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="Time in the run, such as 12.3s; default: all of the run."),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="TIME", help="Width of the part around it; default: 200 ms."),
    ] = None,
    changed: Set = None,
    seed: Seed = 1,
    run: RunNumber = 0,
    json_output: Json = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="PAGE",
            help="Write a page with the window's curve, on which a click shows what happened around that time.",
        ),
    ] = None,
    allow: Allow = None,
) -> None:
    """Show what the sender of a flow learned and did around a time: acknowledgements, decisions, retransmissions."""
    permission.allow(*allow or ())
    scenario = read_scenario(file, changes(changed))
    for text in scenario.warnings:
        note(f"warning: {text}")
    if html is not None:
        prepare(html)
    with running(sys.stderr, is_at_most=bool(scenario.stop_when_complete)) as reached:
        result = run_quietly(scenario, seed, run, progress=reached)
    found = result.why(flow, at=at, window=window)
    if html is not None:
        found.save(html)
        note(f"wrote {html}")
    if json_output:
        say_json(found.to_dict(), indent=2)
    elif html is None:
        say(found.title)
        if found.unknown:
            say(found.not_shown)
        lines = [{"time": f"{line.time_s:.6f}", "kind": line.kind, "text": line.text} for line in found.lines]
        if lines:
            print_table(COLUMNS, lines)
        else:
            say("no entries: the sender learned and did nothing")
