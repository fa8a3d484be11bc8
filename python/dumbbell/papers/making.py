"""The planned runs of a paper: which are kept, which are missing, and making those."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

import dumbbell
from dumbbell.errors import RunsInterrupted
from dumbbell.papers.paper import Paper, PlannedRun, Settings
from dumbbell.papers.progress import Display
from dumbbell.papers.store import INDEX, Store
from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.run import Job, Runs
from dumbbell.scenario import Scenario

__all__ = ["Undertaking"]


class Undertaking:
    """The runs of one paper.

    Parameters
    ----------
    paper
        The paper.
    settings
        How it is to be reproduced.
    store
        Where finished runs are kept; it stays open.
    """

    def __init__(self, paper: Paper, settings: Settings, store: Store) -> None:
        self.paper = paper
        self.settings = settings
        self.store = store
        self._plan = list(paper.plan(settings))
        self._wanted = _wanted(self._plan)
        # What several keys share is one run.
        distinct = self._wanted.drop_duplicates(INDEX)
        kept = pd.MultiIndex.from_frame(distinct[INDEX]).isin(store.known())
        self._missing = distinct[~kept]
        self.total = len(distinct)
        self.reused = self.done = int(kept.sum())
        self.times: dict[str, float] = {}

    @property
    def stages(self) -> Mapping[str, pd.DataFrame]:
        """The missing runs by stage, in the order of the plan."""
        return {str(name): rows for name, rows in self._missing.groupby("stage", sort=False)}

    def announce(self, display: Display) -> None:
        """Tell the display what is missing."""
        for stage, rows in self.stages.items():
            display.expect(f"{self.paper.name}/{stage}", len(rows), float(rows["cost"].sum()))

    def make(self, display: Display) -> None:
        """Make the missing runs, stage by stage. Each is kept as soon as the engine tells of it.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. What was finished is kept.
        """
        for stage, rows in self.stages.items():
            begin = time.monotonic()
            told = display.stage(f"{self.paper.name}/{stage}", stage, len(rows))
            self._make_stage(rows, told)
            self.times[stage] = time.monotonic() - begin

    def _make_stage(self, rows: pd.DataFrame, told: Callable[[int, float], None]) -> None:
        rows = _in_order(rows)
        jobs = [self._job(row) for row in rows.index]

        def keep(runs: Runs) -> None:
            frame = _reduced(self.paper, runs.only_completed())
            made = rows.iloc[list(runs.completed_jobs)]
            self.store.add(pd.concat([made[INDEX].reset_index(drop=True), frame], axis=1))
            self.done += len(made)
            told(len(made), float(made["cost"].sum()))

        try:
            dumbbell.run_many(jobs, threads=self.settings.threads, progress=False, finished=keep)
        except RunsInterrupted:
            raise KeyboardInterrupt from None

    def _job(self, row: Any) -> Job:
        planned = self._plan[row]
        return Job(scenario=planned.scenario, seed=planned.seed, run=planned.run)

    def results(self) -> pd.DataFrame:
        """Return the table of results: ``key``, ``stage``, the columns of `INDEX` and those of the paper."""
        results = self._wanted.merge(self.store.frame(), on=INDEX, how="left", validate="many_to_one")
        return results.reindex(columns=["key", "stage", *INDEX, *self.paper.columns])


def _reduced(paper: Paper, runs: Runs) -> pd.DataFrame:
    """Return what the paper makes of some finished runs, with a new index."""
    frame = paper.reduce(runs)
    if list(frame.columns) != list(paper.columns):
        raise ValueError(
            f"{paper.name}: reduce returned the columns {list(frame.columns)} instead of {list(paper.columns)}"
        )
    if len(frame) != len(runs):
        raise ValueError(f"{paper.name}: reduce returned {len(frame)} rows for {len(runs)} runs")
    return frame.reset_index(drop=True)


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return missing runs in the order in which they are made.

    The longest come first, so that no thread is left alone with one at the end, and equal ones are mixed, so that the time
    left is told right from the start.
    """
    mixed = np.random.default_rng(0).permutation(len(rows))
    return rows.iloc[np.lexsort((mixed, -rows["cost"].to_numpy()))]


def _wanted(plan: Sequence[PlannedRun]) -> pd.DataFrame:
    """Return the plan as a table, one row for each planned run."""
    # Most plans share scenarios; equal objects are looked at once.
    distinct = {id(planned.scenario): planned.scenario for planned in plan}
    hashes = {identity: scenario.hash for identity, scenario in distinct.items()}
    costs = {identity: _cost(scenario) for identity, scenario in distinct.items()}
    return pd.DataFrame(
        {
            "key": pd.Series([planned.key for planned in plan], dtype=str),
            "stage": pd.Series([planned.stage for planned in plan], dtype=str),
            "hash": pd.Series([hashes[id(planned.scenario)] for planned in plan], dtype=str),
            "seed": np.array([planned.seed for planned in plan], dtype=np.uint64),
            "run": np.array([planned.run for planned in plan], dtype=np.uint64),
            "cost": [costs[id(planned.scenario)] for planned in plan],
        }
    )


def _cost(scenario: Scenario) -> float:
    """Return about how long a run takes, compared with others: the bits its slowest link can carry, on every link."""
    rates = [bits_per_second(link["rate"], "rate") for link in scenario.to_dict()["links"]]
    return nanoseconds(scenario.duration, "duration") / 1e9 * min(rates) * len(rates)
