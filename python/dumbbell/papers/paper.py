"""The protocol of papers, and their loading."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from dumbbell import claims, report
from dumbbell.checkout import folder_of, forget, member_of, some, where
from dumbbell.errors import refusal
from dumbbell.run import Runs
from dumbbell.scenario import Scenario

# The required members of a paper; the other members of `Paper` are optional.
REQUIRED = (
    "name",
    "title",
    "citation",
    "order",
    "columns",
    "plan",
    "reduce",
    "observe",
    "evaluate",
    "sections",
    "facts",
    "notice",
)


SEEDS = 2**64
"""Number of seeds there are."""


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


class Paper(Protocol):
    """Protocol of the value ``PAPER`` in the folder of a paper.

    All simulations go through `plan` and `reduce`: every completed run is stored and reused. The results of the
    planned runs are passed to `evaluate` and `sections` as a table with the columns ``key``, ``seed``, ``run`` and those
    named in `columns`, one row for each planned run in the order of the plan.

    A column may hold lists, for instance the goodputs of all flows or a trace at some times; they come back as NumPy
    arrays, lists of lists as arrays of arrays. The store contains the output of `reduce`, so the source files that
    determine `reduce` are part of the store's key (see `dumbbell.campaign.sources`), and a change of one repeats
    the runs. A paper therefore defines its reduction in a module that does not import claims and figures, and
    declares ``reduce = staticmethod(reduction.reduce)``: then an edit of a claim repeats no run.

    The runs of all seeds are evaluated together for the verdicts: `plan` is called once for each seed, and the table of
    results has the runs of all of them, numbered from 0 for each key. `findings` evaluates the runs of one seed for the
    headline, which is a mean over seeds; without it, `evaluate` does.

    A paper may have ``ceilings``, a function of the findings that returns the shares of claims that sampling in the paper
    itself allows (percent), by the short names of the groups of claims; ``explanations``, a function without arguments that
    returns how many misses varied assumptions and placebos explain; and ``readings``, see `dumbbell.papers.readings`.

    A paper may have ``deciding``: the stage of the plan that a claim rests on, by the claim's scenario. The runs of these
    stages are repeated with further seeds as long as claims are undecided, see `dumbbell.papers.further`; they count
    for the verdicts, not for the headline.

    A paper may have ``real_time``, a `dumbbell.papers.real_time.RealTime`: scenarios that the kernel runs as well as the
    simulator. What was observed then has the key `dumbbell.papers.real_time.MEASURED` if there are such runs.

    A paper may also have ``aims``, the target shares of reproduced claims; `claims.Aims` has the defaults. It may
    have ``files``, a function of the settings and the results that returns texts by file name, written beside the
    report. It may have ``experiments``, by name: extensions of the paper, such as ``"full-factorial"``, which run
    only on request. An experiment has all the members listed here, with its own runs, store and report; its
    ``name`` is that of the paper, a slash, and that of the experiment.
    """

    name: str
    title: str
    citation: str
    order: int
    columns: tuple[str, ...]

    def plan(self, settings: Settings) -> Sequence[PlannedRun]:
        """Return the planned runs."""

    def reduce(self, runs: Runs) -> pd.DataFrame:
        """Return `columns` for some finished runs: one row for each of ``runs.jobs``, in their order.

        All jobs of `runs` are completed. Their selection depends on the order in which runs end.
        """

    def observe(self, settings: Settings, steps: Steps) -> Any:
        """Return evidence that needs no simulation, such as formulas and replays of a state machine."""

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
    """Return the names of the papers that can be reproduced.

    Parameters
    ----------
    path
        See `folder`.

    Raises
    ------
    ScenarioError
        There is no such folder, or no paper in it.
    """
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
    paper: Paper = member_of(
        sys.modules[module_name],
        "PAPER",
        REQUIRED,
        kind="paper",
        name=name,
        protocol="dumbbell.papers.Paper",
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
    offered: Mapping[str, Paper] = getattr(paper, "experiments", {})
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
