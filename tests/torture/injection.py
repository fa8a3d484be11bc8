"""Let every call of the operating system that writers make fail, one at a time, and compare what they leave.

``make inject`` runs it. It needs strace and the right to trace processes.

Operations are the store, a run with every kind of output, a campaign on this machine and on a Dask cluster of two
workers, and a quick reproduction of a paper. Each call on one of their files fails, and each call that asks for memory.
There are more ways than calls: a call fails once or from there on for good, with each error that is usual for it. Calls of
one name on one kind of file, such as the parts of a store, take these ways in turn, so that each call fails at least once,
and each way is tried at least once for each kind. ``--all`` tries each way at each call instead.

Then the operation is repeated undisturbed. Nothing that was stored may be lost, nothing incomplete believed, the user reads
one sentence, and results, stores and verdicts are those of an undisturbed operation. In addition, calls of a worker of the
cluster fail while it computes.

What has no call on a file of the operation is computed once: simulated runs and verdicts of a paper, and pictures. The
operation ``recomputed`` is the same reproduction without that; a few calls of it fail.

Every way that was tried is a line of results/inject/tried.jsonl, and counts as long as the sources are the same: an
interrupted command continues. Ways with problems are tried again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import disturbed
from computed_once import computed_once
from dumbbell.campaign import engine_identity
from failing_calls import ERRORS, MEMORY, Failure, failing, missing

ROOT = Path(__file__).resolve().parents[2]

OPERATIONS = ("store", "memory", "run", "campaign", "paper", "cluster", "workers", "recomputed")

IN_TURN = "the calls of one name on one kind of file take the errors, once and for good, in turn (--all: every way)."

CLUSTER = """
import sys
import dask
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs="CRITICAL") as cluster:
        print(cluster.scheduler_address, flush=True)
        for _ in sys.stdin:
            print(*(worker.pid for worker in cluster.workers.values() if worker.pid), flush=True)
"""

# Calls of a worker: those by which it reads code, asks for memory, and talks to the scheduler.
OF_WORKERS = {
    "openat": ("EMFILE", "EIO"),
    "read": ("EIO",),
    "mmap": ("ENOMEM",),
    "brk": ("ENOMEM",),
    "sendto": ("ECONNRESET", "EPIPE"),
    "recvfrom": ("ECONNRESET",),
    "epoll_wait": ("EINTR",),
}
MOST_CALLS = 200


@contextmanager
def cluster() -> Iterator[tuple[str, Callable[[], list[int]]]]:
    """Yield the address of the scheduler of a cluster of two workers, and a function that returns their process ids."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def workers() -> list[int]:
            print(file=stdin, flush=True)
            return [int(worker) for worker in stdout.readline().split()]

        try:
            yield stdout.readline().strip(), workers
        finally:
            stdin.close()


@dataclass
class Log:
    """The ways that were tried, one line of JSON each.

    Parameters
    ----------
    path
        The file.
    build
        Digest of what is tried; lines of other builds stay and do not count.
    """

    path: Path
    build: str
    tried: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = self.read()
        if text and not text.endswith("\n"):
            with self.path.open("a", encoding="utf-8") as file:
                file.write("\n")

    def read(self) -> str:
        """Read what was tried, by other processes as well, and return the text."""
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            # An interruption may have cut a line short.
            with suppress(ValueError):
                entry = json.loads(line)
                if entry["build"] == self.build and entry != self.tried.get(
                    (entry["operation"], entry["way"])
                ):
                    self.tried[entry["operation"], entry["way"]] = entry
        return text

    def add(self, operation: str, way: str, *, met: bool, seconds: float, problems: Sequence[str]) -> None:
        """Keep what came of a way."""
        entry = {"build": self.build, "operation": operation, "way": way, "met": met}
        entry |= {"seconds": round(seconds, 2), "problems": list(problems)}
        self.tried[operation, way] = entry
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def waits(self, operation: str, way: str) -> bool:
        """Return whether a way was not tried yet, or had problems."""
        entry = self.tried.get((operation, way))
        return entry is None or bool(entry["problems"])


