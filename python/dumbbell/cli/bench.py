"""``dumbbell bench``: the speed of Dumbbell and of other simulators, the growth of its cost, and what flows use alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import bench
from dumbbell.bench import Benched
from dumbbell.cli import options
from dumbbell.cli.cross_validate import ABSENT
from dumbbell.cli.refusals import guarded, note, refuse, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.crossvalidation import PeerAbsent

commands = typer.Typer(
    help="Measure the speed of Dumbbell, and what each TCP uses of a link.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)

Report = Annotated[Path | None, options.folder("--output", "Folder for the report; default: results/.")]


@commands.command("peers")
@guarded
def peers(
    names: Annotated[
        list[str] | None,
        typer.Option("--peer", metavar="NAME", help="ns2 or ns3; may be repeated; default: those installed."),
    ] = None,
    cases: Annotated[list[str] | None, options.repeated("--case", "NAME", "Case to measure")] = None,
    turns: Annotated[int, typer.Option("--turns", metavar="N", help="Number of turns per case.")] = 5,
    json_output: options.Json = False,
    output: Report = None,
    folder: options.Peers = None,
) -> None:
    """Compare its speed with that of other simulators."""
    try:
        done = bench.bench_peers(
            peers=names or (), cases=cases or (), turns=turns, output=output, folder=folder
        )
    except PeerAbsent as absent:
        note(f"error: {' '.join(str(absent).split())}")
        raise typer.Exit(ABSENT) from None
    except RuntimeError as failure:
        refuse(str(failure))
    if not json_output:
        for case in done.data["cases"]:
            _print_case(case)
    _print(done, json_output=json_output)


@commands.command("scale")
@guarded
def scale(
    quick: Annotated[
        bool, typer.Option("--quick", help="Use fewer and shorter measurements; the report says so.")
    ] = False,
    json_output: options.Json = False,
    output: Report = None,
) -> None:
    """Measure how cost grows with flows, windows, hops and traces."""
    try:
        done = bench.bench_scale(plan=bench.QUICK if quick else bench.FULL, output=output)
    except RuntimeError as failure:
        refuse(str(failure))
    if not json_output:
        for sweep in done.data["sweeps"]:
            _print_sweep(sweep)
        if done.data["run_many"]:
            _print_batches(done.data["run_many"])
    _print(done, json_output=json_output)


@commands.command("alone")
@guarded
def alone(
    quick: Annotated[bool, typer.Option("--quick", help="Run fewer links; the report says so.")] = False,
    rules: Annotated[list[str] | None, options.repeated("--rules", "NAME", "Environment to run")] = None,
    json_output: options.Json = False,
    output: Report = None,
) -> None:
    """Compare what every TCP uses of a link alone with theory."""
    _print(bench.bench_alone(quick=quick, rules=rules or (), output=output), json_output=json_output)


def _print(done: Benched, *, json_output: bool) -> None:
    if json_output:
        say_json(done.data)
    else:
        columns = [
            Column("criterion", "name"),
            Column("wanted", "wanted"),
            Column("measured", "measured"),
            Column("holds", "holds"),
        ]
        print_table(
            columns,
            [
                {"name": one.name, "wanted": one.wanted, "measured": one.measured, "holds": one.answer}
                for one in done.criteria
            ],
        )
        console().print(f"report: {done.report.resolve()}", soft_wrap=True)
    for title, why in done.absent.items():
        note(f"{title} is SKIPPED: {' '.join(why.split())}")


def _print_case(case: Mapping[str, Any]) -> None:
    console().print(case["title"])
    rows = []
    for one in case["contenders"]:
        rate, ratio = one["packets_per_cpu_s"], one["ratio"] or {}
        rows.append(
            {
                "title": one["title"],
                "rate": rate["median"],
                "low": rate["low"],
                "high": rate["high"],
                "ratio": ratio.get("median"),
                "packets": one["packets_per_run"],
                "use": one["utilization"],
            }
        )
    print_table(
        [
            Column("simulator", "title"),
            Column("packets per\nCPU second", "rate"),
            Column("least", "low"),
            Column("most", "high"),
            Column("Dumbbell\nis faster", "ratio", digits=1),
            Column("delivered\nin a run", "packets"),
            Column("utilization of the\nbottleneck [%]", "use", scale=100.0, digits=1),
        ],
        rows,
    )


def _print_sweep(sweep: Mapping[str, Any]) -> None:
    console().print(sweep["title"])
    rows = [
        {
            "series": point["series"],
            "label": point["label"],
            "cost": point["cpu_ns_per_packet"]["median"],
            "low": point["cpu_ns_per_packet"]["low"],
            "high": point["cpu_ns_per_packet"]["high"],
            "events": point["events_per_packet"],
            "memory": point["peak_bytes"],
        }
        for point in sweep["points"]
    ]
    print_table(
        [
            Column("what", "series"),
            Column("size", "label"),
            Column("CPU per\npacket [ns]", "cost"),
            Column("least", "low"),
            Column("most", "high"),
            Column("events per\npacket", "events", digits=2),
            Column("memory\n[MiB]", "memory", scale=2.0**-20),
        ],
        rows,
    )


def _print_batches(batches: Sequence[Mapping[str, Any]]) -> None:
    console().print("Two threads and one")
    rows = [
        {
            "runs": batch["runs"],
            "gain": batch["gain"]["median"],
            "low": batch["gain"]["low"],
            "high": batch["gain"]["high"],
            "granted": batch["granted"]["median"],
        }
        for batch in batches
    ]
    print_table(
        [
            Column("runs in\na batch", "runs"),
            Column("threads are\nfaster", "gain", digits=2),
            Column("least", "low", digits=2),
            Column("most", "high", digits=2),
            Column("two processes\nare faster", "granted", digits=2),
        ],
        rows,
    )
