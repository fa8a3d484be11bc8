"""Runs on a Dask cluster, bit-identical to those on one machine, whatever happens to its workers.

The calling process submits batches of runs. Workers compute and reduce them, and return tables to the calling process, which
alone writes to the store. A batch takes about one second, so that a lost worker costs little and the scheduler has
few tasks. When a worker dies, the scheduler reassigns its batches. A worker that is silent, such as one that was
stopped, is named; the scheduler reassigns its batches when it gives the worker up. If the scheduler gives up a batch
(`distributed.KilledWorker`), the batch is halved and submitted again, down to a single run. A suspected single run
is repeated at the end, alone on the cluster, so that no other run is blamed.

Workers need the engine of the calling process, compared by digest; a different engine is rejected.
"""

from __future__ import annotations

import asyncio
import ipaddress
import pickle
import queue
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

import dumbbell
from dumbbell import external
from dumbbell.campaign.execution import Reduction, job_of, reduced
from dumbbell.campaign.planned import Keep, Make, Planned
from dumbbell.campaign.sources import own_sources
from dumbbell.campaign.store import engine_identity
from dumbbell.environment import computing
from dumbbell.errors import ScenarioError, installation, refusal
from dumbbell.runs import Job
from dumbbell.threads import start

if TYPE_CHECKING:
    from distributed import Client, Future

# Target duration of a batch, s.
BATCH_S = 1.0

# Interval between writes to the store, s.
HEARTBEAT_S = 1.0

# Interval between queries of the cluster size, s.
COUNTED_S = 5.0

# Number of batches submitted per thread of the cluster, so that no thread waits for this process.
AHEAD = 3

# A worker that the scheduler has not heard of for so long is named, s. It sends a heartbeat every few seconds.
SILENT_S = 30.0

LARGEST_BATCH = 2000

# A single run is given up when workers have died of it so often while it was alone.
SUSPECTED = 2

# What is wrong with an address outside of this machine without TLS.
OPEN = (
    "is not encrypted: whoever reaches the scheduler, or the network between, can run code on its workers and here; use "
    "tls://, as docs/campaigns.md describes"
)

# How long a scheduler and its first worker are waited for, s.
TIMEOUT_S = 60.0

# How many clients are made if the answer to each comes with what all clients are told.
CONNECTIONS = 5


class ClusterError(ConnectionError):
    """The scheduler is gone, or a run kills its workers. Completed runs are kept; the same campaign resumes."""


class OtherEngine(RuntimeError):  # noqa: N818 - raised by a worker, and turned into a refusal
    """A worker has another build of the engine.

    Parameters
    ----------
    identity
        Its name, see `engine_identity`.
    """

    def __init__(self, identity: str) -> None:
        super().__init__(identity)
        self.identity = identity


@dataclass(frozen=True)
class _Batch:
    """Runs for one worker: their positions, and how often a single run has killed its workers."""

    positions: Sequence[int]
    # None: not suspected.
    killed: int | None = None

    def halves(self) -> list[_Batch]:
        """Return two batches of half the runs; requires several runs."""
        middle = len(self.positions) // 2
        return [replace(self, positions=part) for part in (self.positions[:middle], self.positions[middle:])]


def make_batch(engine: str, work: bytes) -> tuple[pa.Table, float]:
    """Run and reduce a batch on a worker.

    Parameters
    ----------
    engine
        Identity of the required engine.
    work
        The pickled jobs, the reduction, and the code of congestion controls that are not registered.

    Returns
    -------
    tuple of pyarrow.Table and float
        The reduced runs, and the time they took, s.

    Raises
    ------
    OtherEngine
        The engine here is another one.
    """
    if engine_identity() != engine:
        raise OtherEngine(engine_identity())
    begin = time.perf_counter()
    jobs, reduce, controls = pickle.loads(work)
    external.unpack(controls)
    table = reduced(reduce, dumbbell.run_many(jobs, threads=1, progress=False, warn=False))
    return table, time.perf_counter() - begin


