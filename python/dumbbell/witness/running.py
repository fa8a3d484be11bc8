"""The runs of a grid on both sides: which are kept, which are missing, and making those."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pandas as pd

import dumbbell
from dumbbell.errors import RunsInterrupted
from dumbbell.papers import Store, engine_identity
from dumbbell.papers.paper import where
from dumbbell.papers.progress import Display
from dumbbell.papers.sources import reduction_identity
from dumbbell.papers.store import INDEX
from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.run import Job, Runs
from dumbbell.scenario import Scenario
from dumbbell.witness.grid import Case, Grid, Side, sides_of
from dumbbell.witness.peer import Observed, Peer

__all__ = ["GridRuns", "checked"]

COLUMNS = ("reduced", "cpu_s")
"""What is kept of a run: what the grid made of it, as JSON text, and the CPU time it took, s."""

TAKEN = ("key", "point", "side")

# Finished runs of a peer are kept about so often, s.
HEARTBEAT_S = 1.0

Told = Callable[[int, float], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnRun:
    """What was observed in one of our own runs: the part of `dumbbell.Run` that a batch has too."""

    flows: pd.DataFrame
    links: pd.DataFrame
    traces: Mapping[str, pd.DataFrame]


class GridRuns:
    """The runs of a grid on its sides, with the stores that keep them.

    Parameters
    ----------
    grid
        The grid.
    peer
        The peer.
    cases
        Those of the grid's cases that are wanted.
    place
        Folder for the stores.
    folder
        The folder of the peers; the lines in it that a failure came through are named.
    fresh
        Forget what was kept.
    sides
        The sides that are wanted; all those of the grid by default.

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
        self._sides = sides_of(grid) if sides is None else sides
        self._wanted = _wanted(cases)
        reduction = reduction_identity(grid)
        identities: dict[Side, str] = {
            "ours": engine_identity(),
            "peer": hashlib.blake2b(peer.identity().encode(), digest_size=8).hexdigest(),
        }
        self._missing: dict[Side, pd.DataFrame] = {}
        self._stores: dict[Side, Store] = {}
        # What several cases share is one run.
        distinct = self._wanted.drop_duplicates(INDEX)
        self.total = len(distinct) * len(self._sides)
        with ExitStack() as opened:
            for side in self._sides:
                store = Store(
                    place / grid.name / side,
                    COLUMNS,
                    fresh=fresh,
                    identity=f"{identities[side]}-{reduction}",
                )
                self._stores[side] = opened.enter_context(store)
                self.warnings += store.warnings
                kept = pd.MultiIndex.from_frame(distinct[INDEX]).isin(store.known())
                self._missing[side] = distinct[~kept]
            self._opened = opened.pop_all()
        self.reused = self.total - sum(len(rows) for rows in self._missing.values())
        self.done = self.reused

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def under(self, peer: Peer, cases: Sequence[Case]) -> GridRuns:
        """Return the runs of some cases in another peer alone, kept beside these."""
        return GridRuns(
            self.grid,
            peer,
            cases,
            place=self._place,
            folder=self._folder,
            fresh=self._fresh,
            sides=("peer",),
        )

    def announce(self, display: Display) -> None:
        """Tell the display what is missing."""
        for side, rows in self._missing.items():
            display.expect(f"{self.grid.name}/{side}", len(rows), float(rows["cost"].sum()), side)

    def make(self, side: Side, display: Display, threads: int) -> None:
        """Make the missing runs of a side. Each is kept within about a second of its end.

        A run that the peer refuses, or fails in, is named in `failures`, and the others are made all the same.

        Parameters
        ----------
        side
            ``"ours"`` or ``"peer"``; a side the grid is not run on has no missing runs.
        display
            Where to say how far it is.
        threads
            Number of threads, or of the peer's processes.

        Raises
        ------
        KeyboardInterrupt
            Ctrl-C. What was finished is kept.
        """
        rows = self._missing.get(side)
        if rows is None or rows.empty:
            return
        begin = time.monotonic()
        title = f"{self.grid.name}, {'Dumbbell' if side == 'ours' else self.peer.title}"
        told = display.stage(f"{self.grid.name}/{side}", title, len(rows))
        # The longest first, so that no core is left alone with one at the end; equal ones mixed.
        mixed = np.random.default_rng(0).permutation(len(rows))
        rows = rows.iloc[mixed].sort_values("cost", ascending=False, kind="stable")
        make = self._make_ours if side == "ours" else self._make_peers
        make(rows, told, threads)
        self._stores[side].compact()
        self.times[side] = time.monotonic() - begin

    def _make_ours(self, rows: pd.DataFrame, told: Told, threads: int) -> None:
        cases = [self.cases[number] for number in rows.index]
        before = _engine_s()

        def keep(runs: Runs) -> None:
            nonlocal before
            done = list(runs.completed_jobs)
            # Runs that end together share what the processor did meanwhile.
            cpu_s = (_engine_s() - before) / max(1, len(done))
            before = _engine_s()
            reduced = [_text(self.grid, cases[job], run) for job, run in zip(done, _each(runs), strict=True)]
            self._keep("ours", rows.iloc[done], reduced, [cpu_s] * len(done), told)

        try:
            dumbbell.run_many(
                [Job(scenario=case.scenario, seed=case.seed, run=case.run) for case in cases],
                threads=threads,
                progress=False,
                finished=keep,
            )
        except RunsInterrupted:
            raise KeyboardInterrupt from None

    def _make_peers(self, rows: pd.DataFrame, told: Told, threads: int) -> None:
        def one(number: int) -> tuple[str, float] | Exception:
            case = self.cases[number]
            try:
                run = self.peer.run(case.scenario, seed=case.seed, run=case.run)
            except Exception as error:
                return error
            return _text(self.grid, case, run), run.cpu_s

        def keep(done: Iterable[Future[tuple[str, float] | Exception]]) -> None:
            made: list[tuple[int, str, float]] = []
            for future in done:
                number, outcome = numbers[future], future.result()
                if isinstance(outcome, Exception):
                    same = (self._wanted[INDEX] == rows.loc[number, INDEX]).all(axis=1)
                    for key in self._wanted["key"][same]:
                        self.failures[key] = where(outcome, self._folder)
                    told(1, float(rows.loc[number, "cost"]))
                else:
                    made.append((number, *outcome))
            if made:
                chosen, texts, cpu_s = zip(*made, strict=True)
                self._keep("peer", rows.loc[list(chosen)], texts, cpu_s, told)

        with ThreadPoolExecutor(threads) as pool:
            numbers = {pool.submit(one, number): number for number in rows.index}
            left = set(numbers)
            try:
                while left:
                    done, left = wait(left, timeout=HEARTBEAT_S)
                    keep(done)
            except KeyboardInterrupt:
                # What is under way ends. An interrupt from the terminal has reached the peer's processes too.
                pool.shutdown(cancel_futures=True)
                ended = [future for future in left if not future.cancelled()]
                keep([future for future in ended if not isinstance(future.result(), Exception)])
                raise
            finally:
                pool.shutdown(cancel_futures=True)

    def _keep(
        self, side: Side, rows: pd.DataFrame, reduced: Sequence[str], cpu_s: Sequence[float], told: Told
    ) -> None:
        frame = rows[INDEX].reset_index(drop=True)
        self._stores[side].add(frame.assign(reduced=list(reduced), cpu_s=np.asarray(cpu_s, dtype=np.float64)))
        self.done += len(rows)
        told(len(rows), float(rows["cost"].sum()))

    def _kept(self, side: Side) -> pd.DataFrame:
        """Return what is kept of the wanted cases of a side: ``key``, the columns of `INDEX` and `COLUMNS`."""
        frame = self._stores[side].frame().reindex(columns=[*INDEX, *COLUMNS])
        return self._wanted[["key", *INDEX]].merge(frame, on=INDEX, how="inner", validate="many_to_one")

    def cpu_s(self, side: Side) -> float:
        """Return the CPU time that the runs of a side took, now or before, s."""
        if side not in self._stores:
            return 0.0
        return float(self._kept(side).drop_duplicates(INDEX)["cpu_s"].sum())

    def results(self) -> pd.DataFrame:
        """Return the table of results: see `Grid.judge`. A case that lacks a side is not in there."""
        texts = {
            side: dict(zip(kept["key"], kept["reduced"], strict=True))
            for side in self._sides
            for kept in [self._kept(side)]
        }
        rows: list[dict[str, Any]] = []
        for case in self.cases:
            if any(case.key not in kept for kept in texts.values()):
                continue
            for side, kept in texts.items():
                reduced: dict[str, Any] = json.loads(kept[case.key])
                named = dict(zip(TAKEN, (case.key, case.point, side), strict=True))
                twice = (named.keys() & (case.factors.keys() | reduced.keys())) | (
                    case.factors.keys() & reduced.keys()
                )
                if twice:
                    raise ValueError(
                        f"{self.grid.name}: the columns {', '.join(sorted(twice))} are there twice"
                    )
                rows.append(named | dict(case.factors) | reduced)
        results = pd.DataFrame(rows, columns=None if rows else list(TAKEN))
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
        raise ValueError(f"{grid.name}: there are two cases of the key {twice[0]!r}")
    return cases


