"""Measurements of Dumbbell, each in a separate process."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell import _engine

PROGRAM = (sys.executable, str(Path(__file__).with_name("child.py")), _engine.__file__)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurement of runs of one scenario, each simulator in separate processes.

    Parameters
    ----------
    runs
        How many runs.
    packets
        Data packets delivered in all of them: payload that arrived for the first time, over that of a full segment.
    cpu_s
        CPU time of the runs, user and system, s. Start-up is in it: reading the scenario and building the network.
    events
        Events of the simulator in all of them, NaN if not reported.
    peak_bytes
        Largest resident memory of the process up to the end of the first run, bytes, NaN if not measured.
    """

    runs: int
    packets: float
    cpu_s: float
    events: float = math.nan
    peak_bytes: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Measurement of a process that executed one batch of runs.

    Parameters
    ----------
    cpu_s, wall_s
        CPU time of all threads and wall-clock time, s.
    """

    cpu_s: float
    wall_s: float


def measure(text: str, *, runs: int, payload: int, flows: Sequence[str] | None = None) -> Measured:
    """Run a scenario in a separate process, several times in sequence.

    Parameters
    ----------
    text
        The scenario as JSON.
    runs
        How many times; the replications 0, 1, ….
    payload
        Payload of a full segment, bytes.
    flows
        Names of the flows whose packets are counted; by default all.

    Raises
    ------
    RuntimeError
        The process failed.
    """
    named = None if flows is None else list(flows)
    return Measured(**_asked({"runs": runs, "payload": payload, "flows": named}, text))


def measure_batch(text: str, *, runs: int, threads: int) -> Batch:
    """Run a batch of replications on some threads, in a separate process.

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
    """Run replications in independent processes, each on one thread, all at the same time.

    Returns the wall-clock time of the slowest process, s: the capacity of the machine for such work, without
    contention between threads of one process.

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
