"""Reproducing all papers one after another, with an index page of their reports."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dumbbell import claims, report
from dumbbell.campaign import Display, Store, duration, engine_identity
from dumbbell.campaign.cluster import cluster_of
from dumbbell.campaign.planned import interrupted, runs_text
from dumbbell.checkout import where
from dumbbell.claim_classes import PRINTED
from dumbbell.environment import environment, environment_fact
from dumbbell.errors import ResultsError, ScenarioError
from dumbbell.files import plain, write_json, write_text
from dumbbell.papers import nulls
from dumbbell.papers.opening import by_chance, counts_of, held
from dumbbell.papers.paper import Paper, Settings, available, folder, load
from dumbbell.papers.real_time import measured_of
from dumbbell.papers.reproduction import (
    Reproduction,
    finish,
    headline_text,
    rows_of,
    seeds_text,
    settings_of,
    share_text,
    unmeasured_text,
)
from dumbbell.papers.runs import PaperRuns, store_of
from dumbbell.report import Cell, Column, Details, Entry, Opening, Section, Table, Text

if TYPE_CHECKING:
    from distributed import Client

QUESTION = (
    "Do the published results hold when somebody else runs the experiments, from the papers' text alone?"
)


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The reproductions of all papers.

    Parameters
    ----------
    index, results
        The files written: the index page (HTML), and the counts of verdicts (JSON).
    reproductions
        The finished reproductions, in the order of the papers.
    failures
        Why a paper could not be reproduced, by its name.
    data
        What was written to `results`, as plain data.
    run_time_s
        Wall-clock time it took, s.
    """

    index: Path
    results: Path
    reproductions: Sequence[Reproduction]
    failures: Mapping[str, str]
    data: Mapping[str, Any]
    run_time_s: float


def reproduce_all(
    *,
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
) -> Overview:
    """Reproduce every paper of a folder, in their order; see `reproduce` for the parameters.

    A paper that cannot be loaded or fails is named in the result and on the index page; the others are reproduced.

    Returns
    -------
    Overview
        The findings and where the page is.

    Raises
    ------
    ScenarioError
        A setting is out of range, the folder of papers does not exist, or another process is writing to one of the stores.
    ResultsError
        A file of a store cannot be read, or one of the results cannot be written, as on a full disk.
    Interrupted
        Ctrl-C. Every finished run is kept; the same command resumes.
    """
    settings = settings_of(quick=quick, runs=runs, seed=seed, seeds=seeds, threads=threads, on=on)
    place = Path(output) if output is not None else Path("results")
    begin = time.monotonic()
    loaded, failures = _load_all(papers)
    cast = {paper.name: paper for paper in loaded}
    works: list[PaperRuns] = []
    with ExitStack() as stack:
        client, notes = stack.enter_context(cluster_of(on))
        stores = {paper.name: stack.enter_context(store_of(paper, place, fresh=fresh)) for paper in loaded}
        display = stack.enter_context(Display(sys.stderr, quiet=quiet))
        try:
            _plan_all(loaded, settings, stores, display, works, failures, papers)
            for store in stores.values():
                display.warn(store.warnings)
            display.warn(notes)
            display.whole("all papers", sum(work.total for work in works), sum(work.reused for work in works))
            done = _finish_all(works, display, place, client, failures, papers)
        except KeyboardInterrupt as interruption:
            raise interrupted(works, place / "cache") from interruption
    overview = _write(place, settings, cast, done, failures, time.monotonic() - begin)
    if json_output:
        sys.stdout.write(json.dumps(overview.data, ensure_ascii=False) + "\n")
    elif not quiet:
        _print_summary(overview)
    return overview


def _plan_all(
    loaded: Sequence[Paper],
    settings: Settings,
    stores: Mapping[str, Store],
    display: Display,
    works: list[PaperRuns],
    failures: dict[str, str],
    papers: str | Path | None,
) -> None:
    """Plan the runs of every paper, into `works`; why a paper failed goes to `failures`."""
    planned = display.steps("plan", len(loaded) * settings.seeds)
    for paper in loaded:
        try:
            work = PaperRuns(paper, settings, stores[paper.name], planned=planned)
        except Exception as error:
            failures[paper.name] = _failure(paper.name, error, papers)
        else:
            works.append(work)
            work.announce(display)


def _finish_all(
    works: Sequence[PaperRuns],
    display: Display,
    place: Path,
    client: Client | None,
    failures: dict[str, str],
    papers: str | Path | None,
) -> list[Reproduction]:
    """Return the reproduction of every paper; why a paper failed goes to `failures`."""
    done = []
    for work in works:
        name = work.paper.name
        try:
            measured = measured_of(work.paper, place)
            finished = finish(
                work, display, place / name, home="../index.html", client=client, measured=measured
            )
        except ResultsError:
            # A disk that is full for one paper is full for all.
            raise
        except Exception as error:
            failures[name] = _failure(name, error, papers)
            display.fold(failures[name])
        else:
            done.append(finished)
            display.fold(_line(finished))
    return done


