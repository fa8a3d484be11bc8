"""The runs of a grid on both sides: stored runs, missing runs, and their execution."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd

from dumbbell.campaign import (
    INDEX,
    Display,
    PlannedRuns,
    Store,
    engine_identity,
    on_threads,
    reduction_identity,
)
from dumbbell.campaign.execution import job_of
from dumbbell.campaign.planned import Keep, Make, cost
from dumbbell.checkout import where
from dumbbell.crossvalidation.grid import Case, Grid, Side, sides_of
from dumbbell.crossvalidation.peer import Counterfactual, Observed, Peer
from dumbbell.runs import Runs, cores
from dumbbell.scenario import Scenario

COLUMNS = ("reduced", "cpu_s")
"""The stored columns of a run: the reduction of the grid as JSON text, and the CPU time, s."""

CHANGED = "changed"
"""The folder of stores of our runs of changed scenarios."""

RESERVED_COLUMNS = ("key", "point", "side")

# Interval between writes of a peer's completed runs, s.
HEARTBEAT_S = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnRun:
    """Observations of one of our runs: the part of `dumbbell.Run` that is available in a batch."""

    flows: pd.DataFrame
    links: pd.DataFrame
    traces: Mapping[str, pd.DataFrame]


class GridRuns:
    """The runs of a grid on its sides: a campaign with a separate store on each side.

    Parameters
    ----------
    grid
        The grid.
    peer
        The peer.
    cases
        The requested cases of the grid.
    place
        Folder for the stores.
    folder
        The folder of the peers; errors name the line in it.
    fresh
        Delete stored runs.
    sides
        The requested sides; by default all those of the grid.

    Raises
    ------
    ScenarioError
        Another process has one of the stores open.
    """

    def __init__(
        self,
        grid: Grid,
        peer: Peer,
        cases: Sequence[Case],
        *,
        place: Path,
        folder: Path,
        fresh: bool,
        sides: tuple[Side, ...] | None = None,
    ) -> None:
        self.grid = grid
        self.peer = peer
        self.cases = cases
        self.failures: dict[str, str] = {}
        self.times: dict[Side, float] = {}
        self.warnings: list[str] = []
        self._place = place
        self._folder = folder
        self._fresh = fresh
        reduction = reduction_identity(grid)
        identities: dict[Side, str] = {
            "ours": engine_identity(),
            "peer": hashlib.blake2b(peer.identity().encode(), digest_size=8).hexdigest(),
        }
        self._runs: dict[Side, PlannedRuns[Case]] = {}
        with ExitStack() as opened:
            for side in sides_of(grid) if sides is None else sides:
                store = opened.enter_context(
                    Store(
                        place / grid.name / side,
                        COLUMNS,
                        fresh=fresh,
                        identity=f"{identities[side]}-{reduction}",
                    )
                )
                self.warnings += store.warnings
                own = getattr(peer, "cost", None) if side == "peer" else None
                self._runs[side] = PlannedRuns(f"{grid.name}/{side}", cases, store, cost=own or _cost)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    @property
    def total(self) -> int:
        """Number of runs on all sides."""
        return sum(runs.total for runs in self._runs.values())

    @property
    def reused(self) -> int:
        """Number of reused runs."""
        return sum(runs.reused for runs in self._runs.values())

    @property
    def done(self) -> int:
        """Number of runs stored so far."""
        return sum(runs.done for runs in self._runs.values())

    def under(self, counterfactual: Counterfactual, cases: Sequence[Case]) -> GridRuns:
        """Return the runs of some cases only on the side that a counterfactual changes, stored beside these."""
        changed, place = list(cases), self._place
        if counterfactual.ours is not None:
            changed = [replace(case, scenario=counterfactual.ours(case.scenario)) for case in cases]
            # The store of our side is open.
            place = place / CHANGED
        return GridRuns(
            self.grid,
            counterfactual.peer or self.peer,
            changed,
            place=place,
            folder=self._folder,
            fresh=self._fresh,
            sides=("peer",) if counterfactual.ours is None else ("ours",),
        )

    def announce(self, display: Display) -> None:
        """Register the missing runs with the display."""
        for side, runs in self._runs.items():
            runs.announce(display, kind=side)

    def make(self, side: Side, display: Display, threads: int | None) -> None:
        """Execute the missing runs of a side. Each is stored within about a second of its end.

        A run that the peer rejects or that fails is recorded in `failures`; the others continue.

        Parameters
        ----------
        side
            ``"ours"`` or ``"peer"``; a side the grid is not run on has no missing runs.
        display
            Display of progress.
        threads
            Number of threads, or of the peer's processes; by default the number of cores, or that of the peer.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. Completed runs are kept.
        """
        runs = self._runs.get(side)
        if runs is None or runs.missing.empty:
            return
        begin = time.monotonic()
        if side == "ours":
            runs.make(self._on_threads(threads or cores()), display, f"{self.grid.name}, Dumbbell")
        else:
            own: int | None = getattr(self.peer, "at_once", None)
            at_once = threads or own or cores()
            runs.make(self._in_processes(at_once), display, f"{self.grid.name}, {self.peer.title}")
        runs.store.compact()
        self.times[side] = time.monotonic() - begin

    def _on_threads(self, threads: int) -> Make[Case]:
        """Return the function that executes our runs."""

        def make(cases: Sequence[Case], keep: Keep) -> None:
            by_job = {job_of(case): case for case in cases}
            before = _engine_s()

            def reduce(runs: Runs) -> pd.DataFrame:
                nonlocal before
                # The CPU time is shared by the runs that end together.
                cpu_s = (_engine_s() - before) / max(1, len(runs.jobs))
                before = _engine_s()
                texts = [
                    _text(self.grid, by_job[job], run)
                    for job, run in zip(runs.jobs, _each(runs), strict=True)
                ]
                return _frame(texts, [cpu_s] * len(texts))

            on_threads(reduce, threads)(cases, keep)

        return make

    def _in_processes(self, threads: int) -> Make[Case]:
        """Return the function that executes the peer's runs, each in a process started by the peer."""

        def one(case: Case) -> tuple[str, float] | Exception:
            try:
                run = self.peer.run(case.scenario, seed=case.seed, run=case.run)
            except Exception as error:
                return error
            return _text(self.grid, case, run), run.cpu_s

        def make(cases: Sequence[Case], keep: Keep) -> None:
            def taken(done: Iterable[Future[tuple[str, float] | Exception]]) -> None:
                made: list[tuple[int, str, float]] = []
                for future in done:
                    number, outcome = numbers[future], future.result()
                    if isinstance(outcome, Exception):
                        self._fail(cases[number], outcome)
                        keep([number], _frame([], []))
                    else:
                        made.append((number, *outcome))
                if made:
                    chosen, texts, cpu_s = zip(*made, strict=True)
                    keep(chosen, _frame(texts, cpu_s))

            with ThreadPoolExecutor(threads) as pool:
                numbers = {pool.submit(one, case): number for number, case in enumerate(cases)}
                left = set(numbers)
                try:
                    while left:
                        done, left = wait(left, timeout=HEARTBEAT_S)
                        taken(done)
                except KeyboardInterrupt:
                    # Wait for running processes. An interrupt from the terminal has reached the peer's processes,
                    # too.
                    pool.shutdown(cancel_futures=True)
                    ended = [future for future in left if not future.cancelled()]
                    taken([future for future in ended if not isinstance(future.result(), Exception)])
                    raise
                finally:
                    pool.shutdown(cancel_futures=True)

        return make

    def _fail(self, failed: Case, why: Exception) -> None:
        """Record a failed run of the peer for all cases that share it."""
        for case in self.cases:
            if job_of(case) == job_of(failed):
                self.failures[case.key] = where(why, self._folder)

    def _kept(self, side: Side) -> pd.DataFrame:
        """Return the stored results of the requested cases of a side: ``key``, the columns of `INDEX` and `COLUMNS`."""
        return self._runs[side].results(COLUMNS, how="inner")

    def cpu_s(self, side: Side) -> float:
        """Return the CPU time that the runs of a side took, now or before, s; NaN if the peer does not measure it."""
        if side not in self._runs:
            return 0.0
        times = self._kept(side).drop_duplicates(INDEX)["cpu_s"]
        return math.nan if len(times) and times.isna().all() else float(times.sum())

    def results(self) -> pd.DataFrame:
        """Return the table of results: see `Grid.judge`. Cases without results on a side are omitted."""
        texts = {
            side: dict(zip(kept["key"], kept["reduced"], strict=True))
            for side in self._runs
            for kept in [self._kept(side)]
        }
        rows: list[dict[str, Any]] = []
        for case in self.cases:
            if any(case.key not in kept for kept in texts.values()):
                continue
            for side, kept in texts.items():
                reduced: dict[str, Any] = json.loads(kept[case.key])
                named = dict(zip(RESERVED_COLUMNS, (case.key, case.point, side), strict=True))
                twice = (named.keys() & (case.factors.keys() | reduced.keys())) | (
                    case.factors.keys() & reduced.keys()
                )
                if twice:
                    raise ValueError(
                        f"{self.grid.name}: the columns {', '.join(sorted(twice))} are duplicates"
                    )
                rows.append(named | dict(case.factors) | reduced)
        results = pd.DataFrame(rows, columns=None if rows else list(RESERVED_COLUMNS))
        results.attrs["peer"] = self.peer.title
        return results


