"""Runs in real time: the TCP of the Linux kernel over the links of a scenario.

The testbed is a binary of its own, so that one small process needs root and nothing else: ``dumbbell-testbed`` of the
crate of this name. A checkout builds it; the environment variable ``DUMBBELL_TESTBED`` names another one. ``docs/testbed.md``
lists what the kernel does otherwise than the simulator.

A second of a scenario is a second of the wall. A run whose packets were late too often is disturbed: it is repeated, and
counted, instead of averaged.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dumbbell.binary import Binary
from dumbbell.caller import user_of_children
from dumbbell.errors import MachineError, RealTimeError, ScenarioError
from dumbbell.files import replacing
from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.runs import Job, RunTables
from dumbbell.scenario import Scenario
from dumbbell.warned import warn_of

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[float, float], None]
"""Told the seconds of completed and of all runs, about five times a second."""

VARIABLE = "DUMBBELL_TESTBED"
BINARY = Binary(name="dumbbell-testbed", what="the testbed", variable=VARIABLE)
TWINS, KERNEL = "twins", "kernel"
CLANG = "clang-16"
BUILDING = " ".join(BINARY.build(TWINS))
NEEDS = "clang-16 libelf-dev zlib1g-dev pkg-config make"

# Names of checks: that the kernel accepts the twins, and that queueing times can be attached to sockets.
PROGRAMS = "eBPF programs"
GROUPS = "control groups"

# Exit codes of the binary.
REFUSED = 2
MISSING = 3

REPEATS = 2
"""Maximum number of repetitions of a disturbed run."""

BUDGET_BPS = 200e6
"""Maximum sum of the rates of runs side by side, in bit/s, at which two cores keep packets punctual."""

COUNT, REAL, TEXT, TRUTH = "uint64", "double", "string", "bool"

TESTBED_COLUMNS: Mapping[str, str] = {
    "late_p50_us": REAL,
    "late_p99_us": REAL,
    "late_max_us": REAL,
    "late_over_1ms": REAL,
    "disturbed": TRUTH,
    "repeats": COUNT,
    "write_errors": COUNT,
    "checksum_errors": COUNT,
    "refused": COUNT,
    "kernel": TEXT,
    "fifo": TRUTH,
}

FLOW_COLUMNS: Mapping[str, str] = {
    "seed": COUNT,
    "run": COUNT,
    "name": TEXT,
    "goodput_bps": REAL,
    "throughput_bps": REAL,
    "bytes_delivered": COUNT,
    "segments_sent": COUNT,
    "segments_retransmitted": COUNT,
    "bytes_retransmitted": COUNT,
    "timeouts": COUNT,
    "fast_retransmits": COUNT,
    "completion_s": REAL,
    "start_s": REAL,
    "rtt_mean_s": REAL,
    "rtt_min_s": REAL,
    "segments_lost": COUNT,
    "connections": COUNT,
    "connections_given_up": COUNT,
    "congestion": TEXT,
    **TESTBED_COLUMNS,
}

LINK_COLUMNS: Mapping[str, str] = {
    "seed": COUNT,
    "run": COUNT,
    "name": TEXT,
    "utilization": REAL,
    "drops_queue": COUNT,
    "drops_early": COUNT,
    "drops_policer": COUNT,
    "drops_impairment": COUNT,
    "duplicates": COUNT,
    "marks": COUNT,
    "packets": COUNT,
    "backlog_mean_packets": REAL,
    "backlog_max_packets": COUNT,
    "wait_mean_s": REAL,
    "wait_p50_s": REAL,
    "wait_p95_s": REAL,
    "wait_p99_s": REAL,
    "wait_max_s": REAL,
    "wait_l_mean_s": REAL,
    "wait_l_p99_s": REAL,
    "wait_c_mean_s": REAL,
    "wait_c_p99_s": REAL,
    **TESTBED_COLUMNS,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class RealTimeRun(RunTables):
    """The results of one run in real time.

    Parameters
    ----------
    scenario, seed, run
        The scenario.
    arrow_flows
        One row per flow: an Arrow table with the columns of `dumbbell.Run` that the kernel can fill, the ``congestion``
        control by its name in the kernel, and the columns of the testbed: ``late_p50_us``, ``late_p99_us`` and
        ``late_max_us``, how late packets were written (microseconds); ``late_over_1ms``, the share of packets later than
        1 ms; ``disturbed`` and the number of disturbed ``repeats`` before; ``write_errors``, packets that a device did not
        accept, ``checksum_errors``, packets whose checksum a host found wrong, and ``refused``, packets that belong to
        no flow; the ``kernel`` release; and ``fifo``, whether real-time
        priority was granted.
    arrow_links
        One row per link, with the same columns of the testbed.
    arrow_traces
        One Arrow table per probed quantity, with the columns ``time_s`` (seconds), ``name`` (of the flow or link) and
        ``value``. Flows with probes also have ``retransmissions`` (segments) and ``pacing_rate`` (bit/s).
    summary
        The run as one plain object, as ``dumbbell testbed run --json`` prints it.
    """

    @property
    def disturbed(self) -> bool:
        """Whether packets were late too often, after all repetitions."""
        return bool(self.summary["testbed"]["disturbed"])

    @property
    def repeats(self) -> int:
        """Number of disturbed runs that this one replaces."""
        return int(self.summary["testbed"]["repeats"])

    def to_json(self) -> str:
        """Return the results as text, for a store; see `of_json`."""
        traces = {quantity: table.to_pydict() for quantity, table in self.arrow_traces.items()}
        return json.dumps(
            {
                "summary": self.summary,
                "flows": self.arrow_flows.to_pylist(),
                "links": self.arrow_links.to_pylist(),
                "traces": traces,
            }
        )

    @classmethod
    def of_json(cls, job: Job, text: str) -> Self:
        """Return the results of a job from their text."""
        kept = json.loads(text)
        return cls(
            scenario=job.scenario,
            seed=job.seed,
            run=job.run,
            arrow_flows=_table(kept["flows"], FLOW_COLUMNS),
            arrow_links=_table(kept["links"], LINK_COLUMNS),
            arrow_traces={quantity: _trace(**columns) for quantity, columns in kept["traces"].items()},
            summary=kept["summary"],
        )

    def __repr__(self) -> str:
        state = "disturbed" if self.disturbed else "undisturbed"
        return f"RealTimeRun({self.scenario.name!r}, seed={self.seed}, run={self.run}, {state})"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What the testbed needs or can use.

    Parameters
    ----------
    check
        What it is.
    status
        ``"ok"``, ``"warning"`` (missing, and runs work without it) or ``"missing"``.
    detail
        What was found, or why it is missing.
    remedy
        How to get it; empty if it is there.
    """

    check: str
    status: str
    detail: str
    remedy: str


