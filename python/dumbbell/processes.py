"""Batches on processes instead of threads, for controls in Python: the interpreter's lock would serialize their threads.

A worker is an interpreter of its own that runs `work`. It imports nothing of the caller's script, receives the classes
of the controls and some jobs at a time, and returns tables. It ends with the process that started it, however that ends.
A worker that dies is replaced: its jobs are repeated one at a time, and a job that ends its worker again ends the batch.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from dumbbell import _engine, control, external
from dumbbell.errors import ControlError
from dumbbell.threads import Thread, start
from dumbbell.tracebacks import Elsewhere, Frame, frames_of

if TYPE_CHECKING:
    import pyarrow as pa

# A worker takes this fraction of the remaining jobs per worker at once, so that all end at about the same time.
PARTS = 4

HEARTBEAT_S = 0.1

# The option of prctl(2) by which Linux sends a signal to a process when its parent dies.
PR_SET_PDEATHSIG = 1

Jobs = Sequence[tuple[int, int, int]]


@dataclass
class Tables:
    """Results of jobs, as `_engine.ManyResult` has them.

    Parameters
    ----------
    flows, links, traces
        The tables, by the numbers of the jobs.
    completed
        Number of completed jobs.
    interrupted
        Whether an interrupt stopped the batch.
    """

    flows: pa.Table
    links: pa.Table
    traces: dict[str, pa.Table]
    completed: int
    interrupted: bool = False


@dataclass(frozen=True)
class _Failure:
    """An exception of a worker, and where it was raised: a pickled exception loses its traceback."""

    error: Exception
    text: str
    frames: Sequence[Frame]

    def raised(self) -> Exception:
        self.error.__cause__ = Elsewhere(self.text, self.frames)
        return self.error


@dataclass
class _Batch:
    """The jobs that no worker has taken yet, and the results."""

    texts: Sequence[str]
    jobs: Jobs
    workers: int
    controls: bytes
    next: int = 0
    # Jobs of workers that died, each to be repeated on its own.
    suspects: deque[int] = field(default_factory=deque)
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    results: queue.SimpleQueue[Tables | Exception] = field(default_factory=queue.SimpleQueue)

    def take(self) -> tuple[Sequence[int], bool]:
        """Return the numbers of the next jobs, and whether a worker has died of them before."""
        with self.lock:
            if self.suspects:
                return [self.suspects.popleft()], True
            left = len(self.jobs) - self.next
            taken = range(self.next, self.next + min(left, max(1, left // (PARTS * self.workers))))
            self.next = taken.stop
        return taken, False

    def serve(self) -> None:
        """Give jobs to a worker until none is left, or until one fails."""
        worker = None
        try:
            while True:
                numbers, is_suspect = self.take()
                if not numbers:
                    return
                if worker is None:
                    worker = self._started()
                try:
                    completed, failure = self._answer(worker, numbers)
                except (EOFError, OSError):
                    code = _code_of(worker)
                    worker = None
                    if is_suspect:
                        self.results.put(self._died(numbers[0], code))
                        return
                    with self.lock:
                        self.suspects.extend(numbers)
                    continue
                if completed is not None:
                    self.results.put(completed)
                if failure is not None:
                    self.results.put(failure.raised())
                    return
        except _Ended:
            pass
        except Exception as error:
            self.results.put(error)
        finally:
            if worker is not None:
                worker.kill()
                worker.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        """Return a new worker."""
        # -P: the working folder is not on its path.
        command = [
            sys.executable,
            "-P",
            "-c",
            f"from dumbbell import processes; processes.work({os.getpid()})",
        ]
        pipe = subprocess.PIPE
        with self.lock:
            if self.ended:
                raise _Ended
            worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=_environment())
            self.running.append(worker)
        with contextlib.suppress(OSError):
            # If it is gone already, it gives no answer either.
            _write(worker.stdin, (sys.path, self.controls))
        return worker

    def _answer(
        self, worker: subprocess.Popen[bytes], numbers: Sequence[int]
    ) -> tuple[Tables | None, _Failure | None]:
        """Return what a worker makes of some jobs: the completed ones, and what ended the others."""
        jobs = [self.jobs[number] for number in numbers]
        places = {place: index for index, place in enumerate(dict.fromkeys(job[0] for job in jobs))}
        texts = [self.texts[place] for place in places]
        local = [(places[place], seed, run) for place, seed, run in jobs]
        _write(worker.stdin, (texts, local, list(numbers)))
        answer: tuple[Tables | None, _Failure | None] = _read(worker.stdout)
        return answer

    def _died(self, number: int, code: int) -> ControlError:
        """Return the error about a job that ends its worker."""
        place, seed, run = self.jobs[number]
        name, controls = external.names_in(self.texts[place])
        how = f"with exit code {code}"
        if code < 0:
            how = f"by the signal {signal.Signals(-code).name}"
        return ControlError(
            f"{', '.join(controls)}: the process of run {run} with seed {seed} of "
            f'"{name or "unnamed scenario"}" ended {how}, twice; expected a control that leaves its process alone, and '
            "enough memory"
        )

    def end(self) -> None:
        """Kill all workers, and start no other."""
        with self.lock:
            self.ended = True
        for worker in self.running:
            worker.kill()


class _Ended(Exception):  # noqa: N818 - not an error
    """The batch has ended: no further worker starts."""


def _code_of(worker: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a worker that gives no answer: its own, unless it goes on without its pipes."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.wait(timeout=1)
    worker.kill()
    with contextlib.suppress(OSError):
        worker.communicate()
    return worker.returncode


def run_many(
    texts: Sequence[str],
    jobs: Jobs,
    workers: int,
    controls: bytes,
    progress: Callable[[int, int], None],
    *,
    finished: Callable[[Tables], None] | None = None,
) -> Tables:
    """Run jobs on worker processes, as `_engine.run_many` does on threads.

    Parameters
    ----------
    texts
        Scenarios, in canonical form.
    jobs
        The position of a scenario, a seed and a run for each.
    workers
        Number of processes.
    controls
        See `dumbbell.external.pack`.
    progress
        Called with the number of completed jobs and of all.
    finished
        Called with completed jobs, which are then not among those returned.

    Raises
    ------
    ControlError
        A control was refused, or has ended its process twice.
    Exception
        That of a control; its cause has the traceback.
    """
    batch = _Batch(texts, jobs, min(workers, len(jobs)), controls)
    taken = _Taken(batch.results, finished)
    interrupted = False
    threads: list[Thread] = []
    try:
        while len(threads) < batch.workers:
            threads.append(start(batch.serve))
        while taken.completed < len(jobs) and not taken.failures:
            taken.take(HEARTBEAT_S)
            progress(taken.completed, len(jobs))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        batch.end()
        for thread in threads:
            thread.join()
    # What other workers have completed is kept, whatever ended the batch.
    while not batch.results.empty():
        taken.take(0.0)
    if taken.failures:
        raise taken.failures[0]
    return _joined(taken.kept, taken.completed, interrupted)


@dataclass
class _Taken:
    """What workers have handed over."""

    results: queue.SimpleQueue[Tables | Exception]
    finished: Callable[[Tables], None] | None
    kept: list[Tables] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    completed: int = 0

    def take(self, timeout: float) -> None:
        """Take the next result, if one comes in time, s."""
        try:
            result = self.results.get(timeout=timeout)
        except queue.Empty:
            return
        if isinstance(result, Exception):
            self.failures.append(result)
            return
        self.completed += result.completed
        (self.finished or self.kept.append)(result)


def _joined(parts: Sequence[Tables], completed: int, interrupted: bool) -> Tables:
    if not parts:
        empty = _engine.run_many([], [], 1)
        parts = [_tables(empty, [])]
    quantities = dict.fromkeys(quantity for part in parts for quantity in part.traces)
    return Tables(
        flows=_sorted([part.flows for part in parts]),
        links=_sorted([part.links for part in parts]),
        traces={
            quantity: _sorted([part.traces[quantity] for part in parts if quantity in part.traces])
            for quantity in quantities
        },
        completed=completed,
        interrupted=interrupted,
    )


def _sorted(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of all tables in the order of their jobs; the order within a job is kept."""
    import numpy as np
    import pyarrow as pa

    table = pa.concat_tables(tables)
    return table.take(np.argsort(table["job"].to_numpy(), kind="stable"))


