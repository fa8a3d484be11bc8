"""An item of an evaluation: its cases, its measures, and the limits that decide its verdict."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from dumbbell.evaluation.means import Need
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import SUBJECT, Case, Study
from dumbbell.statistics import Interval, mean_interval

CONFIDENCE = 0.90
"""Confidence of all intervals."""

RELAXED = 0.1
"""Tolerance where a baseline itself breaks an absolute limit."""

STRENGTH = 0.5
"""A quantity is a strength where its whole interval is better than this share of the best baseline's mean."""

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

State = Literal["kept", "undecided", "broken"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A quantity of an item.

    Parameters
    ----------
    column
        Its name in results.
    name
        What it is, in words.
    unit
        Its unit as shown; empty for a number.
    scale
        Factor from the unit of the column to the one shown.
    """

    column: str
    name: str
    unit: str = ""
    scale: float = 1.0

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True, kw_only=True)
class Limit(Measure):
    """A quantity with a limit.

    A limit relative to baselines is ``factor × baseline + slack``; it is broken only if it is broken with respect to every
    baseline of the point. An absolute one is `bound`. If a baseline itself breaks the bound at a point, the limit there is
    its value with a tolerance of `RELAXED`, and relative.

    Parameters
    ----------
    better
        Which values are better.
    factor, slack
        Of the limit relative to baselines.
    bound
        The absolute limit, instead.
    grave
        Whether breaking it is a failure and not only worse than the baselines; an absolute limit always is.
    breaks
        What the algorithm does if it breaks the limit, as a predicate.
    trait
        What an algorithm that breaks the limit is called, such as unfair.
    strength
        What an algorithm does that needs less than half of the best baseline's value, as a predicate.
    """

    better: Literal["lower", "higher"] = "lower"
    factor: float = 1.0
    slack: float = 0.0
    bound: float | None = None
    grave: bool = False
    breaks: str = ""
    trait: str = ""
    strength: str = ""

    @property
    def sign(self) -> float:
        """1 if lower values are better."""
        return 1.0 if self.better == "lower" else -1.0

    @property
    def criterion(self) -> str:
        """The limit in words."""
        side = "at most" if self.better == "lower" else "at least"
        unit = f" {self.unit}" if self.unit else ""
        if self.bound is not None:
            shown = f"{self.bound * self.scale:g}{unit}"
            return f"{self.name} {side} {shown}, or within {RELAXED:.0%} of a baseline that breaks this limit itself"
        factor = "the baseline's" if self.factor == 1.0 else f"{self.factor:g} × the baseline's"
        slack = self.slack * self.scale
        added = "" if slack == 0.0 else f" {'+' if slack > 0.0 else '−'} {abs(slack):g}{unit}"
        return f"{self.name} {side} {factor}{added}"

    def limit_of(self, baseline: pd.Series[float]) -> pd.Series[float]:
        """Return the limit by replication with respect to a baseline."""
        if self.bound is None:
            return self.factor * baseline + self.slack
        if not self.relaxed(baseline):
            return pd.Series(self.bound, index=baseline.index)
        return baseline * (1.0 + self.sign * RELAXED)

    def relaxed(self, baseline: pd.Series[float]) -> bool:
        """Return whether a baseline itself breaks the absolute limit, so that its value is the measure."""
        return self.bound is not None and bool(self.sign * (baseline.mean() - self.bound) > 0.0)


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
    reports: tuple[Measure, ...] = ()
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


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A limit at a point.

    Parameters
    ----------
    limit
        The limit.
    point, x, panel
        The point.
    subject
        The quantity of the subject, with its interval.
    baselines
        That of each baseline.
    against
        The baseline that the state is relative to, the most lenient one.
    allowed
        Mean of the limit with respect to it.
    excess
        By how much the limit is exceeded, with its interval; negative if it is kept.
    relative
        Whether the limit follows from a baseline.
    state
        ``"broken"`` if the whole interval of the excess is above zero, ``"undecided"`` if only its estimate is, ``"kept"``
        otherwise.
    """

    limit: Limit
    point: str
    x: float
    panel: str
    subject: Interval
    baselines: Mapping[str, Interval]
    against: str
    allowed: float
    excess: Interval
    state: State
    relative: bool

    @property
    def is_strength(self) -> bool:
        """Whether the subject needs less than half of what the best baseline needs."""
        if self.limit.better != "lower" or not self.baselines:
            return False
        best = min(interval.estimate for interval in self.baselines.values())
        return self.subject.high < STRENGTH * best

    @property
    def weight(self) -> float:
        """Relative excess, to order comparisons."""
        scale = max(abs(self.allowed), abs(self.subject.estimate), 1e-12)
        return self.excess.estimate / scale

    @property
    def verdict(self) -> Verdict:
        """The verdict that follows from this comparison alone."""
        if self.state == "kept":
            return "pass"
        if self.state == "undecided":
            return "undecided"
        return "worse than the baselines" if self.relative and not self.limit.grave else "fails"


def compared(item: Item, results: pd.DataFrame) -> list[Comparison]:
    """Return the limits of an item at all points.

    Parameters
    ----------
    item
        The item.
    results
        One row per run: ``point``, ``x``, ``panel``, ``role``, ``run`` and the quantities.
    """
    found: list[Comparison] = []
    for limit in item.limits:
        if limit.column not in results.columns:
            continue
        for point, rows in results.groupby("point", sort=False):
            one = _at(limit, str(point), rows)
            if one is not None:
                found.append(one)
    return found


def _at(limit: Limit, point: str, rows: pd.DataFrame) -> Comparison | None:
    """Return a limit at a point; none if the subject does not have the quantity there."""
    values = {
        str(role): part.set_index("run")[limit.column].sort_index() for role, part in rows.groupby("role")
    }
    values = {role: column for role, column in values.items() if column.notna().all()}
    subject = values.pop(SUBJECT, None)
    baselines = {role: column for role, column in values.items() if not role.startswith("_")}
    if subject is None or (not baselines and limit.bound is None):
        return None
    limits = {role: limit.limit_of(column) for role, column in baselines.items()}
    if not limits and limit.bound is not None:
        limits = {"": pd.Series(limit.bound, index=subject.index)}
    excesses = {
        role: mean_interval((limit.sign * (subject - allowed)).to_numpy(), confidence=CONFIDENCE)
        for role, allowed in limits.items()
    }
    # The most lenient baseline: the limit is broken only if it is broken for all.
    against = min(excesses, key=lambda role: (_rank(excesses[role]), excesses[role].estimate))
    excess = excesses[against]
    states: tuple[State, State, State] = ("kept", "undecided", "broken")
    return Comparison(
        limit=limit,
        point=point,
        x=float(rows["x"].iloc[0]),
        panel=str(rows["panel"].iloc[0]),
        subject=mean_interval(subject.to_numpy(), confidence=CONFIDENCE),
        baselines={
            role: mean_interval(column.to_numpy(), confidence=CONFIDENCE)
            for role, column in baselines.items()
        },
        against=against,
        allowed=float(limits[against].mean()),
        excess=excess,
        state=states[_rank(excess)],
        relative=limit.bound is None or (against in baselines and limit.relaxed(baselines[against])),
    )


def _rank(excess: Interval) -> int:
    """Return 2 if an excess is certain, 1 if it is only estimated, 0 if there is none."""
    # Sums of decimal fractions differ from their value by rounding.
    tiny = 1e-9 * max(1.0, math.fabs(excess.estimate))
    return 2 if excess.low > tiny else 1 if excess.estimate > tiny else 0


def decided(comparisons: Sequence[Comparison]) -> Verdict:
    """Return the verdict of an item: the gravest of its comparisons; ``"reported"`` if it has no limit."""
    verdicts = {one.verdict for one in comparisons}
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
