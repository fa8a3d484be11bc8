"""``dumbbell reproduce``: one paper, a further experiment of it, or all papers."""

from __future__ import annotations

from pathlib import Path

import typer

from dumbbell import papers
from dumbbell.cli.refusals import UNFINISHED, note
from dumbbell.errors import refusal

__all__ = ["ALL", "reproduce"]

ALL = "all"


def reproduce(
    paper: str,
    *,
    experiment: str | None,
    quick: bool,
    json_output: bool,
    output: Path | None,
    runs: int | None,
    seed: int,
    seeds: int | None,
    threads: int | None,
    scheduler: str | None,
    fresh: bool,
    folder: Path | None,
) -> None:
    """Reproduce a paper by its name, or all of them; a paper that fails is named when the others are done."""
    if paper == ALL and experiment is not None:
        raise refusal(
            "paper", paper, f"the paper with the experiment {experiment}", problem="is not one paper"
        )
    if paper != ALL:
        papers.reproduce(
            paper,
            experiment=experiment,
            quick=quick,
            json_output=json_output,
            output=output,
            runs=runs,
            seed=seed,
            seeds=seeds,
            threads=threads,
            fresh=fresh,
            papers=folder,
            on=scheduler,
        )
        return
    overview = papers.reproduce_all(
        quick=quick,
        json_output=json_output,
        output=output,
        runs=runs,
        seed=seed,
        seeds=seeds,
        threads=threads,
        fresh=fresh,
        papers=folder,
        on=scheduler,
    )
    for failure in overview.failures.values():
        note("error: " + " ".join(failure.split()))
    if overview.failures:
        raise typer.Exit(UNFINISHED)
