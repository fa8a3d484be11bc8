"""The page of a capture."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.arguments import file_path
from dumbbell.files import make_folder, write_json, write_text
from dumbbell.inspection.shown import Shown
from dumbbell.inspection.told import advice, counted, facts, limits, rate, sentence, size, time
from dumbbell.plots import to_svg
from dumbbell.printable import printable
from dumbbell.report import Block, Cell, Column, Details, Figure, Section, Table, Text, render_page

PAGE, DATA = "index.html", "inspection.json"

SHOWN = 50
"""Connections that are listed on a page, the largest."""

SHOWN_PHASES = 200
"""Phases that are listed on a page, the first."""


def page_of(path: str | os.PathLike[str]) -> Path:
    """Return the file of a page: the name itself if it ends in ``.html``, or a file in the folder of this name."""
    place = file_path("page", path, "the name of a folder, or of a file that ends in .html")
    return place if place.suffix.lower() in (".html", ".htm") else place / PAGE


def save(
    path: str | os.PathLike[str],
    data: Mapping[str, Any],
    shown: Shown | None,
    connections: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write a page, and beside it the data if a folder is named; return the page.

    Parameters
    ----------
    path
        A file whose name ends in ``.html``, or a folder.
    data
        What is written as JSON.
    shown
        The connection to show; none if the capture has none.
    connections
        Rows of all connections, to be listed.

    Raises
    ------
    ResultsError
        A file could not be written.
    """
    place = page_of(path)
    text = page(Path(data["capture"]).name, data, shown, connections)
    if place != Path(path):
        make_folder(place.parent)
        write_json(place.parent / DATA, data)
    write_text(place, text)
    return place


def page(
    name: str, data: Mapping[str, Any], shown: Shown | None, connections: Sequence[Mapping[str, Any]]
) -> str:
    """Return the text of one self-contained HTML file."""
    counts = data["counts"]
    sections = []
    if shown is not None:
        sections += _of_connection(shown)
    if connections:
        blocks: list[Block] = [_listed(connections)]
        if len(connections) > SHOWN:
            blocks.append(Text(paragraphs=[f"{len(connections) - SHOWN} smaller ones are not listed."]))
        sections.append(Section(anchor="connections", title="Connections", blocks=blocks))
    if not sections:
        sections.append(
            Section(
                anchor="nothing",
                title="Connections",
                blocks=[Text(paragraphs=["There is no TCP connection."])],
            )
        )
    return render_page(
        title=printable(name),
        subtitle=f"Connection {shown.number}: {shown.name}" if shown is not None else "A capture",
        facts=[("packets", f"{counts['packets']}, of which {counts['tcp']} of TCP")],
        sections=sections,
    )


def _of_connection(shown: Shown) -> list[Section]:
    row = shown.row
    warnings = shown.warnings
    found = [
        Section(
            anchor="limits",
            title="What limited it",
            blocks=[
                Text(paragraphs=[shown.sentence, advice(row)]),
                Table(
                    caption="Shares of its time",
                    columns=[*Column.words("limit"), *Column.numbers("%"), *Column.words("meaning")],
                    rows=[list(one) for one in limits(row)],
                ),
            ],
        ),
        Section(anchor="curves", title="Over time", blocks=_curves(shown)),
        Section(
            anchor="facts",
            title="The connection",
            blocks=[
                Table(caption="", columns=Column.words("", ""), rows=[list(one) for one in facts(row)]),
                *([Text(paragraphs=warnings)] if warnings else []),
            ],
        ),
    ]
    phases = shown.arrow_phases.to_pylist()
    table = Table(
        caption=f"The first {SHOWN_PHASES} phases" if len(phases) > SHOWN_PHASES else "",
        columns=[*Column.numbers("from [s]", "to [s]"), *Column.words("limit")],
        rows=[
            [f"{one['start_s']:.3f}", f"{one['end_s']:.3f}", str(one["limit"])]
            for one in phases[:SHOWN_PHASES]
        ],
    )
    found.append(
        Section(
            anchor="phases", title="Phases", blocks=[Details(title=f"{len(phases)} phases", blocks=[table])]
        )
    )
    return found


def _curves(shown: Shown) -> list[Block]:
    picture = shown.plot()
    if not picture.panels:
        return [Text(paragraphs=["There is nothing to draw."])]
    return [
        Figure(svg=to_svg(picture.figure), caption="Times are those since the first packet of the capture.")
    ]


def _listed(connections: Sequence[Mapping[str, Any]]) -> Table:
    largest = sorted(connections, key=lambda row: -row["bytes_delivered"])[:SHOWN]
    return Table(
        caption=f"{counted(len(connections))}, the largest first",
        columns=[
            *Column.numbers("number"),
            *Column.words("data"),
            *Column.numbers("start", "duration", "delivered", "goodput", "min. RTT", "retransmitted"),
            *Column.words("limited by"),
        ],
        rows=[
            [
                str(row["connection"]),
                Cell(text=row["name"], hint=sentence(row)),
                time(row["start_s"]),
                time(row["duration_s"]),
                size(row["bytes_delivered"]),
                "–" if row["goodput_bps"] is None else rate(row["goodput_bps"]),
                time(row["rtt_min_s"]),
                str(row["segments_retransmitted"]),
                row["limited_by"],
            ]
            for row in largest
        ],
    )


def notebook(shown: Shown) -> str:
    """Return a connection as HTML for a notebook."""
    listed = "".join(
        f"<tr><td>{html.escape(head)}</td><td style='text-align:left'>{html.escape(text)}</td></tr>"
        for head, text in facts(shown.row)
    )
    picture = shown.plot()
    drawn = to_svg(picture.figure) if picture.panels else ""
    return f"<p>{html.escape(shown.sentence)}</p>{drawn}<table>{listed}</table>"
