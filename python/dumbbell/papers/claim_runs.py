"""The planned runs that a claim rests on: named for a report, or made when its measure looks them up.

Which keys a claim rests on is recorded while it is judged, see `dumbbell.judge.reads`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from dumbbell.campaign import Display, PlannedRuns, Store
from dumbbell.campaign.store import INDEX
from dumbbell.claims import Finding
from dumbbell.judge.reads import SIMULATED, RunsByKey
from dumbbell.papers.further import Part
from dumbbell.papers.paper import Paper, PlannedRun, Settings
from dumbbell.papers.runs import PaperRuns, pooled

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, kw_only=True)
class KeyRuns:
    """The runs of a key.

    Parameters
    ----------
    key
        Name of the configuration.
    stage
        Stage of the plan.
    draws
        Seed and number of each run, in the order in which claims get them.
    """

    key: str
    stage: str
    draws: tuple[tuple[int, int], ...]

    @property
    def by_seed(self) -> dict[str, str]:
        """The numbers of the runs by seed, for reading: ``{"17": "0-23"}``."""
        numbers: dict[int, list[int]] = {}
        for seed, run in self.draws:
            numbers.setdefault(seed, []).append(run)
        return {str(seed): ", ".join(_spans(sorted(runs))) for seed, runs in numbers.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return stage, number of runs, and their seeds and numbers as plain data."""
        return {"stage": self.stage, "runs": len(self.draws), "seeds": self.by_seed}


def _spans(numbers: Sequence[int]) -> Iterator[str]:
    """Yield ascending numbers as spans: ``0-3``, ``7``."""
    for _, group in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        span = [number for _, number in group]
        yield f"{span[0]}" if len(span) == 1 else f"{span[0]}-{span[-1]}"


def runs_by_key(tables: Iterable[pd.DataFrame]) -> dict[str, KeyRuns]:
    """Return the runs of each key, in the order of the plan.

    Parameters
    ----------
    tables
        The results of each seed, see `PaperRuns.tables`.
    """
    named = pd.concat([table[["key", "stage", "seed", "run"]] for table in tables])
    return {
        str(key): KeyRuns(
            key=str(key),
            stage=str(rows["stage"].iloc[0]),
            draws=_distinct(zip(rows["seed"].tolist(), rows["run"].tolist(), strict=True)),
        )
        for key, rows in named.groupby("key", sort=False)
    }


def _distinct(draws: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    return tuple(dict.fromkeys(draws))


def rested_on(finding: Finding, known: Mapping[str, KeyRuns]) -> list[KeyRuns]:
    """Return the simulated runs that a finding rests on, in the order of reading."""
    return [known[key] for key in finding.reads.get(SIMULATED, ()) if key in known]


class _Chosen(PaperRuns):
    """Some runs of a paper, by seed."""

    def __init__(
        self, paper: Paper, settings: Settings, store: Store, plans: Sequence[Sequence[PlannedRun]]
    ) -> None:
        PlannedRuns.__init__(self, paper.name, [run for plan in plans for run in plan], store)
        self.paper = paper
        self.settings = settings
        self._ends = list(itertools.accumulate(map(len, plans)))

    def kept(self) -> pd.DataFrame:
        """Return the stored runs of these scenarios."""
        return self.store.frame(list(dict.fromkeys(self.wanted["hash"])))


class DemandedRuns:
    """The runs of a paper, made when they are looked up; completed ones are stored and reused.

    Parameters
    ----------
    paper, settings
        The paper, and how it is reproduced.
    store
        The store of completed runs; it stays open.
    display
        Display of progress.
    further
        Runs that a report added for undecided claims.
    client
        A Dask cluster to make the runs on; this machine if it is left out.
    planned
        Called after the plan of each seed.

    Attributes
    ----------
    total, reused
        Number of the runs that were looked up, and of reused ones.
    """

    def __init__(
        self,
        paper: Paper,
        settings: Settings,
        store: Store,
        display: Display,
        *,
        further: Sequence[Part] = (),
        client: Client | None = None,
        planned: Callable[[], None] = lambda: None,
    ) -> None:
        self.paper = paper
        self.settings = settings
        self.total = self.reused = self.done = 0
        self._store = store
        self._display = display
        self._client = client
        plans = []
        for each in settings.each():
            plans.append(list(paper.plan(each)))
            planned()
        for part in further:
            plan = paper.plan(part.settings(settings))
            plans.append([run for run in plan if run.stage in part.stages])
            planned()
        self._plans = len(plans)
        self._planned: dict[str, list[list[PlannedRun]]] = {}
        for place, plan in enumerate(plans):
            for run in plan:
                self._planned.setdefault(run.key, [[] for _ in plans])[place].append(run)
        self._made: dict[str, pd.DataFrame] = {}

    def by_key(self) -> RunsByKey:
        """Return the runs by key, each made when it is looked up."""
        return RunsByKey(list(self._planned), self._rows, lambda: self._of(list(self._planned)))

    def expect(self, read: Callable[[RunsByKey], object]) -> None:
        """Make the runs that a function looks up in few batches, which is faster than one key after the other.

        The function gets runs without values until they are made, and is called again after each batch. An error that
        missing values cause ends a call early; its later keys are made when they are looked up.

        Parameters
        ----------
        read
            Looks up runs by key.
        """
        wanted: dict[str, None] = {}

        def rows(key: str) -> pd.DataFrame:
            if key in self._made:
                return self._made[key]
            wanted[key] = None
            return self._blank(key)

        while True:
            wanted.clear()
            with warnings.catch_warnings(), suppress(Exception):
                warnings.simplefilter("ignore")
                read(RunsByKey(list(self._planned), rows, pd.DataFrame))
            if not wanted:
                return
            for key, made in self._of(list(wanted)).groupby("key", sort=False):
                self._made[str(key)] = made

    def _blank(self, key: str) -> pd.DataFrame:
        """Return rows without values for the runs of a key."""
        runs = [run for plan in self._planned[key] for run in plan]
        draws = _distinct((run.seed, run.run) for run in runs)
        named = [
            {"key": key, "stage": runs[0].stage, "seed": seed, "run": place}
            for place, (seed, _) in enumerate(draws)
        ]
        return pd.DataFrame(named).reindex(columns=["key", "stage", *INDEX, *self.paper.columns])

    def _rows(self, key: str) -> pd.DataFrame:
        if key not in self._made:
            self._made[key] = self._of([key])
        return self._made[key]

    def _of(self, keys: Sequence[str]) -> pd.DataFrame:
        """Return the results of some keys, numbered as in the table of all runs."""
        plans = [[run for key in keys for run in self._planned[key][place]] for place in range(self._plans)]
        work = _Chosen(self.paper, self.settings, self._store, plans)
        self.total += work.total
        self.reused += work.reused
        work.announce(self._display)
        self._display.further(work.total, work.reused)
        self.done += work.reused
        try:
            work.complete(self._display, self._client)
        finally:
            self.done += work.done - work.reused
        return pooled(work.tables())

    def planned(self, key: str) -> list[PlannedRun]:
        """Return the planned runs of a key, without those that repeat another one."""
        runs = [run for plan in self._planned[key] for run in plan]
        return list({(run.scenario.hash, run.seed, run.run): run for run in runs}.values())

    def known(self, keys: Iterable[str]) -> dict[str, KeyRuns]:
        """Return the runs of some keys by name; without those that are not planned."""
        found = {}
        for key in keys:
            if key in self._planned:
                runs = self.planned(key)
                draws = _distinct((run.seed, run.run) for run in runs)
                found[key] = KeyRuns(key=key, stage=runs[0].stage, draws=draws)
        return found
