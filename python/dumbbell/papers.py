"""Reproducing a paper: plan the runs, run them, judge the paper's claims, write a report.

A paper is a folder under ``papers/`` whose ``__init__.py`` has a value ``PAPER`` that follows the `Paper` protocol. It
uses the public API only. `reproduce` is what ``dumbbell reproduce`` calls.

Finished runs are kept in a cache beside the reports, keyed by the engine, the scenario's hash, the seed and the run, so a
reproduction that was interrupted resumes and a second one starts from what is there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TextIO

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

import dumbbell
from dumbbell import _engine, claims, report
from dumbbell.errors import RunsInterrupted, refusal
from dumbbell.run import Job, Runs
from dumbbell.scenario import Scenario

__all__ = [
    "Interrupted",
    "Paper",
    "PlannedRun",
    "Reproduction",
    "Settings",
    "Steps",
    "available",
    "load",
    "reproduce",
]

FOLDER_VARIABLE = "DUMBBELL_PAPERS"

# Runs handed to the engine at a time: a second or two of work, which bounds what an interruption can lose.
BATCH = 400


class Interrupted(KeyboardInterrupt):
    """A reproduction was interrupted; the message says what was kept and how to go on."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a paper is to be reproduced.

    Parameters
    ----------
    quick
        Use fewer replications, enough to see that everything works.
    runs
        Replications for each configuration of the paper's main tables; ``None`` for the paper's own number.
    seed
        Seed all seeds are derived from.
    threads
        Threads to run on; ``None`` for all cores.
    """

    quick: bool = False
    runs: int | None = None
    seed: int = 1
    threads: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """A run a paper needs.

    Parameters
    ----------
    key
        Name of the configuration the run belongs to.
    scenario
        What to run.
    seed, run
        Which random streams to run it with.
    stage
        Group of runs it belongs to; groups are run, and their times told, one after the other.
    """

    key: str
    scenario: Scenario
    seed: int
    run: int
    stage: str = "runs"


class Steps(Protocol):
    """Where a paper says how far it is."""

    def __call__(self, title: str, total: int, /) -> Callable[[], None]:
        """Begin a step of `total` parts; the returned function marks one part as done."""


class Paper(Protocol):
    """What the folder of a paper provides.

    The results of the planned runs reach `observe`, `evaluate` and `sections` as a table with the columns ``key``,
    ``seed``, ``run`` and those named in `columns`, one row for each planned run. A column may hold lists: the goodputs of
    all flows, or a trace at some times; they come back as NumPy arrays. What is kept of a run is what `reduce` made of it,
    so a column whose meaning changes needs another name, or the runs are made again with ``--fresh``.

    A paper may also have ``aims``, the shares of its claims that are hoped for; `claims.Aims` says what they are without.
    """

    name: str
    title: str
    citation: str
    order: int
    columns: tuple[str, ...]

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the runs to make."""

    def reduce(self, runs: Runs) -> pd.DataFrame:
        """Return one row of `columns` for each finished job of a batch, in the order of the jobs."""

    def observe(self, settings: Settings, steps: Steps) -> Any:
        """Return what is read from traces and single runs instead of the table of results."""

    def evaluate(self, settings: Settings, results: pd.DataFrame, observed: Any) -> list[claims.Finding]:
        """Return the findings on every claim of the paper."""

    def sections(
        self, settings: Settings, results: pd.DataFrame, observed: Any, findings: Sequence[claims.Finding]
    ) -> Sequence[report.Section]:
        """Return the sections of the report."""

    def facts(self, settings: Settings) -> Sequence[tuple[str, str]]:
        """Return pairs of name and value that the head of the report states."""

    def notice(self, settings: Settings) -> str:
        """Return a remark for the top of the report, or an empty text."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A finished reproduction.

    Parameters
    ----------
    paper
        Name of the paper.
    report, results
        The files written: the report (HTML) and the findings (JSON).
    findings
        The judged claims.
    data
        What was written to `results`, as plain data.
    run_time_s
        Wall-clock time it took, s.
    """

    paper: str
    report: Path
    results: Path
    findings: Sequence[claims.Finding]
    data: Mapping[str, Any]
    run_time_s: float


