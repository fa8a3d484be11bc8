"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell.arguments import LARGEST_SEED


def number(name: str, text: str) -> Any:
    """Return an option for a seed or the number of a run."""
    return typer.Option(name, min=0, max=LARGEST_SEED, help=text)


def folder(name: str, text: str) -> Any:
    """Return an option for a folder."""
    return typer.Option(name, metavar="DIR", help=text)


def repeated(name: str, metavar: str, text: str) -> Any:
    """Return an option that may be repeated."""
    return typer.Option(name, metavar=metavar, help=f"{text}; may be repeated; default: all.")


File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="Scenario file, TOML or JSON; - for standard input.", show_default=False
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="ADDRESS=VALUE",
        help='Change a value of the scenario, such as flows.f.tcp=bbr, links.*.delay=5ms or links.r1-r2.queue.limit="1 BDP"; may '
        "be repeated.",
    ),
]
Algorithm = Annotated[
    str,
    typer.Argument(
        metavar="ALGORITHM",
        help="Registered algorithm or TCP variant, with parameters if need be: vegas:alpha=2,beta=4; or your own: "
        "python:module.Class or library:PATH.",
        show_default=False,
    ),
]
Seed = Annotated[int, number("--seed", "Seed of the random streams.")]
RunNumber = Annotated[int, number("--run", "Run number of the replication.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on a Dask cluster, such as tcp://10.0.0.1:8786; default: this machine.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
JsonList = Annotated[bool, typer.Option("--json", help="Print a JSON list instead of tables.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Number of threads; default: all cores.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Delete stored runs and run everything again.")]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow",
        metavar="NAME",
        help="Code that FILE may load, which then has your rights: python:module.Class or library:PATH; may be repeated.",
    ),
]
Output = Annotated[
    Path | None, folder("--output", "Folder for the report and completed runs; default: results/.")
]
Papers = Annotated[Path | None, folder("--papers", "Folder of papers; default: that of the checkout.")]
Peers = Annotated[Path | None, folder("--peers", "Folder of peers and grids; default: that of the checkout.")]