def find_binary(*, told: Callable[[str], None] | None = None) -> Path:
    """Return the binary of the testbed; a checkout builds it first if it is missing or out of date.

    Parameters
    ----------
    told
        Called with one sentence before a build, which takes minutes.

    Raises
    ------
    MachineError
        There is none, and none can be built.
    """
    # The compiler of the eBPF twins; without it, the kernel's own congestion controls remain.
    has_clang = shutil.which(os.environ.get("CLANG", CLANG)) is not None
    return BINARY.find(
        TWINS if has_clang else KERNEL,
        told=told,
        without="" if has_clang else f", without the eBPF twins because {CLANG} is not installed",
        needs=f"; it needs the Debian packages {NEEDS}",
    )


def identity(congestion: Mapping[str, str] | None = None) -> str:
    """Return the identity of what determines results besides the scenario: the kernel, the binary and replaced controls.

    Parameters
    ----------
    congestion
        As of `run`.

    Raises
    ------
    MachineError
        There is no binary.
    """
    digest = hashlib.blake2b(find_binary().read_bytes(), digest_size=8)
    digest.update(json.dumps(dict(congestion or {}), sort_keys=True).encode())
    return f"{platform.release()}-{digest.hexdigest()}"


def doctor() -> list[Check]:
    """Return the checks of this machine, in the order in which the testbed needs them.

    Returns
    -------
    list of Check
        The first one is the binary; without it, it is the only one.
    """
    try:
        binary = find_binary()
    except MachineError as error:
        remedy = f"build it in a checkout with `{BUILDING}`, or name it in {VARIABLE}"
        return [Check(check="binary", status="missing", detail=str(error), remedy=remedy)]
    user = user_of_children()
    found = subprocess.run(
        [binary, "doctor"], capture_output=True, text=True, check=False, user=user, group=user
    )
    try:
        listed = [Check(**entry) for entry in json.loads(found.stdout)]
    except (ValueError, TypeError):
        listed = [
            Check(
                check="answer",
                status="missing",
                detail=_last_line(found.stderr) or f"exit code {found.returncode}",
                remedy=f"build {binary} again",
            )
        ]
    return [Check(check="binary", status="ok", detail=str(binary), remedy=""), *listed]


