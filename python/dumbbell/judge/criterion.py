"""Stated aims, what was measured, and whether they are reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dumbbell.report import Cell, Column, Table, Tone


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """An aim.

    Parameters
    ----------
    name
        What it is about, as ``"goodput within 1 %"``.
    wanted, measured
        The aim and the measured value, in words.
    holds
        Whether the aim is reached; ``None`` if nothing was measured.
    """

    name: str
    wanted: str
    measured: str
    holds: bool | None

    @property
    def answer(self) -> str:
        """Whether it holds, in a word."""
        return {True: "yes", False: "no", None: "–"}[self.holds]


@dataclass(frozen=True, kw_only=True)
class Reached(Criterion):
    """An aim for a share.

    Parameters
    ----------
    share
        The measured share, from 0 to 1; NaN of nothing.
    aim
        The required share, from 0 to 1.
    """

    share: float
    aim: float


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
    remark = f", {beside}" if beside else ""
    measured = f"{value:,.{digits}f}{unit}{remark}"
    return Criterion(name=name, wanted=f"at least {aim:g}{unit}", measured=measured, holds=value >= aim)


def at_most(name: str, value: float, aim: float, *, unit: str = "", digits: int = 2) -> Criterion:
    """Return the criterion that a value is at most so large; see `at_least`."""
    measured = f"{value:,.{digits}f}{unit}"
    return Criterion(name=name, wanted=f"at most {aim:g}{unit}", measured=measured, holds=value <= aim)


def not_measured(name: str, wanted: str, why: str) -> Criterion:
    """Return a criterion that nothing is known about, and why."""
    return Criterion(name=name, wanted=wanted, measured=f"not measured: {why}", holds=None)


def criterion(name: str, agrees: pd.Series[bool], *, aim: float, of: str = "points") -> Reached:
    """Return the criterion that a share of some points agrees.

    Parameters
    ----------
    name
        What is compared, as ``"goodput within 1 %"``.
    agrees
        Whether each point agrees.
    aim
        The required share, from 0 to 1.
    of
        What is counted.

    Examples
    --------
    >>> criterion("goodput within 1 %", pd.Series([True, True, True, False]), aim=0.95).measured
    '75 % (3 of 4 points)'
    """
    return counted(name, int(agrees.sum()), len(agrees), aim=aim, of=of)


def counted(name: str, agreeing: int, total: int, *, aim: float, of: str = "samples") -> Reached:
    """Return the criterion that a share of something counted agrees, such as samples of all traces.

    Parameters
    ----------
    name
        What is compared.
    agreeing, total
        Number of agreeing items and of all items. With no items, the criterion does not hold.
    aim
        The required share, from 0 to 1.
    of
        What is counted.
    """
    share = agreeing / total if total else math.nan
    return Reached(
        name=name,
        wanted=f"{_percent(aim)} of the {of}",
        measured=f"{_percent(share)} ({agreeing} of {total} {of})" if total else f"no {of}",
        share=share,
        aim=aim,
        holds=bool(share >= aim),
    )


def _percent(share: float) -> str:
    """Return a share in percent, rounded down, so that a missed aim never looks reached."""
    return f"{math.floor(share * 1000.0 + 1e-9) / 10.0:g} %"


def criteria_table(
    criteria: Sequence[Criterion], *, caption: str = "Criteria: targets and measured values"
) -> Table:
    """Return the table of some criteria: aim, measured value, and whether it holds."""
    tones: dict[bool | None, Tone] = {True: "good", False: "bad", None: "muted"}
    return Table(
        caption=caption,
        columns=[
            *Column.words("criterion", "wanted", "measured"),
            Column(title="holds", align="centre"),
        ],
        rows=[
            [one.name, one.wanted, one.measured, Cell(text=one.answer, tone=tones[one.holds])]
            for one in criteria
        ],
    )
