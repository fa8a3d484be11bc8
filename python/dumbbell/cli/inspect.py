"""``dumbbell inspect``: the TCP connections of a capture, and what limited them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.options import Json, folder
from dumbbell.cli.progress import READ, running
from dumbbell.cli.refusals import note, say, say_json
from dumbbell.cli.tables import Column, print_table
from dumbbell.errors import refusal
from dumbbell.exports import write_tables
from dumbbell.files import output_folder, prepare
from dumbbell.inspection import Captured, Inspection, inspect
from dumbbell.inspection.page import PAGE, page_of, save
from dumbbell.inspection.told import advice, counted, facts, limits

if TYPE_CHECKING:
    import pyarrow as pa

# In place of the file of a picture: it is drawn with characters.
TERMINAL = "-"

SHOWN = 30
"""Connections that are listed, the largest."""

COLUMNS: Sequence[Column] = (
    Column("no.\n", "connection"),
    Column("sender > receiver\n", "name"),
    Column("time\ns", "duration_s", digits=2),
    Column("data\nMB", "bytes_delivered", scale=1e-6, digits=2),
    Column("goodput\nMbit/s", "goodput_bps", scale=1e-6, digits=2),
    Column("RTT\nms", "rtt_min_s", scale=1e3, digits=1),
    Column("sent\nagain", "segments_retransmitted"),
    Column("limited by\n", "limited_by"),
)

FACTS = (Column("connection", "head"), Column("", "text"))
LIMITS = (Column("limited by", "limit"), Column("% of time", "share"), Column("meaning", "meaning"))


def inspect_capture(
    capture: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTURE", help="File of pcap or pcapng, also compressed with gzip.", show_default=False
        ),
    ],
    flow: Annotated[
        int | None,
        typer.Option(
            "--flow",
            metavar="N",
            help="Number of the connection to show; default: a table of all, and files of the largest.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="DIR|FILE.html",
            help="Write a page with curves, phases and a table of the connections.",
        ),
    ] = None,
    parquet: Annotated[
        Path | None,
        folder("--parquet", "Write connections, or with --flow all segments and curves, as Parquet."),
    ] = None,
    csv: Annotated[Path | None, folder("--csv", "The same as CSV.")] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="PICTURE",
            help="Draw data in flight, round-trip times, goodput and retransmissions: a name that ends in .png, .svg, "
            ".pdf, .pgf or .html (with zoom), or - for the terminal.",
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Tell what limited the TCP connections of a capture: sender, receiver, path, losses.

    docs/captures.md says how to make a capture, what the columns are, and how a limit is recognized.
    """
    with ExitStack() as made:
        _prepare(made, output, parquet, csv, plot)
        everything = read_capture(capture, None) if flow is None or output is not None else None
        shown = None
        if flow is not None or plot is not None or output is not None:
            number = flow if flow is not None or everything is None else everything.largest
            shown = None if number is None else read_capture(capture, number)
    result: Inspection | Captured | None = shown if flow is not None else everything
    if result is None:
        raise AssertionError("one of both was read")
    if json_output:
        say_json(result.to_dict(), indent=2)
    elif isinstance(result, Captured):
        _print_connection(result)
    else:
        _print_connections(result)
    _write(result.tables(), parquet, "parquet")
    _write(result.tables(), csv, "csv")
    if output is not None and everything is not None:
        save(output, result.to_dict(), shown, everything.rows)
        note(f"wrote {page_of(output)}")
    if plot is not None:
        _draw(shown, plot)


def _prepare(
    made: ExitStack, output: Path | None, parquet: Path | None, csv: Path | None, plot: str | None
) -> None:
    """Refuse now what cannot be written after a long file was read. Folders go again if that fails."""
    if plot not in (None, TERMINAL):
        from dumbbell.plots.picture import picture_format

        picture_format(plot)
        prepare(Path(plot))
    for place in (parquet, csv):
        if place is not None:
            made.enter_context(output_folder(place))
    if output is not None:
        page = page_of(output)
        if page.name == PAGE and page != output:
            made.enter_context(output_folder(output))
        prepare(page)


def connection_number(text: str) -> int:
    """Return the number of a connection that an option states."""
    if not text.isdecimal():
        raise refusal("--flow", text, "the number of a connection, from 1, as dumbbell inspect lists them")
    return int(text)


def read_capture(capture: Path, flow: int | None) -> Any:
    """Read a capture, with its progress in MB."""
    with running(sys.stderr, words=READ) as reached:
        return inspect(capture, flow, lambda read, size: reached(read / 1e6, (size or 0) / 1e6))


def _print_connections(found: Inspection) -> None:
    counts = found.counts
    say(f"{found.path}: {counts['packets']} packets, {counts['tcp']} of TCP in {counted(len(found))}")
    rows = found.rows
    largest = sorted(rows, key=lambda row: -row["bytes_delivered"])[:SHOWN]
    if rows:
        print_table(COLUMNS, sorted(largest, key=lambda row: row["connection"]))
    if len(rows) > SHOWN:
        say(f"{len(rows) - SHOWN} smaller connections are not listed; --json and --csv have all")
    say(found.sentence)
    number = found.largest
    if number is not None:
        text = advice(rows[number - 1])
        if text:
            say(text)
        say(f"More about it: --flow {number}")
    _warn(found.warnings)


def _print_connection(found: Captured) -> None:
    say(found.sentence)
    text = advice(found.row)
    if text:
        say(text)
    print_table(FACTS, [{"head": head, "text": told} for head, told in facts(found.row)])
    listed = [
        {"limit": limit, "share": share, "meaning": meaning} for limit, share, meaning in limits(found.row)
    ]
    if listed:
        print_table(LIMITS, listed)
    _warn(found.warnings)


def _warn(texts: Sequence[str]) -> None:
    for text in texts:
        say(f"note: {text}")


def _write(tables: Mapping[str, pa.Table], place: Path | None, ending: str) -> None:
    if place is not None:
        written = write_tables(tables, place, ending, [])
        note(f"wrote {len(written)} files to {place}: {', '.join(path.name for path in written)}")


def _draw(shown: Captured | None, plot: str) -> None:
    if shown is None:
        note("there is no TCP connection to draw")
        return
    picture = shown.plot()
    if plot == TERMINAL:
        say(str(picture), controls=sys.stdout.isatty())
    else:
        picture.save(plot)
        note(f"wrote {plot}")