def run(
    scenario: Scenario,
    *,
    seed: int = 1,
    run: int = 0,
    congestion: Mapping[str, str] | None = None,
    repeats: int = REPEATS,
    pcap: Path | None = None,
) -> RealTimeRun:
    """Run a scenario once in real time, with the TCP of the kernel.

    Parameters
    ----------
    scenario
        The scenario.
    seed, run
        As of `dumbbell.run`: flows start at the same times, and links lose the same packets.
    congestion
        Congestion controls of the kernel that replace those of the scenario, by the name of the flow, or ``"*"`` for all
        others. ``"twin"`` is the eBPF twin where the kernel's own would be used.
    repeats
        Maximum number of repetitions of a disturbed run.
    pcap
        A file that gets every packet at both ends of its path, as pcapng with two interfaces for each flow.

    Returns
    -------
    RealTimeRun
        The results. They are never bit-identical.

    Raises
    ------
    ScenarioError
        The kernel cannot follow a rule of the scenario.
    MachineError
        The machine lacks something.
    RealTimeError
        Something failed.

    Warns
    -----
    ScenarioWarning
        The scenario states something that has no effect.
    """
    warn_of([scenario])
    job = Job(scenario, seed, run)
    packets = None if pcap is None else (lambda _: pcap)
    return next(iter(run_many([job], congestion=congestion, repeats=repeats, pcap=packets)))


def run_many(
    jobs: Iterable[Job],
    *,
    at_once: int = 1,
    budget_bps: float = BUDGET_BPS,
    congestion: Mapping[str, str] | None = None,
    repeats: int = REPEATS,
    pcap: Callable[[Job], Path] | None = None,
    progress: Progress | None = None,
    finished: Callable[[int, RealTimeRun], None] | None = None,
) -> list[RealTimeRun]:
    """Run many jobs in real time.

    Parameters
    ----------
    jobs
        The jobs.
    at_once
        Maximum number of runs side by side. A run of 10 Mbit/s takes about 8 % of a core, one of 100 Mbit/s up to 40 %.
        Two cores carry eight runs of 10 Mbit/s without loss of precision.
    budget_bps
        Maximum sum of the rates of runs side by side, in bit/s, by `load_bps`. A run that would exceed it waits for
        others to end.
    congestion, repeats
        As of `run`.
    pcap
        Returns the file for the packets of a run, as of `run`.
    progress
        Told the seconds of completed and of all runs.
    finished
        Told the number and the results of each job within a second of its completion, in the calling thread.

    Returns
    -------
    list of RealTimeRun
        The results, in the order of the jobs.

    Raises
    ------
    ScenarioError, MachineError, RealTimeError
        As of `run`, for the first job that fails. The others are ended. A single run that exceeds the budget is rejected
        before any starts.
    """
    listed = list(jobs)
    if at_once < 1:
        raise ValueError(f"at_once is {at_once}; accepted: 1 or more")
    loads = _loads(listed, budget_bps)
    binary, processes, budget = find_binary(), _Processes(), _Budget(budget_bps)

    def made(job: Job, load: float) -> RealTimeRun:
        with budget.share(load):
            return _repeated(binary, job, congestion or {}, repeats, processes, pcap and pcap(job))

    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(made, job, load) for job, load in zip(listed, loads, strict=True)]
        try:
            _wait(listed, futures, progress, finished)
        except BaseException:
            for future in futures:
                future.cancel()
            # The threads of the pool wait for these.
            budget.end()
            processes.kill()
            raise
    return [future.result() for future in futures]


def _loads(jobs: Sequence[Job], budget_bps: float) -> list[float]:
    """Return the load of each job, bit/s; refuse one that alone exceeds the budget."""
    loads = [load_bps(job.scenario) for job in jobs]
    for job, load in zip(jobs, loads, strict=True):
        if load > budget_bps:
            raise ScenarioError(
                f"the links of {job.scenario.name or 'this scenario'} carry up to {load / 1e6:g} Mbit/s; accepted in real "
                f"time: at most {budget_bps / 1e6:g} Mbit/s, or a larger budget on a faster machine"
            )
    return loads


