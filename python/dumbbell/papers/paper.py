"""The base class of papers, what goes in and out of it, and the loading of papers."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pandas as pd

from dumbbell import claims, report
from dumbbell.checkout import folder_of, forget, some, where
from dumbbell.errors import refusal
from dumbbell.papers.readings import Reading
from dumbbell.runs import Runs
from dumbbell.scenario import Scenario
from dumbbell.sensitivity import Sensitivity

E = TypeVar("E")

SEEDS = 2**64
"""Number of seeds there are."""

# Stages state how many runs two cores carry.
CORES = 2


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a paper is to be reproduced.

    Parameters
    ----------
    quick
        Use fewer replications, enough to see that everything works.
    runs
        Replications for each configuration of the paper's main tables, or of the experiment; ``None`` for the paper's own
        number.
    seed
        Seed all seeds are derived from.
    threads
        Threads to run on; ``None`` for all cores.
    seeds
        Number of seeds, from `seed` on. All runs are repeated with each.
    sensitivity
        Whether runs with varied assumptions are planned. They are made with the first seed alone.
    """

    quick: bool = False
    runs: int | None = None
    seed: int = 1
    threads: int | None = None
    seeds: int = 1
    sensitivity: bool = True

    def each(self) -> list[Settings]:
        """Return the settings of each seed."""
        return [
            replace(
                self, seed=(self.seed + index) % SEEDS, seeds=1, sensitivity=self.sensitivity and index == 0
            )
            for index in range(self.seeds)
        ]


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
        Group of the run; groups run, and their times are reported, one after the other.
    """

    key: str
    scenario: Scenario
    seed: int
    run: int
    stage: str = "runs"


class Steps(Protocol):
    """Progress display of a paper."""

    def __call__(self, title: str, total: int, /) -> Callable[[], None]:
        """Begin a step of `total` parts; the returned function marks one part as done."""


@dataclass(frozen=True, kw_only=True)
class Evaluation(Generic[E]):
    """What the results of a paper's runs say of its claims; the report is made of it.

    Parameters
    ----------
    findings
        The findings on every claim.
    evidence
        What they were judged on.
    moves
        The effect of varying each assumption.
    readings
        The claims judged under each reading of the paper, that of the scoreboard first; see `dumbbell.papers.readings`.
    """

    findings: Sequence[claims.Finding]
    evidence: E
    moves: Sensitivity[Any] = field(default_factory=Sensitivity)
    readings: Sequence[Reading] = ()

    def explanations(self) -> dict[str, float | int | None] | None:
        """Return how many misses varied assumptions and placebos explain; ``None`` if none was to be explained."""
        return self.moves.explanations() if self.moves.is_explained else None


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Runs that go side by side.

    Parameters
    ----------
    name
        Name of the stage, as in the plan.
    at_once
        Runs side by side on two cores, by the budget in ``docs/testbed.md``. Other machines scale it.
    seconds
        Typical wall-clock time of one run, s, for the announcement.
    """

    name: str
    at_once: int
    seconds: float

    def side_by_side(self) -> int:
        """Return the number of runs side by side on this machine."""
        return max(1, self.at_once * (os.cpu_count() or 1) // CORES)

    def wall_s(self, runs: int) -> float:
        """Return the expected wall-clock time of so many runs, s."""
        return math.ceil(runs / self.side_by_side()) * self.seconds


@dataclass(frozen=True, kw_only=True)
class RealTime:
    """What a paper runs in real time.

    Parameters
    ----------
    plan
        Returns the planned runs for some settings. The paper's own plan contains them in the stage
        `dumbbell.papers.real_time.SIMULATED`.
    stages
        Returns the stages of that plan for some settings.
    record
        The file of recorded runs; it need not exist.
    sections
        Returns sections of a report on these runs from settings and evaluation.
    claims
        Names of the claims that these runs decide; none if they are an addition.
    beside
        Returns further runs of the paper's plan for the simulator, which the claims compare with.
    """

    plan: Callable[[Settings], Sequence[PlannedRun]]
    stages: Callable[[Settings], Sequence[Stage]]
    record: Path
    sections: Callable[[Settings, Evaluation[Any]], Sequence[report.Section]]
    claims: Collection[str] = ()
    beside: Callable[[Settings], Sequence[PlannedRun]] = lambda _settings: ()


class Paper(ABC):
    """Base class of the value ``PAPER`` in the folder of a paper.

    Abstract members are those that every paper has; the others have defaults. A paper keeps nothing between calls: the
    results of its runs give evidence, the evidence an `Evaluation`, and the evaluation the report.

    All simulations go through `plan` and `reduce`: every completed run is stored and reused. The results of the
    planned runs are passed to `evaluate` as a table with the columns ``key``, ``seed``, ``run`` and those named in
    `columns`, one row for each planned run in the order of the plan.

    A column may hold lists, for instance the goodputs of all flows or a trace at some times; they come back as NumPy
    arrays, lists of lists as arrays of arrays. The store contains the output of `reduce`, so the source files that
    determine `reduce` are part of the store's key (see `dumbbell.campaign.sources`), and a change of one repeats
    the runs. A paper therefore defines its reduction in a module that does not import claims and figures, and
    declares ``reduce = staticmethod(reduction.reduce)``: then an edit of a claim repeats no run.

    The runs of all seeds are evaluated together for the verdicts: `plan` is called once for each seed, and the table of
    results has the runs of all of them, numbered from 0 for each key.

    Attributes
    ----------
    question
        What the paper is reproduced for: one or two sentences for somebody who has not read it.
    aims
        The target shares of reproduced claims.
    deciding
        The stage of the plan that a claim rests on, by the claim's scenario. The runs of these stages are repeated with
        further seeds as long as claims are undecided, see `dumbbell.papers.further`; they count for the verdicts, not
        for the headline.
    real_time
        Scenarios that the kernel runs as well as the simulator; ``None`` if the paper has nothing of the kind. What was
        observed then has the key `dumbbell.papers.real_time.MEASURED` if there are such runs.
    experiments
        Extensions of the paper by name, such as ``"full-factorial"``, which run only on request, with their own runs,
        store and report. The `name` of an experiment is that of the paper, a slash, and that of the experiment.
    """

    question: str = ""
    aims: claims.Aims = claims.Aims()
    deciding: Mapping[str, str] = {}
    real_time: RealTime | None = None
    experiments: Mapping[str, Paper] = {}

    @property
    @abstractmethod
    def name(self) -> str:
        """Name, as ``"vegas-revisited"``."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Title of the report."""

    @property
    @abstractmethod
    def citation(self) -> str:
        """Authors, title, publication and year."""

    @property
    @abstractmethod
    def order(self) -> int:
        """Place among all papers, in which they are reproduced and listed."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Columns that `reduce` returns."""

    @abstractmethod
    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the planned runs."""

    @abstractmethod
    def reduce(self, runs: Runs) -> pd.DataFrame:
        """Return `columns` for some finished runs: one row for each of ``runs.jobs``, in their order.

        All jobs of `runs` are completed. Their selection depends on the order in which runs end.
        """

    @abstractmethod
    def evaluate(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> Evaluation[Any]:
        """Return the findings on every claim, with all that the report needs."""

    @abstractmethod
    def sections(self, settings: Settings, evaluation: Evaluation[Any]) -> Sequence[report.Section]:
        """Return the sections of the report."""

    def observe(self, _settings: Settings, _steps: Steps) -> Mapping[str, Any]:
        """Return evidence that needs no simulation, such as formulas and replays of a state machine; none by default."""
        return {}

    def findings(
        self, settings: Settings, results: pd.DataFrame, observed: Mapping[str, Any]
    ) -> Sequence[claims.Finding]:
        """Return the findings from the runs of one seed, for the headline, which is a mean over seeds."""
        return self.evaluate(settings, results, observed).findings

    def ceilings(self, _findings: Sequence[claims.Finding]) -> Mapping[str, float] | None:
        """Return the shares of claims that sampling in the paper itself allows, percent, by short name of their group."""
        return None

    def files(self, _settings: Settings, _evaluation: Evaluation[Any]) -> Mapping[str, str]:
        """Return texts by file name, written beside the report; none by default."""
        return {}

    def facts(self, _settings: Settings) -> Sequence[tuple[str, str]]:
        """Return pairs of name and value that the head of the report states; none by default."""
        return []

    def notice(self, _settings: Settings) -> str:
        """Return a remark for the top of the report; empty by default."""
        return ""


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
    return folder_of("papers", path)


def available(path: str | Path | None = None) -> list[str]:
    """Return the names of the papers that can be reproduced, at least one; see `folder`."""
    place = folder(path)
    return some(
        [entry.name.replace("_", "-") for entry in place.iterdir() if (entry / "__init__.py").is_file()],
        "papers",
        place,
        "a folder with a folder for each paper",
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
        There is no paper of that name, or its folder cannot be imported.
    """
    names = available(path)
    if name not in names:
        raise refusal(
            "paper", name, f"one of {', '.join(names)}", names=names, problem="is not a known paper"
        )
    place = folder(path) / name.replace("-", "_")
    module_name = f"dumbbell_paper_{place.name}"
    if module_name not in sys.modules:
        _import(name, module_name, place)
    paper = vars(sys.modules[module_name]).get("PAPER")
    if not isinstance(paper, Paper):
        raise refusal(
            "paper",
            name,
            "a value PAPER of a class derived from dumbbell.papers.Paper",
            problem="has no PAPER",
        )
    return paper


def experiment_of(paper: Paper, name: str) -> Paper:
    """Return a further experiment of a paper by its name.

    Parameters
    ----------
    paper
        The paper.
    name
        As ``"full-factorial"``.

    Raises
    ------
    ScenarioError
        The paper has no experiment of that name.
    """
    offered = paper.experiments
    if name not in offered:
        raise refusal(
            "experiment",
            name,
            f"one of {', '.join(offered)}" if offered else "none; the paper has no further experiments",
            names=offered,
            problem=f"is not an experiment of {paper.name}",
        )
    return offered[name]


def _import(name: str, module_name: str, place: Path) -> None:
    """Import the folder of a paper under a unique name; a failure leaves no modules behind."""
    specification = importlib.util.spec_from_file_location(
        module_name, place / "__init__.py", submodule_search_locations=[str(place)]
    )
    if specification is None or specification.loader is None:
        raise refusal("paper", name, "a folder that is a Python package", problem="cannot be imported")
    module = importlib.util.module_from_spec(specification)
    sys.modules[module_name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        forget(module_name)
        raise refusal(
            "paper", name, "a folder that can be imported", problem=f"cannot be loaded: {where(error, place)}"
        ) from error
