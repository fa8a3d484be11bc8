"""``dumbbell bundle``: results that another machine verifies bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import bundle, permission
from dumbbell.arguments import LARGEST_SEED
from dumbbell.cli.options import Allow, Json, Threads
from dumbbell.cli.refusals import FAULTY, guarded, note, say, say_json

commands = typer.Typer(
    help="Make bundles of results that others can verify, and verify them.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@commands.command("create", short_help="Write a bundle of results.")
@guarded
def create(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Scenario or campaign file, or a folder of saved runs.", show_default=False
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="OUT", help="The bundle, a name that ends in .zip.", show_default=False
        ),
    ],
    runs: Annotated[
        int | None, typer.Option("--runs", metavar="N", help="Replications of a scenario; default: 1.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of these runs; default: 1.")
    ] = None,
    threads: Threads = None,
    allow: Allow = None,
) -> None:
    """Write scenarios, seeds, engine, package versions, tables, figures and a README to one file.

    A scenario is run; a campaign must be complete. docs/bundle.md lists what a bundle contains.
    """
    permission.allow(*allow or ())
    made = bundle.create(file, output, runs=runs, seed=seed, threads=threads)
    note(f"wrote {made}; verify it with: dumbbell bundle verify {made}")


@commands.command("verify", short_help="Repeat the runs of a bundle, and compare every bit.")
@guarded
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle.", show_default=False)],
    threads: Threads = None,
    allow: Allow = None,
    json_output: Json = False,
) -> None:
    """Compare every file of a bundle with its digest, repeat every run, and compare every table bit for bit.

    Exits with 1 if something differs, and names it.
    """
    permission.allow(*allow or ())
    found = bundle.verify(file, threads=threads)
    if json_output:
        say_json(found.to_dict(), indent=2)
    else:
        say(str(found))
    for text in found.notes:
        note(f"note: {text}")
    if not found.is_verified:
        raise typer.Exit(FAULTY)