def _wait(
    jobs: Sequence[Job],
    futures: Sequence[Future[RealTimeRun]],
    progress: Progress | None,
    finished: Callable[[int, RealTimeRun], None] | None,
) -> None:
    """Wait for all runs, and hand over each soon after its end."""
    numbers = {future: number for number, future in enumerate(futures)}
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when="FIRST_EXCEPTION")
        if progress is not None:
            progress(*_seconds(jobs, [future.done() for future in futures]))
        # A failure is raised after what completed with it was handed over.
        for future in sorted(done, key=lambda future: future.exception() is not None):
            result = future.result()
            if finished is not None:
                finished(numbers[future], result)


def _seconds(jobs: Sequence[Job], done: Sequence[bool]) -> tuple[float, float]:
    durations = [duration_s(job.scenario) for job in jobs]
    return sum(length for length, is_done in zip(durations, done, strict=True) if is_done), sum(durations)


def duration_s(scenario: Scenario) -> float:
    """Return the duration of a scenario, in seconds."""
    return nanoseconds(scenario.resolved()["duration"], "duration") / 1e9


def load_bps(scenario: Scenario) -> float:
    """Return the rate that the links of a scenario carry at most, in bit/s: the load on the machine in real time.

    Every flow counts at the slowest link of its first path. Flows that share this link count together, at most at its
    rate; datagrams count at their own rate. A link whose rate changes counts at its highest one.

    Parameters
    ----------
    scenario
        The scenario.
    """
    import networkx

    resolved = scenario.resolved()
    network = networkx.DiGraph()
    rates: dict[str, float] = {}
    for link in resolved["links"]:
        texts = [link["rate"], *(change["rate"] for change in link["changes"] if "rate" in change)]
        rates[link["name"]] = max(bits_per_second(text, "rate") for text in texts)
        # Of parallel links, the simulator takes the first one.
        if not network.has_edge(link["from"], link["to"]):
            network.add_edge(link["from"], link["to"], link=link["name"])
    wanted: dict[str, float] = {}
    for flow in resolved["flows"]:
        path = flow.get("path")
        if path is None:
            nodes = networkx.shortest_path(network, flow["from"], flow["to"])
            path = [network.edges[pair]["link"] for pair in pairwise(nodes)]
        slowest = min(path, key=lambda name: rates[name])
        own = flow["source"].get("rate")
        of_flow = rates[slowest] if own is None else bits_per_second(own, "rate")
        wanted[slowest] = wanted.get(slowest, 0.0) + of_flow
    return sum(min(rates[name], rate) for name, rate in wanted.items())


class _Budget:
    """The rates of the runs side by side. Runs begin in the order in which they ask."""

    def __init__(self, limit_bps: float) -> None:
        self._limit = limit_bps
        self._used = 0.0
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()
        self._is_over = False

    @contextmanager
    def share(self, load_bps: float) -> Iterator[None]:
        """Wait until a run of this rate is within the budget, and take its share."""
        turn = object()
        with self._changed:
            self._waiting.append(turn)
            while not self._is_over and (self._waiting[0] is not turn or self._used + load_bps > self._limit):
                self._changed.wait()
            self._waiting.remove(turn)
            self._used += load_bps
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._used -= load_bps
                self._changed.notify_all()

    def end(self) -> None:
        """Let no run wait any longer: all are about to be ended."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


class _Processes:
    """The processes that run, to be ended together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._is_over = False

    def answer(
        self, command: Sequence[str | Path], request: str, descriptors: Sequence[int]
    ) -> tuple[int, str, str]:
        """Return the exit code, output and errors of a process that has these descriptors as well."""
        pipe, user = subprocess.PIPE, user_of_children()
        with self._lock:
            if self._is_over:
                raise RealTimeError("the testbed was interrupted")
            process = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                text=True,
                user=user,
                group=user,
                pass_fds=descriptors,
            )
            self._running.add(process)
        try:
            output, errors = process.communicate(request)
        finally:
            with self._lock:
                self._running.discard(process)
        return process.returncode, output, errors

    def kill(self) -> None:
        """End all processes. Nothing is left in the kernel."""
        with self._lock:
            self._is_over = True
            for process in self._running:
                process.kill()


