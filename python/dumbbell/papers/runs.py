"""The planned runs of a paper, and their store."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from dumbbell.campaign import (
    Display,
    PlannedRuns,
    Store,
    engine_identity,
    on_cluster,
    on_threads,
    reduction_identity,
)
from dumbbell.campaign.store import INDEX
from dumbbell.errors import refusal
from dumbbell.papers.paper import Paper, PlannedRun, Settings, experiment_of, load
from dumbbell.runs import Runs

if TYPE_CHECKING:
    from distributed import Client


def store_of(paper: Paper, place: Path, *, fresh: bool) -> Store:
    """Return the store of a paper in a folder of results, for this engine and this reduction."""
    identity = f"{engine_identity()}-{reduction_identity(paper)}"
    return Store(place / "cache" / paper.name, paper.columns, fresh=fresh, identity=identity)


class PaperRuns(PlannedRuns[PlannedRun]):
    """The runs of one paper.

    Parameters
    ----------
    paper
        The paper.
    settings
        How it is to be reproduced.
    store
        The store of completed runs; it stays open.
    stages
        The stages to run; all of them by default.
    planned
        Called after the plan of each seed.
    """

    def __init__(
        self,
        paper: Paper,
        settings: Settings,
        store: Store,
        *,
        stages: Container[str] | None = None,
        planned: Callable[[], None] = lambda: None,
    ) -> None:
        plans = []
        for each in settings.each():
            plans.append([run for run in paper.plan(each) if stages is None or run.stage in stages])
            planned()
        super().__init__(paper.name, [run for plan in plans for run in plan], store)
        self.paper = paper
        self.settings = settings
        self._ends = list(itertools.accumulate(map(len, plans)))

    def complete(self, display: Display, client: Client | None = None) -> None:
        """Execute the missing runs, see `PlannedRuns.make`; on this machine, or on a Dask cluster."""
        if client is None:
            self.make(on_threads(_reduction(self.paper), self.settings.threads), display)
        else:
            self.make(on_cluster(_Remote.of(self.paper), client, lambda text: display.warn([text])), display)

    def tables(self) -> list[pd.DataFrame]:
        """Return the results of each seed: ``key``, ``stage``, ``hash``, ``seed``, ``run`` and the columns of the paper."""
        results = self.results(self.paper.columns)
        return [results.iloc[begin:end] for begin, end in itertools.pairwise([0, *self._ends])]


def pooled(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the results of all seeds as one table: a run counts once for each key, and runs are numbered from 0.

    Parameters
    ----------
    tables
        The results of each seed, see `PaperRuns.tables`.
    """
    if len(tables) == 1:
        return tables[0]
    table = pd.concat(tables, ignore_index=True).drop_duplicates(["key", *INDEX], ignore_index=True)
    return table.assign(run=table.groupby("key", sort=False).cumcount())


def _reduction(paper: Paper) -> Callable[[Runs], pd.DataFrame]:
    """Return the reduction of a paper, with a check of the columns of its result."""

    def reduce(runs: Runs) -> pd.DataFrame:
        frame = paper.reduce(runs)
        if list(frame.columns) != list(paper.columns):
            raise ValueError(
                f"{paper.name}: reduce returned the columns {list(frame.columns)} instead of {list(paper.columns)}"
            )
        return frame

    return reduce


@dataclass(frozen=True)
class _Remote:
    """The reduction of a paper on workers, which need the folder of the paper.

    Parameters
    ----------
    folder
        The folder of the papers.
    name
        The paper, and after a slash its experiment.
    identity
        The required reduction.
    """

    folder: Path
    name: str
    identity: str

    @classmethod
    def of(cls, paper: Paper) -> _Remote:
        package = sys.modules[type(paper).__module__.split(".")[0]]
        return cls(Path(str(package.__file__)).parents[1], paper.name, reduction_identity(paper))

    def __call__(self, runs: Runs) -> pd.DataFrame:
        name, _, experiment = self.name.partition("/")
        paper = load(name, self.folder)
        paper = experiment_of(paper, experiment) if experiment else paper
        if reduction_identity(paper) != self.identity:
            raise refusal(
                "scheduler",
                self.name,
                "workers with this checkout",
                problem="is a different paper on a worker",
            )
        return _reduction(paper)(runs)