def _load_all(papers: str | Path | None) -> tuple[list[Paper], dict[str, str]]:
    """Return the papers of a folder in their order, and why some cannot be loaded."""
    loaded: list[Paper] = []
    failures: dict[str, str] = {}
    for name in available(papers):
        try:
            loaded.append(load(name, papers))
        except ScenarioError as error:
            failures[name] = str(error)
    return sorted(loaded, key=lambda paper: (paper.order, paper.name)), failures


def _failure(name: str, error: Exception, papers: str | Path | None) -> str:
    """Return in a line why a paper could not be reproduced."""
    return f"{name}: {where(error, folder(papers) / name.replace('-', '_'))}"


def _line(done: Reproduction) -> str:
    """Return a one-line summary of a paper."""
    parts = [f"{row['name']} {headline_text(row)}" for row in done.data["score"]["measured"].values()]
    return f"{done.paper}: {', '.join(parts)}; {done.data['runs']} runs, {duration(done.run_time_s)}"


def _print_summary(overview: Overview) -> None:
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True)
    for done in overview.reproductions:
        console.print(_line(done))
    row = overview.data["score"]["all"]
    console.print(
        f"all papers: {row['reproduced']} reproduced, {row['undecided']} undecided, {row['missed']} not reproduced"
        f"{f', {others}' if (others := unmeasured_text(row)) else ''}; "
        f"{overview.data['runs']} runs, {duration(overview.run_time_s)}"
    )
    console.print(f"index: {overview.index.resolve()}")


def _score(board: Mapping[str, Any]) -> dict[str, Any]:
    return {row["name"]: {key: row[key] for key in claims.COUNTS} for row in board["groups"]}


def _write(
    place: Path,
    settings: Settings,
    papers: Mapping[str, Paper],
    done: Sequence[Reproduction],
    failures: Mapping[str, str],
    run_time_s: float,
) -> Overview:
    """Write the index page and the counts of verdicts over all papers."""
    board = claims.scoreboard([finding for reproduction in done for finding in reproduction.findings])
    waiting = [
        (reproduction, finding)
        for reproduction in done
        for finding in reproduction.findings
        if finding.verdict == "awaits-testbed"
    ]
    data = _data(settings, done, failures, board, waiting, run_time_s)
    text = report.render_index(
        title="Papers reproduced",
        subtitle="Published results on TCP congestion control, reproduced with Dumbbell and evaluated claim by claim.",
        facts=[
            ("engine", engine_identity()),
            environment_fact(),
            ("seed" if settings.seeds == 1 else "seeds", seeds_text(settings)),
            ("runs", runs_text(data["runs"], data["runs_kept_from_before"])),
            ("run time", duration(run_time_s)),
        ],
        notice="Quick mode: fewer replications than the papers and shorter sweeps, so that intervals are wide."
        if settings.quick
        else "",
        papers=_entries(papers, done, failures),
        scoreboard=board,
        opening=_opening(done),
        sections=[
            _by_paper(done, data["score"]),
            nulls.overview({each.data["title"]: each.data["classes"] for each in done}),
        ],
        appendix=[_waiting(waiting), _run_times(done)],
    )
    index, results = place / "index.html", place / "results.json"
    write_text(index, text)
    write_json(results, data)
    return Overview(
        index=index,
        results=results,
        reproductions=done,
        failures=failures,
        data=data,
        run_time_s=run_time_s,
    )


def _data(
    settings: Settings,
    done: Sequence[Reproduction],
    failures: Mapping[str, str],
    board: Mapping[str, Any],
    waiting: Sequence[tuple[Reproduction, claims.Finding]],
    run_time_s: float,
) -> dict[str, Any]:
    """Return the counts of verdicts over all papers, as plain data."""
    data: dict[str, Any] = plain(
        {
            "engine": engine_identity(),
            "environment": environment(),
            "seed": settings.seed,
            "seeds": settings.seeds,
            "quick": settings.quick,
            "runs": sum(reproduction.data["runs"] for reproduction in done),
            "runs_kept_from_before": sum(reproduction.data["runs_kept_from_before"] for reproduction in done),
            "run_time_s": round(run_time_s, 1),
            "score": _score(board),
            "papers": [
                {
                    key: reproduction.data[key]
                    for key in (
                        "paper", "title", "score", "classes", "runs", "runs_kept_from_before", "run_time_s",
                        "stage_times_s",
                    )
                }
                | {"report": f"{reproduction.paper}/report.html", "results": f"{reproduction.paper}/results.json"}
                for reproduction in done
            ],
            "awaiting_testbed": [
                {"paper": reproduction.paper, "claim": finding.claim.id, "why": finding.why}
                for reproduction, finding in waiting
            ],
            "failures": dict(failures),
        }
    )  # fmt: skip
    return data


