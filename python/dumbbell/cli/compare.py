"""``dumbbell compare``: two scenarios, runs or campaigns, what changed and how their results differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell import permission
from dumbbell.arguments import LARGEST_SEED
from dumbbell.cli.inspect import connection_number, read_capture
from dumbbell.cli.options import Allow, Json, Threads, folder
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.settings import changes
from dumbbell.cli.tables import Column, print_table
from dumbbell.comparison import Comparison, compare
from dumbbell.comparison.sides import given
from dumbbell.comparison.text import at, counted, interval, methods, title, value
from dumbbell.errors import refusal
from dumbbell.files import make_folder
from dumbbell.inspection.compared import ONE_EACH
from dumbbell.inspection.recognized import is_capture
from dumbbell.scenario import Scenario

CHANGES = (Column("field", "field"), Column("A", "a"), Column("B", "b"))

RESULTS = (
    Column("of", "of"), Column("quantity", "quantity"), Column("A", "a"), Column("B", "b"),
    Column("B − A", "difference"), Column("90 % interval", "interval"), Column("runs", "runs"), Column("finding", "finding"),
)  # fmt: skip

CAPTURED = (Column("quantity", "quantity"), Column("A", "a"), Column("B", "b"), Column("B − A", "difference"))


def compare_sides(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="Scenario or campaign file, a folder of saved runs, or a capture.",
            show_default=False,
        ),
    ],
    b: Annotated[
        Path | None,
        typer.Argument(
            metavar="[B]", help="The other side; default: A, changed by --with.", show_default=False
        ),
    ] = None,
    changed: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="ADDRESS=VALUE",
            help="Change the scenario of B, such as flows.fg.tcp=vegas or 'links.r1-r2.delay=50 ms'; may be repeated.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs", metavar="N", help="Replications of a scenario; default: those of the other side, or 20."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed; default: that of the other side, or 1."),
    ] = None,
    percentiles: Annotated[
        bool, typer.Option("--percentiles", help="Record every delay, for percentiles over all runs.")
    ] = False,
    flow: Annotated[
        str | None,
        typer.Option(
            "--flow",
            metavar="N[,N]",
            help="Numbers of the connections of A and B in captures; default: the largest ones.",
        ),
    ] = None,
    threads: Threads = None,
    output: Annotated[
        Path | None, folder("--output", "Write a page with curves and tables to this folder.")
    ] = None,
    allow: Allow = None,
    json_output: Json = False,
) -> None:
    """Compare two sides: what changed in their scenarios, and how their results differ, with intervals.

    A scenario is run. A campaign file stands for its completed runs, and a folder for the runs that were saved there. Runs
    with the same seed and number are pairs where both sides draw the same random numbers. docs/compare.md says how.

    Two captures are compared connection by connection: what was measured, and curves over each other (docs/captures.md).
    """
    permission.allow(*allow or ())
    if is_capture(a) and b is not None and is_capture(b):
        stated = {"--with": changed, "--runs": runs, "--seed": seed, "--percentiles": percentiles or None,
                  "--threads": threads}  # fmt: skip
        for name, given_value in stated.items():
            if given_value is not None:
                raise refusal(name, str(given_value), "none with captures, which are no simulations")
        _compare_captures(a, b, flow, output, json_output)
        return
    if flow is not None:
        raise refusal("--flow", flow, "none: it chooses connections of two captures")
    first: Path | Scenario = a
    second: Path | Scenario
    names = [str(a), str(a if b is None else b)]
    if changed:
        base = _scenario(a if b is None else b)
        first = base if b is None else a
        second = base.with_values(changes(changed, "--with"))
        names[1] += f" with {', '.join(changed)}"
    elif b is None:
        raise refusal("B", "nothing", "another side, or --with ADDRESS=VALUE", quoted=False)
    else:
        second = b
    if output is not None:
        make_folder(output)
    found = compare(
        first,
        second,
        runs=runs,
        seed=seed,
        percentiles=percentiles,
        threads=threads,
        names=(names[0], names[1]),
    )
    if output is not None:
        note(f"wrote {found.save(output)}")
    if json_output:
        say_json(found.to_dict(), indent=2)
    else:
        _print(found)


def _compare_captures(a: Path, b: Path, flow: str | None, output: Path | None, json_output: bool) -> None:
    numbers: list[int | None] = [None, None]
    if flow is not None:
        listed = [connection_number(text.strip()) for text in flow.split(",")]
        if len(listed) > 2:
            raise refusal("--flow", flow, "one number, or that of A and that of B")
        numbers = [listed[0], listed[-1]]
    if output is not None:
        make_folder(output)
    first, second = (
        read_capture(place, number or _largest(place)) for place, number in zip((a, b), numbers, strict=True)
    )
    found = first.compare(second)
    if output is not None:
        note(f"wrote {found.save(output)}")
    if json_output:
        say_json(found.to_dict(), indent=2)
        return
    for side, name in zip("AB", found.names, strict=True):
        say(f"{side}: {name}")
    keys = [column.key for column in CAPTURED]
    print_table(CAPTURED, [dict(zip(keys, row.texts, strict=True)) for row in found.rows])
    say(ONE_EACH)


def _largest(capture: Path) -> int:
    """Return the number of the largest connection of a capture."""
    number: int | None = read_capture(capture, None).largest
    if number is None:
        raise refusal("capture", str(capture), "a capture with a TCP connection")
    return number


def _scenario(path: Path) -> Scenario:
    """Return the scenario in a file that is changed."""
    scenario = given(path, "--with").scenario
    if scenario is None:
        raise refusal("--with", str(path), "a scenario file, which it changes")
    return scenario


def _print(found: Comparison) -> None:
    """Print what changed, the differences, and how they are judged."""
    for side, name in zip("AB", found.names, strict=True):
        say(f"{side}: {name}")
    several = len(found.changed) > 1
    listed = [change._asdict() | {"point": point} for point, some in found.changed.items() for change in some]
    if listed:
        print_table([*([Column("point", "point")] if several else []), *CHANGES], listed)
    else:
        say("the scenarios are the same")
    print_table(
        [*([Column("point", "point")] if several else []), *RESULTS],
        [
            {
                "point": at(row), "of": row.of, "quantity": title(row), "a": value(row.a), "b": value(row.b),
                "difference": value(row.difference), "interval": interval(row), "runs": counted(row),
                "finding": row.finding,
            }
            for row in found.rows
        ],
    )  # fmt: skip
    for text in methods(found):
        say(text)