def folder(path: str | Path | None = None) -> Path:
    """Return the folder that holds the papers.

    Parameters
    ----------
    path
        The folder, if it is known. Otherwise the environment variable ``DUMBBELL_PAPERS`` names it, and without one it
        is ``papers/`` of the checkout the package runs from.

    Raises
    ------
    ScenarioError
        There is no such folder.
    """
    stated = path or os.environ.get(FOLDER_VARIABLE)
    place = Path(stated) if stated else Path(dumbbell.__file__).resolve().parents[2] / "papers"
    if not place.is_dir():
        raise refusal(
            "papers",
            str(place),
            f"the papers/ folder of a checkout, given by --papers or by the environment variable {FOLDER_VARIABLE}",
            problem="is no folder",
        )
    return place


def available(path: str | Path | None = None) -> list[str]:
    """Return the names of the papers that can be reproduced.

    Parameters
    ----------
    path
        See `folder`.
    """
    return sorted(
        entry.name.replace("_", "-") for entry in folder(path).iterdir() if (entry / "__init__.py").is_file()
    )


def load(name: str, path: str | Path | None = None) -> Paper:
    """Return a paper by its name.

    Parameters
    ----------
    name
        As ``"vegas-revisited"``.
    path
        See `folder`.

    Raises
    ------
    ScenarioError
        There is no paper of that name.
    """
    names = available(path)
    if name not in names:
        raise refusal(
            "paper", name, f"one of {', '.join(names)}", names=names, problem="is not a known paper"
        )
    place = folder(path) / name.replace("-", "_")
    module_name = f"dumbbell_paper_{place.name}"
    if module_name not in sys.modules:
        specification = importlib.util.spec_from_file_location(
            module_name, place / "__init__.py", submodule_search_locations=[str(place)]
        )
        if specification is None or specification.loader is None:
            raise refusal("paper", name, "a folder that is a Python package", problem="cannot be imported")
        module = importlib.util.module_from_spec(specification)
        sys.modules[module_name] = module
        specification.loader.exec_module(module)
    paper: Paper = sys.modules[module_name].PAPER
    return paper


@cache
def engine_identity() -> str:
    """Return a name of this very build of the engine: its version and a digest of its file."""
    file = _engine.__file__
    digest = hashlib.blake2b(Path(file).read_bytes(), digest_size=6).hexdigest() if file else "unknown"
    return f"{_engine.version()}-{digest}"


class Cache:
    """Finished runs of one paper on one build of the engine, kept in Parquet files.

    Parameters
    ----------
    place
        Folder of the cache.
    columns
        The columns of a reduced run; what was kept with other columns is not used.
    """

    def __init__(self, place: Path, columns: Sequence[str]) -> None:
        names = hashlib.blake2b("\n".join(columns).encode(), digest_size=4).hexdigest()
        self.place = place / f"{engine_identity()}-{names}"

    def read(self) -> pd.DataFrame:
        """Return everything kept: columns ``hash``, ``seed``, ``run`` and the reduced ones."""
        frames: list[pd.DataFrame] = []
        for file in sorted(self.place.glob("*.parquet")):
            try:
                frames.append(pd.read_parquet(file))
            except (OSError, ValueError):  # a file cut short by a crash
                file.unlink(missing_ok=True)
        if not frames:
            return pd.DataFrame(
                {
                    "hash": pd.Series(dtype=str),
                    "seed": pd.Series(dtype="uint64"),
                    "run": pd.Series(dtype="uint64"),
                }
            )
        return pd.concat(frames, ignore_index=True).drop_duplicates(["hash", "seed", "run"])

    def add(self, frame: pd.DataFrame) -> None:
        """Keep some more runs."""
        self.place.mkdir(parents=True, exist_ok=True)
        name = f"{time.time_ns():020d}.parquet"
        partial = self.place / f".{name}"
        frame.to_parquet(partial, index=False)
        partial.replace(self.place / name)

    def compact(self) -> None:
        """Put everything kept into one file."""
        files = sorted(self.place.glob("*.parquet"))
        if len(files) > 1:
            self.add(self.read())
            for file in files:
                file.unlink(missing_ok=True)


def _scenario_hashes(scenarios: Sequence[Scenario]) -> list[str]:
    """Return the hash of each scenario's canonical form; equal objects are hashed once."""
    known: dict[int, str] = {}
    hashes: list[str] = []
    for scenario in scenarios:
        identity = id(scenario)
        if identity not in known:
            known[identity] = scenario.hash
        hashes.append(known[identity])
    return hashes


INDEX = ["hash", "seed", "run"]


