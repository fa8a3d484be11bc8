"""Reports: one self-contained HTML file of text, tables, figures and a scoreboard of claims.

A report is a tree of plain values (`Section` of `Text`, `Table`, `Figure`, `Details`) given to `render`. The
returned file is self-contained: styles, scripts and figures (SVG) are included. `render_index` renders the index
page of several papers, `render_page` a report without claims of a paper. All have one style sheet, whose colours the
site shares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import jinja2
from markupsafe import Markup, escape

from dumbbell.report.opening import Opening, Thumbnail, thumbnail

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Details",
    "Entry",
    "Figure",
    "Opening",
    "Section",
    "Table",
    "Text",
    "render",
    "render_index",
    "render_page",
]

Tone = Literal["", "good", "bad", "muted", "strong"]

VIEW_BOX = re.compile(r'viewBox="\S+ \S+ ([\d.]+) \S+"')

WIDE = 450
"""The largest width of a figure that is legible on a phone, in units of its own."""

EXTENTS = ((2, "few"), (6, "some"), (10, "many"), (16, "most"))
"""The largest number of columns of each extent of a table. The wider a table, the earlier its rows become cards; beyond the
last extent they always are."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """Paragraphs of running text. Words between back-quotes are set as code.

    Parameters
    ----------
    paragraphs
        The paragraphs, without markup other than back-quotes.
    """

    paragraphs: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    title
        The heading.
    align
        ``"left"`` for words, ``"right"`` for numbers.
    """

    title: str
    align: Literal["left", "right", "centre"] = "right"

    @classmethod
    def words(cls, *titles: str) -> list[Column]:
        """Return columns of words with these headings."""
        return [cls(title=title, align="left") for title in titles]

    @classmethod
    def numbers(cls, *titles: str) -> list[Column]:
        """Return columns of numbers with these headings."""
        return [cls(title=title) for title in titles]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a table.

    Parameters
    ----------
    text
        What is read first, for instance our number.
    detail
        A second, smaller line, for instance the paper's number.
    tone
        A meaning shown by colour: ``"good"``, ``"bad"``, ``"muted"``, ``"strong"`` or none.
    hint
        A text shown on hovering.
    link
        Where the text leads, such as ``"#anchor"`` of a section; nowhere if empty.
    """

    text: str
    detail: str = ""
    tone: Tone = ""
    hint: str = ""
    link: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table with aligned columns.

    Parameters
    ----------
    caption
        What the table shows.
    columns
        The columns, in order.
    rows
        The rows: each as many cells (or plain strings) as there are columns.
    groups
        Optional headings over several columns: (title, number of columns) from left to right.
    note
        A remark under the table.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell | str]]
    groups: Sequence[tuple[str, int]] = ()
    note: str = ""

    @property
    def extent(self) -> str:
        """How wide it is, by its number of columns; see `EXTENTS`."""
        return next((name for most, name in EXTENTS if len(self.columns) <= most), "all")

    @property
    def labels(self) -> list[str]:
        """What a cell of each column is called where the headings are not shown: group and heading."""
        groups = [title for title, count in self.groups for _ in range(count)]
        groups += [""] * (len(self.columns) - len(groups))
        titles = [column.title for column in self.columns]
        return [f"{group}, {title}".strip(", ") for group, title in zip(groups, titles, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure.

    Parameters
    ----------
    svg
        The picture as SVG text.
    caption
        What it shows.
    short
        A caption of a few words, with which the first screen shows it small; it is not shown there without one.
    anchor
        Its name in links; `render` gives it to figures with a short caption.
    """

    svg: str
    caption: str
    short: str = ""
    anchor: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether it is too wide for a phone, on which it then scrolls in its frame."""
        found = VIEW_BOX.search(self.svg)
        return found is not None and float(found[1]) > WIDE


@dataclass(frozen=True, kw_only=True)
class Details:
    """Blocks that are collapsed by default.

    Parameters
    ----------
    title
        The line that is always shown.
    blocks
        What opens under it.
    """

    title: str
    blocks: Sequence[Block]


Block = Text | Table | Figure | Details


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of a report.

    Parameters
    ----------
    anchor
        Its name in links, unique in the report.
    title
        Its heading.
    blocks
        Its blocks, in order.
    """

    anchor: str
    title: str
    blocks: Sequence[Block]


