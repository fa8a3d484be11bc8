"""Batches on processes instead of threads, for controls in Python: the interpreter's lock would serialize their threads.

A worker is an interpreter of its own that runs `work`. It imports nothing of the caller's script, receives the classes
of the controls and some jobs at a time, and returns tables.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from dumbbell import _engine, control, external

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Tables", "run_many", "work"]

# A worker takes this fraction of the remaining jobs per worker at once, so that all end at about the same time.
PARTS = 4

HEARTBEAT_S = 0.1

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


@dataclass
class _Batch:
    """The jobs that no worker has taken yet, and the results."""

    texts: Sequence[str]
    jobs: Jobs
    workers: int
    next: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    results: queue.SimpleQueue[Tables | BaseException] = field(default_factory=queue.SimpleQueue)

    def take(self) -> range:
        with self.lock:
            left = len(self.jobs) - self.next
            taken = range(self.next, self.next + min(left, max(1, left // (PARTS * self.workers))))
            self.next = taken.stop
        return taken

    def serve(self, worker: subprocess.Popen[bytes]) -> None:
        """Give a worker jobs until none is left, or until one fails."""
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            while numbers := self.take():
                jobs = [self.jobs[number] for number in numbers]
                places = {place: index for index, place in enumerate(dict.fromkeys(job[0] for job in jobs))}
                texts = [self.texts[place] for place in places]
                local = [(places[place], seed, run) for place, seed, run in jobs]
                _write(worker.stdin, (texts, local, list(numbers)))
                answer = _read(worker.stdout)
                self.results.put(answer)
                if isinstance(answer, BaseException):
                    return
        except (EOFError, OSError):
            self.results.put(RuntimeError("a process that ran jobs has ended unexpectedly"))


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
    Exception
        That of a control; its cause has the traceback.
    """
    batch = _Batch(texts, jobs, min(workers, len(jobs)))
    kept: list[Tables] = []
    completed, interrupted = 0, False
    with _workers(batch.workers, controls) as running:
        threads = [threading.Thread(target=batch.serve, args=(worker,), daemon=True) for worker in running]
        for thread in threads:
            thread.start()
        try:
            while completed < len(jobs):
                with contextlib.suppress(queue.Empty):
                    result = batch.results.get(timeout=HEARTBEAT_S)
                    if isinstance(result, BaseException):
                        raise result
                    completed += result.completed
                    if finished is None:
                        kept.append(result)
                    else:
                        finished(result)
                progress(completed, len(jobs))
        except KeyboardInterrupt:
            interrupted = True
    return _joined(kept, completed, interrupted)


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


@contextlib.contextmanager
def _workers(count: int, controls: bytes) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Yield processes that know the controls, and end them."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            # -P: the working folder is not on its path.
            command = [sys.executable, "-P", "-c", "from dumbbell import processes; processes.work()"]
            worker = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment()
            )
            running.append(worker)
            assert worker.stdin is not None
            _write(worker.stdin, (sys.path, controls))
        yield running
    finally:
        for worker in running:
            worker.kill()
            worker.communicate()


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


def work() -> None:
    """Run the jobs that arrive on standard input, until it ends."""
    # What a control prints belongs on standard error: standard output carries the results.
    stream, output = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path[:], controls = _read(stream)
    external.unpack(controls)
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            texts, jobs, numbers = _read(stream)
            _write(output, _answer(texts, jobs, numbers))


def _answer(texts: list[str], jobs: list[tuple[int, int, int]], numbers: list[int]) -> Tables | BaseException:
    try:
        return _tables(_engine.run_many(texts, jobs, 1, controls=control.factory), numbers)
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        error.add_note(f"Traceback of the process that ran the job:\n{text}")
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return RuntimeError(text)
        return error
