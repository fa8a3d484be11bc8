"""What a paper runs in real time, on the testbed, and what is kept of it.

A paper with claims about real machines has a `dumbbell.papers.RealTime`: scenarios that the kernel runs as well as the
simulator. Both sides have the same scenario objects, and the paper's own reduction takes both, so that claims and figures
evaluate them alike.

Runs in real time take the time of the wall. A store keeps them whole, so that a change of the reduction repeats none; it is
named for the kernel and the build of the testbed (`dumbbell.testbed.identity`). A paper may also have a *record*: a file of
the checkout with the reduced runs of one machine, for machines that have none. A record holds numbers and no verdicts.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
import math
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from dumbbell import testbed
from dumbbell.campaign import INDEX, Display, PlannedRuns, Store, duration
from dumbbell.campaign.planned import Keep
from dumbbell.campaign.real_time import in_real_time
from dumbbell.files import replacing
from dumbbell.judge.estimate import AwaitsTestbed, NotMeasured, Outcome
from dumbbell.judge.reads import RunsByKey, by_key
from dumbbell.papers.paper import Paper, PlannedRun, RealTime, Settings, Stage
from dumbbell.runs import Job, Runs
from dumbbell.scenario import Scenario
from dumbbell.testbed import RealTimeRun, duration_s

MEASURED = "testbed"
"""Where a paper finds its `Measured` among what was observed; missing if there is none."""

SIMULATED = "testbed scenarios, simulated"
"""The stage of a paper's own plan in which the simulator runs the scenarios of the testbed."""

# Column of the store: all results of a run as text.
RESULTS = "results"

FEWEST = 2
"""Runs of each configuration from which results are complete enough to be evaluated."""

