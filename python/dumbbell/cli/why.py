"""``dumbbell why``: what a sender learned and did around a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dumbbell import permission
from dumbbell.cli.inspect import connection_number, read_capture
from dumbbell.cli.options import Allow, Json, RunNumber, Seed, Set
from dumbbell.cli.progress import running
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.settings import changes
from dumbbell.cli.simulate import is_standard_input, read_scenario, run_quietly
from dumbbell.cli.tables import Column, print_table
from dumbbell.errors import refusal
from dumbbell.files import prepare
from dumbbell.inspection.events import CapturedEvents
from dumbbell.inspection.recognized import is_capture
from dumbbell.why import NOTHING, Explanation

COLUMNS = (Column("time [s]", "time"), Column("what", "kind"), Column("details", "text"))


def explain(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Scenario file, - for standard input, or a capture.", show_default=False
        ),
    ],
    flow: Annotated[
        str,
        typer.Option(
            "--flow",
            metavar="NAME",
            help="Flow to explain; of a capture the number of a connection.",
            show_default=False,
        ),
    ],
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
            help="Write a page of a scenario with the window's curve, on which a click shows what happened around that time.",
        ),
    ] = None,
    allow: Allow = None,
) -> None:
    """Show what the sender of a flow learned and did around a time: acknowledgements, decisions, retransmissions.

    Of a capture, it shows the segments of both ends and what limited the sender.
    """
    permission.allow(*allow or ())
    if not is_standard_input(file) and is_capture(file):
        for name, value, default in (
            ("--set", changed, None),
            ("--seed", seed, 1),
            ("--run", run, 0),
            ("--html", html, None),
        ):
            if value != default:
                raise refusal(name, str(value), "none with a capture, which is no simulation")
        _print(read_capture(file, connection_number(flow)).why(at=at, window=window), json_output)
        return
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
    if json_output or html is None:
        _print(found, json_output)


def _print(found: Explanation | CapturedEvents, json_output: bool) -> None:
    if json_output:
        say_json(found.to_dict(), indent=2)
        return
    say(found.title)
    if isinstance(found, Explanation) and found.unknown:
        say(found.not_shown)
    lines = [{"time": f"{line.time_s:.6f}", "kind": line.kind, "text": line.text} for line in found.lines]
    if lines:
        print_table(COLUMNS, lines)
    else:
        say(NOTHING)