def _opening(done: Sequence[Reproduction]) -> Opening | None:
    """Return the first screen of the page: the printed claims of all papers together."""
    counted = [finding for reproduction in done for finding in reproduction.findings if finding.counts]
    if not counted:
        return None
    chance = [each.data["classes"][PRINTED]["all"] for each in done if PRINTED in each.data["classes"]]
    return Opening(
        question=QUESTION,
        numbers=[
            *(
                held([finding.holds is True for finding in counted if finding.claim.kind in kinds], name)
                for name, kinds in claims.GROUPS.items()
            ),
            by_chance(chance),
        ],
        counts=counts_of(counted),
    )


def _entries(
    papers: Mapping[str, Paper], done: Sequence[Reproduction], failures: Mapping[str, str]
) -> list[Entry]:
    """Return the entry of each paper on the index page."""
    finished = {reproduction.paper: reproduction for reproduction in done}
    entries: list[Entry] = []
    for name, paper in papers.items():
        if name in finished:
            reproduction = finished[name]
            entries.append(
                Entry(
                    title=paper.title,
                    citation=paper.citation,
                    link=f"{name}/report.html",
                    opening=reproduction.opening,
                    runs=f"{reproduction.data['runs']} runs",
                )
            )
        else:
            entries.append(Entry(title=paper.title, citation=paper.citation, notice=failures[name]))
    entries += [
        Entry(title=name, citation="", notice=failure)
        for name, failure in failures.items()
        if name not in papers
    ]
    return entries


def _by_paper(done: Sequence[Reproduction], score: Mapping[str, Any]) -> Section:
    """Return the scoreboard by paper and group of claims."""

    def cells(title: str, score: Mapping[str, Any]) -> list[Cell | str]:
        row: list[Cell | str] = [title]
        for counts in rows_of(score).values():
            aim = counts.get("aim")
            reached = aim is not None and counts["share"] is not None and counts["share"] >= aim
            row += [
                Cell(
                    text=f"{counts['holding']} of {counts['reproduced'] + counts['undecided'] + counts['missed']}",
                    detail=unmeasured_text(counts),
                ),
                Cell(
                    text=share_text(counts),
                    detail="" if aim is None else f"aim {aim} %",
                    tone="strong" if aim is None else "good" if reached else "bad",
                ),
            ]
        return row

    titles = ["all claims", *claims.GROUPS]
    return Section(
        anchor="by-paper",
        title="By paper",
        blocks=[
            Table(
                caption="Claims by paper and group",
                columns=[
                    Column(title="paper", align="left"),
                    *(Column(title=title) for _ in titles for title in ("hold", "share")),
                ],
                groups=[("", 1), *((title, 2) for title in titles)],
                rows=[
                    *(cells(reproduction.data["title"], reproduction.data["score"]) for reproduction in done),
                    cells("all papers", score),
                ],
                note="Shares are of the printed claims that could be checked.",
            )
        ],
    )


def _waiting(waiting: Sequence[tuple[Reproduction, claims.Finding]]) -> Section:
    """Return the list of claims that only the Linux testbed can check."""
    blocks: list[report.Block] = [
        Text(
            paragraphs=[
                "These claims are about real networks or real implementations. Simulation cannot check them. They "
                "await the Linux testbed and count neither as reproduced nor as missed."
                if waiting
                else "No claim awaits the Linux testbed."
            ]
        )
    ]
    by_paper: dict[str, list[claims.Finding]] = {}
    for reproduction, finding in waiting:
        by_paper.setdefault(reproduction.data["title"], []).append(finding)
    blocks += [
        Details(
            title=f"{title}: {len(findings)} claims",
            blocks=[
                Table(
                    caption=title,
                    columns=[Column(title=name, align="left") for name in ("claim", "statement", "why")],
                    rows=[
                        [
                            Cell(text=finding.claim.id, detail=finding.claim.source),
                            finding.claim.statement,
                            finding.why,
                        ]
                        for finding in findings
                    ],
                )
            ],
        )
        for title, findings in by_paper.items()
    ]
    return Section(anchor="testbed", title="Awaiting the Linux testbed", blocks=blocks)


def _run_times(done: Sequence[Reproduction]) -> Section:
    """Return how long the papers and their stages took."""
    rows: list[list[Cell | str]] = []
    for reproduction in done:
        reused = reproduction.data["runs_kept_from_before"]
        rows.append(
            [
                Cell(text=reproduction.data["title"], tone="strong"),
                Cell(
                    text=str(reproduction.data["runs"]),
                    detail=f"{reused} reused" if reused else "",
                ),
                Cell(text=f"{reproduction.run_time_s:.1f}", tone="strong"),
            ]
        )
        rows += [
            [stage, "", f"{seconds:.1f}"] for stage, seconds in reproduction.data["stage_times_s"].items()
        ]
    return Section(
        anchor="run-times",
        title="Run times",
        blocks=[
            Table(
                caption="Wall-clock time of each paper and its stages",
                columns=[
                    Column(title="paper", align="left"),
                    Column(title="runs"),
                    Column(title="seconds"),
                ],
                rows=rows,
                note="Reused runs take no time.",
            )
        ],
    )
