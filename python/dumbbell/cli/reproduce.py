"""``dumbbell reproduce``: one paper, a further experiment of it, or all papers."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dumbbell import papers
from dumbbell.caller import become_caller
from dumbbell.cli.options import Fresh, Json, Output, Papers, Scheduler, Seed, Threads
from dumbbell.cli.refusals import UNFINISHED, note
from dumbbell.errors import MachineError, RealTimeError, refusal

ALL = "all"


PaperArgument = Annotated[
    str, typer.Argument(metavar="PAPER", help="Name of the paper, such as vegas-revisited, or all.")
]
ExperimentOption = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        metavar="NAME",
        help="Run this additional experiment of the paper, such as full-factorial, with its own report.",
    ),
]
TestbedOption = Annotated[
    bool,
    typer.Option(
        "--testbed",
        help="Run the paper's real-time plan with the TCP of the Linux kernel; needs root. Completed runs are kept.",
    ),
]
RecordOption = Annotated[
    bool,
    typer.Option("--record", help="With --testbed: write the runs to the record of the paper's folder."),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Use fewer replications; the report says so.")]
RunsOption = Annotated[int | None, typer.Option("--runs", help="Number of replications per configuration.")]
SeedsOption = Annotated[
    int | None,
    typer.Option("--seeds", metavar="N", help="Number of seeds, from --seed on; default: 5, with --quick 1."),
]


def reproduce(
    paper: PaperArgument,
    experiment: ExperimentOption = None,
    testbed: TestbedOption = False,
    record: RecordOption = False,
    quick: QuickOption = False,
    json_output: Json = False,
    output: Output = None,
    runs: RunsOption = None,
    seed: Seed = 1,
    seeds: SeedsOption = None,
    threads: Threads = None,
    scheduler: Scheduler = None,
    fresh: Fresh = False,
    folder: Papers = None,
) -> None:
    """Reproduce a paper, or all papers, and write reports."""
    if record and not testbed:
        raise refusal("--record", "alone", "--testbed --record", problem="has no effect", quoted=False)
    settings: dict[str, Any] = {
        "quick": quick,
        "json_output": json_output,
        "output": output,
        "runs": runs,
        "seed": seed,
        "threads": threads,
        "fresh": fresh,
        "papers": folder,
    }
    if testbed:
        without_effect = {"--experiment": experiment, "--seeds": seeds, "--scheduler": scheduler}
        for option, value in without_effect.items():
            if value is not None:
                raise refusal(option, value, "no such option with --testbed", problem="has no effect")
        _on_testbed(paper, record=record, **settings)
    elif paper != ALL:
        papers.reproduce(paper, experiment=experiment, seeds=seeds, on=scheduler, **settings)
    elif experiment is not None:
        accepted = f"the paper with the experiment {experiment}"
        raise refusal("paper", paper, accepted, problem="is not one paper")
    else:
        overview = papers.reproduce_all(seeds=seeds, on=scheduler, **settings)
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
