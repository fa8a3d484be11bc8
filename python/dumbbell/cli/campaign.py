"""``dumbbell campaign``: the runs of a campaign file, on this machine or on a Dask cluster."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from dumbbell import permission
from dumbbell.campaign import Campaign, Status, duration
from dumbbell.cli.options import Allow, Fresh, Json, Scheduler, Set, Threads, folder
from dumbbell.cli.refusals import note, say_json
from dumbbell.cli.settings import changes
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.errors import IdenticalRunsWarning, ScenarioWarning


def campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file, TOML.", show_default=False)],
    changed: Set = None,
    scheduler: Scheduler = None,
    output: Annotated[
        Path | None,
        folder(
            "--output",
            "Folder for completed runs and tables; default: the file's output, or results/campaigns/NAME.",
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Show completed and missing points without running anything.")
    ] = False,
    threads: Threads = None,
    fresh: Fresh = False,
    allow: Allow = None,
    json_output: Json = False,
) -> None:
    """Run a base scenario with every combination of the given values.

    FILE contains base (a scenario: a table or the name of a file in the same folder), [axes] (lists of values by
    address, such as "links.r1-r2.rate"), and optionally runs (number of replications or run numbers), seed, output (a
    folder), and [[add]] (axes and runs of further combinations). Completed runs are kept: the same command resumes,
    and after a change of FILE it runs what is missing. At the end, the folder contains runs.parquet, flows.parquet
    and links.parquet.
    """
    permission.allow(*allow or ())
    values = changes(changed)
    if status:
        _show_status(file, output, values, json_output=json_output)
        return
    wanted = Campaign.from_toml(file, store=output, values=values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ScenarioWarning)
        warnings.simplefilter("always", IdenticalRunsWarning)
        wanted.run(scheduler, threads=threads, fresh=fresh)
    for one in caught:
        note(f"warning: {one.message}")
    written = wanted.export(wanted.store)
    found = wanted.status()
    if json_output:
        say_json(_data(wanted, found))
        return
    out = console()
    out.print(
        f"{len(found.points)} points, {found.runs} runs, {found.runs - wanted.made} of them reused; "
        f"{duration(wanted.run_time_s)}",
        soft_wrap=True,
    )
    out.print("tables: " + ", ".join(str(path) for path in written), soft_wrap=True)


def _show_status(file: Path, output: Path | None, values: Mapping[str, Any], *, json_output: bool) -> None:
    """Print the points of a campaign and how many of their runs are done; code that the file names is not loaded."""
    with permission.without_loading():
        wanted = Campaign.from_toml(file, store=output, values=values)
        found = wanted.status()
    for text in found.warnings:
        note(f"warning: {text}")
    for name in found.not_loaded:
        note(
            f"note: the code of {name} was not loaded, and completed runs with it are not counted; "
            f"--allow {shlex.quote(name)} counts them"
        )
    if json_output:
        say_json(_data(wanted, found))
    else:
        _print_points(found)


def _data(wanted: Campaign, found: Status) -> dict[str, object]:
    return {
        "store": str(wanted.store),
        "runs": found.runs,
        "done": found.done,
        "missing": found.missing,
        "uncounted": found.uncounted,
        "not_loaded": [*found.not_loaded],
        "made": wanted.made,
        "points": json.loads(found.points.to_json(orient="records")),
        "warnings": [*found.warnings],
    }


def _print_points(found: Status) -> None:
    """Print the points with the runs that are done and missing, then their sums."""
    columns = [Column(name, name) for name in found.points.columns if name != "hash"]
    records = found.points.drop(columns="hash").to_dict("records")
    print_table(
        columns,
        [{str(name): None if pd.isna(value) else value for name, value in row.items()} for row in records],
    )
    console().print(str(found), soft_wrap=True)
