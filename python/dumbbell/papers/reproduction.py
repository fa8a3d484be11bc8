"""Reproducing one paper: run what is missing, evaluate the claims, write the report."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console

from dumbbell import claims, report
from dumbbell.arguments import LARGEST_SEED, MOST_REPLICATIONS, thread_count, whole_number
from dumbbell.campaign import Display, engine_identity
from dumbbell.campaign.cluster import cluster_of
from dumbbell.campaign.planned import interrupted, runs_text
from dumbbell.environment import environment, environment_fact
from dumbbell.errors import refusal
from dumbbell.files import plain, write_json, write_text
from dumbbell.papers import nulls
from dumbbell.papers.claim_details import ClaimDetails, Repeat
from dumbbell.papers.claim_runs import KeyRuns, runs_by_key
from dumbbell.papers.claimed import ClaimedPaper
from dumbbell.papers.further import Further, decide
from dumbbell.papers.opening import opening
from dumbbell.papers.page import arranged
from dumbbell.papers.paper import Evaluation, Paper, Settings, experiment_of, load
from dumbbell.papers.real_time import MEASURED, Measured, measured_of
from dumbbell.papers.runs import PaperRuns, pooled, store_of
from dumbbell.report import Opening
from dumbbell.report.numbers import number

if TYPE_CHECKING:
    from distributed import Client

FULL_SEEDS = 5
QUICK_SEEDS = 1
MAX_SEEDS = 100

MOST_NAMED = 4
"""Claims that a derived one names in the list of claims."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A completed reproduction.

    Parameters
    ----------
    paper
        Name of the paper.
    report, results
        The files written: the report (HTML) and the findings (JSON).
    findings
        The evaluated claims.
    data
        What was written to `results`, as plain data.
    run_time_s
        Wall-clock time it took, s.
    opening
        The first screen of the report; ``None`` without claims.
    """

    paper: str
    report: Path
    results: Path
    findings: Sequence[claims.Finding]
    data: Mapping[str, Any]
    run_time_s: float
    opening: Opening | None = None


def share_text(row: Mapping[str, Any]) -> str:
    """Return the share of reproduced claims in a row of a score, for reading."""
    return "–" if row["share"] is None else f"{row['share']:.1f} %"


def unmeasured_text(row: Mapping[str, Any]) -> str:
    """Return how many claims a row of a score leaves out of its share, by reason, for reading."""
    words = {
        "other": "of other classes",
        "refuted": "of those not reproduced",
        "awaiting": "await the testbed",
        "unchecked": "not checkable",
    }
    return ", ".join(f"{row[key]} {said}" for key, said in words.items() if row[key])


def rows_of(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of a score that count verdicts, by name."""
    return {name: row for name, row in score.items() if name != "measured"}


def seeds_text(settings: Settings) -> str:
    """Return the seeds of a reproduction, for reading."""
    last = settings.each()[-1].seed
    return str(settings.seed) if settings.seeds == 1 else f"{settings.seed} to {last}"


def headline_text(row: Mapping[str, Any]) -> str:
    """Return the headline of a group of claims, for reading: the share of printed claims that hold."""
    if row["mean"] is None:
        return "–"
    ceiling = "" if row["ceiling"] is None else f", sampling in the paper allows {row['ceiling']:.1f} %"
    spread = "" if row["sd"] is None else f" ± {row['sd']:.1f} points over {row['seeds']} seeds"
    return f"{row['mean']:.1f} %{spread}{ceiling}"


def _headline(measured: Mapping[str, Any]) -> list[str]:
    return [f"printed {row['name']}: {headline_text(row)}" for row in measured.values()]