@contextmanager
def connected(on: Client | str) -> Iterator[Client]:
    """Yield the client of a cluster. A client created for an address is closed at the end.

    Parameters
    ----------
    on
        The client, or the address of the scheduler, as ``"tcp://10.0.0.1:8786"``.

    Raises
    ------
    ScenarioError
        Dask is not installed, or the scheduler does not answer.
    MemoryError
        There is no memory for the thread of a client.
    """
    try:
        from distributed import Client
    except ImportError:
        raise refusal(
            "scheduler",
            str(on),
            installation("dask"),
            problem="requires Dask, which is not installed",
        ) from None
    if isinstance(on, Client):
        yield on
        return
    if not isinstance(on, str):
        raise refusal("on", type(on).__name__, "a distributed.Client or the address of a scheduler")
    loop, stop = _running_loop()
    # If it cannot connect, it closes itself later, and needs the loop until then.
    client = _client_of(on, loop)
    try:
        yield client
    finally:
        client.close()
        stop()


def _client_of(address: str, loop: Any) -> Client:
    """Return a client of the scheduler at an address.

    A scheduler sends what it tells all clients within 2 ms together. If its answer to a new client is among that, the
    client fails with an assertion, and another one is made (`distributed.client.Client._ensure_connected`).
    """
    from distributed import Client

    def refused(problem: str) -> ScenarioError:
        return refusal(
            "scheduler",
            address,
            "the address of a Dask scheduler, such as tls://10.0.0.1:8786",
            problem=problem,
        )

    failure: AssertionError | None = None
    for _ in range(CONNECTIONS):
        try:
            return Client(address, timeout=TIMEOUT_S, loop=loop)
        except AssertionError as error:
            failure = error
            _close_unfinished(error, loop)
        except (OSError, ValueError, TypeError) as error:
            # A TypeError is about certificates that the configuration lacks.
            raise refused(f"does not answer ({error})") from error
    raise refused(f"told other clients something at each of {CONNECTIONS} attempts to connect") from failure