def _wanted(plan: Sequence[PlannedRun]) -> pd.DataFrame:
    """Return the plan as a table, one row for each planned run."""
    return pd.DataFrame(
        {
            "key": [planned.key for planned in plan],
            "stage": [planned.stage for planned in plan],
            "hash": _scenario_hashes([planned.scenario for planned in plan]),
            "seed": np.array([planned.seed for planned in plan], dtype=np.uint64),
            "run": np.array([planned.run for planned in plan], dtype=np.uint64),
        }
    )


def _run_stage(
    paper: Paper,
    plan: Sequence[PlannedRun],
    missing: pd.DataFrame,
    store: Cache,
    settings: Settings,
    done: Callable[[int], None],
) -> list[pd.DataFrame]:
    """Run the missing rows of a stage, keep them, and return them; an interruption keeps what was finished."""
    # Long and short runs are mixed, so that every batch takes about as long as the others.
    order = np.random.default_rng(0).permutation(missing.index.to_numpy(copy=True))
    frames = []
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        jobs = [Job(scenario=plan[row].scenario, seed=plan[row].seed, run=plan[row].run) for row in batch]
        interrupted = False
        try:
            runs = dumbbell.run_many(jobs, threads=settings.threads, progress=False)
        except RunsInterrupted as interruption:
            runs, interrupted = interruption.runs, True
        finished = paper.reduce(runs)
        rows = missing.loc[batch[finished.index.to_numpy()], INDEX]
        frame = pd.concat([rows.reset_index(drop=True), finished.reset_index(drop=True)], axis=1)
        store.add(frame)
        frames.append(frame)
        done(len(frame))
        if interrupted:
            raise KeyboardInterrupt
    return frames


@contextmanager
def _progress(quiet: bool, stream: TextIO) -> Iterator[Progress]:
    """Show progress with the time left, or nothing."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(file=stream),
        disable=quiet,
    ) as progress:
        yield progress


def _plain(value: Any) -> Any:
    """Return `value` as JSON can hold it: no NaN, no NumPy numbers."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _claim_rows(findings: Sequence[claims.Finding]) -> list[dict[str, str]]:
    """Return the findings as the report's list of claims shows them."""
    number = claims.number
    rows: list[dict[str, str]] = []
    for finding in findings:
        claim = finding.claim
        unit = f" {claim.units}" if claim.units not in ("", "-", "flag", "sign") else ""
        rows.append(
            {
                "id": claim.id,
                "source": claim.source,
                "kind": claim.kind,
                "statement": claim.statement,
                "tolerance": claim.rule(),
                "paper": f"{number(claim.paper_value, digits=4)}{unit}"
                if claim.paper_value is not None
                else "",
                "measured": f"{number(finding.measured, digits=4)}{unit}"
                if finding.measured is not None
                else "",
                "interval": f"{number(finding.low)} to {number(finding.high)}"
                if finding.low is not None
                else "",
                "verdict": finding.verdict,
                "why": finding.why,
            }
        )
    return rows


