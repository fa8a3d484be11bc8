"""What a benchmark leaves: a report, its numbers, and the machine they are from."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.campaign import engine_identity
from dumbbell.environment import environment
from dumbbell.files import plain, write_json, write_text
from dumbbell.judge.criterion import Criterion
from dumbbell.runs import cores

CPUS = Path("/proc/cpuinfo")


@dataclass(frozen=True, kw_only=True, eq=False)
class Benched:
    """A finished benchmark.

    Parameters
    ----------
    report, results
        The files written: the report (HTML) and the numbers (JSON).
    criteria
        What was wanted, and whether it was reached.
    absent
        Why a simulator was left out, by what it is called.
    data
        What was written to `results`, as plain data.
    """

    report: Path
    results: Path
    criteria: tuple[Criterion, ...]
    absent: Mapping[str, str]
    data: Mapping[str, Any]


def machine() -> str:
    """Return the processor and how many cores of it this process may use."""
    name = platform.processor() or platform.machine()
    if CPUS.exists():
        for line in CPUS.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    return f"{name}, {cores()} core{'s' if cores() > 1 else ''}"


def load() -> float:
    """Return the load average of the last minute; NaN if not available."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")


def written(
    *,
    place: Path,
    page: str,
    criteria: Sequence[Criterion],
    absent: Mapping[str, str],
    data: Mapping[str, Any],
) -> Benched:
    """Write a report and its numbers.

    Parameters
    ----------
    place
        The folder; created if necessary.
    page
        The report.
    criteria, absent
        See `Benched`.
    data
        The numbers.
    """
    whole: dict[str, Any] = plain(
        {
            "dumbbell": dumbbell.__version__,
            "engine": engine_identity(),
            "environment": environment(),
            "machine": machine(),
            **data,
            "criteria": [asdict(one) for one in criteria],
            "absent": dict(absent),
        }
    )
    report, results = place / "index.html", place / "results.json"
    write_text(report, page)
    write_json(results, whole)
    return Benched(report=report, results=results, criteria=tuple(criteria), absent=absent, data=whole)
