"""``dumbbell trace``: traces of Mahimahi for links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dumbbell import mahimahi
from dumbbell.cli.refusals import say_json
from dumbbell.cli.tables import Column, print_table

COLUMNS = (
    Column("trace\n", "name"),
    Column("duration\ns", "duration_s", digits=1),
    Column("mean\nMbit/s", "mean_bps", scale=1e-6, digits=3),
    Column("1-s min.\nMbit/s", "min_bps", scale=1e-6, digits=2),
    Column("1-s median\nMbit/s", "median_bps", scale=1e-6, digits=2),
    Column("1-s max.\nMbit/s", "max_bps", scale=1e-6, digits=2),
    Column("CoV of\n1-s rates", "variation", digits=2),
    Column("lag-1 auto-\ncorrelation", "autocorrelation", digits=2),
    Column("longest\ngap ms", "longest_gap_ms"),
    Column("most in\n1 ms", "most_at_once"),
)


def describe(files: list[Path], *, json_output: bool) -> None:
    """Print the statistics of traces."""
    found = [_described(file, mahimahi.read_trace(file)) for file in files]
    if json_output:
        known = [
            {
                key: None if isinstance(value, float) and math.isnan(value) else value
                for key, value in row.items()
            }
            for row in found
        ]
        say_json(known, indent=2)
    else:
        print_table(COLUMNS, found)


def import_rates(file: Path, *, output: Path, time: str | None, rate: str | None) -> None:
    """Write a trace that carries the bytes of a CSV file of times and rates."""
    times = mahimahi.from_rates(mahimahi.read_rates(file, time=time, rate=rate)).tolist()
    mahimahi.write_trace(output, times)
    # Described from memory: what a pipe or a device was given cannot be read again.
    print_table(COLUMNS, [_described(output, times)])


def _described(file: Path, times: Sequence[int]) -> dict[str, Any]:
    return {"name": file.name, **asdict(mahimahi.describe(times))}