def _wanted(cases: Sequence[Case]) -> pd.DataFrame:
    """Return the cases as a table, one row for each."""
    # Many cases share scenarios; equal objects are looked at once.
    distinct = {id(case.scenario): case.scenario for case in cases}
    hashes = {identity: scenario.hash for identity, scenario in distinct.items()}
    costs = {identity: _cost(scenario) for identity, scenario in distinct.items()}
    return pd.DataFrame(
        {
            "key": pd.Series([case.key for case in cases], dtype=str),
            "hash": pd.Series([hashes[id(case.scenario)] for case in cases], dtype=str),
            "seed": np.array([case.seed for case in cases], dtype=np.uint64),
            "run": np.array([case.run for case in cases], dtype=np.uint64),
            "cost": pd.Series([costs[id(case.scenario)] for case in cases], dtype=float),
        }
    )


def _cost(scenario: Scenario) -> float:
    """Return about how long a run takes, compared with others.

    It grows with the bits the slowest link can carry. How many of them are sent is not known before the run, so it grows
    with their square root only: between what is right for filled links and what is right for idle ones.
    """
    rates = [bits_per_second(link["rate"], "rate") for link in scenario.to_dict()["links"]]
    return math.sqrt(nanoseconds(scenario.duration, "duration") / 1e9 * min(rates))


def _engine_s() -> float:
    """Return the CPU time of this process without that of the calling thread, which only watches the engine, s."""
    return time.process_time() - time.thread_time()


def _each(runs: Runs) -> Iterator[OwnRun]:
    """Yield the finished runs of a batch by themselves, in the order of their jobs."""
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
    """Return as JSON text what a grid makes of a run."""
    return json.dumps(grid.reduce(case, run), default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Return as plain data what JSON does not know."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} in what a grid keeps of a run; accepted: what JSON can hold")
