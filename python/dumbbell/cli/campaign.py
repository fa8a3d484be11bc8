"""``dumbbell campaign``: the runs of a campaign file, on this machine or on a Dask cluster."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

from dumbbell.campaign import Campaign, Status, duration
from dumbbell.cli.refusals import note, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.errors import IdenticalRunsWarning, ScenarioWarning

__all__ = ["campaign"]


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
    wanted = Campaign.from_toml(file, store=output)
    if status:
        found = wanted.status()
        for text in found.warnings:
            note(f"warning: {text}")
        if json_output:
            say_json(_data(wanted, found))
        else:
            _print_points(found)
        return
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


def _data(wanted: Campaign, found: Status) -> dict[str, object]:
    return {
        "store": str(wanted.store),
        "runs": found.runs,
        "done": found.done,
        "missing": found.missing,
        "made": wanted.made,
        "points": json.loads(found.points.to_json(orient="records")),
        "warnings": [*found.warnings],
    }


def _print_points(found: Status) -> None:
    """Print the points with the runs that are done and missing, then their sums."""
    columns = [Column(name, name) for name in found.points.columns if name != "hash"]
    records = found.points.drop(columns="hash").to_dict("records")
    print_table(columns, [{str(name): value for name, value in row.items()} for row in records])
    console().print(str(found), soft_wrap=True)