def checked(grid: Grid, cases: Sequence[Case]) -> Sequence[Case]:
    """Return the cases of a grid.

    Raises
    ------
    ValueError
        Two of them have the same key.
    """
    keys = Counter(case.key for case in cases)
    twice = [key for key, count in keys.items() if count > 1]
    if twice:
        raise ValueError(f"{grid.name}: two cases have the key {twice[0]!r}")
    return cases


def _cost(scenario: Scenario) -> float:
    """Return the estimated relative duration of a run.

    It grows with the square root of the bits that links can carry: how much of the capacity is used is not known
    before the run, and the square root is a compromise between full and idle links.
    """
    return math.sqrt(cost(scenario))


def _frame(texts: Sequence[str], cpu_s: Sequence[float]) -> pd.DataFrame:
    """Return `COLUMNS`."""
    return pd.DataFrame({"reduced": list(texts), "cpu_s": np.asarray(cpu_s, dtype=np.float64)})


def _engine_s() -> float:
    """Return the CPU time of this process without that of the calling thread, which only watches the engine, s."""
    return time.process_time() - time.thread_time()


def _each(runs: Runs) -> Iterator[OwnRun]:
    """Yield the completed runs of a batch one by one, in the order of their jobs."""
    flows, links = _by_job(runs.flows), _by_job(runs.links)
    traces = {quantity: _by_job(trace) for quantity, trace in runs.traces.items()}
    for job in runs.completed_jobs:
        yield OwnRun(
            flows=flows[job],
            links=links[job],
            # A quantity that is recorded on change may have no record in a run.
            traces={
                quantity: parts.get(job, runs.traces[quantity].iloc[:0].drop(columns="job"))
                for quantity, parts in traces.items()
            },
        )


def _by_job(frame: pd.DataFrame) -> dict[int, pd.DataFrame]:
    return {
        int(str(job)): rows.drop(columns="job").reset_index(drop=True) for job, rows in frame.groupby("job")
    }


def _text(grid: Grid, case: Case, run: Observed) -> str:
    """Return the reduction of a run as JSON text."""
    return json.dumps(grid.reduce(case, run), default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Return plain data for types that JSON does not know."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(
        f"{type(value).__name__} in the reduction of a grid; accepted: values that JSON can represent"
    )
