"""``dumbbell reproduce PAPER --testbed``: the runs of a paper in real time, and the claims that rest on them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dumbbell import claims, report
from dumbbell.campaign import Display
from dumbbell.campaign.planned import interrupted
from dumbbell.errors import refusal
from dumbbell.papers.claimed import ClaimedPaper
from dumbbell.papers.paper import Evaluation, Paper, PlannedRun, RealTime, Settings, available, load
from dumbbell.papers.real_time import Measured, fill, simulated, write_record
from dumbbell.papers.reproduction import Reproduction, finish, settings_of, tell
from dumbbell.papers.runs import PaperRuns, store_of
from dumbbell.runs import Runs


class _Part(Paper):
    """The part of a paper that rests on runs in real time, as a paper; the simulator runs the same scenarios.

    Parameters
    ----------
    paper
        The paper.
    real_time
        Its real-time plan.
    """

    def __init__(self, paper: ClaimedPaper[Any], real_time: RealTime) -> None:
        self._paper = paper
        self._real_time = real_time

    @property
    def name(self) -> str:
        """Name of the paper, with that of the part after a slash."""
        return f"{self._paper.name}/testbed"

    @property
    def title(self) -> str:
        """Title of the report."""
        return f"{self._paper.title}: on the testbed"

    @property
    def citation(self) -> str:
        """That of the paper."""
        return self._paper.citation

    @property
    def order(self) -> int:
        """That of the paper."""
        return self._paper.order

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the paper."""
        return self._paper.columns

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the runs of the simulator."""
        return [*simulated(self._real_time.plan(settings)), *self._real_time.beside(settings)]

    def reduce(self, runs: Runs) -> pd.DataFrame:
        """Return what the paper stores of runs."""
        return self._paper.reduce(runs)

    def evaluate(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> Evaluation[Any]:
        """Return the findings on the claims that rest on runs in real time, which the caller adds to what was observed."""
        evidence = self._paper.evidence(settings, results, observed)
        wanted = [claim for claim in self._paper.claims() if claim.id in self._real_time.claims]
        return Evaluation(findings=claims.judge(wanted, evidence), evidence=evidence)

    def sections(self, settings: Settings, evaluation: Evaluation[Any]) -> Sequence[report.Section]:
        """Return the sections of the report."""
        return self._real_time.sections(settings, evaluation)

    def notice(self, settings: Settings) -> str:
        """Return a remark on quick mode."""
        if settings.quick:
            return "Quick mode: few and short runs, enough to see that everything works. Verdicts are preliminary."
        return ""


def reproduce_on_testbed(
    name: str,
    *,
    quick: bool = False,
    record: bool = False,
    json_output: bool = False,
    output: str | Path | None = None,
    runs: int | None = None,
    seed: int = 1,
    threads: int | None = None,
    fresh: bool = False,
    papers: str | Path | None = None,
    quiet: bool = False,
    told: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run the real-time plan of a paper on the testbed, and evaluate the claims that rest on it.

    Completed runs are stored: the same command resumes, and `dumbbell.papers.reproduce` evaluates them as well. The report is
    in the folder ``testbed`` of that of the paper.

    Parameters
    ----------
    name, quick
        Name of the paper, as ``"code-tcp"``; whether to use few and short runs.
    record
        Write the reduced runs to the paper's record, for checkouts on machines without a testbed.
    json_output, output, runs, seed, threads, papers, quiet
        As of `dumbbell.papers.reproduce`; `threads` is for the simulator, which runs the same scenarios.
    fresh
        Delete stored runs in real time; simulated ones remain.
    told
        Called with a sentence before a long wait.

    Raises
    ------
    ScenarioError
        The paper is not known or has no real-time plan, a setting is out of range, or the record is not to be written.
    MachineError
        The machine lacks something that the testbed needs.
    RealTimeError
        A run failed.
    Interrupted
        Ctrl-C. Every finished run is kept; the same command resumes.
    """
    settings = settings_of(quick=quick, runs=runs, seed=seed, seeds=1, threads=threads)
    if record and quick:
        raise refusal("record", "--quick", "the full plan", problem="is too few runs to be recorded")
    paper, real_time = _with_plan(name, papers)
    place = Path("results" if output is None else output)
    done, measured, missing = _made(paper, real_time, settings, place, fresh=fresh, quiet=quiet, told=told)
    if record:
        _record(paper, real_time, settings, measured, missing)
    tell(done, json_output=json_output, quiet=quiet)
    return done


def _made(
    paper: ClaimedPaper[Any],
    real_time: RealTime,
    settings: Settings,
    place: Path,
    *,
    fresh: bool,
    quiet: bool,
    told: Callable[[str], None] | None,
) -> tuple[Reproduction, Measured | None, int]:
    """Return the reproduction of a part on runs in real time, these runs, and how many are missing."""
    part = _Part(paper, real_time)
    with Display(sys.stderr, quiet=quiet) as display:
        try:
            measured, missing = fill(paper, settings, place, display, fresh=fresh, told=told)
        except KeyboardInterrupt as interruption:
            raise interrupted([], place / "cache") from interruption
        if missing:
            display.warn([f"{missing} runs remain disturbed and are left out: the same command repeats them"])
        with store_of(paper, place, fresh=False) as store:
            display.warn(store.warnings)
            work = PaperRuns(part, settings, store)
            display.further(work.total, work.reused)
            work.announce(display)
            return finish(work, display, place / part.name, measured=measured), measured, missing


def _with_plan(name: str, papers: str | Path | None) -> tuple[ClaimedPaper[Any], RealTime]:
    """Return a paper and its real-time plan; raises `ScenarioError` if it has none."""
    paper = load(name, papers)
    if isinstance(paper, ClaimedPaper) and paper.real_time is not None:
        return paper, paper.real_time
    have = [one for one in available(papers) if load(one, papers).real_time is not None]
    accepted = f"one of {', '.join(have)}" if have else "none; no paper has one"
    raise refusal("paper", name, accepted, problem="has no real-time plan")


def _record(
    paper: ClaimedPaper[Any], plan: RealTime, settings: Settings, measured: Measured | None, missing: int
) -> None:
    """Write the runs to the record of a paper; raises `ScenarioError` if some are missing."""
    if measured is None or missing:
        told = f"{missing} runs missing"
        raise refusal("record", told, "all runs of the plan", problem="was not written", quoted=False)
    write_record(plan, paper, measured, plan.plan(settings))
