"""``dumbbell evaluate``: an algorithm by RFC 9743, against baselines."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.arguments import MOST_REPLICATIONS, whole_number
from dumbbell.campaign import duration
from dumbbell.cli.options import Algorithm, Fresh, Json, Output, Seed, Threads, repeated
from dumbbell.cli.refusals import note, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.evaluation import Evaluation
from dumbbell.evaluation import evaluate as evaluated
from dumbbell.evaluation.evaluating import LEAST_RUNS

BROKEN = 1
"""Exit code of ``--strict`` where an item fails or is worse than the baselines."""


def evaluate(
    algorithm: Algorithm,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAMES",
            help="Baselines, separated by commas; default: reno,cubic, if registered.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use shorter runs, fewer points and 3 seeds; the report says so.")
    ] = False,
    only: Annotated[list[str] | None, repeated("--only", "ITEM", "Item to run")] = None,
    json_output: Json = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with code 1 if an item fails or is worse than the baselines."),
    ] = False,
    output: Output = None,
    seed: Seed = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds", metavar="N", help="Number of replications, at least 2; default: 5, with --quick 3."
        ),
    ] = None,
    threads: Threads = None,
    fresh: Fresh = False,
) -> None:
    """Evaluate an algorithm by RFC 9743 (BCP 133) and the common TCP evaluation suite, and write a report.

    Each item compares the algorithm with the baselines in its scenarios, with intervals over replications. The report
    begins with the verdict of each item. Completed runs are kept, also for the evaluation of other algorithms: the same
    command resumes. docs/evaluate.md lists the items.
    """
    done = evaluated(
        algorithm,
        against=None if against is None else [against],
        quick=quick,
        only=only or (),
        output=output,
        seed=seed,
        # The option has a name of its own.
        runs=None if seeds is None else whole_number("seeds", seeds, LEAST_RUNS, MOST_REPLICATIONS),
        threads=threads,
        fresh=fresh,
    )
    if json_output:
        say_json(done.data)
    else:
        _print(done)
    for warning in done.data["warnings"]:
        note(f"warning: {warning}")
    if strict and not done.passes:
        raise typer.Exit(BROKEN)


def _print(done: Evaluation) -> None:
    """Print findings and verdicts, then how much was run and where the report is."""
    out = console()
    for line in [*done.findings, *done.strengths]:
        out.print(line, soft_wrap=True, markup=False)
    columns = [
        Column("item", "name"),
        Column("standard", "section"),
        Column("verdict", "verdict"),
        Column("decided by", "why"),
    ]
    print_table(columns, done.data["items"])
    data = done.data
    reused = data["runs_kept_from_before"]
    counted = f"{data['runs']} runs, {reused} of them reused from the store"
    out.print(f"{counted}, {duration(data['run_time_s'])} with the report", soft_wrap=True)
    out.print(f"report: {done.report.resolve()}", soft_wrap=True)