def _inline(text: str) -> Markup:
    """Return `text` escaped, with words between back-quotes set as code."""
    parts = re.split(r"`([^`]+)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )


def _embedded_svg(svg: str) -> Markup:
    """Return the ``<svg>`` element of an SVG file, without the XML prologue that HTML does not take."""
    start = svg.find("<svg")
    return Markup(svg[start:] if start >= 0 else svg)  # the project's own figures


def _drawn(figure: Figure) -> Markup:
    """Return the picture of a figure, with a name if it has an anchor."""
    svg = _embedded_svg(figure.svg)
    if not figure.anchor:
        return svg
    named = str(svg).replace("<svg", f'<svg id="{figure.anchor}-drawing"', 1)
    return Markup(named)  # the same element with a name


def _anchored(sections: Sequence[Section]) -> tuple[list[Section], list[Thumbnail]]:
    """Return sections whose figures with a short caption have anchors, and these figures as the first screen shows them."""
    shown: list[Thumbnail] = []

    def named(block: Block) -> Block:
        if not isinstance(block, Figure) or not block.short:
            return block
        anchor = f"shown-{len(shown) + 1}"
        shown.append(Thumbnail(anchor=anchor, caption=block.short, thumbnail=thumbnail(block.svg, anchor)))
        return replace(block, anchor=anchor)

    return [
        replace(section, blocks=[named(block) for block in section.blocks]) for section in sections
    ], shown


def render(
    *,
    title: str,
    subtitle: str,
    facts: Sequence[tuple[str, str]],
    scoreboard: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    sections: Sequence[Section],
    appendix: Sequence[Section] = (),
    opening: Opening | None = None,
    headline: Sequence[str] = (),
    details: Sequence[Mapping[str, Any]] = (),
    notice: str = "",
    home: str = "",
) -> str:
    """Return a report as the text of one self-contained HTML file.

    Parameters
    ----------
    title, subtitle
        The heading of the report.
    facts
        Pairs of name and value shown at the end, such as the engine's version.
    scoreboard
        The counts of verdicts: ``groups``, ``kinds`` and ``sources``, each a list of rows with ``name``, ``reproduced``,
        ``undecided``, ``missed``, ``percent``, optionally ``aim`` (percent), and the other counts of
        `dumbbell.claims.scoreboard`; and ``note``.
    claims
        One mapping for each claim: ``id``, ``source``, ``kind``, ``class`` with its ``reason``, ``of`` (the claims that a
        derived one follows from, in words), ``statement``, ``paper``, ``measured``, ``interval``,
        ``tolerance``, ``verdict``, ``why``.
    sections
        The results, in the paper's order.
    appendix
        What comes after the claims, such as the set-up.
    opening
        The first screen.
    headline
        The shares of printed claims that hold, a line for each group of claims.
    details
        One mapping for each claim, to which the claim opens under its anchor: ``anchor``, ``id``, ``verdict``,
        ``source``, ``statement``, ``paper``, ``estimate``, ``n``, ``rule``, ``class``, ``scenario``, ``runs`` (lines of text),
        ``origin``, ``commands`` (pairs of purpose and command).
    notice
        A remark shown above everything else, for instance that few replications were used.
    home
        Relative address of the page that leads to the reports of all papers, if there is one.
    """
    sections, shown = _anchored(sections)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            subtitle=subtitle,
            facts=facts,
            scoreboard=scoreboard,
            tallies={
                row["name"]: (row["reproduced"], row["undecided"], row["missed"])
                for row in scoreboard["sources"]
            },
            headline=headline,
            claims=claims,
            parts={row["id"]: row for row in details},
            sections=sections,
            appendix=appendix,
            opening=None if opening is None else replace(opening, figures=shown),
            notice=notice,
            home=home,
        )
    )


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A paper on the page that leads to all reports.

    Parameters
    ----------
    title, citation
        What the paper is.
    link
        Relative address of its report; empty if there is none.
    opening
        The first screen of its report, of which the question, the numbers and the bar are shown.
    runs
        A line under them, such as the number of runs.
    notice
        A remark on the paper.
    """

    title: str
    citation: str
    link: str = ""
    opening: Opening | None = None
    runs: str = ""
    notice: str = ""


def render_index(
    *,
    title: str,
    subtitle: str,
    facts: Sequence[tuple[str, str]],
    papers: Sequence[Entry],
    scoreboard: Mapping[str, Any],
    sections: Sequence[Section],
    appendix: Sequence[Section] = (),
    opening: Opening | None = None,
    notice: str = "",
) -> str:
    """Return the index page of several papers as the text of one self-contained HTML file.

    Parameters
    ----------
    title, subtitle, facts, sections, appendix, opening, notice
        See `render`.
    papers
        The papers, in order.
    scoreboard
        The counts of verdicts over all papers: ``groups`` and ``kinds``, see `render`.
    """
    return (
        _environment()
        .get_template("index.html.j2")
        .render(
            title=title,
            subtitle=subtitle,
            facts=facts,
            papers=papers,
            scoreboard=scoreboard,
            sections=sections,
            appendix=appendix,
            opening=opening,
            notice=notice,
            home="",
        )
    )


def render_page(
    *,
    title: str,
    subtitle: str,
    facts: Sequence[tuple[str, str]],
    sections: Sequence[Section],
    notice: str = "",
    opening: Opening | None = None,
) -> str:
    """Return a report of sections alone, as the text of one self-contained HTML file; see `render`."""
    return (
        _environment()
        .get_template("base.html.j2")
        .render(
            title=title,
            subtitle=subtitle,
            facts=facts,
            sections=sections,
            appendix=(),
            opening=opening,
            notice=notice,
            home="",
        )
    )


def _by_source(claims: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return claims by source, both in the order of the first claim of each."""
    order = list(dict.fromkeys(claim["source"] for claim in claims))
    ranked = sorted(claims, key=lambda claim: order.index(claim["source"]))
    return [(source, list(listed)) for source, listed in groupby(ranked, key=lambda claim: claim["source"])]


def _environment() -> jinja2.Environment:
    """Return the environment of the templates."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dumbbell.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["inline"] = _inline
    environment.filters["svg"] = _embedded_svg
    environment.filters["drawn"] = _drawn
    environment.filters["groups"] = _by_source
    environment.filters["cell"] = lambda cell: Cell(text=cell) if isinstance(cell, str) else cell
    environment.tests["text"] = lambda block: isinstance(block, Text)
    environment.tests["table"] = lambda block: isinstance(block, Table)
    environment.tests["figure"] = lambda block: isinstance(block, Figure)
    return environment
