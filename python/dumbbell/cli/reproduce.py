"""``dumbbell reproduce``: one paper, a further experiment of it, or all papers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import papers
from dumbbell.caller import become_caller
from dumbbell.cli.options import Fresh, Json, Output, Papers, Scheduler, Seed, Threads
from dumbbell.cli.refusals import UNFINISHED, note, say_json
from dumbbell.cli.tables import Column, print_table
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


ClaimOption = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="ID",
        help="Judge this claim alone, on the runs it rests on; may be repeated.",
    ),
]
ClaimsOption = Annotated[
    bool,
    typer.Option("--claims", help="List the claims of the paper with their classes and rules; run nothing."),
]
ExportOption = Annotated[
    Path | None,
    typer.Option("--export", metavar="FILE", help="With --claim: write the scenario of one of its runs."),
]
KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key", metavar="KEY", help="With --export: key of the run; default: the claim's first one."
    ),
]
PlaceOption = Annotated[
    int | None,
    typer.Option(
        "--run",
        metavar="N",
        min=0,
        help="With --export: number of the run among those of its key; default: 0.",
    ),
]
FurtherOption = Annotated[
    list[str] | None,
    typer.Option(
        "--further",
        metavar="SEED:STAGE",
        help="With --claim: runs that a report added for undecided claims, as it states them; may be repeated.",
    ),
]


def reproduce(
    paper: PaperArgument,
    experiment: ExperimentOption = None,
    claim: ClaimOption = None,
    claims: ClaimsOption = False,
    export: ExportOption = None,
    key: KeyOption = None,
    run: PlaceOption = None,
    further: FurtherOption = None,
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
    """Reproduce a paper, or all papers, and write reports; or judge single claims of a paper."""
    if export is None:
        _refuse("--export FILE", {"--key": key, "--run": run})
    if not claim:
        _refuse("--claim ID", {"--export": export, "--further": further})
    if claims:
        without_effect = {
            "--experiment": experiment, "--claim": claim, "--testbed": testbed or None, "--quick": quick or None,
            "--output": output, "--runs": runs, "--seed": seed if seed != 1 else None, "--seeds": seeds,
            "--threads": threads, "--scheduler": scheduler, "--fresh": fresh or None,
        }  # fmt: skip
        _refuse_beside("--claims", without_effect)
        _list(paper, folder, json_output=json_output)
        return
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
    if claim:
        _claims(
            paper,
            claim,
            refused={"--experiment": experiment, "--testbed": testbed or None, "--fresh": fresh or None},
            further=further or (),
            export=None if export is None else papers.Export(file=export, key=key, run=run or 0),
            seeds=seeds,
            on=scheduler,
            **{name: value for name, value in settings.items() if name != "fresh"},
        )
    elif testbed:
        _refuse_beside("--testbed", {"--experiment": experiment, "--seeds": seeds, "--scheduler": scheduler})
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


def _refuse(needed: str, options: Mapping[str, Any]) -> None:
    """Refuse options that have no effect without another one."""
    for option, value in options.items():
        if value is not None and value != []:
            raise refusal(option, "alone", f"{needed} {option}", problem="has no effect", quoted=False)


def _refuse_beside(chosen: str, options: Mapping[str, Any]) -> None:
    """Refuse options that have no effect beside another one."""
    for option, value in options.items():
        if value is not None:
            raise refusal(option, value, f"no such option with {chosen}", problem="has no effect")


def _list(paper: str, folder: Path | None, *, json_output: bool) -> None:
    """Print the claims of a paper."""
    if paper == ALL:
        raise refusal("paper", paper, "one paper with --claims", problem="is not one paper")
    found = papers.claims_of(paper, folder)
    if json_output:
        say_json(found, indent=2)
    else:
        print_table([Column(key, key) for key in ("id", "class", "source", "rule", "statement")], found)


def _claims(paper: str, claims: Sequence[str], *, refused: Mapping[str, Any], **settings: Any) -> None:
    """Judge single claims; see `dumbbell.papers.reproduce_claims`."""
    if paper == ALL:
        raise refusal("paper", paper, "one paper with --claim", problem="is not one paper")
    _refuse_beside("--claim", refused)
    papers.reproduce_claims(paper, claims, **settings)


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
