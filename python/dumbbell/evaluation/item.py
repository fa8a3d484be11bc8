"""An item of an evaluation: its cases, its measures, and the limits that decide its verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from dumbbell.evaluation.means import Need
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Case, Study
from dumbbell.judge.baseline import Comparison, Limit
from dumbbell.judge.quantity import Quantity

Verdict = Literal[
    "fails", "worse than the baselines", "undecided", "pass", "reported", "not applicable", "not available"
]

ORDER: tuple[Verdict, ...] = (
    "fails",
    "worse than the baselines",
    "undecided",
    "pass",
    "reported",
    "not applicable",
    "not available",
)
"""The verdicts, the gravest first."""


@dataclass(frozen=True, kw_only=True)
class Item:
    """An item of an evaluation.

    Parameters
    ----------
    name
        Its name on the command line.
    section
        Where it is stated, such as ``"RFC 9743 §5.1.2"``.
    title, question
        Its heading, and what it asks.
    limits
        The limits, the most important first.
    cases
        Returns the cases of a study.
    measure
        Returns the quantities of a run of a case.
    derive
        Adds columns to the table of results, which need several runs.
    reports
        Quantities that are shown and have no limit.
    lacks
        Why the engine cannot run the item, if it cannot.
    excludes
        What the item of the standard includes beyond this, and why it is not included.
    needs
        What the registry must have.
    partly
        What the item of the standard includes beyond this, with its needs: what is missing is stated.
    applies
        Returns why the item does not apply to an algorithm; an empty text if it does.
    summarizes
        Names of other items whose gravest verdict is that of this one, which has no runs.
    refers
        Where the item is checked, if not by runs.
    note
        Remarks, such as departures from the standard.
    x_label, log_x
        The axis of the figure; without a label, points are rows.
    """

    name: str
    section: str
    title: str
    question: str
    limits: tuple[Limit, ...]
    cases: Callable[[Study], Iterable[Case]]
    measure: Callable[[Case, Record], Mapping[str, float]]
    derive: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    reports: tuple[Quantity, ...] = ()
    lacks: str = ""
    excludes: str = ""
    needs: tuple[Need, ...] = ()
    partly: tuple[Need, ...] = ()
    applies: Callable[[Study], str] | None = None
    summarizes: tuple[str, ...] = ()
    refers: str = ""
    note: str = ""
    x_label: str = ""
    log_x: bool = False

    @property
    def criterion(self) -> str:
        """All limits in words."""
        if self.summarizes:
            return f"the gravest verdict of {', '.join(self.summarizes)}"
        return "; ".join(limit.criterion for limit in self.limits)


def verdict_of(one: Comparison) -> Verdict:
    """Return the verdict that follows from a limit at a point alone."""
    if one.state == "kept":
        return "pass"
    if one.state == "undecided":
        return "undecided"
    return "worse than the baselines" if one.relative and not one.limit.grave else "fails"


def decided(comparisons: Sequence[Comparison]) -> Verdict:
    """Return the verdict of an item: the gravest of its comparisons; ``"reported"`` if it has no limit."""
    verdicts = {verdict_of(one) for one in comparisons}
    return next((verdict for verdict in ORDER if verdict in verdicts), "reported")


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """An item with its results.

    Parameters
    ----------
    item
        The item.
    verdict
        The verdict.
    why
        One sentence with the numbers behind it, or why there are none.
    comparisons
        Its limits at all points.
    results
        The table of results; empty if nothing ran.
    lacking
        What is missing of the item of the standard.
    """

    item: Item
    verdict: Verdict
    why: str
    comparisons: Sequence[Comparison] = ()
    results: pd.DataFrame = field(default_factory=pd.DataFrame)
    lacking: str = ""