def _tables(result: _engine.ManyResult, numbers: Sequence[int]) -> Tables:
    """Return results with the numbers that their jobs have in the batch."""
    import numpy as np
    import pyarrow as pa

    of_batch = np.asarray(numbers, dtype=np.uint32)

    def numbered(columns: _engine.ArrowColumns) -> pa.Table:
        table = pa.table(columns)
        return table.set_column(0, table.schema.field("job"), [of_batch[table["job"].to_numpy()]])

    traces: Mapping[str, _engine.ArrowColumns] = result.traces
    return Tables(
        flows=numbered(result.flows),
        links=numbered(result.links),
        traces={quantity: numbered(columns) for quantity, columns in traces.items()},
        completed=result.completed,
    )


def _environment() -> dict[str, str]:
    """Return an environment in which a worker imports the same package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def _write(stream: BinaryIO | Any, value: object) -> None:
    data = pickle.dumps(value)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def _read(stream: BinaryIO | Any) -> Any:
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(stream.read(int.from_bytes(head, "little")))


def work(parent: int) -> None:
    """Run the jobs that arrive on standard input, until it ends.

    Parameters
    ----------
    parent
        The process that has started this one, with which it ends.
    """
    _end_with(parent)
    # What a control prints belongs on standard error: standard output carries the results.
    stream, output = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path[:], controls = _read(stream)
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    try:
        start(lambda: _listen(stream, asked))
    except MemoryError as error:
        _write(output, (None, _failure(error)))
        return
    broken = None
    try:
        external.unpack(controls)
    except Exception as error:
        broken = _failure(error)
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        while True:
            texts, jobs, numbers = asked.get()
            _write(output, (None, broken) if broken is not None else _answer(texts, jobs, numbers))


def _listen(stream: BinaryIO, asked: queue.SimpleQueue[Any]) -> None:
    """Take jobs from the process that started this one; when it is gone, nobody waits for those that run."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            asked.put(_read(stream))
    os._exit(0)


def _end_with(parent: int) -> None:
    """Let this process be killed when its parent dies, even in the middle of a call that holds the interpreter's lock.

    Linux offers this; elsewhere, the end of standard input has to do.
    """
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # It was gone before.
        os._exit(0)


def _answer(
    texts: list[str], jobs: list[tuple[int, int, int]], numbers: list[int]
) -> tuple[Tables | None, _Failure | None]:
    """Return the results of the completed jobs, and what ended the others."""
    completed: list[_engine.ManyResult] = []
    failure = None
    try:
        stated = [_engine.Stated(text, "json") for text in texts]
        _engine.run_many(stated, jobs, 1, controls=control.factory, finished=completed.append)
    except Exception as error:
        failure = _failure(error)
    if not completed:
        return None, failure
    # Each result has the number of all that were completed before.
    tables = _joined([_tables(result, numbers) for result in completed], completed[-1].completed, False)
    return tables, failure


def _failure(error: Exception) -> _Failure:
    text, frames = "".join(traceback.format_exception(error)), frames_of(error)
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        # Of a class that only this process has.
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    return _Failure(error, text, frames)
