"""Measurements of Dumbbell, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _engine

__all__ = ["Batch", "Child", "measure", "measure_apart", "measure_batch"]

PROGRAM = (sys.executable, str(Path(__file__).with_name("child.py")), _engine.__file__)


@dataclass(frozen=True, kw_only=True)
class Child:
    """What a process measured that made runs of one scenario.

    Parameters
    ----------
    runs
        How many runs.
    packets
        Data packets delivered in all of them: payload that arrived for the first time, over that of a full segment.
    events
        Events of the engine in all of them.
    cpu_s
        CPU time of the runs, user and system, s: reading the scenario, building the network, running it.
    wall_s
        Wall-clock time of the runs, s.
    peak_bytes
        Largest resident memory of the process up to the end of the first run, bytes.
    """

    runs: int
    packets: float
    events: int
    cpu_s: float
    wall_s: float
    peak_bytes: int


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a process measured that made one batch of runs.

    Parameters
    ----------
    cpu_s, wall_s
        CPU time of all threads and wall-clock time, s.
    """

    cpu_s: float
    wall_s: float


def measure(text: str, *, runs: int, payload: int, flows: Sequence[str] | None = None) -> Child:
    """Run a scenario in a process of its own, several times one after another.

    Parameters
    ----------
    text
        The scenario as JSON.
    runs
        How many times; the replications 0, 1, ….
    payload
        Payload of a full segment, bytes.
    flows
        Names of the flows whose packets are counted; all by default.

    Raises
    ------
    RuntimeError
        The process failed.
    """
    named = None if flows is None else list(flows)
    return Child(**_asked({"runs": runs, "payload": payload, "flows": named}, text))


def measure_batch(text: str, *, runs: int, threads: int) -> Batch:
    """Make a batch of replications on some threads, in a process of its own.

    Parameters
    ----------
    text
        The scenario as JSON.
    runs
        Number of replications.
    threads
        Number of threads.

    Raises
    ------
    RuntimeError
        The process failed.
    """
    return Batch(**_asked({"runs": runs, "threads": threads}, text))


def measure_apart(text: str, *, runs: int, processes: int) -> float:
    """Make replications in processes that have nothing in common, each on one thread, all at the same time.

    Returns the wall-clock time of the one that takes longest, s: what the machine grants such work, whatever threads of
    one process do to each other.

    Parameters
    ----------
    text
        The scenario as JSON.
    runs
        Number of replications of each process.
    processes
        Number of processes.

    Raises
    ------
    RuntimeError
        A process failed.
    """
    with ThreadPoolExecutor(processes) as pool:
        started = [pool.submit(measure_batch, text, runs=runs, threads=1) for _ in range(processes)]
        return max(one.result().wall_s for one in started)


def _asked(request: dict[str, Any], text: str) -> dict[str, Any]:
    done = subprocess.run(
        PROGRAM,
        input=f"{json.dumps(request)}\n{text}",
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise RuntimeError(f"a measurement failed: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
