"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.comparison.rows import Finding, Row
from dumbbell.comparison.text import NONE, Compared, at, counted, interval, methods, relative, title, value
from dumbbell.environment import environment_fact
from dumbbell.errors import ScenarioError
from dumbbell.plots import to_svg
from dumbbell.report import Block, Cell, Column, Details, Figure, Section, Table, Text, Tone, render_page

TONES: dict[Finding, Tone] = {
    "differs": "strong", "no difference seen": "muted", "equal": "muted", "undecided": "", "not measured": "muted",
}  # fmt: skip

SHOWN_CHANGES = 20
"""A longer list of changes is folded."""


def page(found: Compared) -> str:
    """Return a comparison as the text of one self-contained HTML file."""
    differ = sum(row.finding == "differs" for row in found.rows)
    facts = [
        *((f"engine of {side}", made_by) for side, made_by in zip("AB", found.engines, strict=True)),
        ("runs", ", ".join(f"{side}: {runs.completed}" for side, runs in zip("AB", found.runs, strict=True))),
        environment_fact(),
    ]
    return render_page(
        title=f"{found.names[0]} and {found.names[1]}",
        subtitle=f"A comparison: {differ} of {len(found.rows)} quantities differ",
        facts=facts,
        sections=[
            Section(anchor="changes", title="What changed", blocks=_changes(found)),
            Section(anchor="results", title="Results", blocks=_results(found)),
            Section(anchor="curves", title="Curves", blocks=_curves(found)),
            Section(
                anchor="method", title="How differences are judged", blocks=[Text(paragraphs=methods(found))]
            ),
        ],
    )


def _changes(found: Compared) -> list[Block]:
    sides = Text(paragraphs=[f"A: `{found.names[0]}`", f"B: `{found.names[1]}`"])
    listed = [(point, change) for point, some in found.changed.items() for change in some]
    if not listed:
        return [sides, Text(paragraphs=["The scenarios are the same."])]
    several = len(found.changed) > 1
    table = Table(
        caption=f"{len(listed)} fields of the canonical form",
        columns=Column.words(*(["point"] if several else []), "field", "A", "B"),
        rows=[([point] if several else []) + [*change] for point, change in listed],
    )
    folded = len(listed) > SHOWN_CHANGES
    return [sides, Details(title=table.caption, blocks=[table]) if folded else table]


def _results(found: Compared) -> list[Block]:
    if not found.rows:
        return [Text(paragraphs=["Both sides have no flow or link in common."])]
    parts = dict.fromkeys((at(row), row.of) for row in found.rows)
    return [
        _table(", ".join(filter(None, part)), [row for row in found.rows if (at(row), row.of) == part])
        for part in parts
    ]


def _table(caption: str, rows: Sequence[Row]) -> Table:
    columns = [
        *Column.words("quantity"),
        *Column.numbers("A", "B", "B − A"),
        *Column.words("90 % interval", "finding"),
    ]
    return Table(
        caption=caption,
        columns=columns,
        rows=[
            [
                Cell(text=title(row), detail=row.label),
                value(row.a),
                value(row.b),
                Cell(text=value(row.difference), detail="" if relative(row) == NONE else relative(row)),
                Cell(text=interval(row), detail=f"{counted(row)} runs: {row.method}"),
                Cell(text=row.finding, tone=TONES[row.finding]),
            ]
            for row in rows
        ],
    )


def _curves(found: Compared) -> list[Block]:
    try:
        picture = found.picture
    except ScenarioError as error:
        return [Text(paragraphs=[f"There are no curves: {error}"])]
    job = found.runs[0].jobs[0]
    caption = f"Seed {job.seed}, run {job.run} of A, and the first run of B. One run shows an example, not a difference."
    return [Figure(svg=to_svg(picture.figure), caption=caption)]
