"""Runs both sides, evaluates the grids and writes the report."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import dumbbell
from dumbbell.arguments import thread_count
from dumbbell.campaign import Display, duration, engine_identity
from dumbbell.campaign.planned import interrupted, runs_text
from dumbbell.checkout import where
from dumbbell.crossvalidation.grid import Grid, load_grids, sides_of, thinned
from dumbbell.crossvalidation.loading import folder
from dumbbell.crossvalidation.page import Judged, cases_text, counted_text, cpu_text, page
from dumbbell.crossvalidation.peer import Peer, load_peer
from dumbbell.crossvalidation.running import GridRuns, checked
from dumbbell.crossvalidation.tracing import traced
from dumbbell.environment import environment, environment_fact
from dumbbell.errors import ResultsError, refusal
from dumbbell.files import plain, write_json, write_text
from dumbbell.judge.criterion import Criterion, counted


@dataclass(frozen=True, kw_only=True, eq=False)
class CrossValidation:
    """A completed cross-validation.

    Parameters
    ----------
    peer
        Name of the peer.
    report, results
        The files written: the report (HTML) and the findings (JSON).
    criteria
        The criteria by the names of their grids.
    failures
        Why a grid could not be evaluated, by its name.
    failed_cases
        Error messages of the peer, by grid and case.
    data
        The content of `results`, as plain data.
    run_time_s
        Wall-clock time it took, s.
    """

    peer: str
    report: Path
    results: Path
    criteria: Mapping[str, tuple[Criterion, ...]]
    failures: Mapping[str, str]
    failed_cases: Mapping[tuple[str, str], str]
    data: Mapping[str, Any]
    run_time_s: float

    @property
    def holds(self) -> bool:
        """Whether every criterion holds and every grid was evaluated."""
        return not self.failures and all(one.holds for criteria in self.criteria.values() for one in criteria)


def cross_validate(
    name: str,
    *,
    grids: Sequence[str] = (),
    share: float = 1.0,
    output: str | Path | None = None,
    threads: int | None = None,
    fresh: bool = False,
    peers: str | Path | None = None,
    quiet: bool = False,
) -> CrossValidation:
    """Run grids in Dumbbell and in a peer, evaluate their agreement, and write a report.

    Parameters
    ----------
    name
        Name of the peer, as ``"ns2"``.
    grids, share
        Names of the grids, all by default, and the fraction of each to run, above 0 and at most 1.
    output
        Folder for the stores of runs and the report, ``results/`` of the working directory by default. The report on all
        grids is in ``cross-validation-NAME`` there; one on some grids or on a share is in a folder named for these as well.
    threads
        Number of threads of our side and of processes of the peer; by default the number of cores.
    fresh
        Delete stored runs and run everything again.
    peers
        Folder that holds the peers and the grids; see `folder`.
    quiet
        Show nothing but warnings of a damaged store.

    Raises
    ------
    PeerAbsent
        The peer is not on this machine.
    ScenarioError
        The peer or a grid is not known or cannot be loaded, a setting is out of range, or another process is writing to the
        same store.
    ResultsError
        A file of a store cannot be read, or one of the results cannot be written, as on a full disk.
    Interrupted
        Ctrl-C. Every completed run is kept; the same call resumes.
    """
    if not 0.0 < share <= 1.0:
        raise refusal("share", share, "a number above 0 and at most 1")
    threads, begin, home = thread_count(threads), time.monotonic(), folder(peers)
    peer = load_peer(name, home)
    loaded, version = load_grids(grids, home, peer=peer.name), peer.version()
    place = Path(output) if output is not None else Path("results")
    done = _Done(peer, home, share, place / "cache" / f"cross-validation-{peer.name}")
    with ExitStack() as stack, Display(sys.stderr, quiet=quiet) as display:
        try:
            done.plan(loaded, stack, display, fresh=fresh)
            done.run(display, threads)
        except KeyboardInterrupt as interruption:
            raise interrupted(done.works, done.stores) from interruption
        data = _data(done, version, run_time_s := time.monotonic() - begin)
    target = place / _folder_name(peer, [grid.name for grid in loaded] if grids else [], share)
    return _written(done, data, grids, target, run_time_s)


@dataclass
class _Done:
    """The runs of the grids and what follows from them."""

    peer: Peer
    home: Path
    share: float
    stores: Path
    works: list[GridRuns] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def plan(self, grids: Sequence[Grid], stack: ExitStack, display: Display, *, fresh: bool) -> None:
        """Prepare the peer and find the missing runs of each grid; the stack closes the stores."""
        planned = display.steps("plan", len(grids) + 1)
        self.peer.prepare()
        planned()
        for grid in grids:
            try:
                cases = checked(grid, thinned(grid, grid.cases(self.peer), self.share))
            except Exception as error:
                self.failures[grid.name] = where(error, self.home)
            else:
                work = GridRuns(grid, self.peer, cases, place=self.stores, folder=self.home, fresh=fresh)
                self.works.append(stack.enter_context(work))
                display.warn(work.warnings)
                work.announce(display)
            planned()

    def run(self, display: Display, threads: int | None) -> None:
        """Execute the missing runs and evaluate each grid after its own."""
        display.whole(
            "all runs", sum(work.total for work in self.works), sum(work.reused for work in self.works)
        )
        for work in self.works:
            try:
                for side in sides_of(work.grid):
                    work.make(side, display, threads)
                self.judged.append(_judged(work, display, threads))
            except ResultsError:
                # A disk that is full for one grid is full for all.
                raise
            except Exception as error:
                self.failures[work.grid.name] = where(error, self.home)
                display.fold(f"{work.grid.name}: {self.failures[work.grid.name]}")
            else:
                display.fold(_line(self.judged[-1]))


def _written(
    done: _Done, data: dict[str, Any], grids: Sequence[str], target: Path, run_time_s: float
) -> CrossValidation:
    """Write the report and its content."""
    report_file, results_file = target / "index.html", target / "results.json"
    text = page(
        done.peer,
        done.judged,
        facts=_facts(done.peer, data, done.judged),
        failures=done.failures,
        notice=_notice(done.share, grids),
    )
    write_text(report_file, text)
    write_json(results_file, data)
    return CrossValidation(
        peer=done.peer.name,
        report=report_file,
        results=results_file,
        criteria={one.grid.name: one.criteria for one in done.judged},
        failures=done.failures,
        failed_cases={
            (work.grid.name, key): why for work in done.works for key, why in work.failures.items()
        },
        data=data,
        run_time_s=run_time_s,
    )


def _folder_name(peer: Peer, grids: Sequence[str], share: float) -> str:
    """Return the name of the report's folder: a part of the grids never overwrites the report on all of them."""
    parts = [f"cross-validation-{peer.name}", *grids]
    if share < 1.0:
        parts.append(f"{100.0 * share:g}-percent")
    return "-".join(parts)


