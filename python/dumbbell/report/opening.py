"""The first screen of a report: the question, three numbers, the verdicts as a bar, and small pictures of the results."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from dumbbell.report.numbers import number

SIDE, MARGIN = 150.0, 14.0
"""Side of a small picture, and the space for its numbers, px."""

LOGARITHMIC = 20
"""Ratio of the largest to the smallest number from which on the axes are logarithmic."""


@dataclass(frozen=True, kw_only=True)
class Number:
    """A number that is read first.

    Parameters
    ----------
    value
        The number with its unit.
    label, detail
        What it is, and a smaller remark.
    """

    value: str
    label: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A small picture with its caption."""

    svg: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class Telling:
    """A claim that is shown on the first screen.

    Parameters
    ----------
    id, anchor
        Its name, and the anchor of its part of the report.
    verdict, statement, numbers
        What is shown of it.
    """

    id: str
    anchor: str
    verdict: str
    statement: str
    numbers: str


@dataclass(frozen=True, kw_only=True)
class Thumbnail:
    """A figure of the report, shown small."""

    anchor: str
    caption: str
    thumbnail: Markup


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The first screen.

    Parameters
    ----------
    question
        What the report answers, in a sentence or two.
    numbers
        The numbers that are read first.
    counts
        What was reproduced, is undecided, and was not reproduced: the bar.
    unit
        What the bar counts.
    note
        What it leaves out.
    panels
        The paper's numbers beside ours.
    hits, misses
        The claims that tell most.
    figures
        Figures of the report, shown small; `dumbbell.report.render` adds those that name a short caption.
    """

    question: str
    numbers: Sequence[Number]
    counts: tuple[int, int, int]
    unit: str = "printed claims"
    note: str = ""
    panels: Sequence[Panel] = ()
    hits: Sequence[Telling] = ()
    misses: Sequence[Telling] = ()
    figures: Sequence[Thumbnail] = field(default=())


@dataclass(frozen=True, kw_only=True)
class Point:
    """A number of the paper beside ours.

    Parameters
    ----------
    paper, ours
        The numbers.
    low, high
        The limits of our interval; ours, if there is none.
    verdict
        The verdict on it.
    name
        Name of the claim.
    """

    paper: float
    ours: float
    low: float
    high: float
    verdict: str
    name: str


def against(points: Sequence[Point]) -> str:
    """Return the paper's numbers against ours as SVG text: equal numbers lie on the diagonal.

    Both axes have one scale, which is logarithmic if all numbers are positive and span a factor of `LOGARITHMIC`. Limits of
    intervals beyond the numbers are cut at the frame.

    Parameters
    ----------
    points
        The numbers, at least one.
    """
    shown = [value for point in points for value in (point.paper, point.ours)]
    least, most = min(shown), max(shown)
    is_log = least > 0 and most >= LOGARITHMIC * least
    low, high = (math.log(least), math.log(most)) if is_log else (least, most)
    room = 0.06 * (high - low) or abs(high) or 1.0
    low, high = low - room, high + room

    def place(value: float) -> float:
        if is_log:
            value = math.log(value) if value > 0 else low
        return min(1.0, max(0.0, (value - low) / (high - low))) * SIDE

    def x(value: float) -> str:
        return f"{MARGIN + place(value):.1f}"

    def y(value: float) -> str:
        return f"{SIDE - place(value):.1f}"

    drawn = [
        f'<line class="equal" x1="{MARGIN}" y1="{SIDE}" x2="{MARGIN + SIDE}" y2="0"/>',
        f'<rect class="frame" x="{MARGIN}" y="0" width="{SIDE}" height="{SIDE}"/>',
    ]
    for point in points:
        along = x(point.paper)
        drawn.append(
            f"<g><title>{escape(point.name)}: paper {number(point.paper)}, ours {number(point.ours)}</title>"
            f'<line class="{point.verdict}" x1="{along}" y1="{y(point.low)}" x2="{along}" y2="{y(point.high)}"/>'
            f'<circle class="{point.verdict}" cx="{along}" cy="{y(point.ours)}" r="3"/></g>'
        )
    under = SIDE + 11
    drawn += [
        f'<text x="{MARGIN}" y="{under}">{number(least)}</text>',
        f'<text x="{MARGIN + SIDE}" y="{under}" text-anchor="end">{number(most)}{" log" if is_log else ""}</text>',
    ]
    box = f"0 0 {MARGIN + SIDE + 1:g} {SIDE + MARGIN:g}"
    return f'<svg class="against" role="img" viewBox="{box}">{"".join(drawn)}</svg>'


def thumbnail(svg: str, anchor: str) -> Markup:
    """Return a picture that repeats a figure of the page at a smaller size.

    Parameters
    ----------
    svg
        The figure, for its size.
    anchor
        Its anchor; the element is called ``anchor-drawing``.
    """
    found = re.search(r'viewBox="([\d. -]+)"', svg)
    box = found[1] if found else "0 0 400 300"
    _, _, width, height = box.split()
    return Markup(
        '<svg viewBox="{}" role="img"><use href="#{}-drawing" width="{}" height="{}"/></svg>'
    ).format(box, anchor, width, height)
