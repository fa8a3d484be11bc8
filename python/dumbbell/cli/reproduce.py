"""``dumbbell reproduce``: one paper, a further experiment of it, or all papers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from dumbbell import papers
from dumbbell.caller import become_caller
from dumbbell.cli.refusals import UNFINISHED, note
from dumbbell.errors import MachineError, RealTimeError, refusal

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
    testbed: bool,
    record: bool,
) -> None:
    """Reproduce a paper by its name, or all of them; a paper that fails is named when the others are done."""
    if record and not testbed:
        raise refusal("--record", "alone", "--testbed --record", problem="has no effect", quoted=False)
    if testbed:
        without_effect = {"--experiment": experiment, "--seeds": seeds, "--scheduler": scheduler}
        for option, value in without_effect.items():
            if value is not None:
                raise refusal(option, value, "no such option with --testbed", problem="has no effect")
        _on_testbed(
            paper,
            quick=quick,
            record=record,
            json_output=json_output,
            output=output,
            runs=runs,
            seed=seed,
            threads=threads,
            fresh=fresh,
            papers=folder,
        )
        return
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


def _on_testbed(paper: str, **settings: Any) -> None:
    """Run what a paper has for the testbed; see `dumbbell.papers.reproduce_on_testbed`."""
    from dumbbell.cli.testbed import FAILED, UNAVAILABLE, fail

    if paper == ALL:
        raise refusal("paper", paper, "one paper with --testbed", problem="is not one paper")
    become_caller(draws=True)
    try:
        papers.reproduce_on_testbed(paper, told=note, **settings)
    except MachineError as error:
        fail(error, UNAVAILABLE)
    except RealTimeError as error:
        fail(error, FAILED)
