"""The command line: ``dumbbell run``, ``campaign``, ``list``, ``schema``, ``version``, ``reproduce``, and others.

Exit codes: 0, it worked; 2, the input was refused, in one line that says what is accepted, or the command was
interrupted from the keyboard, after saying what was done. ``cross-validate`` and ``bench peers`` have one more: 3, the other
simulator is not on this machine; ``cross-validate --strict`` ends with 1 where a criterion does not hold. A user's input
never ends in a traceback.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.refusals import guarded

__all__ = ["app", "main"]

app = typer.Typer(
    name="dumbbell",
    help="A TCP congestion-control laboratory.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

LARGEST_SEED = 2**64 - 1

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Scenario file, TOML or JSON.", show_default=False)
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of the random streams.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Make the runs on a Dask cluster, as tcp://10.0.0.1:8786; default: on this machine.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]


@app.command("run")
@guarded
def run_command(
    file: File,
    seed: Seed = 1,
    run: Annotated[
        int, typer.Option("--run", min=0, max=LARGEST_SEED, help="Number of the replication.")
    ] = 0,
    json: Json = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="DIR",
            help="Write each probed quantity there, as Parquet and as a picture (PNG).",
        ),
    ] = None,
) -> None:
    """Run a scenario file once."""
    from dumbbell.cli import simulate

    simulate.simulate(file, seed=seed, run=run, json_output=json, trace=trace)


@app.command("campaign")
@guarded
def campaign_command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file, TOML.", show_default=False)],
    scheduler: Scheduler = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR",
            help="Folder of finished runs and tables; default: that of the file, or results/campaigns/NAME.",
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Say which points are done and which are missing; run nothing.")
    ] = False,
    threads: Annotated[int | None, typer.Option("--threads", help="Threads; default: all cores.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is kept from before.")] = False,
    json: Json = False,
) -> None:
    """Run a base scenario with every combination of some values.

    FILE has base (a scenario, as a table or as the name of a file beside it), [axes] (lists of values by addresses such as
    "links.r1-r2.rate"), and may have runs (how many replications, or their numbers), seed, output (a folder), and [[add]]
    (axes and runs of further combinations). Finished runs are kept: the same command resumes, and a changed FILE makes what
    is missing. In the end the folder has runs.parquet, flows.parquet and links.parquet.
    """
    from dumbbell.cli import campaign

    campaign.campaign(
        file,
        scheduler=scheduler,
        output=output,
        status=status,
        threads=threads,
        fresh=fresh,
        json_output=json,
    )


@app.command("list")
@guarded
def list_command(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="[KIND]", help="algorithms, recoveries, queues, sources, …; default: all."),
    ] = None,
    json: Json = False,
) -> None:
    """Show what scenarios can name: summaries, parameters, defaults, units, sources."""
    from dumbbell.cli import catalogue

    catalogue.show(kind, json_output=json)


@app.command("schema")
@guarded
def schema_command() -> None:
    """Print the JSON Schema of a scenario."""
    from dumbbell.cli import catalogue

    catalogue.show_schema()


@app.command("version")
@guarded
def version_command() -> None:
    """Print the version."""
    from dumbbell.cli import catalogue

    catalogue.show_version()


@app.command("reproduce")
@guarded
def reproduce_command(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="Name of the paper, as vegas-revisited, or all.")
    ],
    experiment: Annotated[
        str | None,
        typer.Option(
            "--experiment",
            metavar="NAME",
            help="A further experiment of the paper instead of what it ran, as full-factorial; has a report of its own.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer replications; the report says so.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the claims as one JSON object.")] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder for reports and finished runs; default: results/."
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option("--runs", help="Replications of each configuration.")] = None,
    seed: Seed = 1,
    threads: Annotated[int | None, typer.Option("--threads", help="Threads; default: all cores.")] = None,
    scheduler: Scheduler = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is kept from before.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--papers", metavar="DIR", help="Folder of the papers; default: the checkout's."),
    ] = None,
) -> None:
    """Reproduce a paper, or all of them, and write reports."""
    from dumbbell.cli import reproduce

    reproduce.reproduce(
        paper,
        experiment=experiment,
        quick=quick,
        json_output=json,
        output=output,
        runs=runs,
        seed=seed,
        threads=threads,
        scheduler=scheduler,
        fresh=fresh,
        folder=folder,
    )


@app.command("cross-validate")
@guarded
def cross_validate_command(
    peer: Annotated[str, typer.Argument(metavar="PEER", help="Name of the other simulator: ns2 or ns3.")],
    grid: Annotated[
        list[str] | None,
        typer.Option("--grid", metavar="NAME", help="A grid to run, may be repeated; default: all."),
    ] = None,
    share: Annotated[
        float,
        typer.Option("--share", metavar="F", help="How much of each grid to run, above 0 and at most 1."),
    ] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 if a criterion does not hold.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="DIR", help="Folder for reports and finished runs; default: results/."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads and processes; default: all cores.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is kept from before.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--peers", metavar="DIR", help="Folder of peers and grids; default: the checkout's."),
    ] = None,
) -> None:
    """Run grids here and in another simulator, and write how far both agree."""
    from dumbbell.cli import cross_validate

    cross_validate.cross_validate(
        peer,
        grids=grid or (),
        share=share,
        json_output=json,
        strict=strict,
        output=output,
        threads=threads,
        fresh=fresh,
        folder=folder,
    )


bench_app = typer.Typer(help="Measure how fast Dumbbell is.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(bench_app, name="bench")


@bench_app.command("peers")
@guarded
def bench_peers_command(
    peer: Annotated[
        list[str] | None,
        typer.Option("--peer", metavar="NAME", help="ns2 or ns3, may be repeated; default: those installed."),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="NAME", help="A case to measure, may be repeated; default: all."),
    ] = None,
    turns: Annotated[int, typer.Option("--turns", metavar="N", help="Turns of each case.")] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the report; default: results/."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--peers", metavar="DIR", help="Folder of peers; default: the checkout's.")
    ] = None,
) -> None:
    """Measure the same work here and in other simulators, in turn."""
    from dumbbell.cli import bench

    bench.peers(
        names=peer or (), cases=case or (), turns=turns, json_output=json, output=output, folder=folder
    )


@bench_app.command("scale")
@guarded
def bench_scale_command(
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer and shorter measurements; the report says so.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as one JSON object.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Folder for the report; default: results/."),
    ] = None,
) -> None:
    """Measure how cost grows with flows, windows, hops, traces and time."""
    from dumbbell.cli import bench

    bench.scale(quick=quick, json_output=json, output=output)


def main() -> None:
    """Run the command line; the entry point of the ``dumbbell`` script."""
    app()
