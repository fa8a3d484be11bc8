"""The sides of a comparison: scenarios, files, saved runs, bundles, campaigns and results, each read as runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dumbbell.campaign import Campaign
from dumbbell.documents import toml_of
from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import read_input
from dumbbell.inspection.recognized import is_capture
from dumbbell.runs import Job, Runs, RunTables
from dumbbell.saved import is_saved
from dumbbell.scenario import LARGEST_FILE_BYTES, Scenario

ACCEPTED = (
    "a scenario, the name of a scenario or campaign file, a folder of saved runs, a Run, several of them, "
    "Runs, or a Campaign"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """A side before anything is run: a scenario to be run, or results.

    Parameters
    ----------
    name
        What it is, for the reader.
    scenario
        The scenario that is to be run; ``None`` if there are results.
    runs
        The results.
    first
        A run to draw, if it cannot be repeated, as one in real time.
    """

    name: str
    scenario: Scenario | None = None
    runs: Runs | None = None
    first: RunTables | None = None


def given(side: Any, field: str) -> Given:
    """Return what a side is.

    Parameters
    ----------
    side
        What the caller has passed.
    field
        ``"a"`` or ``"b"``, for errors.

    Raises
    ------
    ScenarioError
        It is nothing that can be compared, or a campaign without completed runs.
    OSError
        A file cannot be read.
    """
    if isinstance(side, str | os.PathLike):
        return _of_path(Path(side), field)
    if isinstance(side, Scenario | Mapping):
        scenario = Scenario.of(side)
        return Given(name=scenario.name or "unnamed scenario", scenario=scenario)
    if isinstance(side, Runs):
        return Given(name=_named(side), runs=side.only_completed())
    if isinstance(side, Campaign):
        return _of_campaign(side, str(side.store))
    several = [side] if isinstance(side, RunTables) else side
    if isinstance(several, Iterable):
        listed = list(several)
        if listed and all(isinstance(one, RunTables) for one in listed):
            runs = runs_of(listed)
            return Given(name=_named(runs), runs=runs, first=listed[0])
    raise refusal(field, type(side).__name__, ACCEPTED, quoted=False)


def _named(runs: Runs) -> str:
    names = list(dict.fromkeys(job.scenario.name or "unnamed scenario" for job in runs.jobs))
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _of_path(path: Path, field: str) -> Given:
    if path.is_dir():
        if not is_saved(path):
            accepted = "a scenario or campaign file, or a folder of saved runs, which has results.json"
            raise refusal(
                field,
                str(path),
                accepted,
                problem="is a folder without saved runs; accepted: one with them, or a file",
            )
        return Given(name=str(path), runs=Runs.load(path).only_completed())
    if is_capture(path):
        accepted = "a side whose scenario is known; a capture is compared with another one (docs/captures.md)"
        raise refusal(field, str(path), accepted, problem="is a capture, which is of no scenario")
    content = read_input(path, LARGEST_FILE_BYTES + 1)
    is_json = path.suffix.lower() == ".json"
    if not is_json and "base" in _keys(content, path):
        return _of_campaign(Campaign.from_toml(path), str(path))
    try:
        scenario = Scenario.from_text(
            content, form="json" if is_json else "toml", folder=path.parent, source=str(path)
        )
    except ScenarioError as error:
        text = str(error)
        raise ScenarioError(text if text.startswith(str(path)) else f"{path}: {text}") from None
    return Given(name=str(path), scenario=scenario)


def _keys(content: bytes, path: Path) -> Iterable[str]:
    try:
        return toml_of(content, str(path))
    except ScenarioError:
        # The engine reads TOML 1.1, and says what is wrong.
        return ()


def _of_campaign(campaign: Campaign, name: str) -> Given:
    runs = campaign.results()
    if not runs.completed:
        raise refusal(name, "no completed run", "a campaign that has run: dumbbell campaign", quoted=False)
    return Given(name=name, runs=runs.only_completed())


def runs_of(several: Sequence[RunTables]) -> Runs:
    """Return single runs, simulated or in real time, as one batch."""

    def joined(tables: Sequence[pa.Table]) -> pa.Table:
        numbered = []
        for number, table in enumerate(tables):
            bare = table.drop_columns(["job"]) if "job" in table.column_names else table
            numbered.append(bare.add_column(0, "job", [np.full(bare.num_rows, number, dtype=np.uint32)]))
        return pa.concat_tables(numbered, promote_options="permissive").combine_chunks()

    traces = dict.fromkeys(quantity for one in several for quantity in one.arrow_traces)
    common = [quantity for quantity in traces if all(quantity in one.arrow_traces for one in several)]
    engines = {getattr(one, "engine", "") for one in several} - {""}
    runs = Runs(
        jobs=tuple(Job(one.scenario, one.seed, one.run) for one in several),
        completed=len(several),
        arrow_flows=joined([one.arrow_flows for one in several]),
        arrow_links=joined([one.arrow_links for one in several]),
        arrow_traces={name: joined([one.arrow_traces[name] for one in several]) for name in common},
    )
    return replace(runs, engine=", ".join(sorted(engines))) if engines else runs


def points(runs: Runs) -> dict[str, list[int]]:
    """Return the jobs of each point by the values of its parameters, as JSON text; one point has the text ``{}``."""
    found: dict[str, list[int]] = {}
    for number, job in enumerate(runs.jobs):
        found.setdefault(json.dumps(dict(job.parameters), sort_keys=True, ensure_ascii=False), []).append(
            number
        )
    return {"{}": next(iter(found.values()))} if len(found) == 1 else found
