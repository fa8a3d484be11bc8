"""``dumbbell script``: play scripts of segments on the simulator or on a kernel."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from dumbbell import _engine
from dumbbell.cli.options import JsonList
from dumbbell.cli.refusals import guarded, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.crossvalidation.segments import check_kernel
from dumbbell.errors import refusal
from dumbbell.files import read_text

DIFFERS = 1
"""Exit code where a script fails."""

COLUMNS = (
    Column("script", "script"),
    Column("verdict", "verdict"),
    Column("line", "line"),
    Column("reason", "reason"),
)


@guarded
def play(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Scripts (.pkt), or folders of them.", show_default=False),
    ],
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            metavar="TREE",
            help="Play on this kernel, such as 6.12, in simulated time; default: the simulator, rules = linux.",
        ),
    ] = None,
    json_output: JsonList = False,
) -> None:
    """Play scripts of segments in packetdrill's syntax: which pass, which fail, and which cannot be expressed.

    docs/scripts.md tells what of the language is accepted.
    """
    if kernel is not None:
        check_kernel(kernel)
    records = []
    for path in paths:
        if not path.exists():
            raise refusal("PATH", str(path), "a script or a folder of scripts", problem="does not exist")
        files = _engine.script_files(str(path))
        if not files:
            raise refusal("PATH", str(path), "a folder with scripts (.pkt)", problem="has none")
        for file in files:
            verdict, line, reason = _engine.play_script(read_text(Path(file)), str(file), kernel)
            records.append({"script": str(file), "verdict": verdict, "line": line or None, "reason": reason})
    if json_output:
        say_json(records, indent=2)
    else:
        others = [record for record in records if record["verdict"] != "passed"]
        if others:
            print_table(COLUMNS, others)
        counts = Counter(str(record["verdict"]) for record in records)
        told = ", ".join(
            f"{counts[verdict]} {verdict}" for verdict in ("passed", "failed", "not expressible")
        )
        console().print(f"scripts: {told}", soft_wrap=True)
    if any(record["verdict"] == "failed" for record in records):
        raise typer.Exit(DIFFERS)