def _judged(work: GridRuns, display: Display, threads: int | None) -> Judged:
    """Return the results of a grid after its runs."""
    results = work.results()
    agreement = None
    if len(results):
        agreement = traced(work, work.grid.judge(results), results, display=display, threads=threads)
    one = Judged(
        grid=work.grid,
        agreement=agreement,
        criteria=() if agreement is None else agreement.criteria,
        blocks=() if agreement is None else work.grid.sections(results, agreement),
        runs=work.done,
        cases=len(work.cases),
        failures=work.failures,
    )
    return replace(one, criteria=(*one.criteria, *_common(one)))


def _common(one: Judged) -> list[Criterion]:
    """Return the criteria common to all grids, if there are failures or disagreements."""
    found: list[Criterion] = []
    if one.failures:
        done = one.cases - len(one.failures)
        found.append(counted("runs completed by the peer", done, one.cases, aim=1.0, of="cases"))
    if len(one.disagreeing):
        traced = int((one.disagreeing["explanation"].fillna("") != "").sum())
        found.append(
            counted(
                "disagreements traced to a stated difference",
                traced,
                len(one.disagreeing),
                aim=1.0,
                of="disagreeing points",
            )
        )
    return found


def _line(one: Judged) -> str:
    """Return a one-line summary of a grid."""
    held = sum(criterion.holds is True for criterion in one.criteria)
    return f"{one.grid.name}: {held} of {len(one.criteria)} criteria hold, {counted_text(one.runs, 'run')}"


def _data(done: _Done, version: str, run_time_s: float) -> dict[str, Any]:
    """Return everything that was found, as plain data."""
    peer, works = done.peer, done.works
    data: dict[str, Any] = plain(
        {
            "peer": peer.name,
            "title": peer.title,
            "version": version,
            "dumbbell": dumbbell.__version__,
            "engine": engine_identity(),
            "environment": environment(),
            "share": done.share,
            "runs": sum(work.done for work in works),
            "runs_kept_from_before": sum(work.reused for work in works),
            "run_time_s": round(run_time_s, 1),
            "cpu_s": {side: round(sum(work.cpu_s(side) for work in works), 4) for side in ("ours", "peer")},
            "rules": [asdict(rule) for rule in peer.rules],
            "grids": [_grid_data(one) for one in done.judged],
            "failures": dict(done.failures),
            "warnings": [text for work in works for text in work.warnings],
        }
    )
    return data


def _grid_data(one: Judged) -> dict[str, Any]:
    return {
        "name": one.grid.name,
        "title": one.grid.title,
        "question": one.grid.question,
        "sides": list(sides_of(one.grid)),
        "cases": one.cases,
        "runs": one.runs,
        "criteria": [asdict(criterion) for criterion in one.criteria],
        "disagreeing": len(one.disagreeing),
        "points": [
            {
                str(name): value.tolist() if isinstance(value, np.ndarray) else value
                for name, value in point.items()
            }
            for point in one.points.to_dict("records")
        ],
        "failed_cases": one.failures,
    }


def _facts(peer: Peer, data: Mapping[str, Any], judged: Sequence[Judged]) -> list[tuple[str, str]]:
    """Return the pairs of name and value at the head of the report."""
    return [
        ("Dumbbell", data["engine"]),
        (peer.title, data["version"]),
        environment_fact(),
        ("cases", cases_text(judged)),
        ("runs", runs_text(data["runs"], data["runs_kept_from_before"])),
        ("CPU time, Dumbbell", cpu_text(data["cpu_s"]["ours"])),
        (f"CPU time, {peer.title}", cpu_text(data["cpu_s"]["peer"])),
        ("run time", duration(data["run_time_s"])),
        *(("warning", text) for text in data["warnings"]),
    ]


def _notice(share: float, grids: Sequence[str]) -> str:
    """Return the notice about omitted parts of the report."""
    left_out = []
    if grids:
        left_out.append(f"Only these grids were run: {', '.join(grids)}.")
    if share < 1.0:
        left_out.append(f"Only about {100.0 * share:g} % of the points of each grid were run.")
    return " ".join(left_out)