def _claim_rows(findings: Sequence[claims.Finding]) -> list[dict[str, str]]:
    """Return the findings as shown in the report's list of claims."""
    rows: list[dict[str, str]] = []
    for finding in findings:
        claim = finding.claim
        unit = f" {claim.units}" if claim.units not in ("", "-", "flag", "sign") else ""
        rows.append(
            {
                "id": claim.id,
                "source": claim.source,
                "kind": claim.kind,
                "class": claim.classed.name,
                "reason": claim.classed.reason,
                "of": _listed(claim.classed.of),
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


def _listed(names: Sequence[str]) -> str:
    """Return names of claims as the list of claims shows them: the first ones, if they are many."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def default_seeds(*, quick: bool) -> int:
    """Return the number of seeds of a paper without a statement."""
    return QUICK_SEEDS if quick else FULL_SEEDS


def settings_of(
    *,
    quick: bool,
    runs: int | None,
    seed: int,
    threads: int | None,
    seeds: int | None = None,
    on: Client | str | None = None,
) -> Settings:
    """Return the settings of a reproduction. Without `seeds`, there are five, and one in quick mode.

    Raises
    ------
    ScenarioError
        A setting is out of range.
    """
    if threads is not None and on is not None:
        raise refusal("threads", threads, "none with a cluster")
    return Settings(
        quick=quick,
        runs=None if runs is None else whole_number("runs", runs, 2, MOST_REPLICATIONS),
        seed=whole_number("seed", seed, 0, LARGEST_SEED),
        threads=thread_count(threads),
        seeds=default_seeds(quick=quick) if seeds is None else whole_number("seeds", seeds, 1, MAX_SEEDS),
    )


def finish(
    work: PaperRuns,
    display: Display,
    target: Path,
    *,
    home: str = "",
    client: Client | None = None,
    measured: Measured | None = None,
) -> Reproduction:
    """Run what is missing of a paper, evaluate its claims, and write its report.

    Parameters
    ----------
    work, display
        The paper with its runs, and the display of progress.
    target
        Folder for the report and the findings.
    home
        See `report.render`.
    client
        A Dask cluster to make the runs on; this machine if it is left out.
    measured
        The runs in real time that the paper is evaluated with, if there are any.
    """
    paper, settings = work.paper, work.settings
    begin = time.monotonic()
    work.complete(display, client)
    judged = _judged(work, measured, display, client)
    sections, appendix = arranged(paper.sections(settings, judged.evaluation))
    first = opening(paper.question, judged.evaluation.findings, judged.headline, judged.nulls)
    if judged.evaluation.findings:
        appendix = [nulls.section(judged.nulls), *appendix]
    files = paper.files(settings, judged.evaluation)
    judged.step()
    work.store.compact()
    times = work.times | judged.added.times | {"claims and report": time.monotonic() - judged.start}
    run_time_s, findings = time.monotonic() - begin, judged.evaluation.findings
    facts = _facts(work, judged.added, measured, times, run_time_s)
    data = _data(work, judged, measured, facts, times, run_time_s)
    text = report.render(
        title=paper.title,
        subtitle=paper.citation,
        facts=facts,
        scoreboard=claims.scoreboard(findings, paper.aims),
        headline=_headline(judged.headline),
        claims=_claim_rows(findings),
        details=[one.row() for one in _details(work, judged)],
        sections=sections,
        appendix=appendix,
        opening=first,
        notice=paper.notice(settings),
        home=home,
    )
    done = Reproduction(
        paper=paper.name,
        report=target / "report.html",
        results=target / "results.json",
        findings=findings,
        data=data,
        run_time_s=run_time_s,
        opening=first,
    )
    write_text(done.report, text)
    write_json(done.results, data)
    for file, content in files.items():
        write_text(target / file, content)
    return done


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """The claims of a paper judged on its runs.

    Parameters
    ----------
    evaluation
        That of the runs of all seeds.
    headline
        The score of the printed claims, a mean over seeds.
    nulls
        What the null models pass of the claims.
    added
        The further replications.
    start
        When judging began, by the monotonic clock, s.
    step
        Marks a part of it as done.
    runs
        The runs by key.
    """

    evaluation: Evaluation[Any]
    headline: Mapping[str, Any]
    nulls: nulls.Passed
    added: Further
    start: float
    step: Callable[[], None]
    runs: Mapping[str, KeyRuns]


def _judged(work: PaperRuns, measured: Measured | None, display: Display, client: Client | None) -> _Judged:
    """Return the evaluation of completed runs, with further replications where claims are undecided."""
    paper, settings, tables = work.paper, work.settings, work.tables()
    observed = paper.observe(settings, display.steps)
    if measured is not None:
        observed = {**observed, MEASURED: measured}
    added = decide(
        work, tables, lambda each, results: paper.findings(each, results, observed), display, client
    )
    results = pooled([*tables, *added.tables])
    start = time.monotonic()
    step = display.steps("claims and report", 1 + len(tables))
    evaluation = paper.evaluate(settings, results, observed)
    step()
    by_seed = [evaluation.findings] if len(tables) == 1 and not added.seeds else []
    for each, table in zip(settings.each() if not by_seed else [], tables, strict=False):
        by_seed.append(paper.findings(each, table, observed))
        step()
    headline = claims.measured_score(by_seed, paper.ceilings(evaluation.findings))
    runs = runs_by_key([*tables, *added.tables])
    return _Judged(
        evaluation=evaluation,
        headline=headline,
        nulls=nulls.passed(evaluation.findings, _relabelling(work, results, observed, runs)),
        added=added,
        start=start,
        step=step,
        runs=runs,
    )


def _relabelling(
    work: PaperRuns, results: pd.DataFrame, observed: Mapping[str, Any], runs: Mapping[str, KeyRuns]
) -> nulls.Relabelling | None:
    """Return the runs whose labels the null model exchanges; ``None`` of a paper whose claims cannot be judged again."""
    paper, settings = work.paper, work.settings
    if not isinstance(paper, ClaimedPaper):
        return None
    return nulls.Relabelling(
        results=results,
        stages={key: each.stage for key, each in runs.items()},
        judge=lambda asked, table: claims.judge(asked, paper.evidence(settings, table, observed)),
        draws=nulls.QUICK_DRAWS if settings.quick else nulls.DRAWS,
    )


def _details(work: PaperRuns, judged: _Judged) -> list[ClaimDetails]:
    """Return what the report and its data say of each claim."""
    repeat = Repeat(
        paper=work.paper.name,
        settings=work.settings,
        default_seeds=default_seeds(quick=work.settings.quick),
        further=judged.added.parts(),
        is_offered=isinstance(work.paper, ClaimedPaper) and "/" not in work.paper.name,
    )
    return [ClaimDetails.of(finding, judged.runs, repeat) for finding in judged.evaluation.findings]


def _facts(
    work: PaperRuns, added: Further, measured: Measured | None, times: Mapping[str, float], run_time_s: float
) -> list[tuple[str, str]]:
    """Return what the head of the report states."""
    settings = work.settings
    return [
        ("engine", engine_identity()),
        environment_fact(),
        ("runs", runs_text(work.total + added.runs, work.reused + added.reused)),
        ("seed" if settings.seeds == 1 else "seeds", seeds_text(settings)),
        *([("further replications", added.text())] if added.seeds else []),
        ("run time", f"{run_time_s:.0f} s"),
        *((f"run time, {stage}", f"{seconds:.1f} s") for stage, seconds in times.items()),
        *(("warning", text) for text in work.store.warnings),
        *(measured.facts() if measured is not None else []),
        *work.paper.facts(settings),
    ]


def _data(
    work: PaperRuns,
    judged: _Judged,
    measured: Measured | None,
    facts: Sequence[tuple[str, str]],
    times: Mapping[str, float],
    run_time_s: float,
) -> dict[str, Any]:
    """Return what ``results.json`` holds."""
    paper, settings, evaluation, added = work.paper, work.settings, judged.evaluation, judged.added
    score = {
        row["name"]: {key: row[key] for key in (*claims.COUNTS, "aim")}
        for row in claims.scoreboard(evaluation.findings, paper.aims)["groups"]
    }
    data: dict[str, Any] = plain(
        {
            "paper": paper.name,
            "title": paper.title,
            "engine": engine_identity(),
            "environment": environment(),
            "seed": settings.seed,
            "seeds": settings.seeds,
            "quick": settings.quick,
            "runs": work.total + added.runs,
            "runs_kept_from_before": work.reused + added.reused,
            "further_replications": added.to_dict(),
            "run_time_s": round(run_time_s, 1),
            "stage_times_s": {stage: round(seconds, 1) for stage, seconds in times.items()},
            "score": score | {"measured": judged.headline},
            "classes": judged.nulls.to_dict(),
            "explanations": evaluation.explanations(),
            "readings": [reading.to_dict() for reading in evaluation.readings],
            "testbed": None if measured is None else measured.to_dict(),
            "facts": dict(facts),
            "warnings": work.store.warnings,
            "claims": [one.to_dict() for one in _details(work, judged)],
            "runs_by_key": {key: run.to_dict() for key, run in judged.runs.items()},
        }
    )
    return data


def reproduce(
    name: str,
    *,
    experiment: str | None = None,
    quick: bool = False,
    json_output: bool = False,
    output: str | Path | None = None,
    runs: int | None = None,
    seed: int = 1,
    seeds: int | None = None,
    threads: int | None = None,
    fresh: bool = False,
    papers: str | Path | None = None,
    quiet: bool = False,
    on: Client | str | None = None,
) -> Reproduction:
    """Reproduce a paper: run its scenarios, evaluate its claims, write a report.

    Parameters
    ----------
    name
        Name of the paper, as ``"vegas-revisited"``.
    experiment
        Name of an additional experiment of the paper, as ``"full-factorial"``, to run instead of the paper's own runs.
    quick
        Use fewer replications.
    json_output
        Print the findings as JSON on standard output instead of a summary; progress goes to standard error.
    output
        Folder for reports and the store of runs; ``results/`` of the working directory by default.
    runs
        Replications for each configuration of the main tables or of the experiment, at least 2; the paper's own number
        by default.
    seed
        Seed all seeds are derived from, at least 0.
    seeds
        Number of seeds to repeat everything with, from `seed` on; 5 by default, 1 in quick mode and for an experiment. The
        verdicts are on the runs of all seeds; the headline is a mean over seeds.
    threads
        Threads to run on; all cores by default.
    fresh
        Delete stored runs and run everything again.
    papers
        Folder that holds the papers; see `folder`.
    quiet
        Suppress progress and summary; warnings of a damaged store are still shown.
    on
        A Dask cluster, or the address of its scheduler. Its workers need this checkout and the engine of this
        process. The default is this machine.

    Returns
    -------
    Reproduction
        The findings and where the report is.

    Raises
    ------
    ScenarioError
        The paper is not known, cannot be loaded or has no such experiment, a setting is out of range, or another process
        is writing to the same store.
    ResultsError
        A file of the store cannot be read, or one of the results cannot be written, as on a full disk. Every finished run
        that could be written is kept.
    Interrupted
        Ctrl-C. Every finished run is kept; the same command resumes.
    """
    seeds = 1 if seeds is None and experiment else seeds
    settings = settings_of(quick=quick, runs=runs, seed=seed, seeds=seeds, threads=threads, on=on)
    paper, place = load(name, papers), Path("results" if output is None else output)
    paper = paper if experiment is None else experiment_of(paper, experiment)
    done = _made(paper, settings, place, fresh=fresh, quiet=quiet, on=on)
    tell(done, json_output=json_output, quiet=quiet)
    return done


def _made(
    paper: Paper, settings: Settings, place: Path, *, fresh: bool, quiet: bool, on: Client | str | None
) -> Reproduction:
    """Return a reproduction, made in a folder of results."""
    with (
        cluster_of(on) as (client, notes),
        store_of(paper, place, fresh=fresh) as store,
        Display(sys.stderr, quiet=quiet) as display,
    ):
        work: PaperRuns | None = None
        display.warn([*store.warnings, *notes])
        try:
            planned = display.steps("plan", settings.seeds)
            work = PaperRuns(paper, settings, store, planned=planned)
            work.announce(display)
            display.whole("all runs", work.total, work.reused)
            return finish(
                work, display, place / paper.name, client=client, measured=measured_of(paper, place)
            )
        except KeyboardInterrupt as interruption:
            raise interrupted([] if work is None else [work], store.place) from interruption


def tell(done: Reproduction, *, json_output: bool, quiet: bool) -> None:
    """Print a reproduction as JSON, or the counts of verdicts, the headline and where the report is."""
    if json_output:
        sys.stdout.write(json.dumps(done.data, ensure_ascii=False) + "\n")
    if json_output or quiet:
        return
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for name, row in rows_of(done.data["score"]).items() if done.findings else ():
        aim = f" (aim {row['aim']} %)" if row["aim"] else ""
        console.print(
            f"{name}: {row['reproduced']} reproduced, {row['undecided']} undecided, {row['missed']} not reproduced, "
            f"{share_text(row)}{aim}{f'; {others}' if (others := unmeasured_text(row)) else ''}"
        )
    for line in _headline(done.data["score"]["measured"]) if done.findings else ():
        console.print(line)
    console.print(f"{done.data['runs']} runs, {done.run_time_s:.0f} s")
    console.print(f"report: {done.report.resolve()}")
