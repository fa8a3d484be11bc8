"""Reports: one self-contained HTML file of text, tables, figures and a scoreboard of claims.

A report is a tree of plain values (`Section` of `Text`, `Table`, `Figure`, `Details`) given to `render`. The
returned file is self-contained: styles, scripts and figures (SVG) are included. `render_index` renders the index
page of several papers, `render_page` a report without claims of a paper.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jinja2
from markupsafe import Markup, escape

__all__ = [
    "Block",
    "Cell",
    "Column",
    "Details",
    "Entry",
    "Figure",
    "Section",
    "Table",
    "Text",
    "render",
    "render_index",
    "render_page",
]

Tone = Literal["", "good", "bad", "muted", "strong"]


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


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure.

    Parameters
    ----------
    svg
        The picture as SVG text.
    caption
        What it shows.
    """

    svg: str
    caption: str


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


def render(
    *,
    title: str,
    subtitle: str,
    facts: Sequence[tuple[str, str]],
    scoreboard: Mapping[str, Any],
    claims: Sequence[Mapping[str, Any]],
    sections: Sequence[Section],
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
        Pairs of name and value shown under the heading, such as the engine's version.
    scoreboard
        The counts of verdicts: ``groups`` and ``sources``, each a list of rows with ``name``, ``reproduced``,
        ``undecided``, ``missed``, ``percent``, optionally ``aim`` (percent), and the other counts of
        `dumbbell.claims.scoreboard`.
    claims
        One mapping for each claim: ``id``, ``source``, ``kind``, ``class`` with its ``reason``, ``of`` (the claims that a
        derived one follows from, in words), ``statement``, ``paper``, ``measured``, ``interval``,
        ``tolerance``, ``verdict``, ``why``.
    sections
        The rest of the report.
    headline
        The shares of printed claims that hold, a line for each group of claims.
    details
        One mapping for each claim, whose part of the report opens under its anchor: ``anchor``, ``id``, ``verdict``,
        ``source``, ``statement``, ``paper``, ``estimate``, ``n``, ``rule``, ``class``, ``scenario``, ``runs`` (lines of text),
        ``origin``, ``commands`` (pairs of purpose and command).
    notice
        A remark shown above everything else, for instance that few replications were used.
    home
        Relative address of the page that leads to the reports of all papers, if there is one.
    """
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title,
            subtitle=subtitle,
            facts=facts,
            scoreboard=scoreboard,
            headline=headline,
            claims=claims,
            details=details,
            anchors={row["id"]: row["anchor"] for row in details},
            sections=sections,
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
    groups
        The counts of its verdicts by group, as in the scoreboard of `render`.
    runs
        Text above the counts, such as the number of runs.
    notice
        A remark on the paper.
    """

    title: str
    citation: str
    link: str = ""
    groups: Sequence[Mapping[str, Any]] = ()
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
    notice: str = "",
) -> str:
    """Return the index page of several papers as the text of one self-contained HTML file.

    Parameters
    ----------
    title, subtitle, facts, sections, notice
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
) -> str:
    """Return a report of sections alone, as the text of one self-contained HTML file; see `render`."""
    return (
        _environment()
        .get_template("base.html.j2")
        .render(title=title, subtitle=subtitle, facts=facts, sections=sections, notice=notice, home="")
    )


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
    environment.filters["cell"] = lambda cell: Cell(text=cell) if isinstance(cell, str) else cell
    environment.tests["text"] = lambda block: isinstance(block, Text)
    environment.tests["table"] = lambda block: isinstance(block, Table)
    environment.tests["figure"] = lambda block: isinstance(block, Figure)
    return environment
