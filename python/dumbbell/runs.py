"""Runs: one, or many on all cores.

Results are Arrow tables filled by the engine without copies. Data frames are views of the same memory where pandas
allows it (numbers without gaps), so their columns are read-only: make a ``copy()`` before writing to a cell.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from dumbbell import _engine, control, external
from dumbbell.arguments import LARGEST_SEED, MOST_RUNS, function, thread_count, whole_number
from dumbbell.capture import Capture, PathName
from dumbbell.drawn import Drawn
from dumbbell.engine import identity
from dumbbell.errors import EngineError, ScenarioWarning, refusal
from dumbbell.exports import Exported
from dumbbell.frames import arrow, frame, row
from dumbbell.parameters import columns, shown
from dumbbell.quantities import nanoseconds
from dumbbell.results import described
from dumbbell.saved import Saved, Storable
from dumbbell.scenario import Data, Probe, Scenario
from dumbbell.warned import warn_of, warn_of_identical_runs
from dumbbell.watched import Progress, watched

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from dumbbell import processes
    from dumbbell.plots.picture import Picture
    from dumbbell.why import Explanation

OF_JOBS = ("seed", "run")


class Traces(dict[str, "pd.DataFrame"]):
    """Traces by quantity; one that was not recorded is an error that says how to record it."""

    def __missing__(self, quantity: str) -> pd.DataFrame:
        recorded = ", ".join(self) or "none"
        raise KeyError(
            f"no trace of {quantity!r} was recorded; recorded: {recorded}; a probe records it: "
            f"Probe(quantities=[{quantity!r}])"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RunTables(Exported):
    """The tables of one run, simulated or in real time: see `Run` and `dumbbell.testbed.RealTimeRun`."""

    scenario: Scenario
    seed: int
    run: int
    arrow_flows: pa.Table
    arrow_links: pa.Table
    arrow_traces: dict[str, pa.Table]
    summary: dict[str, Any]

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row per flow. `dumbbell.results` says what the columns are."""
        return frame(self.arrow_flows)

    flows.__doc__ = described("flows", "One row per flow. A value that does not exist is missing (NaN).")

    @cached_property
    def links(self) -> pd.DataFrame:
        """One row per link. `dumbbell.results` says what the columns are."""
        return frame(self.arrow_links)

    links.__doc__ = described("links", "One row per link. A value that does not exist is missing (NaN).")

    @cached_property
    def traces(self) -> dict[str, pd.DataFrame]:
        """One frame per probed quantity: ``time_s``, ``name``, ``value``.

        ``tcp_events``, which `dumbbell.tcp_events` reads, and ``transfers`` have a row for each event or transfer, and
        columns of their own: `dumbbell.results.COLUMNS` has the meaning of each.
        """
        return Traces((quantity, frame(table)) for quantity, table in self.arrow_traces.items())

    def flow(self, name: str) -> pd.Series[Any]:
        """Return the row of one flow.

        Raises
        ------
        KeyError
            There is no flow of this name.
        """
        return row(self.flows, name, "flow")

    def link(self, name: str) -> pd.Series[Any]:
        """Return the row of one link; raises `KeyError` as `flow` does."""
        return row(self.links, name, "link")

    def rows(self, table: Literal["flows", "links"]) -> list[dict[str, Any]]:
        """Return a table as a list of rows, each by the names of its columns, without data frames; ``None`` is missing."""
        rows: list[dict[str, Any]] = getattr(self, f"arrow_{table}").to_pylist()
        return rows

    def tables(self) -> dict[str, pa.Table]:
        """Return all Arrow tables by name: ``flows``, ``links``, and each probed quantity."""
        return {"flows": self.arrow_flows, "links": self.arrow_links, **self.arrow_traces}

    def plot(
        self, quantity: str | None = None, *, names: Sequence[str] | None = None, style: str | None = None
    ) -> Picture:
        """Return a picture of windows, queues, goodput and losses over time, or of one probed quantity.

        It shows itself in a notebook; ``print`` draws it in the terminal, and `Picture.save` writes it to a file.

        Parameters
        ----------
        quantity
            A probed quantity, such as ``"cwnd"``; four panels by default. What the run did not record is sampled in a
            second run with the same seed and number, which is the same run; a run in real time shows what it recorded.
        names
            The flows and links to show. By default the eight flows with the highest goodput, and up to four links with
            queues or losses.
        style
            ``"screen"`` (the default), ``"dark"``, ``"paper"`` or ``"slides"``, as of `Runs.plot`.

        Raises
        ------
        ScenarioError
            There is no such quantity, flow, link or style, or it was not recorded.

        Examples
        --------
        >>> import dumbbell
        >>> from dumbbell import Flow, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
        >>> scenario = shape.scenario(duration="10 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp="reno")])
        >>> picture = dumbbell.run(scenario).plot()
        >>> [panel.title for panel in picture.panels]
        ['congestion window: fg', 'queue', 'goodput: fg', 'losses']
        """
        from dumbbell.plots.results import run_picture

        return run_picture(self, quantity, names, style)

    def repeated(self, probes: Sequence[Probe]) -> Mapping[str, pd.DataFrame] | None:  # noqa: ARG002 - of a simulated run
        """Return traces of the same run with other probes; ``None`` for a run in real time, which cannot be repeated."""
        return None

    def _repr_html_(self) -> str:
        from dumbbell.plots.notebook import run_html

        return run_html(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Run(RunTables, Storable):
    """The results of one run.

    Parameters
    ----------
    scenario, seed, run
        The scenario.
    arrow_flows
        One row per flow: an Arrow table.
    arrow_links
        One row per link: an Arrow table.
    arrow_traces
        One Arrow table per probed quantity, with the columns ``time_s`` (seconds), ``name`` (of the flow or
        link) and ``value``; see `traces` for ``tcp_events`` and ``transfers``.
    summary
        The run as one plain object, as ``dumbbell run --json`` prints it.
    captured
        Number of ``packets`` and of ``events`` written to files, of those that were requested.
    engine
        Identity of the engine that made the run, see `dumbbell.engine.identity`; that of this process unless the run was
        loaded.
    """

    captured: dict[str, int] = field(default_factory=dict)
    engine: str = field(default_factory=identity)

    @classmethod
    def of(cls, job: Job, result: _engine.RunResult, captured: dict[str, int]) -> Self:
        """Return what the engine has returned; its tables are made when they are asked for."""
        made = cls.__new__(cls)
        made.__dict__.update(
            scenario=job.scenario,
            seed=job.seed,
            run=job.run,
            captured=captured,
            engine=identity(),
            _result=result,
        )
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            result = self.__dict__.get("_result")
            if result is None or name not in OF_RESULT:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = self.__dict__[name] = OF_RESULT[name](result)
            return made

    def rows(self, table: Literal["flows", "links"]) -> list[dict[str, Any]]:
        """Return a table as a list of rows; see `RunTables.rows`."""
        result = self.__dict__.get("_result")
        return super().rows(table) if result is None else getattr(result, table).rows()

    def __getstate__(self) -> dict[str, Any]:
        stated = {name: getattr(self, name) for name in OF_RESULT}
        return {name: value for name, value in {**self.__dict__, **stated}.items() if name != "_result"}

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of all that happened in the run, with its times."""
        return str(self.summary["fingerprint"])

    @property
    def simulated_s(self) -> float:
        """Simulated time, in seconds."""
        return float(self.summary["simulated_s"])

    @property
    def events(self) -> int:
        """Number of events the engine handled."""
        return int(self.summary["events"])

    def repeated(self, probes: Sequence[Probe]) -> Mapping[str, pd.DataFrame]:
        """Return traces of the same run with other probes.

        Raises
        ------
        EngineError
            The repeated run differs.
        ScenarioError
            It differs because another engine made the run.
        """
        if not probes:
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScenarioWarning)
            again = run(replace(self.scenario, probes=list(probes)), seed=self.seed, run=self.run)
        if again.fingerprint != self.fingerprint:
            if self.engine != identity():
                accepted = f"a run of this engine, {identity()}"
                raise refusal(
                    "run",
                    self.engine,
                    accepted,
                    problem="is the engine that made this run, which differs here",
                )
            raise EngineError("a run with probes differs from the same run without them")
        return again.traces

    def why(self, flow: str, *, at: str | None = None, window: str | None = None) -> Explanation:
        """Return what the sender of a flow learned and did around a time.

        The run is repeated with a journal of this flow: acknowledgements, samples, decisions of the congestion control
        with their numbers, transmissions, retransmissions with their cause, timers and recoveries. The fingerprints of
        both runs are compared.

        Parameters
        ----------
        flow
            Name of a flow over TCP.
        at
            A time since the start of the run, such as ``"12.3 s"``; all of the run by default.
        window
            Width of the part of the run around it, above 0; ``"200 ms"`` by default.

        Raises
        ------
        ScenarioError
            There is no such flow or time, or there are more than 200,000 entries.
        ControlError
            A congestion control in Python behaved differently in the repeated run.

        Examples
        --------
        >>> import dumbbell
        >>> from dumbbell import Flow, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
        >>> scenario = shape.scenario(duration="10 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp="reno")])
        >>> why = dumbbell.run(scenario).why("fg", at="5 s")
        >>> bool((why.events.kind == "ack").any())
        True
        """
        from dumbbell.why import explain

        return explain(self, flow, at, window)

    def _repr_html_(self) -> str:
        from dumbbell.lab import link
        from dumbbell.plots.notebook import run_html

        return run_html(self, link(self.scenario, self.seed, self.run))

    def to_saved(self) -> Saved:
        """Return the run as plain values to be saved."""
        return Saved(
            kind="run",
            engine=self.engine,
            scenarios=[self.scenario],
            jobs=[(0, self.seed, self.run, {})],
            completed=1,
            tables={"flows": self.arrow_flows, "links": self.arrow_links},
            traces=self.arrow_traces,
            summary=self.summary,
            captured=self.captured,
        )

    @classmethod
    def of_saved(cls, found: Saved) -> Self:
        """Return the run of saved values; raises `ScenarioError` for those of many runs."""
        if found.kind != "run" or found.summary is None:
            raise refusal("folder", found.kind, "one saved run; dumbbell.Runs.load reads many", quoted=False)
        [(_, seed, run, _)] = found.jobs
        return cls(
            scenario=found.scenarios[0],
            seed=seed,
            run=run,
            arrow_flows=found.tables["flows"],
            arrow_links=found.tables["links"],
            arrow_traces=dict(found.traces),
            summary=dict(found.summary),
            captured=dict(found.captured),
            engine=found.engine,
        )

    def __repr__(self) -> str:
        made_by = "" if self.engine == identity() else f", engine={self.engine}"
        return f"Run({self.scenario.name!r}, seed={self.seed}, run={self.run}, fingerprint={self.fingerprint}{made_by})"


OF_RESULT: Mapping[str, Callable[[_engine.RunResult], Any]] = {
    "arrow_flows": lambda result: arrow(result.flows),
    "arrow_links": lambda result: arrow(result.links),
    "arrow_traces": lambda result: {quantity: arrow(columns) for quantity, columns in result.traces.items()},
    "summary": lambda result: json.loads(result.summary()),
}
"""What a `Run` has of the engine's result."""


@dataclass(frozen=True)
class Job:
    """One run to be done.

    Parameters
    ----------
    scenario
        The scenario.
    seed
        Seed of the random streams, from 0 to 2**64 - 1.
    run
        Number of the replication, from 0 to 2**64 - 1. Runs of one seed draw from independent streams.
    parameters
        What distinguishes the job from others, by name, such as ``{"rtt_ms": 50}``: columns of the frames of `Runs`.
    """

    scenario: Scenario
    seed: int = 1
    run: int = 0
    parameters: Data = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scenario", Scenario.of(self.scenario))
        for name in ("seed", "run"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 0, LARGEST_SEED))
        if not isinstance(self.parameters, Mapping) or not all(
            isinstance(name, str) for name in self.parameters
        ):
            raise refusal("parameters", self.parameters, "a table of values by name")
        given = {name: shown(value, name) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", given)


Startable = Scenario | Job | Data | str | os.PathLike[str]
"""What can be run: a job, or a scenario as `Scenario.of` reads it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Runs(Drawn, Exported, Storable):
    """The results of many runs.

    Parameters
    ----------
    jobs
        The requested jobs.
    completed
        Number of completed jobs: all of them, unless the batch was interrupted.
    arrow_flows
        One row per (job, flow): an Arrow table whose column ``job`` indexes `jobs`.
    arrow_links
        One row per (job, link): an Arrow table whose column ``job`` indexes `jobs`.
    arrow_traces
        One Arrow table per probed quantity, with the columns ``job``, ``time_s`` (seconds), ``name`` (of the flow
        or link) and ``value``; see `Run.traces` for ``tcp_events`` and ``transfers``.
    engine
        Identity of the engine that made the runs, as of `Run`.
    """

    are_many: ClassVar[bool] = True
    jobs: tuple[Job, ...]
    completed: int
    arrow_flows: pa.Table
    arrow_links: pa.Table
    arrow_traces: dict[str, pa.Table] = field(default_factory=dict)
    engine: str = field(default_factory=identity)

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """One row per job, by its index: the parameters of the jobs, then ``seed`` and ``run``."""
        import pyarrow as pa

        return frame(
            pa.table(self._parameters | {name: [getattr(job, name) for job in self.jobs] for name in OF_JOBS})
        )

    @cached_property
    def _parameters(self) -> dict[str, pa.Array]:
        return columns([job.parameters for job in self.jobs])

    def _frame(self, table: pa.Table) -> pd.DataFrame:
        """Return a table of the engine with the parameters of the jobs as columns."""
        return frame(self._with_parameters(table))

    def _with_parameters(self, table: pa.Table) -> pa.Table:
        for place, (name, values) in enumerate(self._parameters.items(), 1):
            if name in table.column_names:
                accepted = "a name that is not a column of the results"
                raise refusal("parameters", name, accepted)
            table = table.add_column(place, name, values.take(table["job"].combine_chunks()))
        return table

    def tables(self) -> dict[str, pa.Table]:
        """Return all Arrow tables by name, with the parameters of the jobs as columns."""
        found = {"flows": self.arrow_flows, "links": self.arrow_links, **self.arrow_traces}
        return {name: self._with_parameters(table) for name, table in found.items()}

    def to_saved(self) -> Saved:
        """Return the runs as plain values to be saved."""
        scenarios, indexed = _shared(self.jobs)
        return Saved(
            kind="runs",
            engine=self.engine,
            scenarios=scenarios,
            jobs=[(*place, job.parameters) for place, job in zip(indexed, self.jobs, strict=True)],
            completed=self.completed,
            tables={"flows": self.arrow_flows, "links": self.arrow_links},
            traces=self.arrow_traces,
        )

    @classmethod
    def of_saved(cls, found: Saved) -> Self:
        """Return the runs of saved values; one run has the job 0."""
        tables = found.tables_of_jobs()
        return cls(
            jobs=tuple(
                Job(found.scenarios[place], seed, run, given) for place, seed, run, given in found.jobs
            ),
            completed=found.completed,
            arrow_flows=tables["flows"],
            arrow_links=tables["links"],
            arrow_traces={quantity: tables[quantity] for quantity in found.traces},
            engine=found.engine,
        )

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row per (job, flow), in the order of the jobs; the parameters of the jobs are columns."""
        return self._frame(self.arrow_flows)

    @cached_property
    def links(self) -> pd.DataFrame:
        """One row per (job, link), in the order of the jobs; the parameters of the jobs are columns."""
        return self._frame(self.arrow_links)

    @cached_property
    def traces(self) -> dict[str, pd.DataFrame]:
        """One frame per probed quantity: ``job``, their parameters, ``time_s``, ``name``, ``value``, in the order of the jobs."""
        return Traces((quantity, self._frame(table)) for quantity, table in self.arrow_traces.items())

    @cached_property
    def completed_jobs(self) -> tuple[int, ...]:
        """The completed jobs, as indices into `jobs`, ascending."""
        import pyarrow.compute as pc

        return tuple(sorted(pc.unique(self.arrow_links["job"]).to_pylist()))

    def only_completed(self) -> Runs:
        """Return only the completed jobs, renumbered from 0."""
        import numpy as np

        numbers = np.asarray(self.completed_jobs)

        def renumbered(table: pa.Table) -> pa.Table:
            jobs = np.searchsorted(numbers, table["job"].to_numpy()).astype(np.uint32)
            return table.set_column(0, table.schema.field("job"), [jobs])

        return replace(
            self,
            jobs=tuple(self.jobs[number] for number in self.completed_jobs),
            arrow_flows=renumbered(self.arrow_flows),
            arrow_links=renumbered(self.arrow_links),
            arrow_traces={quantity: renumbered(table) for quantity, table in self.arrow_traces.items()},
        )

    def __len__(self) -> int:
        return self.completed

    def __repr__(self) -> str:
        return f"Runs({self.completed} of {len(self.jobs)} runs)"


class RunsInterrupted(KeyboardInterrupt):
    """A batch of runs was interrupted; `runs` contains the completed ones.

    Parameters
    ----------
    runs
        The completed part: all jobs if the interrupt came with the last one.
    """

    def __init__(self, runs: Runs) -> None:
        super().__init__(f"interrupted after {runs.completed} of {len(runs.jobs)} runs")
        self.runs = runs

    def __reduce__(self) -> tuple[type[RunsInterrupted], tuple[Runs], dict[str, Any]]:
        return type(self), (self.runs,), self.__dict__


def run(
    scenario: Scenario | Data | str | os.PathLike[str],
    *,
    seed: int = 1,
    run: int = 0,
    progress: Callable[[float, float], None] | None = None,
    pcap: PathName | None = None,
    node: str | None = None,
    snaplen: int | None = None,
    qlog: PathName | None = None,
) -> Run:
    """Run a scenario once.

    Parameters
    ----------
    scenario
        The scenario, the name of its file, or a table of its fields: see `Scenario.of`.
    seed
        Seed of the random streams, from 0 to 2**64 - 1.
    run
        Number of the replication, from 0 to 2**64 - 1.
    progress
        Called about ten times a second with the simulated time so far and the duration of the scenario, s.
    pcap
        A file for the packets at a node, as pcapng; see ``docs/packets.md``. It appears when the run is complete.
    node
        Name of the node; by default the node that sends, if there is only one.
    snaplen
        Bytes kept of each packet, from 80 to 65,535; by default 80, which holds all headers. The payload is zeros.
        Packets of other transports have a real payload and are by default kept whole.
    qlog
        A file for the events of all senders of TCP and of other transports, as qlog. It appears when the run is complete.

    Returns
    -------
    Run
        The results. The same scenario, seed and run give the same bits everywhere.

    Raises
    ------
    ScenarioError
        The scenario, the seed, the number of the run, or what is to be written is not accepted; or the files would have
        more than five million packets and events, or the number in the environment variable ``DUMBBELL_MAX_PACKETS``.
    OSError
        The file cannot be read.
    ResultsError
        A file of packets or events cannot be written.

    Warns
    -----
    ScenarioWarning
        The scenario states something that has no effect.

    Examples
    --------
    >>> import dumbbell
    >>> from dumbbell import Flow, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
    >>> scenario = shape.scenario(duration="10 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp="reno")])
    >>> result = dumbbell.run(scenario, seed=1)
    >>> bool(result.flow("fg").goodput_bps < 1.6e6)
    True
    >>> result.fingerprint == dumbbell.run(scenario, seed=1).fingerprint
    True
    """
    job = Job(Scenario.of(scenario), seed, run)
    warn_of([job.scenario])
    clock = None
    if progress is not None:
        function("progress", progress, "a function of the simulated time so far and of the duration, s")
        clock = partial(_report, progress, nanoseconds(job.scenario.duration, "duration") * 1e-9)
    external.prepare([job.scenario])
    capture = Capture(job.scenario, pcap, node, snaplen, qlog)
    with capture.files() as files:
        result = _engine.run(
            job.scenario.stated, job.seed, job.run, control.factory, clock=clock, capture=files
        )
    return Run.of(job, result, capture.counts(result))


def _report(progress: Callable[[float, float], None], duration_s: float, reached_s: float) -> None:
    progress(reached_s, duration_s)


def run_many(
    jobs: Startable | Iterable[Startable],
    *,
    runs: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: bool | Progress = True,
    finished: Callable[[Runs], None] | None = None,
    warn: bool = True,
) -> Runs:
    """Run many jobs on all cores.

    Parameters
    ----------
    jobs
        Jobs, or one or several scenarios, each of which runs `runs` times. A scenario may also be the name of its file or a
        table of its fields: see `Scenario.of`.
    runs
        Replications of each scenario, numbered from 0; the default is 1. Only with scenarios.
    seed
        Seed of the random streams of all runs; the default is 1. Only with scenarios. With the same seed
        and run two scenarios draw the same numbers for components of the same name.
    threads
        Number of threads; the default is the number of cores this process may use. Results do not depend on
        it. Scenarios with a `dumbbell.Control` run on as many processes instead.
    progress
        ``True`` shows a bar on a terminal or in a notebook; a function is called instead; ``False`` is silent.
    finished
        Called about once per second, less often if it takes more than a tenth of the time, and at the end, with the results of
        the jobs completed since the last call.
        Its `Runs` has all jobs in ``jobs`` and rows of the newly completed ones. They are not kept: the returned
        value has empty tables.
    warn
        Whether to warn about settings without effect and about replications that do not differ.

    Returns
    -------
    Runs
        The results, in the order of the jobs.

    Raises
    ------
    ScenarioError
        An argument is not accepted.
    OSError
        A file cannot be read.
    RunsInterrupted
        The batch was interrupted from the keyboard. The `runs` of the exception contain the completed ones.

    Warns
    -----
    ScenarioWarning
        A scenario states something that has no effect.
    IdenticalRunsWarning
        Runs of one scenario with different seeds or numbers have equal fingerprints, so they are no replications.

    Examples
    --------
    >>> import dumbbell
    >>> from dumbbell import Flow, Uniform, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno", start=Uniform(uniform=("0 s", "1 s")))
    >>> runs = dumbbell.run_many(shape.scenario(duration="10 s", flows=[flow]), runs=5, progress=False)
    >>> runs
    Runs(5 of 5 runs)
    >>> len(runs.flows)
    5
    """
    listed = tuple(_jobs(jobs, runs, seed))
    threads = thread_count(threads)
    if not isinstance(progress, bool):
        function("progress", progress, "true, false or a function of the numbers of finished and of all runs")
    if finished is not None:
        function("finished", finished, "a function of dumbbell.Runs")
    scenarios, indexed = _shared(listed)
    if warn:
        warn_of(scenarios)
    external.prepare(scenarios)
    fingerprints: dict[int, int] = {}
    failures: list[BaseException] = []
    with watched(progress, len(listed)) as watch:

        def report(done: int, total: int) -> None:
            try:
                watch(done, total)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                # The engine stops at any exception of its caller and returns the completed jobs; they are used only
                # after an interrupt.
                failures.append(error)
                raise

        def hand_over(result: _engine.ManyResult | processes.Tables) -> None:
            if finished is not None:
                some = _runs(listed, result)
                if warn:
                    fingerprints.update(_fingerprints(some))
                finished(some)

        handed_over = None if finished is None else hand_over
        result = _on_cores(scenarios, indexed, threads or cores(), report, handed_over)
    if failures:
        raise failures[0]
    done = _runs(listed, result)
    if result.interrupted:
        raise RunsInterrupted(replace(done, completed=result.completed))
    if warn and len(scenarios) < len(listed):
        fingerprints.update(_fingerprints(done))
        _look_for_identical_runs(listed, indexed, fingerprints)
    return replace(done, completed=result.completed)


def _on_cores(
    scenarios: Sequence[Scenario],
    indexed: Sequence[tuple[int, int, int]],
    threads: int,
    report: Progress,
    finished: Callable[[Any], None] | None,
) -> _engine.ManyResult | processes.Tables:
    """Return the results of jobs on threads, or of controls in Python on processes; see `_shared` for the jobs."""
    workers = min(threads, len(indexed))
    # The interpreter's lock would serialize threads.
    controls = external.pack(scenarios) if workers > 1 and external.has_classes(scenarios) else None
    if controls is None:
        stated = [scenario.stated for scenario in scenarios]
        return _engine.run_many(
            stated, indexed, threads, report, finished=finished, partial=True, controls=control.factory
        )
    from dumbbell import processes

    texts = [scenario.canonical_json for scenario in scenarios]
    return processes.run_many(texts, indexed, workers, controls, report, finished=finished)


def _shared(jobs: Sequence[Job]) -> tuple[list[Scenario], list[tuple[int, int, int]]]:
    """Return the distinct scenarios of jobs; and for each job the place of its scenario, its seed and its run."""
    objects = {id(job.scenario): job.scenario for job in jobs}
    if len(objects) == 1:
        # A canonical text of a hundred thousand flows takes longer than reading them.
        return list(objects.values()), [(0, job.seed, job.run) for job in jobs]
    places: dict[str, int] = {}
    indexed = [
        (places.setdefault(job.scenario.canonical_json, len(places)), job.seed, job.run) for job in jobs
    ]
    return list({job.scenario.canonical_json: job.scenario for job in jobs}.values()), indexed


def _runs(jobs: tuple[Job, ...], result: _engine.ManyResult | processes.Tables) -> Runs:
    """Return the output of the engine as `Runs`."""
    import pyarrow.compute as pc

    links = arrow(result.links)
    return Runs(
        jobs=jobs,
        completed=len(pc.unique(links["job"])),
        arrow_flows=arrow(result.flows),
        arrow_links=links,
        arrow_traces={quantity: arrow(columns) for quantity, columns in result.traces.items()},
    )


def _fingerprints(runs: Runs) -> dict[int, int]:
    """Return the fingerprint of each completed job."""
    columns = (runs.arrow_flows[name].to_pylist() for name in ("job", "fingerprint"))
    return dict(zip(*columns, strict=True))


def _look_for_identical_runs(
    jobs: Sequence[Job], indexed: Sequence[tuple[int, int, int]], fingerprints: Mapping[int, int]
) -> None:
    """Warn the caller's caller once if different runs of one scenario have equal fingerprints."""
    runs_of: dict[int, dict[tuple[int, int], int]] = {}
    for number, (place, seed, run) in enumerate(indexed):
        runs_of.setdefault(place, {})[seed, run] = number
    alike = [
        (jobs[next(iter(runs.values()))].scenario, len(runs), distinct)
        for runs in runs_of.values()
        if (distinct := len({fingerprints[number] for number in runs.values()})) < len(runs)
    ]
    if alike:
        warn_of_identical_runs(alike, stacklevel=4)


def _jobs(jobs: Startable | Iterable[Startable], runs: int | None, seed: int | None) -> Iterator[Job]:
    count = 1 if runs is None else whole_number("runs", runs, 1, MOST_RUNS)
    root = 1 if seed is None else whole_number("seed", seed, 0, LARGEST_SEED)
    # A table and a name can be iterated over too.
    several = isinstance(jobs, Iterable) and not isinstance(jobs, Mapping | str)
    listed: Iterable[Any] = jobs if several else [jobs]  # type: ignore[assignment]  # mypy does not follow the name
    for item in listed:
        if not isinstance(item, Job):
            scenario = Scenario.of(item)
            for number in range(count):
                yield Job(scenario, root, number)
        elif runs is None and seed is None:
            yield item
        else:
            name, given = ("runs", runs) if runs is not None else ("seed", seed)
            raise refusal(name, given, "none with a Job, which has its own seed and run")


def cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
