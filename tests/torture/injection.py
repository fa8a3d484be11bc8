"""Let every call of the operating system that writers make fail, one at a time, and compare what they leave.

``make inject`` runs it. It needs strace and the right to trace processes.

Operations are the store, a run with every kind of output, a campaign on this machine and on a Dask cluster of two
workers, and a quick reproduction of a paper. Each call on one of their files fails once, and then from there on for good,
with each error that is usual for it; so does each call that asks for memory. On a cluster and in a reproduction, which take
seconds, each call fails in one of these ways. Then the operation is repeated undisturbed.
Nothing that was stored may be lost, nothing incomplete believed, the user reads one sentence, and results, stores and
verdicts are those of an undisturbed operation. In addition, calls of a worker of the cluster fail while it computes.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

import disturbed
from failing_calls import ERRORS, MEMORY, Failure, failing, missing

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


def every_call(
    name: str, operation: disturbed.Operation, share: float, draw: random.Random, *, is_slow: bool = False
) -> dict[str, list[str]]:
    """Let each call of an operation fail, or a share of them, and return what does not hold, by failure.

    A slow operation has each of its calls fail in one way, drawn at random.
    """
    begin = time.monotonic()
    outcome = operation.undisturbed()
    cases = [
        failure
        for for_good in (False, True)
        for failure in disturbed.failures(outcome, operation.place, names=ERRORS | MEMORY, for_good=for_good)
    ]
    draw.shuffle(cases)
    if is_slow:
        cases = list({(failure.call, failure.number): failure for failure in cases}.values())
    chosen = cases[: round(share * len(cases))]
    found = {}
    for failure in chosen:
        problems = operation.problems(failure)
        if problems:
            found[f"{name}: {failure}"] = problems
            print(f"{name}: {failure}: {problems}", flush=True)
    calls = ", ".join(f"{call} {count}" for call, count in Counter(one.call for one in chosen).most_common())
    print(
        f"{name}: {len(chosen)} of {len(cases)} failures of {len(outcome.calls)} calls ({calls}), {operation.met} met a call, "
        f"{time.monotonic() - begin:.0f} s: {len(found)} with problems",
        flush=True,
    )
    return found


def of_workers(place: Path, count: int, draw: random.Random) -> dict[str, list[str]]:
    """Let calls of a worker of a cluster fail during a campaign."""
    begin, met = time.monotonic(), 0
    found = {}
    with cluster() as (address, workers):
        operation = disturbed.campaigned(place / "workers", scheduler=address)
        operation.undisturbed()
        for number in range(count):
            call = draw.choice(list(OF_WORKERS))
            failure = Failure(call, draw.randrange(1, MOST_CALLS), draw.choice(OF_WORKERS[call]))
            # A worker that the last failure ended is replaced.
            with failing(draw.choice(workers()), failure) as failed:
                problems = operation.problems(None)
            met += bool(failed)
            if problems:
                found[f"worker {number}: {failure}"] = problems
                print(f"worker {number}: {failure}: {problems}", flush=True)
    print(
        f"workers: {count} failures, {met} met a call, {time.monotonic() - begin:.0f} s: {len(found)} with problems",
        flush=True,
    )
    return found


def main() -> None:
    """Let calls fail."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", help="one operation: store, memory, run, campaign, cluster, paper or workers"
    )
    parser.add_argument("--paper", default="rovegas", help="which paper to reproduce")
    parser.add_argument("--share", type=float, default=1.0, help="share of the calls that fail, at random")
    parser.add_argument("--workers", type=int, default=50, help="number of failures of workers")
    parser.add_argument("--seed", type=int, default=1, help="seed of the chosen calls")
    arguments = parser.parse_args()
    if missing():
        sys.exit(f"inject: {missing()}")
    draw = random.Random(arguments.seed)
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory(prefix="dumbbell-inject-") as temporary:
        place = Path(temporary)
        operations: dict[str, Callable[[Path], disturbed.Operation]] = {
            "store": disturbed.stored,
            "memory": partial(disturbed.Filled, added=1, values=400_000),
            "run": partial(disturbed.simulated, drawn=True),
            "campaign": partial(disturbed.campaigned, threads=1),
            "paper": partial(disturbed.reproduced, paper=arguments.paper),
        }
        for name, operation in operations.items():
            if arguments.only in (None, name):
                found |= every_call(
                    name, operation(place / name), arguments.share, draw, is_slow=name == "paper"
                )
        if arguments.only in (None, "cluster"):
            with cluster() as (address, _):
                on_cluster = disturbed.campaigned(place / "cluster", scheduler=address)
                found |= every_call("cluster", on_cluster, arguments.share, draw, is_slow=True)
        if arguments.only in (None, "workers"):
            found |= of_workers(place, arguments.workers, draw)
    if found:
        sys.exit(f"inject: {len(found)} failures with problems")


if __name__ == "__main__":
    main()
