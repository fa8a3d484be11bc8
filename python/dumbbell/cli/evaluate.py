"""``dumbbell evaluate``: an algorithm by RFC 9743, against baselines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from dumbbell.arguments import MOST_REPLICATIONS, whole_number
from dumbbell.campaign import duration
from dumbbell.cli.refusals import note, say_json
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.evaluation import Evaluation
from dumbbell.evaluation import evaluate as evaluated
from dumbbell.evaluation.evaluating import LEAST_RUNS

BROKEN = 1
"""Exit code of ``--strict`` where an item fails or is worse than the baselines."""


def evaluate(
    algorithm: str,
    *,
    against: str | None,
    quick: bool,
    only: Sequence[str],
    json_output: bool,
    strict: bool,
    output: Path | None,
    seed: int,
    seeds: int | None,
    threads: int | None,
    fresh: bool,
) -> None:
    """Evaluate an algorithm, print the verdicts and exit with the code of the result."""
    done = evaluated(
        algorithm,
        against=None if against is None else [against],
        quick=quick,
        only=only,
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
