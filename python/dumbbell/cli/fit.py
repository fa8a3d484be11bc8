"""``dumbbell fit``: the scenarios that explain a captured connection."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Self

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dumbbell.cli.options import Json, Seed, Threads, folder
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.tables import Column, print_table
from dumbbell.durations import LINE_S
from dumbbell.errors import refusal
from dumbbell.files import make_folder, write_json, write_text
from dumbbell.inference.fitted import Fit, fit
from dumbbell.inference.whatif import ACCEPTED, WhatIf, checked
from dumbbell.inference.written import NAMES, shown

SCENARIO, RECORD = "fitted.toml", "fit.json"

PARAMETERS = (Column("parameter", "name"), Column("value (90 % interval)", "text"))
CONTROLS = (Column("algorithm", "control"), Column("distance", "distance", digits=3),
            Column("relative\nlikelihood", "likelihood", digits=2))  # fmt: skip
PREDICTIONS = (Column("quantity", "name"), Column("as it was", "was"), Column("with the change", "value"),
               Column("90 % interval", "interval"))  # fmt: skip

CaptureArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CAPTURE", help="pcap or pcapng file, captured at the sender.", show_default=False
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
    folder("--output", f"Write the scenario ({SCENARIO}) and all numbers ({RECORD}) to this folder."),
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

    The capture is one of the sender. Candidates are simulated and compared with it; those that explain it equally well give
    intervals of 90 %, and predict what another algorithm, buffer, queue or rate would have done. docs/fit.md says how, and
    what a capture cannot tell.
    """
    changes = [_change(text) for text in what_if or ()]
    if output is not None:
        make_folder(output)
    with _Progress(is_quiet=json_output) as told:
        names = None if controls is None else [name.strip() for name in controls.split(",")]
        found = fit(capture, flow=flow, controls=names, seed=seed, threads=threads, progress=told)
    predicted = [found.what_if(change) for change in changes]
    record = found.to_dict() | {"what_if": [one.to_dict() for one in predicted]}
    if output is not None:
        write_text(output / SCENARIO, found.to_toml())
        write_json(output / RECORD, record)
        note(f"wrote {output / SCENARIO} and {RECORD}")
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
    if found.is_of_none:
        say("algorithm: none of those tried")
    else:
        print_table(CONTROLS, [vars(one) for one in found.controls])
    for text in found.flags:
        say(f"- {text}")
    for one in predicted:
        say("what if " + ", ".join(f"{key}={value}" for key, value in one.changes.items()))
        print_table(PREDICTIONS, [_line(vars(each)) for each in one.predictions])


_UNITS = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms"), "fraction": (100.0, "%")}
_QUANTITIES = {"goodput_bps": "goodput", "queueing_s": "queueing time, mean", "retransmitted": "segments retransmitted",
               "completion_s": "completion time"}  # fmt: skip


def _line(prediction: dict[str, Any]) -> dict[str, str]:
    factor, unit = _UNITS[prediction["unit"]]
    was, value, low, high = (
        f"{prediction[name] * factor:.4g}" for name in ("as_it_was", "value", "low", "high")
    )
    name = f"{_QUANTITIES[prediction['name']]} [{unit}]"
    return {"name": name, "was": was, "value": value, "interval": f"{low} to {high}"}


class _Progress:
    """Shows simulations as a bar on a terminal, and as occasional lines in a log."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._console = Console(file=sys.stderr, highlight=False, soft_wrap=True)
        self._has_lines = not is_quiet and not self._console.is_terminal
        columns = (TextColumn("simulations"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
                   TimeRemainingColumn())  # fmt: skip
        disabled = is_quiet or self._has_lines
        self._bar = Progress(*columns, console=self._console, disable=disabled, transient=True)
        self._task = self._bar.add_task("simulations", total=None)
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)
        now = time.monotonic()
        if self._has_lines and now - self._last > LINE_S:
            self._last = now
            self._console.print(f"simulations: {done} of {total}")
