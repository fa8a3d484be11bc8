"""``dumbbell fit``: the scenarios that explain a captured connection."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.options import Json, Seed, Threads, folder
from dumbbell.cli.progress import Words, running
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.tables import Column, print_table
from dumbbell.errors import refusal
from dumbbell.files import output_folder, write_json, write_text
from dumbbell.inference.fitted import Fit, fit
from dumbbell.inference.page import page
from dumbbell.inference.told import changed, known_as_far, lines
from dumbbell.inference.whatif import ACCEPTED, WhatIf, checked
from dumbbell.inference.written import NAMES, shown

SIMULATIONS = Words("fitting", "simulations")

SCENARIO, RECORD, PAGE = "fitted.toml", "fit.json", "index.html"

PARAMETERS = (Column("parameter", "name"), Column("value (90 % interval)", "text"))
CONTROLS = (Column("algorithm", "control"), Column("distance", "distance", digits=3),
            Column("relative\nlikelihood", "likelihood", digits=2))  # fmt: skip
PREDICTIONS = (Column("quantity", "name"), Column("as it was", "was"), Column("with the change", "value"),
               Column("90 % interval", "interval"))  # fmt: skip

CaptureArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CAPTURE",
        help="pcap or pcapng file, captured at the sender or the receiver.",
        show_default=False,
    ),
]
FlowOption = Annotated[int, typer.Option("--flow", metavar="N", help="Number of the connection, from 1.")]
WhatIfOption = Annotated[
    list[str] | None,
    typer.Option("--what-if", metavar="KEY=VALUE", help=f"Predict a change: {ACCEPTED}; may be repeated."),
]
ControlsOption = Annotated[
    str | None,
    typer.Option(
        "--controls",
        metavar="NAMES",
        help="Congestion controls that are tried, such as cubic,bbr; default: all.",
    ),
]
OutputOption = Annotated[
    Path | None,
    folder(
        "--output",
        f"Write a page ({PAGE}), the scenario ({SCENARIO}) and all numbers ({RECORD}) to this folder.",
    ),
]


def explain_capture(
    capture: CaptureArgument,
    flow: FlowOption = 1,
    what_if: WhatIfOption = None,
    controls: ControlsOption = None,
    seed: Seed = 1,
    threads: Threads = None,
    output: OutputOption = None,
    json_output: Json = False,
) -> None:
    """Find the scenarios that explain a captured connection: path, losses, algorithm, each with its uncertainty.

    The capture is one of the sender or the receiver. Candidates are simulated and compared with it; those that explain it
    equally well give intervals of 90 %, and predict what another algorithm, buffer, queue or rate would have done.
    docs/fit.md says how, and what a capture cannot tell.
    """
    changes = [_change(text) for text in what_if or ()]
    names = None if controls is None else [name.strip() for name in controls.split(",")]
    with nullcontext() if output is None else output_folder(output):
        with nullcontext() if json_output else running(sys.stderr, words=SIMULATIONS) as told:
            found = fit(
                capture, flow=flow, controls=names, seed=seed, threads=threads, progress=told or False
            )
        predicted = [found.what_if(change) for change in changes]
    record = found.to_dict() | {"what_if": [one.to_dict() for one in predicted]}
    if output is not None:
        write_text(output / SCENARIO, found.to_toml())
        write_json(output / RECORD, record)
        write_text(output / PAGE, page(found, predicted))
        note(f"wrote {output / PAGE}, {SCENARIO} and {RECORD}")
    if json_output:
        say_json(record, indent=2)
    else:
        _print(found, predicted)


def _change(text: str) -> dict[str, str]:
    key, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise refusal("--what-if", text, ACCEPTED)
    return checked({key: value})


def _print(found: Fit, predicted: list[WhatIf]) -> None:
    path = found.accepted[0].path
    say(f"bottleneck: {path.discipline}, distance {found.distance:.3f}, {found.simulations} simulations")
    print_table(
        PARAMETERS, [{"name": NAMES[name], "text": shown(name, one)} for name, one in found.intervals.items()]
    )
    if path.competitors:
        say(f"other flows: about {path.competitors}")
    print_table(CONTROLS, [vars(one) for one in found.controls])
    perhaps = "perhaps it is none of those tried: " if found.is_of_none else ""
    say(f"{perhaps}{known_as_far(found)}")
    for text in found.flags:
        say(f"- {text}")
    for one in predicted:
        say(changed(one))
        keys = [column.key for column in PREDICTIONS]
        print_table(PREDICTIONS, [dict(zip(keys, line, strict=True)) for line in lines(one)])
