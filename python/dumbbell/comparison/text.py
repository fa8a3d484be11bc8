"""A comparison in words and as text: tables of a terminal, and the texts that pages share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from dumbbell.comparison.changes import Change
from dumbbell.comparison.rows import Row
from dumbbell.judge.pooled import DEFINITION
from dumbbell.judge.quantity import CONFIDENCE
from dumbbell.plots.picture import Picture
from dumbbell.report.numbers import number
from dumbbell.runs import Runs


class Compared(Protocol):
    """What is shown of a comparison: see `dumbbell.comparison.Comparison`."""

    @property
    def names(self) -> tuple[str, str]:
        """What A and B are."""

    @property
    def engines(self) -> tuple[str, str]:
        """The engines that made the runs."""

    @property
    def runs(self) -> tuple[Runs, Runs]:
        """The compared runs of each side."""

    @property
    def changed(self) -> Mapping[str, Sequence[Change]]:
        """What changed, by point."""

    @property
    def rows(self) -> Sequence[Row]:
        """Differences."""

    @property
    def notes(self) -> Sequence[str]:
        """Whether and why runs are pairs, and what is not compared."""

    @property
    def picture(self) -> Picture:
        """Curves of both sides."""


DIGITS = 4
NONE = "–"

SHARE = f"{100 * (1 - CONFIDENCE):.0f} of 100"


def value(amount: float) -> str:
    """Return a number of a table; a dash if there is none."""
    return number(amount, digits=DIGITS) or NONE


def interval(row: Row) -> str:
    """Return the limits of the interval of a difference; a dash if there is none."""
    limits = value(row.low), value(row.high)
    return NONE if NONE in limits else f"[{limits[0]}, {limits[1]}]"


def relative(row: Row) -> str:
    """Return a difference in percent of A; a dash if that means nothing."""
    if not row.a or row.difference != row.difference:
        return NONE
    return f"{100 * row.difference / abs(row.a):+.1f} %".replace("-", "−")


def counted(row: Row) -> str:
    """Return the number of runs on both sides."""
    return str(row.n[0]) if row.n[0] == row.n[1] else f"{row.n[0]}, {row.n[1]}"


def title(row: Row) -> str:
    """Return the column of a row and the unit that is shown."""
    name = row.quantity.removesuffix("_bps").removesuffix("_s")
    return f"{name} [{row.unit}]" if row.unit else name


def methods(found: Compared) -> list[str]:
    """Return how the differences of a comparison are computed, a sentence each."""
    listed = [
        *found.notes,
        f"A difference is B minus A. It differs if its {CONFIDENCE:.0%} interval excludes 0; otherwise no difference was seen, "
        "which does not show that there is none.".replace("90%", "90 %"),
        f"Each interval is for itself: of quantities that do not differ, about {SHARE} seem to.",
    ]
    if any(row.quantity.endswith("_pooled_s") for row in found.rows):
        listed.append(f"A pooled percentile is {DEFINITION}, with the bootstrap over runs.")
    if any("mean over runs" in row.label for row in found.rows):
        listed.append(
            "A percentile of a run is by nearest rank within 0.8 %; its mean over runs is no percentile of all values."
        )
    return listed


def at(row: Row) -> str:
    """Return the point of a row in words; an empty text if there is one."""
    return ", ".join(f"{name} {given}" for name, given in row.point.items())


def told(found: Compared) -> str:
    """Return a comparison as lines of text with aligned columns."""
    lines = [f"A: {found.names[0]}", f"B: {found.names[1]}", ""]
    changed = [
        [point if point != "{}" else "", *change] for point, some in found.changed.items() for change in some
    ]
    if changed:
        lines += _aligned(["point", "field", "A", "B"] if any(row[0] for row in changed) else ["field", "A", "B"],
                          [row if any(one[0] for one in changed) else row[1:] for row in changed])  # fmt: skip
    else:
        lines.append("the scenarios are the same")
    heads = ["of", "quantity", "A", "B", "B − A", "90 % interval", "runs", "finding"]
    several = any(row.point for row in found.rows)
    listed = [
        ([at(row)] if several else [])
        + [
            row.of,
            title(row),
            value(row.a),
            value(row.b),
            value(row.difference),
            interval(row),
            counted(row),
            row.finding,
        ]
        for row in found.rows
    ]
    lines += ["", *_aligned((["point"] if several else []) + heads, listed), "", *methods(found)]
    return "\n".join(lines)


def _aligned(heads: Sequence[str], listed: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[place]) for row in [heads, *listed]) for place in range(len(heads))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [heads, *listed]
    ]