def reproduce(
    name: str,
    *,
    quick: bool = False,
    json_output: bool = False,
    output: str | Path | None = None,
    runs: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    fresh: bool = False,
    papers: str | Path | None = None,
    quiet: bool = False,
) -> Reproduction:
    """Reproduce a paper: run its scenarios, judge its claims, write a report.

    Parameters
    ----------
    name
        Name of the paper, as ``"vegas-revisited"``.
    quick
        Use fewer replications.
    json_output
        Print the findings as JSON on standard output instead of a summary; progress goes to standard error.
    output
        Folder for reports and the cache of runs; ``results/`` of the working directory by default.
    runs
        Replications for each configuration of the main tables, at least 2; the paper's own number by default.
    seed
        Seed all seeds are derived from, at least 0.
    threads
        Threads to run on; all cores by default.
    fresh
        Run everything again instead of using runs kept from before.
    papers
        Folder that holds the papers; see `folder`.
    quiet
        Show no progress and print nothing but what `json_output` asks for.

    Returns
    -------
    Reproduction
        The findings and where the report is.

    Raises
    ------
    ScenarioError
        The paper is not known, or a setting is out of range.
    Interrupted
        Ctrl-C. Every finished run is kept; the same command resumes.
    """
    if runs is not None and runs < 2:
        raise refusal("runs", runs, "a whole number from 2")
    if not 0 <= seed < 2**64:
        raise refusal("seed", seed, "a whole number from 0 to 2^64 - 1")
    if threads is not None and threads < 1:
        raise refusal("threads", threads, "a whole number from 1")
    paper = load(name, papers)
    settings = Settings(quick=quick, runs=runs, seed=seed, threads=threads)
    place = Path(output) if output is not None else Path("results")
    target = place / name
    target.mkdir(parents=True, exist_ok=True)
    store = Cache(place / "cache" / name, paper.columns)
    begin = time.monotonic()
    times: dict[str, float] = {}
    reused = done = total = 0
    try:
        with _progress(quiet, sys.stderr) as progress:

            def steps(title: str, total: int) -> Callable[[], None]:
                step = progress.add_task(title, total=total)
                return lambda: progress.advance(step)

            planned = steps("plan", 1)
            plan = paper.plan(settings)
            wanted = _wanted(plan)
            kept = store.read() if not fresh else store.read().head(0)
            known = pd.MultiIndex.from_frame(kept[INDEX])
            missing = wanted[~pd.MultiIndex.from_frame(wanted[INDEX]).isin(known)].drop_duplicates(INDEX)
            total, reused = len(wanted), len(wanted) - len(missing)
            done = reused
            planned()
            frames = [kept]
            stages = {
                str(stage): progress.add_task(str(stage), total=len(rows), start=False)
                for stage, rows in missing.groupby("stage", sort=False)
            }
            for stage, task in stages.items():
                start = time.monotonic()
                progress.start_task(task)

                def finished(count: int, task: TaskID = task) -> None:
                    nonlocal done
                    done += count
                    progress.advance(task, count)

                rows = missing[missing["stage"] == stage]
                frames += _run_stage(paper, plan, rows, store, settings, finished)
                times[stage] = time.monotonic() - start
            results = wanted.merge(
                pd.concat([frame for frame in frames if len(frame)], ignore_index=True),
                on=INDEX,
                how="left",
                validate="many_to_one",
            )
            start = time.monotonic()
            observed = paper.observe(settings, steps)
            times["traces"] = time.monotonic() - start
            judged = steps("claims and report", 2)
            findings = paper.evaluate(settings, results, observed)
            judged()
            sections = paper.sections(settings, results, observed, findings)
            judged()
    except KeyboardInterrupt as interruption:
        raise Interrupted(
            f"interrupted; {done} of {total} runs are kept in {store.place}, "
            "and the same command goes on from there"
        ) from interruption
    store.compact()
    run_time_s = time.monotonic() - begin
    score = claims.scoreboard(findings, getattr(paper, "aims", claims.Aims()))
    facts = [
        ("engine", engine_identity()),
        ("runs", f"{total}, {reused} of them kept from before" if reused else str(total)),
        ("seed", str(seed)),
        ("run time", f"{run_time_s:.0f} s"),
        *((f"run time, {stage}", f"{seconds:.1f} s") for stage, seconds in times.items()),
        *paper.facts(settings),
    ]
    data = _plain(
        {
            "paper": paper.name,
            "title": paper.title,
            "engine": engine_identity(),
            "seed": seed,
            "quick": quick,
            "runs": total,
            "runs_kept_from_before": reused,
            "run_time_s": round(run_time_s, 1),
            "stage_times_s": {stage: round(seconds, 1) for stage, seconds in times.items()},
            "score": {
                row["name"]: {key: row[key] for key in ("reproduced", "missed", "unchecked", "share")}
                for row in score["groups"]
            },
            "facts": dict(facts),
            "claims": [finding.to_dict() for finding in findings],
        }
    )
    text = report.render(
        title=paper.title,
        subtitle=paper.citation,
        facts=facts,
        scoreboard=score,
        claims=_claim_rows(findings),
        sections=sections,
        notice=paper.notice(settings),
    )
    report_file, results_file = target / "report.html", target / "results.json"
    report_file.write_text(text, encoding="utf-8")
    results_file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if json_output:
        sys.stdout.write(json.dumps(data, ensure_ascii=False) + "\n")
    elif not quiet:
        console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
        for row in score["groups"]:
            aim = f" (aim {row['aim']} %)" if row["aim"] else ""
            console.print(
                f"{row['name']}: {row['reproduced']} reproduced, {row['missed']} not reproduced, "
                f"{row['unchecked']} not checkable; {row['percent']}{aim}"
            )
        console.print(f"{total} runs, {run_time_s:.0f} s")
        console.print(f"report: {report_file.resolve()}")
    return Reproduction(
        paper=name,
        report=report_file,
        results=results_file,
        findings=findings,
        data=data,
        run_time_s=run_time_s,
    )
