"""``dumbbell trace``: traces of Mahimahi for links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import mahimahi
from dumbbell.cli.options import JsonList
from dumbbell.cli.refusals import guarded, say_json
from dumbbell.cli.tables import Column, print_table

commands = typer.Typer(
    help="Make and describe traces of delivery opportunities, in the format of Mahimahi.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

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


@commands.command("describe", short_help="Print statistics of traces.")
@guarded
def describe(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Traces of Mahimahi.", show_default=False)
    ],
    json_output: JsonList = False,
) -> None:
    """Print mean rate, variation per second, autocorrelation and longest gap of traces, at 1504 bytes per line."""
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


@commands.command("import", short_help="Turn times and rates into a trace.")
@guarded
def import_rates(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Table of times and rates.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", metavar="OUT", help="Trace to write.")],
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN[:UNIT]",
            help="Column of times, in s, ms or us, or a format such as %H:%M:%S; default: time_s, time_ms or time_us.",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate",
            metavar="COLUMN[:UNIT]",
            help="Column of rates, in bps, kbps, mbps or gbps, or in bytes with Bps, kBps or MBps; default: rate_mbps, …",
        ),
    ] = None,
) -> None:
    """Turn times and rates into a trace of opportunities of 1504 bytes.

    FILE has a line per time with the rate from then on. The name of a column ends in its unit, as in time_s,rate_mbps;
    other names are given with --time and --rate, and without a header their numbers, as in --time 1:ms. Times begin
    anywhere and ascend; the last rate holds as long as the one before it. Lists of periods in JSON, as of the simulator
    Sabre, are read as well.
    """
    times = mahimahi.from_rates(mahimahi.read_rates(file, time=time, rate=rate)).tolist()
    mahimahi.write_trace(output, times)
    # Described from memory: what a pipe or a device was given cannot be read again.
    print_table(COLUMNS, [_described(output, times)])


def _described(file: Path, times: Sequence[int]) -> dict[str, Any]:
    return {"name": file.name, **asdict(mahimahi.describe(times))}