def _repeated(
    binary: Path,
    job: Job,
    congestion: Mapping[str, str],
    repeats: int,
    processes: _Processes,
    pcap: Path | None,
) -> RealTimeRun:
    """Return the first undisturbed run, or the last one."""
    for repeated in range(repeats + 1):
        result = _once(binary, job, congestion, processes, repeated, pcap)
        if not result.disturbed:
            break
    return result


def _once(
    binary: Path,
    job: Job,
    congestion: Mapping[str, str],
    processes: _Processes,
    repeated: int,
    pcap: Path | None,
) -> RealTimeRun:
    with nullcontext() if pcap is None else replacing(pcap) as packets:
        descriptors = [] if packets is None else [packets.fileno()]
        request = {
            "scenario": json.loads(job.scenario.canonical_json),
            "seed": job.seed,
            "run": job.run,
            "congestion": dict(congestion),
            "pcap": f"/dev/fd/{descriptors[0]}" if descriptors else None,
        }
        code, output, errors = processes.answer([binary, "run"], json.dumps(request), descriptors)
        # The binary knows the file by its descriptor.
        reason = _last_line(errors).replace(str(request["pcap"]), str(pcap))
        if code == REFUSED:
            raise ScenarioError(reason)
        if code == MISSING:
            raise MachineError(reason)
        if code != 0:
            raise RealTimeError(f"the testbed failed: {reason or f'exit code {code}'}")
    try:
        answer = json.loads(output)
        return _run_of(job, answer, repeated)
    except (ValueError, KeyError, TypeError) as error:
        raise RealTimeError(f"{binary} gave results of another form ({error}); build it again") from None


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _run_of(job: Job, answer: dict[str, Any], repeated: int) -> RealTimeRun:
    answer["summary"]["testbed"]["repeats"] = repeated
    own = {"seed": job.seed, "run": job.run, "repeats": repeated}
    return RealTimeRun(
        scenario=job.scenario,
        seed=job.seed,
        run=job.run,
        arrow_flows=_table([{**one, **own} for one in answer["flows"]], FLOW_COLUMNS),
        arrow_links=_table([{**one, **own} for one in answer["links"]], LINK_COLUMNS),
        arrow_traces=_traces(answer["traces"]),
        summary=answer["summary"],
    )


def _table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> pa.Table:
    import pyarrow as pa

    arrays = {
        name: pa.array([one[name] for one in rows], pa.type_for_alias(kind)) for name, kind in columns.items()
    }
    return pa.table(arrays)


def _traces(recordings: Sequence[Mapping[str, Any]]) -> dict[str, pa.Table]:
    import pyarrow as pa

    tables: dict[str, list[pa.Table]] = {}
    for one in recordings:
        table = _trace(one["times"], [one["name"]] * len(one["times"]), one["values"])
        tables.setdefault(one["quantity"], []).append(table)
    return {quantity: pa.concat_tables(parts) for quantity, parts in sorted(tables.items())}


def _trace(time_s: Sequence[float], name: Sequence[str], value: Sequence[float]) -> pa.Table:
    import pyarrow as pa

    return pa.table(
        {
            "time_s": pa.array(time_s, pa.float64()),
            "name": pa.array(name, pa.large_string()),
            "value": pa.array(value, pa.float64()),
        }
    )


def tables(runs: Sequence[RealTimeRun]) -> tuple[pa.Table, pa.Table, dict[str, pa.Table]]:
    """Return the tables of flows, of links and of each probed quantity of many runs.

    Parameters
    ----------
    runs
        The runs, at least one. Rows of traces get the columns ``seed`` and ``run``.
    """
    import pyarrow as pa

    flows = pa.concat_tables([one.arrow_flows for one in runs])
    links = pa.concat_tables([one.arrow_links for one in runs])
    quantities = dict.fromkeys(quantity for one in runs for quantity in one.arrow_traces)

    def traced(one: RealTimeRun, quantity: str) -> pa.Table:
        table = one.arrow_traces[quantity]
        for place, (name, value) in enumerate((("seed", one.seed), ("run", one.run))):
            table = table.add_column(place, name, pa.array([value] * len(table), pa.uint64()))
        return table

    traces = {
        quantity: pa.concat_tables([traced(one, quantity) for one in runs if quantity in one.arrow_traces])
        for quantity in quantities
    }
    return flows, links, traces
