"""Targets of measurements, and whether they are reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell.report import Cell, Column, Table


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A target.

    Parameters
    ----------
    name
        What it is about.
    wanted, measured
        The bound and the value, in words.
    holds
        Whether the bound holds; None if not measured.
    """

    name: str
    wanted: str
    measured: str
    holds: bool | None


def at_least(
    name: str, value: float, aim: float, *, unit: str = "", digits: int = 1, beside: str = ""
) -> Criterion:
    """Return the criterion that a value reaches a minimum.

    Parameters
    ----------
    name
        What it is about.
    value, aim
        The measured value and the target.
    unit
        Unit after the numbers, including a leading space if needed.
    digits
        Decimals of the measured value.
    beside
        Text shown with the measured value, without effect on the result.
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
        caption="Criteria: targets and measured values",
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
