"""``dumbbell cross-validate linux-segments``: every segment of ``rules = "linux"`` beside those of a kernel."""

from __future__ import annotations

import json
import time
from pathlib import Path

import typer

from dumbbell.campaign import duration
from dumbbell.cli.refusals import UNFINISHED, note, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.crossvalidation.segments import GATE, compare, kinds, write_scripts
from dumbbell.durations import LINE_S
from dumbbell.files import make_folder, write_text

COLUMNS = (
    Column("kind", "kind"),
    Column("converses", "direction"),
    Column("cases", "cases"),
    Column("segments equal\n%", "segments", 100.0, 1),
    Column("all equal\n%", "everything", 100.0, 1),
    Column("holds", "verdict"),
)


def cross_validate_segments(
    names: list[str],
    *,
    share: float,
    threads: int | None,
    output: Path,
    json_output: bool,
) -> bool:
    """Compare, print a table and write ``results.json`` and scripts of differences. True if the gate holds everywhere."""
    begun = last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_S:
            last = time.monotonic()
            left = (last - begun) / done * (total - done)
            note(f"{done} of {total} conversations, {duration(left)} left")

    agreements = compare(names, share=share, threads=threads, progress=progress)
    folder = output / "cross-validation-linux-segments"
    make_folder(folder)
    records = [agreement.record() for agreement in agreements]
    about = kinds()
    if any(agreement.differences for agreement in agreements):
        note("differences are reduced to what they need")
    written = write_scripts(agreements, folder / "scripts")
    data = {
        "gate": GATE,
        "kinds": {record["kind"]: about[record["kind"]] for record in records},
        "agreements": records,
    }
    write_text(folder / "results.json", json.dumps(data, indent=1) + "\n")
    if json_output:
        say_json(data)
    else:
        print_table(COLUMNS, [record | {"verdict": "yes" if record["holds"] else "no"} for record in records])
        held = sum(record["holds"] for record in records)
        conversations = sum(record["cases"] for record in records)
        console().print(
            f"{held} of {len(records)} rows hold: at least {GATE:.0%} equal in everything; {conversations} conversations, "
            f"{duration(time.monotonic() - begun)}",
            soft_wrap=True,
        )
        console().print(
            f"{len(written)} scripts of differences and results.json: {folder.resolve()}", soft_wrap=True
        )
    for record in records:
        for seed, reason in record["failures"][:1]:
            note(f"error: {record['kind']}, seed {seed}: {reason}")
    if any(record["failures"] for record in records):
        raise typer.Exit(UNFINISHED)
    return all(record["holds"] for record in records)
