"""Limits against baselines: a quantity of a subject may be worse than that of a baseline by a factor and a slack.

A limit is evaluated at each point, by replication: what the subject exceeds it by is averaged over replications, which share
their random numbers. It is broken if the whole interval of the excess is above zero, undecided if only the estimate is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from dumbbell.judge.quantity import CONFIDENCE, Quantity
from dumbbell.statistics import Interval, mean_interval

RELAXED = 0.1
"""Tolerance where a baseline itself breaks an absolute limit."""

STRENGTH = 0.5
"""A quantity is a strength where its whole interval is better than this share of the best baseline's mean."""

State = Literal["kept", "undecided", "broken"]


@dataclass(frozen=True, kw_only=True)
class Limit(Quantity):
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
            return f"{self.label} {side} {shown}, or within {RELAXED:.0%} of a baseline that breaks this limit itself"
        factor = "the baseline's" if self.factor == 1.0 else f"{self.factor:g} × the baseline's"
        slack = self.slack * self.scale
        added = "" if slack == 0.0 else f" {'+' if slack > 0.0 else '−'} {abs(slack):g}{unit}"
        return f"{self.label} {side} {factor}{added}"

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


def compared(limits: Sequence[Limit], results: pd.DataFrame, subject: str) -> list[Comparison]:
    """Return limits at all points.

    Parameters
    ----------
    limits
        The limits.
    results
        One row per run: ``point``, ``x``, ``panel``, ``role``, ``run`` and the quantities. Roles that begin with an
        underscore are no baselines.
    subject
        The role that is judged.
    """
    found: list[Comparison] = []
    for limit in limits:
        if limit.column not in results.columns:
            continue
        for point, rows in results.groupby("point", sort=False):
            one = _at(limit, str(point), rows, subject)
            if one is not None:
                found.append(one)
    return found


def _at(limit: Limit, point: str, rows: pd.DataFrame, role: str) -> Comparison | None:
    """Return a limit at a point; none if the subject does not have the quantity there."""
    values = {
        str(name): part.set_index("run")[limit.column].sort_index() for name, part in rows.groupby("role")
    }
    values = {name: column for name, column in values.items() if column.notna().all()}
    subject = values.pop(role, None)
    baselines = {name: column for name, column in values.items() if not name.startswith("_")}
    if subject is None or (not baselines and limit.bound is None):
        return None
    limits = {name: limit.limit_of(column) for name, column in baselines.items()}
    if not limits and limit.bound is not None:
        limits = {"": pd.Series(limit.bound, index=subject.index)}
    excesses = {
        name: mean_interval((limit.sign * (subject - allowed)).to_numpy(), confidence=CONFIDENCE)
        for name, allowed in limits.items()
    }
    # The most lenient baseline: the limit is broken only if it is broken for all.
    against = min(excesses, key=lambda name: (_rank(excesses[name]), excesses[name].estimate))
    excess = excesses[against]
    means = {
        name: limit.bounded(mean_interval(column.to_numpy(), confidence=CONFIDENCE))
        for name, column in {role: subject, **baselines}.items()
    }
    states: tuple[State, State, State] = ("kept", "undecided", "broken")
    return Comparison(
        limit=limit,
        point=point,
        x=float(rows["x"].iloc[0]),
        panel=str(rows["panel"].iloc[0]),
        subject=means[role],
        baselines={name: means[name] for name in baselines},
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