DIGITS = 7
"""Significant digits of numbers in a record."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Reduced runs in real time, and where they come from.

    Parameters
    ----------
    results
        A row for each run: ``key``, those of `INDEX`, and the columns of the paper.
    kernels
        Releases of the kernel.
    build
        Digest of the program that ran them, with its eBPF twins.
    fifo
        Whether all runs had real-time priority.
    repeats
        Disturbed runs that were repeated.
    recorded
        The day they were recorded, as ``"2026-11-23"``; empty if they are from the store.
    quick
        Whether they are of the plan of quick mode.
    """

    results: pd.DataFrame
    kernels: Sequence[str]
    build: str
    fifo: bool
    repeats: int
    recorded: str = ""
    quick: bool = False

    def counts(self) -> dict[str, int]:
        """Return the number of runs of each key."""
        return {str(key): int(count) for key, count in self.results["key"].value_counts(sort=False).items()}

    def origin(self) -> str:
        """Return where the runs come from, for reading."""
        counts = sorted(set(self.counts().values()))
        each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        recorded = f"recorded on {self.recorded}" if self.recorded else "measured"
        return f"{recorded} with Linux {', '.join(self.kernels)}, {each} runs of each configuration" + (
            ", quick mode" if self.quick else ""
        )

    def facts(self) -> list[tuple[str, str]]:
        """Return what the head of a report states."""
        repeated = f"; disturbed runs that were repeated: {self.repeats}"
        priority = "" if self.fifo else "; without real-time priority"
        return [
            (
                "real time",
                f"{len(self.results)} runs, {self.origin()}{repeated}{priority}; testbed {self.build}",
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the origin as plain data."""
        return {
            "runs": len(self.results),
            "kernels": list(self.kernels),
            "build": self.build,
            "fifo": self.fifo,
            "repeats": self.repeats,
            "recorded": self.recorded or None,
            "quick": self.quick,
        }


def command_of(name: str) -> str:
    """Return the command that runs a paper in real time."""
    return f"dumbbell reproduce {name} --testbed"


def simulated(plan: Sequence[PlannedRun]) -> list[PlannedRun]:
    """Return the runs of a real-time plan for the simulator: the same scenarios, seeds and keys."""
    return [replace(run, stage=SIMULATED) for run in plan]


def measure_of(
    name: str, origin: Callable[[Any], Measured | None]
) -> Callable[[Callable[..., Outcome]], Callable[..., Outcome]]:
    """Return a decorator for measures and estimates that evaluate runs in real time.

    The outcome states where the runs come from. Without runs, the claim awaits the testbed.

    Parameters
    ----------
    name
        Name of the paper.
    origin
        Returns the runs in real time from the evidence.
    """

    def decorated(measure: Callable[..., Outcome]) -> Callable[..., Outcome]:
        @functools.wraps(measure)
        def measured(evidence: Any, **arguments: Any) -> Outcome:
            found = origin(evidence)
            if found is None:
                raise AwaitsTestbed(f"It needs runs in real time: `{command_of(name)}`, with Linux and root.")
            try:
                outcome = measure(evidence, **arguments)
            except NotMeasured as reason:
                raise AwaitsTestbed(f"{reason} They are made by `{command_of(name)}`.") from None
            return replace(outcome, note="; ".join(filter(None, (outcome.note, found.origin()))))

        return measured

    return decorated


def _place(paper: Paper, place: Path) -> Path:
    return place / "cache" / paper.name / "testbed"


def _kept(result: RealTimeRun) -> dict[str, str]:
    return {RESULTS: result.to_json()}


def runs_of(measured: Measured | None) -> RunsByKey:
    """Return the results of runs in real time, by key.

    Raises
    ------
    NotMeasured
        There are none.
    """
    if measured is None:
        raise NotMeasured("There are no runs in real time.")
    return by_key(measured.results, origin=MEASURED)


def origin_of(measured: Measured | None) -> str:
    """Return where runs in real time come from, for reading; empty if there are none."""
    return "" if measured is None else measured.origin()


def absent(name: str, measured: Measured | None, needed: Callable[[], object]) -> str:
    """Return why a report cannot show runs in real time, as a sentence; empty if it can.

    Parameters
    ----------
    name
        Name of the paper.
    measured
        The runs.
    needed
        Raises `dumbbell.judge.estimate.NotMeasured` if there are too few.
    """
    try:
        runs_of(measured)
        needed()
    except NotMeasured as reason:
        return f"{reason} They are made by `{command_of(name)}`, with Linux and root."
    return ""


def fill(
    paper: Paper,
    settings: Settings,
    place: Path,
    display: Display,
    *,
    fresh: bool = False,
    told: Callable[[str], None] | None = None,
) -> tuple[Measured | None, int]:
    """Run what is missing of a paper's real-time plan, and return all its runs.

    Completed runs are stored at once. A run that remains disturbed is not stored: the same command repeats it.

    Parameters
    ----------
    paper
        A paper with a real-time plan.
    settings
        How it is to be reproduced.
    place
        Folder of results.
    display
        Display of progress.
    fresh
        Delete the stored runs in real time first.
    told
        Called with a sentence before a long wait.

    Returns
    -------
    Measured or None, int
        The runs, and how many planned ones are missing because they remained disturbed.

    Raises
    ------
    MachineError
        The machine lacks something.
    RealTimeError
        Something failed.
    """
    if (real_time := paper.real_time) is None:
        raise ValueError(f"{paper.name} has no real-time plan")
    testbed.find_binary(told=told)
    plan = real_time.plan(settings)
    stages = {stage.name: stage for stage in real_time.stages(settings)}
    with Store(_place(paper, place), [RESULTS], fresh=fresh, identity=testbed.identity()) as store:
        display.warn(store.warnings)
        # Transfers end before their scenarios, so that the stage tells how long they take.
        costs = {run.scenario.hash: stages[run.stage].wall_s(1) for run in plan}
        work = PlannedRuns(paper.name, plan, store, cost=lambda scenario: costs[scenario.hash])
        if told is not None and len(work.missing):
            told(_announced(work, stages))
        work.announce(display)
        display.whole("runs in real time", work.total, work.reused)
        work.make(partial(_make, stages), display)
        store.compact()
        found = _of_store(paper, store, plan, quick=settings.quick)
        return found, work.total - work.done


def _make(stages: Mapping[str, Stage], planned: Sequence[PlannedRun], keep: Keep) -> None:
    """Make runs of one stage in real time."""
    in_real_time(_kept, at_once=stages[planned[0].stage].side_by_side())(planned, keep)


def _announced(work: PlannedRuns[PlannedRun], stages: Mapping[str, Stage]) -> str:
    """Return how long the missing runs take, as a sentence."""
    wall = sum(stages[name].wall_s(len(rows)) for name, rows in work.stages.items())
    reused = f", {work.reused} reused" if work.reused else ""
    return f"{len(work.missing)} runs in real time{reused}; about {duration(wall)}"


def measured_of(paper: Paper, place: Path) -> Measured | None:
    """Return the runs in real time that a paper is evaluated with; ``None`` if there are none.

    These are, in this order: the newest store with enough runs of the full plan, the record, and the newest store with
    enough runs of the plan of quick mode. Runs count if their scenario is that of the plan, whatever their seeds.

    Parameters
    ----------
    paper
        The paper.
    place
        Folder of results.
    """
    real_time = paper.real_time
    if real_time is None:
        return None
    stores = [
        Store(folder.parent, [RESULTS], identity=identity, read_only=True)
        for folder, identity in _folders(_place(paper, place))
    ]
    for quick in (False, True):
        plan = real_time.plan(Settings(quick=quick))
        for store in stores:
            found = _of_store(paper, store, plan, quick=quick)
            if found is not None and _is_enough(found, plan):
                return found
        if not quick:
            found = _of_record(real_time.record, paper.columns, plan)
            if found is not None and _is_enough(found, plan):
                return found
    return None


def _folders(place: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders of stores with their identities, the one last written to first."""
    folders = [folder for folder in place.glob("*-*") if folder.is_dir()] if place.is_dir() else []
    for folder in sorted(folders, key=lambda folder: (folder.stat().st_mtime, folder.name), reverse=True):
        identity, _, _ = folder.name.rpartition("-")
        yield folder, identity


def _is_enough(measured: Measured, plan: Sequence[PlannedRun]) -> bool:
    counts = measured.counts()
    return all(counts.get(run.key, 0) >= FEWEST for run in plan)


def _of_store(paper: Paper, store: Store, plan: Sequence[PlannedRun], *, quick: bool) -> Measured | None:
    """Return the stored runs of a plan, reduced as the paper reduces those of the simulator."""
    planned = {run.scenario.hash: run for run in plan}
    frame = store.frame()
    frame = frame[frame["hash"].isin(planned)].sort_values(INDEX, ignore_index=True)
    if frame.empty:
        return None
    runs = [
        RealTimeRun.of_json(Job(planned[name].scenario, int(seed), int(run)), text)
        for name, seed, run, text in zip(*(frame[column] for column in (*INDEX, RESULTS)), strict=True)
    ]
    reduced = paper.reduce(_as_runs(runs)).reset_index(drop=True)
    names = frame[INDEX].assign(key=[planned[name].key for name in frame["hash"]])
    about = [one.summary["testbed"] for one in runs]
    # The last two parts of the folder's name are the build and the columns.
    build = store.place.name.split("-")[-2]
    return Measured(
        results=_numbered(pd.concat([names, reduced], axis=1), paper.columns),
        kernels=sorted({str(one["kernel"]) for one in about}),
        build=build,
        fifo=all(one["fifo"] for one in about),
        repeats=sum(int(one["repeats"]) for one in about),
        quick=quick,
    )


def _numbered(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return the results with the columns of a paper's table. Runs of one seed and number have one number in all keys."""
    numbered = frame.assign(run=frame.groupby(["seed", "run"]).ngroup(), stage=MEASURED)
    return numbered[["key", "stage", *INDEX, *columns]]


def _as_runs(runs: Sequence[RealTimeRun]) -> Runs:
    """Return runs in real time in the form that a reduction takes."""

    def numbered(tables: Sequence[pa.Table | None]) -> pa.Table:
        return pa.concat_tables(
            [
                table.add_column(0, "job", pa.array(np.full(len(table), job), pa.uint32()))
                for job, table in enumerate(tables)
                if table is not None
            ]
        )

    flows = numbered([one.arrow_flows for one in runs])
    lengths = [duration_s(one.scenario) for one in runs]
    lasted = pa.array(np.asarray(lengths)[flows["job"].to_numpy()])
    quantities = dict.fromkeys(name for one in runs for name in one.arrow_traces)
    return Runs(
        jobs=tuple(Job(one.scenario, one.seed, one.run) for one in runs),
        completed=len(runs),
        arrow_flows=flows.append_column("simulated_s", lasted),
        arrow_links=numbered([one.arrow_links for one in runs]),
        arrow_traces={name: numbered([one.arrow_traces.get(name) for one in runs]) for name in quantities},
    )


def _stated(scenario: Scenario) -> str:
    """Return a digest of what a scenario states; fields that later versions add with a default do not change it."""
    text = json.dumps(scenario.to_dict(), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _plain(value: Any) -> Any:
    """Return a reduced value as plain data with few digits; ``None`` for what is empty or unknown."""
    if isinstance(value, np.ndarray | list | tuple):
        items = [_plain(item) for item in value]
        return None if all(item is None for item in items) else items
    if isinstance(value, float | np.floating):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value


def write_record(real_time: RealTime, paper: Paper, measured: Measured, plan: Sequence[PlannedRun]) -> None:
    """Write the record of a paper.

    Parameters
    ----------
    real_time, paper
        The paper and its real-time plan.
    measured
        Its runs.
    plan
        The planned runs.

    Raises
    ------
    ResultsError
        It could not be written.
    """
    stated = {run.key: _stated(run.scenario) for run in plan}
    rows = []
    for row in measured.results.to_dict("records"):
        reduced = {name: _plain(row[name]) for name in paper.columns}
        named = {
            "key": row["key"],
            "stated": stated[row["key"]],
            "seed": int(row["seed"]),
            "run": int(row["run"]),
        }
        rows.append(named | {name: value for name, value in reduced.items() if value is not None})
    head = {
        "paper": paper.name,
        "recorded": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "kernels": list(measured.kernels),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "build": measured.build,
        "fifo": measured.fifo,
        "repeats": measured.repeats,
    }
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    begin = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
    with replacing(real_time.record) as file:
        file.write(f'{begin},\n "runs": [\n  {lines}\n ]\n}}\n'.encode())


def _of_record(file: Path, columns: Sequence[str], plan: Sequence[PlannedRun]) -> Measured | None:
    """Return the recorded runs whose scenarios are those of the plan; ``None`` without any.

    Raises
    ------
    ValueError
        The file is not a record.
    """
    if not file.is_file():
        return None
    try:
        record: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        stated = {run.key: _stated(run.scenario) for run in plan}
        hashes = {run.key: run.scenario.hash for run in plan}
        rows = [row for row in record["runs"] if stated.get(row["key"]) == row["stated"]]
        about = Measured(
            results=pd.DataFrame(),
            kernels=[str(kernel) for kernel in record["kernels"]],
            build=str(record["build"]),
            fifo=bool(record["fifo"]),
            repeats=int(record["repeats"]),
            recorded=str(record["recorded"]),
        )
        frame = pd.DataFrame(
            [{name: _value(row.get(name)) for name in columns} for row in rows], columns=list(columns)
        )
        frame["key"] = [row["key"] for row in rows]
        frame["hash"] = [hashes[row["key"]] for row in rows]
        for name in ("seed", "run"):
            frame[name] = [int(row[name]) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file.name} is no record of runs in real time: {error}") from error
    return replace(about, results=_numbered(frame, columns)) if rows else None


def _value(value: Any) -> Any:
    if value is None:
        return np.empty(0)
    if isinstance(value, list):
        return np.asarray([math.nan if item is None else item for item in value])
    return value
