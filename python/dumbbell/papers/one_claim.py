"""Repeating single claims of a paper: run what they need, judge them as the full reproduction does, export a scenario."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dumbbell.arguments import LARGEST_SEED, whole_number
from dumbbell.campaign import Display, engine_identity
from dumbbell.campaign.cluster import cluster_of
from dumbbell.campaign.planned import interrupted, runs_text
from dumbbell.claims import Claim, judge
from dumbbell.errors import refusal
from dumbbell.files import plain, prepare, write_text
from dumbbell.judge.reads import SIMULATED, RunsByKey
from dumbbell.papers.claim_details import ClaimDetails, Repeat, run_commands
from dumbbell.papers.claim_runs import DemandedRuns
from dumbbell.papers.claimed import ClaimedPaper
from dumbbell.papers.further import Part
from dumbbell.papers.paper import PlannedRun, Settings, load
from dumbbell.papers.real_time import MEASURED, measured_of
from dumbbell.papers.reproduction import default_seeds, settings_of
from dumbbell.papers.runs import store_of
from dumbbell.printable import printable

if TYPE_CHECKING:
    from distributed import Client

NEAREST = 3
"""Names that the refusal of an unknown claim suggests, at most."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """Which run of a claim is to be written as a scenario, and where.

    Parameters
    ----------
    file
        The file.
    key
        Key of the run; by default the first one that the claim rests on.
    run
        Number of the run among those of the key, from 0.
    """

    file: Path
    key: str | None = None
    run: int = 0


@dataclass(frozen=True, kw_only=True)
class JudgedClaims:
    """Single claims of a paper, judged.

    Parameters
    ----------
    paper
        Name of the paper.
    details
        The findings with the runs they rest on, in the order in which they were asked for.
    data
        The same as plain data.
    exported
        The run that was written as a scenario; ``None`` if none was.
    """

    paper: str
    details: Sequence[ClaimDetails]
    data: Mapping[str, Any]
    exported: PlannedRun | None = None


def reproduce_claims(
    name: str,
    claims: Sequence[str],
    *,
    quick: bool = False,
    json_output: bool = False,
    output: str | Path | None = None,
    runs: int | None = None,
    seed: int = 1,
    seeds: int | None = None,
    further: Sequence[str] = (),
    export: Export | None = None,
    threads: int | None = None,
    papers: str | Path | None = None,
    quiet: bool = False,
    on: Client | str | None = None,
) -> JudgedClaims:
    """Judge some claims of a paper on the runs that they rest on, as the reproduction of the paper with equal settings does.

    Only runs that the claims look up are made; completed ones are reused. What varied assumptions explain of a miss is not
    repeated.

    Parameters
    ----------
    name, quick, json_output, output, runs, seed, seeds, threads, papers, quiet, on
        See `reproduce`.
    claims
        Names of the claims, as ``["ALT-06"]``.
    further
        Stages that a report repeated with a further seed for undecided claims, as ``["6:wireless"]``; its commands state
        them.
    export
        Which run to write as a scenario; with one claim alone.

    Raises
    ------
    ScenarioError
        The paper has no such claim, the claim no such run, or a setting is out of range.
    ResultsError
        A file of the store cannot be read or written, or the scenario cannot be written.
    Interrupted
        Ctrl-C. Every finished run is kept; the same command resumes.
    """
    settings = settings_of(quick=quick, runs=runs, seed=seed, seeds=seeds, threads=threads, on=on)
    paper, place = _claimed(name, papers), Path("results" if output is None else output)
    chosen = _named(paper, claims)
    parts = [_part(text, paper) for text in further]
    if export is not None:
        if len(chosen) > 1:
            raise refusal("--export", str(export.file), "one claim alone", problem="has several claims")
        prepare(export.file)
    begin = time.monotonic()
    details, work = _judged(paper, chosen, settings, parts, place, quiet=quiet, on=on)
    exported = None if export is None else _exported(export, details[0], work, paper)
    data: dict[str, Any] = plain(
        {
            "paper": paper.name,
            "engine": engine_identity(),
            "seed": settings.seed,
            "seeds": settings.seeds,
            "quick": settings.quick,
            "runs": work.total,
            "runs_kept_from_before": work.reused,
            "run_time_s": round(time.monotonic() - begin, 1),
            "claims": [one.to_dict() for one in details],
            "runs_by_key": {run.key: run.to_dict() for one in details for run in one.runs},
            "exported": None if export is None or exported is None else _data_of(export, exported),
        }
    )
    done = JudgedClaims(paper=paper.name, details=details, data=data, exported=exported)
    if json_output:
        sys.stdout.write(json.dumps(data, ensure_ascii=False) + "\n")
    elif not quiet:
        _tell(done, export)
    return done


def claims_of(name: str, papers: str | Path | None = None) -> list[dict[str, str]]:
    """Return the claims of a paper without any run: name, class, source, rule and statement of each.

    Parameters
    ----------
    name, papers
        See `reproduce`.

    Raises
    ------
    ScenarioError
        There is no such paper, or it has no register of claims.
    """
    return [
        {
            "id": claim.id,
            "class": claim.classed.name,
            "source": claim.source,
            "rule": claim.rule(),
            "statement": claim.statement,
        }
        for claim in _claimed(name, papers).claims()
    ]


def _claimed(name: str, papers: str | Path | None) -> ClaimedPaper[Any]:
    paper = load(name, papers)
    if not isinstance(paper, ClaimedPaper):
        raise refusal("paper", name, "a paper with a register of claims", problem="has none")
    return paper


def _named(paper: ClaimedPaper[Any], names: Sequence[str]) -> list[Claim[Any]]:
    """Return claims of a paper by their names, each once."""
    known = {claim.id: claim for claim in paper.claims()}
    for name in names:
        if name not in known:
            nearest = difflib.get_close_matches(name.upper(), known, n=NEAREST, cutoff=0.4)
            listed = f", such as {', '.join(nearest)}" if nearest else ""
            raise refusal(
                "--claim",
                name,
                f"one of the {len(known)} claims of {paper.name}{listed}; --claims lists them",
                problem="is not a claim",
            )
    return [known[name] for name in dict.fromkeys(names)]


def _part(text: str, paper: ClaimedPaper[Any]) -> Part:
    """Return what ``SEED:STAGE`` states."""
    seed, separator, stage = text.partition(":")
    stages = list(dict.fromkeys(paper.deciding.values()))
    if not separator or not seed.isdecimal() or stage not in stages:
        accepted = (
            f"SEED:STAGE with a stage of {', '.join(stages)}" if stages else "none; this paper adds no runs"
        )
        raise refusal("--further", text, accepted)
    return Part(seed=whole_number("--further", int(seed), 0, LARGEST_SEED), stages=frozenset([stage]))


def _judged(
    paper: ClaimedPaper[Any],
    chosen: Sequence[Claim[Any]],
    settings: Settings,
    parts: Sequence[Part],
    place: Path,
    *,
    quiet: bool,
    on: Client | str | None,
) -> tuple[list[ClaimDetails], DemandedRuns]:
    """Return the claims judged on the runs they look up, and these runs."""
    with (
        cluster_of(on) as (client, notes),
        store_of(paper, place, fresh=False) as store,
        Display(sys.stderr, quiet=quiet) as display,
    ):
        display.warn([*store.warnings, *notes])
        works: list[DemandedRuns] = []
        try:
            planned = display.steps("plan", settings.seeds + len(parts))
            work = DemandedRuns(
                paper, settings, store, display, further=parts, client=client, planned=planned
            )
            works.append(work)
            display.whole("runs", 0, 0)
            observed = dict(paper.observe(settings, display.steps))
            measured = measured_of(paper, place)
            if measured is not None:
                observed[MEASURED] = measured
            for claim in chosen:
                work.expect(partial(_looked_up, paper, settings, observed, claim))
            findings = judge(chosen, paper.evidence(settings, work.by_key(), observed))
        except KeyboardInterrupt as interruption:
            raise interrupted(works, store.place) from interruption
    repeat = Repeat(
        paper=paper.name, settings=settings, default_seeds=default_seeds(quick=settings.quick), further=parts
    )
    details = []
    for finding in findings:
        known = work.known(finding.reads.get(SIMULATED, ()))
        details.append(ClaimDetails.of(finding, known, repeat))
    return details, work


def _looked_up(
    paper: ClaimedPaper[Any],
    settings: Settings,
    observed: Mapping[str, Any],
    claim: Claim[Any],
    runs: RunsByKey,
) -> None:
    """Look up the runs that a claim rests on."""
    judge([claim], paper.evidence(settings, runs, observed))


def _exported(
    export: Export, details: ClaimDetails, work: DemandedRuns, paper: ClaimedPaper[Any]
) -> PlannedRun:
    """Write a run as a scenario, and return it."""
    keys = [run.key for run in details.runs]
    claim = details.finding.claim
    if not keys:
        raise refusal(
            "--export",
            str(export.file),
            "a claim that rests on simulated runs",
            problem=f"has nothing of {claim.id}",
        )
    key = keys[0] if export.key is None else export.key
    if key not in keys:
        raise refusal(
            "--key",
            key,
            f"one of the keys that {claim.id} rests on: {', '.join(keys[:20])}",
            names=keys,
            problem="is not a key of this claim",
        )
    planned = work.planned(key)
    run = planned[whole_number("--run", export.run, 0, len(planned) - 1)]
    lines = [
        f"{paper.title}, claim {claim.id}: {claim.statement} ({claim.source})",
        f"Run {export.run} of {len(planned)} of {key}. As {details.file}, the same bits:",
        *(command for _, command in commands_of(Path(details.file), run)),
    ]
    comment = "".join(f"# {printable(' '.join(line.split()))}\n" for line in lines)
    write_text(export.file, f"{comment}\n{run.scenario.to_toml()}")
    return run


def commands_of(file: Path, run: PlannedRun) -> list[tuple[str, str]]:
    """Return pairs of purpose and command for a run that was written as a scenario."""
    draw = ["--seed", str(run.seed), "--run", str(run.run)]
    flows = run.scenario.resolved()["flows"]
    found = run_commands(str(file), run.seed, run.run)
    if flows:
        why = ["dumbbell", "why", str(file), "--flow", flows[0]["name"], *draw]
        capture = [
            "dumbbell",
            "run",
            str(file),
            *draw,
            "--pcap",
            "packets.pcapng",
            "--node",
            flows[0]["from"],
        ]
        found += [("explain its first flow", shlex.join(why)), ("write its packets", shlex.join(capture))]
    return found


def _data_of(export: Export, run: PlannedRun) -> dict[str, Any]:
    return {
        "file": str(export.file),
        "key": run.key,
        "seed": run.seed,
        "run": run.run,
        "hash": run.scenario.hash,
        "command": commands_of(export.file, run)[0][1],
    }


def _tell(done: JudgedClaims, export: Export | None) -> None:
    """Print verdicts with value, rule and runs, and what was exported."""
    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, markup=False)
    for details in done.details:
        finding, row = details.finding, details.row()
        console.print(f"{row['id']}: {finding.verdict.replace('-', ' ')}")
        lines = [
            ("statement", f"{row['statement']} ({row['source']})"),
            ("paper", row["paper"]),
            ("measured", row["estimate"]),
            ("n", row["n"]),
            ("rule", row["rule"]),
            ("class", row["class"]),
            ("why", finding.why),
            ("rests on", row["origin"]),
            *(("runs" if not place else "", text) for place, text in enumerate(row["runs"])),
        ]
        for title, text in lines:
            if text:
                console.print(f"  {title:<10} {text.replace('`', '')}")
    console.print(
        f"{runs_text(done.data['runs'], done.data['runs_kept_from_before'])} runs, "
        f"{done.data['run_time_s']:.0f} s"
    )
    if export is not None and done.exported is not None:
        console.print(f"wrote {export.file}: run {export.run} of {done.exported.key}")
        for purpose, command in commands_of(export.file, done.exported):
            console.print(f"  {purpose:<24} {command}")
