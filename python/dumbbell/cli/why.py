"""``dumbbell why``: what a sender learned and did around a time."""

from __future__ import annotations

import sys
from pathlib import Path

from dumbbell.cli.progress import running
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.simulate import read_scenario, run_quietly
from dumbbell.cli.tables import Column, print_table
from dumbbell.files import prepare

COLUMNS = (Column("time [s]", "time"), Column("what", "kind"), Column("details", "text"))


def explain(
    file: Path,
    *,
    flow: str,
    at: str | None,
    window: str | None,
    seed: int,
    run: int,
    json_output: bool,
    html: Path | None,
) -> None:
    """Run a scenario file, and again with a journal of the flow; print the journal, or write its page."""
    scenario = read_scenario(file)
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
        lines = [{"time": f"{line.time_s:.6f}", "kind": line.kind, "text": line.text} for line in found.lines]
        if lines:
            print_table(COLUMNS, lines)
        else:
            say("no entries: the sender learned and did nothing")
