"""Planned runs and their store: look up completed runs and run what is missing.

A user's campaign, the runs of a paper and both sides of a grid share this loop. They differ in the plan, in the
reduction of a run, and in the execution of missing runs: see `dumbbell.campaign.execution` and `dumbbell.campaign.cluster`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa

from dumbbell.campaign.progress import Display
from dumbbell.campaign.store import INDEX, Store, arrow
from dumbbell.identified import Identified
from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.scenario import Scenario


class Planned(Identified, Protocol):
    """A requested run. It may have a ``stage``: stages run, and their times are reported, one after the other."""

    @property
    def key(self) -> str:
        """Name of the configuration it belongs to."""


P = TypeVar("P", bound=Planned)

Keep = Callable[[Sequence[int], "pd.DataFrame | pa.Table"], None]
"""Called with the positions of finished runs in the list, and a table with a row for each of them, in this order.

The table is empty for runs that failed: they count as done in the progress, and nothing is kept of them.
"""

Make = Callable[[Sequence[P], Keep], None]
"""Executes missing runs in the given order and calls the second argument as they end, in the calling thread."""


class Interrupted(KeyboardInterrupt):
    """A campaign was interrupted; the message says what was stored and how to resume."""


class PlannedRuns(Generic[P]):
    """Planned runs and their store. Planned runs with the same scenario, seed and run number are one run.

    Parameters
    ----------
    name
        Prefix of the names of stages.
    plan
        The requested runs.
    store
        The store of completed runs; it stays open.
    cost
        Estimated relative duration of a run of a scenario.

    Attributes
    ----------
    wanted
        A row for each planned run: ``key``, ``stage``, the columns of `INDEX`, ``cost``.
    missing
        Its rows that have to run, each run once.
    total, reused, done
        Number of all runs, of reused runs, and of runs stored so far.
    times
        Wall-clock time of each stage that ran, s.
    """

    def __init__(
        self,
        name: str,
        plan: Sequence[P],
        store: Store,
        *,
        cost: Callable[[Scenario], float] | None = None,
    ) -> None:
        self.name = name
        self.plan = plan
        self.store = store
        self.wanted = _wanted(plan, cost)
        distinct = self.wanted.drop_duplicates(INDEX)
        kept = pd.MultiIndex.from_frame(distinct[INDEX]).isin(store.known())
        self.missing = distinct[~kept]
        self.total = len(distinct)
        self.reused = self.done = int(kept.sum())
        self.times: dict[str, float] = {}

    @property
    def stages(self) -> Mapping[str, pd.DataFrame]:
        """The missing runs by stage, in the order of the plan."""
        return {str(name): rows for name, rows in self.missing.groupby("stage", sort=False)}

    def announce(self, display: Display, kind: str = "") -> None:
        """Announce the missing runs to the display, with the kind of runs they are."""
        for stage, rows in self.stages.items():
            display.expect(f"{self.name}/{stage}", len(rows), float(rows["cost"].sum()), kind)

    def make(self, make: Make[P], display: Display, title: str = "") -> None:
        """Run what is missing, stage by stage. Results are stored as they arrive.

        Parameters
        ----------
        make
            The function that executes the runs, see `on_threads` and `on_cluster`.
        display
            Shows the progress.
        title
            Title of the progress bar; the name of the stage by default.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. What was finished is kept.
        ResultsError
            What was finished could not be written.
        """
        for stage, rows in self.stages.items():
            begin = time.monotonic()
            advance = display.stage(f"{self.name}/{stage}", title or stage, len(rows))
            self._make_stage(in_order(rows), make, advance)
            self.times[stage] = time.monotonic() - begin

    def _make_stage(self, rows: pd.DataFrame, make: Make[P], advance: Callable[[int, float], None]) -> None:
        costs = rows["cost"].to_numpy()
        names = pa.Table.from_pandas(rows[INDEX], preserve_index=False).replace_schema_metadata(None)

        def keep(done: Sequence[int], kept: pd.DataFrame | pa.Table) -> None:
            if len(kept):
                table = kept if isinstance(kept, pa.Table) else arrow(kept)
                part = names.take(pa.array(np.asarray(done, dtype=np.int64)))
                for column in table.column_names:
                    part = part.append_column(column, table[column])
                self.store.add(part)
                self.done += len(done)
            advance(len(done), float(costs[list(done)].sum()))

        make([self.plan[row] for row in rows.index], keep)

    def kept(self) -> pd.DataFrame:
        """Return the stored runs, of this plan and of others."""
        return self.store.frame()

    def results(self, columns: Iterable[str], *, how: Literal["left", "inner"] = "left") -> pd.DataFrame:
        """Return the stored results of the planned runs, one row for each in the order of the plan.

        Parameters
        ----------
        columns
            The reduced columns, after ``key``, ``stage`` and those of `INDEX`. A column that was not stored is missing (NaN).
        how
            ``"left"`` for all planned runs, ``"inner"`` for stored ones.
        """
        kept = self.kept()
        results: pd.DataFrame = self.wanted.merge(kept, on=INDEX, how=how, validate="many_to_one")
        return results.reindex(columns=["key", "stage", *INDEX, *columns])


class _Counted(Protocol):
    @property
    def total(self) -> int: ...

    @property
    def done(self) -> int: ...


def interrupted(works: Iterable[_Counted], place: object) -> Interrupted:
    """Return the exception of an interrupted campaign.

    Parameters
    ----------
    works
        The planned runs.
    place
        The folder of the store.
    """
    listed = list(works)
    if not listed:
        return Interrupted("interrupted before any run")
    made, total = sum(work.done for work in listed), sum(work.total for work in listed)
    return Interrupted(
        f"interrupted; {made} of {total} runs are kept in {place}, and the same command resumes"
    )


def runs_text(total: int, reused: int) -> str:
    """Return the number of runs as the head of a report states it."""
    return f"{total}, {reused} of them reused" if reused else str(total)


def in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Return missing runs in the order of execution.

    The longest come first, so that no thread is left alone with one at the end. Equally long runs are shuffled, so
    that the remaining time is estimated well from the start, but those of one seed and run number stay together:
    their scenarios may have a shared prefix, which a batch simulates once.
    """
    groups = rows.groupby(["seed", "run"], sort=False).ngroup().to_numpy()
    mixed = np.random.default_rng(0).permutation(len(rows))[groups]
    return rows.iloc[np.lexsort((mixed, -rows["cost"].to_numpy()))]


