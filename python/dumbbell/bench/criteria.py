"""What was wanted of a measurement, and whether it was reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.report import Cell, Column, Table

__all__ = ["Criterion", "at_least", "at_most", "criteria_table", "holds_text", "not_measured"]


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """Something that was wanted.

    Parameters
    ----------
    name
        What it is about.
    wanted, measured
        The bound and the value, in words.
    holds
        Whether the bound is kept; None if it was not measured.
    """

    name: str
    wanted: str
    measured: str
    holds: bool | None


def at_least(
    name: str, value: float, aim: float, *, unit: str = "", digits: int = 1, beside: str = ""
) -> Criterion:
    """Return the criterion that a value is at least so large.

    Parameters
    ----------
    name
        What it is about.
    value, aim
        What was measured and wanted.
    unit
        What follows the numbers, with the space before it if it needs one.
    digits
        Decimals of the measured value.
    beside
        What is told beside the measured value and decides nothing.
    """
    wanted = f"at least {aim:g}{unit}"
    remark = f", {beside}" if beside else ""
    return Criterion(
        name=name, wanted=wanted, measured=f"{value:,.{digits}f}{unit}{remark}", holds=value >= aim
    )


def at_most(name: str, value: float, aim: float, *, unit: str = "", digits: int = 2) -> Criterion:
    """Return the criterion that a value is at most so large; see `at_least`."""
    wanted = f"at most {aim:g}{unit}"
    return Criterion(name=name, wanted=wanted, measured=f"{value:,.{digits}f}{unit}", holds=value <= aim)


def not_measured(name: str, wanted: str, why: str) -> Criterion:
    """Return a criterion that nothing is known about.

    Parameters
    ----------
    name, wanted
        See `Criterion`.
    why
        Why it was not measured.
    """
    return Criterion(name=name, wanted=wanted, measured=f"not measured: {why}", holds=None)


def holds_text(one: Criterion) -> str:
    """Return in a word whether a criterion holds."""
    return {True: "yes", False: "no", None: "–"}[one.holds]


def criteria_table(criteria: Sequence[Criterion]) -> Table:
    """Return the table of some criteria for a report."""
    tones: dict[bool | None, Any] = {True: "good", False: "bad", None: "muted"}
    return Table(
        caption="What was wanted, and what was measured",
        columns=[
            Column(title="criterion", align="left"),
            Column(title="wanted", align="left"),
            Column(title="measured", align="left"),
            Column(title="holds", align="centre"),
        ],
        rows=[
            [one.name, one.wanted, one.measured, Cell(text=holds_text(one), tone=tones[one.holds])]
            for one in criteria
        ],
    )
