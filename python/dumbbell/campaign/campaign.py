"""A campaign: a base scenario, axes, replications, a reduction, and the store of its runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from dumbbell import external
from dumbbell.arguments import LARGEST_SEED, file_path, thread_count, whole_number
from dumbbell.campaign.cluster import cluster_of, on_cluster
from dumbbell.campaign.execution import Reduction, on_threads
from dumbbell.campaign.planned import Make, Planned, PlannedRuns, interrupted
from dumbbell.campaign.points import Grid, Point, grid_of, points_of
from dumbbell.campaign.progress import Display
from dumbbell.campaign.reductions import OF_RUNS, function_identity, tables
from dumbbell.campaign.store import INDEX, Store, engine_identity
from dumbbell.errors import installation, refusal
from dumbbell.files import make_folder, replacing
from dumbbell.parameters import columns
from dumbbell.runs import Job, Runs
from dumbbell.scenario import Data, Scenario
from dumbbell.warned import warn_of, warn_of_identical_runs

if TYPE_CHECKING:
    from distributed import Client

RUNS = "runs"
"""Name of the table with a row for each run."""

PROBES = "the base scenario has probes, which cost time, but their traces are not stored; use a reduction to store them"


@dataclass(frozen=True, kw_only=True, slots=True)
class CampaignRun:
    """A run of a campaign.

    Parameters
    ----------
    key
        Number of its point.
    scenario
        What to run.
    seed, run
        Which random streams to run it with.
    """

    key: str
    scenario: Scenario
    seed: int
    run: int

    @property
    def stage(self) -> str:
        """There is one stage."""
        return ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Status:
    """Progress of a campaign.

    Parameters
    ----------
    points
        One row per point: the values of the axes, ``hash`` of the scenario, requested ``runs``, ``done`` and ``missing``.
        The last two are missing values where code of the scenario was not loaded: its hash, and so the stored runs, are
        not known.
    runs, done
        Number of requested runs, and of stored ones.
    uncounted
        Number of requested runs of points with code that was not loaded.
    not_loaded
        The names of that code.
    warnings
        Damage to the store, one line per file; affected runs are among the missing ones.
    """

    points: pd.DataFrame
    runs: int
    done: int
    uncounted: int = 0
    not_loaded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def missing(self) -> int:
        """Number of missing runs."""
        return self.runs - self.done - self.uncounted

    def __str__(self) -> str:
        complete = int((self.points["missing"] == 0).sum())
        uncounted = f", {self.uncounted} not counted" if self.uncounted else ""
        return (
            f"{complete} of {len(self.points)} points complete; {self.done} of {self.runs} runs done, "
            f"{self.missing} missing{uncounted}"
        )


class Campaign:
    """Scenarios × parameters × replications, the reduction of each run, and the store.

    A campaign resumes: `run` runs only what is missing in the store. A completed run is stored within about a
    second, so a kill loses only runs in progress. The store is keyed by the hash of the scenario, the engine, the
    code of the reduction, the seed and the run number. Campaigns may share it, and it remains valid when axes or
    replications change. A finished campaign has the same store, byte for byte, however often it was interrupted and
    wherever it ran.

    Parameters
    ----------
    base : Scenario, path or mapping
        The base scenario, its file, or a table of its fields: see `Scenario.of`.
    axes : mapping of str to iterable, optional
        Values by address, as ``{"links.r1-r2.rate": ["1 Mbit/s", "2 Mbit/s"]}``. Addresses are those of
        `Scenario.with_values`. Every combination is a point. For labels of values, see `sweep`.
    runs : int or iterable of int
        Replications of each point: their number, or a list of run numbers.
    seed : int
        Seed of all runs.
    reduce : callable, optional
        A named function of `Runs` that returns what to store: a data frame with one row for each of ``runs.jobs``,
        in the same order. Cells may be lists. It must treat each run separately, because batches depend on the
        order in which runs end. By default, the complete flow and link tables are stored, without traces.
    store : path
        Folder of the store.

    Raises
    ------
    ScenarioError
        The base is not a scenario, an address leads nowhere, a value is not accepted there, or the reduction has no name.

    Examples
    --------
    >>> import tempfile
    >>> from dumbbell import Campaign, Flow, Uniform, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    >>> folder = tempfile.TemporaryDirectory()
    >>> campaign = Campaign(
    ...     base=shape.scenario(duration="10 s", flows=[flow]),
    ...     axes={"flows.fg.tcp": ["reno", "vegas"], "links.r1-r2.queue.limit": ["10 packets", "20 packets"]},
    ...     runs=3,
    ...     store=folder.name,
    ... )
    >>> print(campaign.status())
    0 of 4 points complete; 0 of 12 runs done, 12 missing
    >>> print(campaign.run(progress=False).status())
    4 of 4 points complete; 12 of 12 runs done, 0 missing
    >>> campaign.sql('select "flows.fg.tcp" as tcp, count(*) as n from flows group by tcp order by tcp')
         tcp  n
    0   reno  6
    1  vegas  6
    >>> print(campaign.add(axes={"flows.fg.tcp": ["cubic"]}).status())
    4 of 5 points complete; 12 of 15 runs done, 3 missing
    >>> folder.cleanup()
    """

    def __init__(
        self,
        base: Scenario | Data | str | os.PathLike[str],
        axes: Mapping[str, Iterable[Any]] | None = None,
        *,
        runs: int | Iterable[int] = 1,
        seed: int = 1,
        reduce: Reduction | None = None,
        store: str | os.PathLike[str],
    ) -> None:
        self.base = Scenario.of(base)
        self.seed = whole_number("seed", seed, 0, LARGEST_SEED)
        self.reduce: Reduction = tables if reduce is None else reduce
        self.store = file_path("store", store, "the name of a folder")
        self.warnings: list[str] = []
        self.made = 0
        self.run_time_s = 0.0
        self._identity = f"{engine_identity()}-{function_identity(self.reduce)}"
        self._grids: list[Grid] = []
        self._points: list[Point] = []
        self._plan: list[CampaignRun] = []
        self._add(grid_of(axes or {}, runs))

    @classmethod
    def from_toml(
        cls,
        file: str | Path,
        *,
        store: str | Path | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> Self:
        """Read a campaign from a file, see ``dumbbell campaign --help``.

        Parameters
        ----------
        file
            A TOML file. ``base`` is a scenario: a table or the name of a file in the same folder. ``[axes]`` has
            lists of values by address. ``runs``, ``seed`` and ``output`` (the folder of the store) are optional.
            ``[[add]]`` has the ``axes`` and ``runs`` of further grids.
        store
            Folder of the store; by default that of the file, or ``results/campaigns/`` and the name of the file.
        values
            Values of the base that differ, by address; see `Scenario.with_values`.

        Raises
        ------
        ScenarioError
            The file is not TOML, or something in it is not accepted.
        OSError
            A file cannot be read.
        """
        from dumbbell.campaign.file import read

        stated = read(Path(file))
        campaign = cls(
            stated.base.with_values(values) if values else stated.base,
            stated.grids[0].axes,
            runs=stated.grids[0].runs,
            seed=stated.seed,
            store=stated.output if store is None else store,
        )
        for grid in stated.grids[1:]:
            campaign._add(grid)
        return campaign

    def __repr__(self) -> str:
        return f"Campaign({len(self._points)} points, {len(self._plan)} runs, store={str(self.store)!r})"

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self._plan)

    @property
    def points(self) -> tuple[Point, ...]:
        """The points, in the order in which they were stated."""
        return tuple(self._points)

    def add(
        self, axes: Mapping[str, Iterable[Any]] | None = None, *, runs: int | Iterable[int] | None = None
    ) -> Self:
        """Add points, or replications.

        Parameters
        ----------
        axes
            Values by address; every combination is a point, with the value of the base on all other axes. Without
            axes, the replications are added to all existing points.
        runs
            Replications of these points; those that the campaign began with by default.

        Returns
        -------
        Campaign
            The campaign itself.

        Raises
        ------
        ScenarioError
            See the class. Nothing was added.
        """
        if axes:
            self._add(grid_of(axes, self._grids[0].runs if runs is None else runs))
        elif runs is not None:
            self._add(*(Grid(grid.axes, grid_of({}, runs).runs) for grid in list(self._grids)))
        return self

    def _add(self, *grids: Grid) -> None:
        points = points_of(self.base, [*self._grids, *grids])
        self._grids += grids
        self._points = points
        self._plan = [
            CampaignRun(key=str(number), scenario=point.scenario, seed=self.seed, run=run)
            for number, point in enumerate(points)
            for run in point.runs
        ]

    def _opened(self, *, fresh: bool = False, read_only: bool = False) -> Store:
        return Store(self.store, (), fresh=fresh, identity=self._identity, read_only=read_only)

    def run(
        self,
        on: Client | str | None = None,
        *,
        threads: int | None = None,
        progress: bool = True,
        fresh: bool = False,
    ) -> Self:
        """Run what is missing.

        Parameters
        ----------
        on : distributed.Client or str, optional
            A Dask cluster, or the address of its scheduler. Its workers need the engine of this process; the
            reduction is sent to them. The default is this machine.
        threads
            Threads on this machine; all cores by default.
        progress
            Show progress on standard error: a bar with the remaining time on a terminal, occasional lines elsewhere.
        fresh
            Delete the content of the store, including runs of other campaigns with this engine and reduction.

        Returns
        -------
        Campaign
            The campaign itself, all its runs done.

        Raises
        ------
        ScenarioError
            Another process is writing to the store, or the cluster cannot be used.
        ResultsError
            A file of the store cannot be read or written, as on a full disk. Earlier results are kept.
        ClusterError
            The scheduler is gone. Completed runs are kept.
        Interrupted
            Ctrl-C. Completed runs are kept.

        Warns
        -----
        ScenarioWarning
            Scenarios state something without effect, such as a start after the end.
        IdenticalRunsWarning
            Replications do not differ, because nothing is drawn at random.
        """
        threads = thread_count(threads)
        if threads is not None and on is not None:
            raise refusal("threads", threads, "none with a cluster")
        warn_of(point.scenario for point in self._points)
        begin = time.monotonic()
        self.made = 0
        try:
            with (
                cluster_of(on) as (client, notes),
                self._opened(fresh=fresh) as store,
                Display(sys.stderr, quiet=not progress) as display,
            ):
                self.warnings = [*store.warnings, *notes]
                if self.reduce is tables and self.base.probes:
                    self.warnings.append(PROBES)
                display.warn(self.warnings)
                self._fill(store, display, client, threads)
        finally:
            self.run_time_s = time.monotonic() - begin
        if identical := self._identical_runs():
            warn_of_identical_runs(identical)
        return self

    def _fill(self, store: Store, display: Display, client: Client | None, threads: int | None) -> None:
        """Execute the missing runs."""
        make: Make[Planned] = (
            on_threads(self.reduce, threads)
            if client is None
            else on_cluster(self.reduce, client, lambda text: display.warn([text]))
        )
        work: PlannedRuns[CampaignRun] | None = None
        try:
            work = PlannedRuns("campaign", self._plan, store)
            work.announce(display)
            display.whole("runs", work.total, work.reused)
            work.make(make, display)
            store.compact()
        except KeyboardInterrupt as interruption:
            raise interrupted([] if work is None else [work], store.place) from interruption
        finally:
            self.made = 0 if work is None else work.done - work.reused

    def _identical_runs(self) -> list[tuple[Scenario, int, int]]:
        """Return the scenarios with identical runs, with the number of runs and of distinct ones.

        This requires a reduction that stores fingerprints, such as the default one.
        """
        runs = self.tables()[RUNS]
        if "fingerprint" not in runs.column_names:
            return []
        counts = runs.group_by("hash").aggregate([("run", "count"), ("fingerprint", "count_distinct")])
        counted = dict(zip(counts["hash"].to_pylist(), counts.to_pylist(), strict=True))
        found = [(point.scenario, counted[point.scenario.hash]) for point in self._points]
        return [
            (scenario, row["run_count"], row["fingerprint_count_distinct"])
            for scenario, row in found
            if row["fingerprint_count_distinct"] < row["run_count"]
        ]

    def status(self) -> Status:
        """Return the progress of the campaign, without running anything or disturbing a process that runs it.

        Raises
        ------
        ResultsError
            A file of the store cannot be read.
        """
        store = self._opened(read_only=True)
        wanted, positions = self._positions(store.table())
        done = np.bincount(wanted["point"].to_numpy()[positions >= 0], minlength=len(self._points))
        unloaded = [external.not_loaded(point.scenario.canonical_json) for point in self._points]
        is_unknown = np.array([bool(names) for names in unloaded])
        hashes = pa.array([point.scenario.hash for point in self._points], pa.string())
        points: pd.DataFrame = pa.table(
            self._axes(np.arange(len(self._points))) | {"hash": hashes}
        ).to_pandas()
        points["runs"] = [len(point.runs) for point in self._points]
        points["done"] = pd.Series(done).astype("Int64").mask(is_unknown) if is_unknown.any() else done
        points["missing"] = points["runs"] - points["done"]
        return Status(
            points=points,
            runs=len(self._plan),
            done=int(done[~is_unknown].sum()),
            uncounted=int(points["runs"][is_unknown].sum()),
            not_loaded=tuple(dict.fromkeys(name for names in unloaded for name in names)),
            warnings=tuple(store.warnings),
        )

    def _positions(self, kept: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """Return the requested runs (``point`` and the columns of `INDEX`) and their rows in the store, -1 for none."""
        points = np.repeat(np.arange(len(self._points)), [len(point.runs) for point in self._points])
        hashes = np.array([point.scenario.hash for point in self._points], dtype=object)
        wanted = pa.table(
            {
                "point": points,
                "hash": pa.array(hashes[points], pa.string()),
                "seed": np.full(len(points), self.seed, dtype=np.uint64),
                "run": np.array([planned.run for planned in self._plan], dtype=np.uint64),
            }
        )
        there = pd.MultiIndex.from_frame(kept.select(INDEX).to_pandas())
        return wanted, there.get_indexer(pd.MultiIndex.from_frame(wanted.select(INDEX).to_pandas()))

    def _axes(self, points: np.ndarray) -> dict[str, pa.Array]:
        """Return the values of the axes at some points."""
        chosen = pa.array(points)
        by_point = columns([point.parameters for point in self._points])
        return {name: values.take(chosen) for name, values in by_point.items()}

    def tables(self) -> dict[str, pa.Table]:
        """Return the stored results of this campaign as Arrow tables, by name.

        ``"runs"`` has one row per completed run, in the order of the points: the values of the axes, ``hash``, ``seed``,
        ``run``, and the reduced columns. A reduced column that contains rows, such as ``flows`` and ``links`` by
        default, is a separate table: the values of the axes, ``hash``, ``seed``, ``run``, and its fields.
        """
        kept = self._opened(read_only=True).table()
        wanted, positions = self._positions(kept)
        there = pa.array(np.flatnonzero(positions >= 0))
        wanted, rows = wanted.take(there), kept.take(pa.array(positions[positions >= 0]))
        names = pa.table(self._axes(wanted["point"].to_numpy()) | {name: wanted[name] for name in INDEX})
        found = {RUNS: names}
        for name in rows.column_names:
            if name in INDEX:
                continue
            kind = rows.schema.field(name).type
            if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
                found[name] = _unfolded(rows[name], names)
            else:
                found[RUNS] = found[RUNS].append_column(name, rows[name])
        return found

    def results(self) -> Runs:
        """Return the stored results of this campaign as `Runs`, whose parameters are the values of the axes.

        The jobs are those of the campaign; rows are there for the completed ones. There are no traces.

        Raises
        ------
        ScenarioError
            The campaign has a reduction of its own, whose results `frame` returns, or nothing is stored.
        ResultsError
            A file of the store cannot be read.
        """
        kept = self._opened(read_only=True).table()
        if self.reduce is not tables or "flows" not in kept.column_names:
            stored = "nothing stored" if self.reduce is tables else "a reduction"
            accepted = "a campaign without a reduction of its own, after its first run"
            raise refusal("results", stored, accepted, quoted=False)
        _, positions = self._positions(kept)
        there = np.flatnonzero(positions >= 0)
        rows = kept.take(pa.array(positions[there]))
        runs = pa.table(
            {"job": there.astype(np.uint32)} | {name: rows[name] for name in ("seed", "run", *OF_RUNS)}
        )
        links = _unfolded(rows["links"], runs.drop_columns(list(OF_RUNS)))
        return Runs(
            jobs=tuple(
                Job(planned.scenario, planned.seed, planned.run, self._points[int(planned.key)].parameters)
                for planned in self._plan
            ),
            completed=len(there),
            arrow_flows=_unfolded(rows["flows"], runs),
            arrow_links=links,
        )

    def frame(self, name: str = RUNS) -> pd.DataFrame:
        """Return stored results of this campaign as a data frame.

        Parameters
        ----------
        name
            ``"runs"`` for one row per completed run; by default also ``"flows"`` and ``"links"``. See `tables`.

        Raises
        ------
        ScenarioError
            There is no such table.
        ResultsError
            A file of the store cannot be read.
        """
        found = self.tables()
        if name not in found:
            raise refusal("frame", name, f"one of {', '.join(found)}", names=found, problem="is not a table")
        frame: pd.DataFrame = found[name].to_pandas()
        return frame

    def sql(self, query: str) -> pd.DataFrame:
        """Return the result of a DuckDB query of the tables.

        Parameters
        ----------
        query
            SQL over the tables of `tables`: ``runs``, ``flows`` and ``links`` by default. Addresses are quoted, as
            ``"links.r1-r2.rate"``. Without ``order by``, the order of rows is undefined.

        Raises
        ------
        ScenarioError
            The package ``duckdb`` is missing: the extra ``sql`` installs it.
        duckdb.Error
            The query is not valid.
        ResultsError
            A file of the store cannot be read.
        """
        try:
            import duckdb
        except ImportError:
            accepted = f"an installed package duckdb: {installation('sql')}"
            raise refusal("sql", query, accepted, problem="needs it", quoted=False) from None

        with duckdb.connect(config={"python_enable_replacements": False}) as connection:
            for name, table in self.tables().items():
                connection.register(name, table)
            frame: pd.DataFrame = connection.sql(query).df()
        return frame

    def export(self, folder: str | Path) -> list[Path]:
        """Write the tables as Parquet files, one for each, and return their paths.

        Parameters
        ----------
        folder
            Where to.

        Raises
        ------
        ResultsError
            They could not be written.
        """
        import pyarrow.parquet as pq

        place = Path(folder)
        make_folder(place)
        written: list[Path] = []
        for name, table in self.tables().items():
            written.append(place / f"{name}.parquet")
            with replacing(written[-1]) as file:
                pq.write_table(table, file)
        return written


def _unfolded(column: pa.ChunkedArray, names: pa.Table) -> pa.Table:
    """Return the rows in a column of lists, each after the names of the run that it is of."""
    lists = column.combine_chunks()
    lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
    inner = names.take(pc.list_parent_indices(lists))
    fields = lists.flatten()
    for number, field in enumerate(column.type.value_type):
        inner = inner.append_column(field.name, fields.field(number))
    return inner
