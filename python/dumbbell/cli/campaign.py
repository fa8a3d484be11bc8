"""``dumbbell campaign``: the runs of a campaign file, on this machine or on a Dask cluster."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path

import pandas as pd

from dumbbell import permission
from dumbbell.campaign import Campaign, Status, duration
from dumbbell.cli.refusals import note, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.errors import IdenticalRunsWarning, ScenarioWarning


def campaign(
    file: Path,
    *,
    scheduler: str | None,
    output: Path | None,
    status: bool,
    threads: int | None,
    fresh: bool,
    json_output: bool,
) -> None:
    """Execute the missing runs of a campaign and write its tables, or only print its status."""
    if status:
        _show_status(file, output, json_output=json_output)
        return
    wanted = Campaign.from_toml(file, store=output)
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


def _show_status(file: Path, output: Path | None, *, json_output: bool) -> None:
    """Print the points of a campaign and how many of their runs are done; code that the file names is not loaded."""
    with permission.without_loading():
        wanted = Campaign.from_toml(file, store=output)
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