def _close_unfinished(error: AssertionError, loop: Any) -> None:
    """Close the connection and the client that an assertion has ended, which nothing else refers to."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        unfinished = frame.f_locals
        if frame.f_code.co_name == "_ensure_connected":
            if "comm" in unfinished:
                loop.add_callback(unfinished["comm"].abort)
            unfinished["self"].close()


def _running_loop() -> tuple[Any, Callable[[], None]]:
    """Return a loop of Tornado that runs in a thread, and what stops it; see `start` for why Dask does not start it."""
    from distributed.utils import LoopRunner

    begun: queue.SimpleQueue[tuple[Any, asyncio.Event] | BaseException] = queue.SimpleQueue()

    async def until_stopped() -> None:
        stopped = asyncio.Event()
        begun.put((LoopRunner(asynchronous=True).loop, stopped))
        await stopped.wait()

    def run() -> None:
        try:
            asyncio.run(until_stopped())
        except BaseException as error:
            begun.put(error)

    thread = start(run)
    found = begun.get()
    if isinstance(found, BaseException):
        raise found
    loop, stopped = found

    def stop() -> None:
        loop.add_callback(stopped.set)
        thread.join()

    return loop, stop


@contextmanager
def cluster_of(on: Client | str | None) -> Iterator[tuple[Client | None, list[str]]]:
    """Yield the client of a cluster and warnings about its workers; ``None`` without a cluster.

    Parameters
    ----------
    on
        The client, the address of the scheduler, or ``None``.

    Raises
    ------
    ScenarioError
        See `connected` and `checked`.
    """
    if on is None:
        yield None, []
        return
    with connected(on) as client:
        yield client, checked(client)


def checked(client: Client) -> list[str]:
    """Return warnings about the connection and about the packages of the workers, after a look at their engines.

    A worker that does not answer is named in a warning; its engine is compared with its first batch.

    Raises
    ------
    ScenarioError
        There is no worker, or one of them has a different engine or none.
    """
    address = str(client.scheduler.address)
    try:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except TimeoutError:
        raise refusal(
            "scheduler", address, "a scheduler with at least one worker", problem="has no worker"
        ) from None
    found = _asked(client)
    here = computing()
    warnings = [] if _is_guarded(address) else [f"{address} {OPEN}"]
    for worker, answer in found.items():
        if answer is None:
            warnings.append(_silence(worker, SILENT_S))
            continue
        if isinstance(answer, OSError):
            # It is gone already; its work is reassigned.
            continue
        if isinstance(answer, Exception):
            raise refusal(
                "scheduler",
                worker,
                f"workers that have Dumbbell with the engine {engine_identity()}",
                problem=f"is a worker without it ({answer})",
            )
        engine, packages = answer
        if engine != engine_identity():
            raise _other_engine(worker, engine)
        other = [f"{name} {packages.get(name)}" for name in here if packages.get(name) != here[name]]
        if other:
            warnings.append(
                f"{worker}: has {', '.join(other)}; here it is {', '.join(f'{n} {v}' for n, v in here.items())}"
            )
    return warnings


def _is_guarded(address: str) -> bool:
    """Return whether an address is one of TLS, or of this machine."""
    from distributed.comm import get_address_host

    scheme, _, _ = address.partition("://")
    if scheme in ("tls", "wss", "inproc"):
        return True
    host: str = get_address_host(address)
    try:
        return bool(ipaddress.ip_address(host).is_loopback)
    except ValueError:
        return host == "localhost"


def _pickled(work: object, module: ModuleType | None) -> bytes:
    """Return work as bytes, with the code of a module that workers do not have."""
    import cloudpickle

    if module is None:
        return bytes(cloudpickle.dumps(work))
    cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(work))
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _asked(client: Client) -> dict[str, Any]:
    """Return what each worker answers to `_of_worker`, or its error; ``None`` for a worker that is silent."""

    async def answer_of(worker: str) -> Any:
        asked = client.run(_of_worker, workers=[worker], on_error="return")
        try:
            return (await asyncio.wait_for(asked, SILENT_S))[worker]
        except TimeoutError:
            return None

    async def answers(workers: Sequence[str]) -> list[Any]:
        return await asyncio.gather(*map(answer_of, workers))

    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    return dict(zip(workers, client.sync(answers, workers), strict=True))


def _silence(worker: str, seconds: float) -> str:
    """Return the warning about a worker that has not answered for some time."""
    return (
        f"worker {worker} has not answered for {seconds:.0f} s; its runs wait until it answers, or until the scheduler "
        "gives it up and repeats them elsewhere (distributed.scheduler.worker-ttl, by default after 5 minutes)"
    )


def _of_worker() -> tuple[str, dict[str, str]]:
    return engine_identity(), computing()


def _other_engine(where: str, engine: str) -> ScenarioError:
    return refusal(
        "scheduler",
        where,
        f"workers with the engine of this process, {engine_identity()}",
        problem=f"is a worker with the engine {engine}",
    )


def on_cluster(reduce: Reduction, client: Client, warn: Callable[[str], None]) -> Make[Planned]:
    """Return a function that runs on a Dask cluster and stores completed runs about once per second.

    Parameters
    ----------
    reduce
        The reduction. It is pickled, with its module if that is not installed, and called by the workers.
    client
        The client of the cluster.
    warn
        Called with a sentence about a worker that does not answer.
    """

    def make(planned: Sequence[Planned], keep: Keep) -> None:
        _Batches(reduce, client, planned, keep, warn).make()

    return make


class _Batches:
    """Submits batches of runs and collects their results."""

    def __init__(
        self,
        reduce: Reduction,
        client: Client,
        planned: Sequence[Planned],
        keep: Keep,
        warn: Callable[[str], None],
    ) -> None:
        self._reduce = reduce
        module = getattr(reduce, "__module__", None)
        # Modules that are not installed here are not installed on workers either.
        self._module = sys.modules[module] if module is not None and own_sources(module) else None
        self._client = client
        self._planned = planned
        self._keep = keep
        self._warn = warn
        # The last heartbeat of each worker by the scheduler's clock, and when it was new by that of this process.
        self._heard: dict[str, tuple[float | None, float]] = {}
        self._name = f"dumbbell-{uuid4().hex[:12]}"
        self._next = 0
        self._again: deque[_Batch] = deque()
        # Single runs, each to be tried alone.
        self._suspects: deque[_Batch] = deque()
        self._pending: dict[Future, _Batch] = {}
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._numbers: list[int] = []
        self._tables: list[pa.Table] = []
        self._kept_s = self._counted_s = -float("inf")
        self._threads = 1
        self._submitted = 0
        # Time used by the workers so far, s, and their number of runs.
        self._took_s = 0.0
        self._made = 0

    def make(self) -> None:
        try:
            while self._pending or self._again or self._suspects or self._next < len(self._planned):
                self._submit_some()
                self._collect(timeout=HEARTBEAT_S, patience=SILENT_S)
                if time.monotonic() - self._kept_s >= HEARTBEAT_S:
                    self._store()
        except KeyboardInterrupt:
            for _ in range(self._ended.qsize()):
                self._collect(timeout=0.0, patience=HEARTBEAT_S)
            raise
        finally:
            # Completed runs are stored after an error, too.
            try:
                self._store()
            finally:
                self._client.cancel(list(self._pending), force=True)

    def _submit_some(self) -> None:
        now = time.monotonic()
        if now - self._counted_s >= COUNTED_S:
            self._threads = max(1, sum(self._client.nthreads().values()))
            self._counted_s = now
            self._listen(now)
        while len(self._pending) < AHEAD * self._threads:
            if self._again:
                batch = self._again.popleft()
            elif self._next < len(self._planned):
                end = min(len(self._planned), self._next + self._size())
                batch = _Batch(range(self._next, end))
                self._next = end
            elif self._suspects and not self._pending:
                self._submit(self._suspects.popleft())
                return
            else:
                return
            self._submit(batch)

    def _listen(self, now: float) -> None:
        """Name each worker that has been silent for a while, once."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        for address, worker in workers.items():
            heartbeat, since = self._heard.get(address, (None, now))
            if worker["last_seen"] != heartbeat:
                self._heard[address] = worker["last_seen"], now
            elif now - since >= SILENT_S:
                # It is named again only after a heartbeat.
                self._heard[address] = heartbeat, float("inf")
                self._warn(_silence(address, now - since))

    def _size(self) -> int:
        """Return how many runs the next batch has."""
        if self._made == 0:
            # Their duration is not known yet.
            return 1
        # Towards the end batches become smaller, so that all threads end at about the same time.
        left = len(self._planned) - self._next
        fair = -(-left // (2 * self._threads))
        return max(1, min(round(BATCH_S * self._made / max(self._took_s, 1e-9)), fair, LARGEST_BATCH))

    def _submit(self, batch: _Batch) -> None:
        jobs: list[Job] = [job_of(self._planned[position]) for position in batch.positions]
        controls = external.pack([job.scenario for job in jobs], everywhere=True)
        work = _pickled((jobs, self._reduce, controls), self._module)
        future = self._client.submit(
            make_batch, engine_identity(), work, key=f"{self._name}-{self._submitted}", pure=False
        )
        self._submitted += 1
        self._pending[future] = batch
        future.add_done_callback(self._ended.put)

    def _collect(self, timeout: float, patience: float) -> None:
        """Collect a batch that has ended; wait for one up to `timeout`, and for its worker up to `patience`, s."""
        from distributed import KilledWorker

        try:
            future = self._ended.get(timeout=timeout) if timeout > 0 else self._ended.get_nowait()
        except queue.Empty:
            return
        batch = self._pending.pop(future)
        if future.status == "cancelled":
            raise self._lost()
        try:
            table, took_s = future.result(timeout=patience)
        except TimeoutError:
            if future.status == "error":
                # It is the error of the batch.
                raise
            # The worker that has the result is silent, or it has lost the result, which is computed again. Others go on
            # meanwhile.
            self._pending[future] = batch
            future.add_done_callback(self._ended.put)
            return
        except KilledWorker as error:
            if len(batch.positions) > 1:
                self._again.extend(batch.halves())
                return
            killed = 0 if batch.killed is None else batch.killed + 1
            if killed >= SUSPECTED:
                planned = self._planned[batch.positions[0]]
                raise ClusterError(
                    f"workers die during run {planned.run} with seed {planned.seed} of scenario {planned.scenario.hash} "
                    f"({error}); completed runs are kept"
                ) from error
            self._suspects.append(replace(batch, killed=killed))
            return
        except OtherEngine as error:
            raise _other_engine(str(self._client.scheduler.address), error.identity) from None
        self._numbers += batch.positions
        self._tables.append(table)
        self._took_s += took_s
        self._made += len(batch.positions)

    def _store(self) -> None:
        """Store the collected results."""
        if self._numbers:
            self._keep(self._numbers, pa.concat_tables(self._tables, promote_options="permissive"))
            # Only now: what could not be stored is stored at the end, with what arrives until then.
            self._numbers, self._tables = [], []
        self._kept_s = time.monotonic()

    def _lost(self) -> ClusterError:
        return ClusterError(
            "the scheduler is gone or gave up the runs; completed runs are kept, and the same campaign resumes"
        )