def build() -> str:
    """Return a digest of the engine, the package, the papers, and what tries them."""
    digest = hashlib.blake2b(engine_identity().encode(), digest_size=8)
    files = sorted(path for folder in ("python", "papers") for path in (ROOT / folder).rglob("*.py"))
    shared = ("computed_once.py", "disturbed.py", "failing_calls.py")
    for file in [*files, *(ROOT / "tests" / "python" / name for name in shared)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def every_call(
    name: str, operation: disturbed.Operation, log: Log, arguments: argparse.Namespace, share: float = 1.0
) -> None:
    """Let each call of an operation fail, or a share of them, and print what does not hold."""
    begin = time.monotonic()
    outcome = operation.undisturbed()
    names = ERRORS | MEMORY
    every = [
        failure
        for for_good in (False, True)
        for failure in disturbed.failures(outcome, operation.place, names=names, for_good=for_good)
    ]
    in_turn = disturbed.in_rotation(outcome, operation.place, names=names, seed=arguments.seed)
    cases = every if arguments.all else in_turn
    random.Random(arguments.seed).shuffle(cases)
    cases = cases[: math.ceil(share * len(cases))]
    waiting = [failure for failure in cases if log.waits(name, str(failure))]
    print(f"{name}: {len(waiting)} of {len(cases)} ways to try", flush=True)
    shared_out(name, operation, waiting, log, arguments.jobs)
    entries = [entry for failure in cases if (entry := log.tried.get((name, str(failure))))]
    kinds = Counter(kind for _, _, kind in disturbed.calls(outcome, operation.place, names))
    known = {(call, number) for call, number, _ in disturbed.calls(outcome, operation.place, names)}
    hit = {
        (failure.call, failure.number)
        for failure in cases
        if (entry := log.tried.get((name, str(failure)))) and entry["met"]
    }
    by_call = Counter(failure.call for failure in cases)
    print(
        f"{name}: {len(known)} calls on {len(kinds)} kinds of files, {len(every)} ways; {len(entries)} tried "
        f"({', '.join(f'{call} {count}' for call, count in by_call.most_common())}), "
        f"{sum(entry['met'] for entry in entries)} met a call, {len(hit)} calls failed; "
        f"{sum(entry['seconds'] for entry in entries) / max(1, len(entries)):.2f} s per way, "
        f"{time.monotonic() - begin:.0f} s now: {sum(bool(entry['problems']) for entry in entries)} with problems",
        flush=True,
    )


def shared_out(
    name: str, operation: disturbed.Operation, failures: Sequence[Failure], log: Log, jobs: int
) -> None:
    """Try some ways in processes that know what this one has computed, each with a folder of its own."""
    place, processes, earlier = operation.place, [], dict(log.tried)
    for job in range(jobs):
        process = os.fork()
        if process == 0:
            code = 1
            try:
                operation.place = place.with_name(f"{place.name}-{job}")
                for failure in random.Random(f"{os.getpid()}").sample(failures, len(failures)):
                    # Another process, even of another command, may have tried it meanwhile.
                    log.read()
                    way = name, str(failure)
                    if log.tried.get(way) is earlier.get(way):
                        tried(name, operation, failure, log)
                code = 0
            except Exception:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        processes.append(process)
    if any(os.waitpid(process, 0)[1] for process in processes):
        sys.exit(f"inject: {name}: a process that tries ways failed")
    log.read()


def tried(name: str, operation: disturbed.Operation, failure: Failure, log: Log) -> None:
    """Try a way in which a call fails, up to three times until it meets the call: threads may come in another order."""
    begin = time.monotonic()
    for _ in range(3):
        before = operation.met
        try:
            problems = operation.problems(failure)
        except Exception as error:
            # What is read and resumed afterwards must not fail.
            problems = [f"afterwards: {error!r}"]
        if problems or operation.met > before:
            break
    log.add(
        name,
        str(failure),
        met=operation.met > before,
        seconds=time.monotonic() - begin,
        problems=problems,
    )
    if problems:
        print(f"{name}: {failure}: {problems}", flush=True)


def of_workers(place: Path, log: Log, arguments: argparse.Namespace) -> None:
    """Let calls of a worker of a cluster fail during a campaign."""
    begin, count = time.monotonic(), arguments.workers
    draw = random.Random(arguments.seed)
    failures = []
    for number in range(count):
        call = draw.choice(list(OF_WORKERS))
        failure = Failure(call, draw.randrange(1, MOST_CALLS), draw.choice(OF_WORKERS[call]))
        failures.append((f"{number}: {failure}", failure))
    with cluster() as (address, workers):
        operation = disturbed.campaigned(place / "workers", scheduler=address)
        operation.undisturbed()
        for way, failure in failures:
            if not log.waits("workers", way):
                continue
            start = time.monotonic()
            # A worker that the last failure ended is replaced.
            with failing(draw.choice(workers()), failure) as failed:
                problems = operation.problems(None)
            log.add("workers", way, met=bool(failed), seconds=time.monotonic() - start, problems=problems)
            if problems:
                print(f"worker {way}: {problems}", flush=True)
    entries = [log.tried["workers", way] for way, _ in failures]
    print(
        f"workers: {count} failures, {sum(entry['met'] for entry in entries)} met a call, "
        f"{time.monotonic() - begin:.0f} s now: {sum(bool(entry['problems']) for entry in entries)} with problems",
        flush=True,
    )


def main() -> None:
    """Let calls fail."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help=f"some operations: {', '.join(OPERATIONS)}")
    parser.add_argument("--all", action="store_true", help="each way at each call, instead of in turn")
    parser.add_argument("--paper", default="rovegas", help="which paper to reproduce")
    parser.add_argument(
        "--share", type=float, default=1.0, help="share of the ways that are tried, at random"
    )
    parser.add_argument(
        "--recomputed", type=float, default=0.02, help="share of the ways of the operation of this name"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of ways that are tried at the same time")
    parser.add_argument("--workers", type=int, default=50, help="number of failures of workers")
    parser.add_argument("--seed", type=int, default=1, help="seed of the chosen ways")
    arguments = parser.parse_args()
    if missing():
        sys.exit(f"inject: {missing()}")
    only = OPERATIONS if arguments.only is None else arguments.only.split(",")
    if not set(only) <= set(OPERATIONS):
        parser.error(f"--only {arguments.only}: accepted: {', '.join(OPERATIONS)}")
    log = Log(ROOT / "results" / "inject" / "tried.jsonl", build())
    with tempfile.TemporaryDirectory(prefix="dumbbell-inject-") as temporary:
        place = Path(temporary)
        operations: dict[str, Callable[[Path], disturbed.Operation]] = {
            "store": disturbed.stored,
            "memory": partial(disturbed.Filled, added=1, values=400_000),
            "run": partial(disturbed.simulated, drawn=True),
            "campaign": partial(disturbed.campaigned, threads=1),
            "paper": partial(disturbed.reproduced, paper=arguments.paper, first=True),
        }
        with computed_once():
            for name, operation in operations.items():
                if name in only:
                    every_call(name, operation(place / name), log, arguments, arguments.share)
            if "cluster" in only:
                with cluster() as (address, _):
                    on_cluster = disturbed.campaigned(place / "cluster", scheduler=address)
                    every_call("cluster", on_cluster, log, arguments, arguments.share)
            if "workers" in only:
                of_workers(place, log, arguments)
        if "recomputed" in only:
            whole = disturbed.reproduced(place / "recomputed", arguments.paper, first=True)
            every_call("recomputed", whole, log, arguments, arguments.share * arguments.recomputed)
    problems = [entry for entry in log.tried.values() if entry["operation"] in only and entry["problems"]]
    print(
        "Tried: each call on a file of an operation" + (", in each way." if arguments.all else f"; {IN_TURN}")
    )
    if problems:
        sys.exit(f"inject: {len(problems)} ways with problems")


if __name__ == "__main__":
    main()