def cost(scenario: Scenario) -> float:
    """Return the estimated relative duration of a run: the bits that its slowest link can carry, times the number of links."""
    rates = [bits_per_second(link["rate"], "rate") for link in scenario.to_dict()["links"]]
    return nanoseconds(scenario.duration, "duration") / 1e9 * min(rates) * len(rates)


def _wanted(plan: Sequence[Planned], cost_of: Callable[[Scenario], float] | None) -> pd.DataFrame:
    """Return the plan as a table, one row for each planned run."""
    # Most plans share scenarios; each object is evaluated once.
    distinct = {id(planned.scenario): planned.scenario for planned in plan}
    hashes = {identity: scenario.hash for identity, scenario in distinct.items()}
    costs = {identity: (cost_of or cost)(scenario) for identity, scenario in distinct.items()}
    return pd.DataFrame(
        {
            "key": pd.Series([planned.key for planned in plan], dtype=str),
            "stage": pd.Series([getattr(planned, "stage", "runs") for planned in plan], dtype=str),
            "hash": pd.Series([hashes[id(planned.scenario)] for planned in plan], dtype=str),
            "seed": np.array([planned.seed for planned in plan], dtype=np.uint64),
            "run": np.array([planned.run for planned in plan], dtype=np.uint64),
            "cost": pd.Series([costs[id(planned.scenario)] for planned in plan], dtype=float),
        }
    )
