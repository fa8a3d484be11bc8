"""Bounds as data: the words that a scoreboard prints are those that judge.

A bound is written as ``"> 0"``, ``"at least 0.7"``, ``"< 3"``, ``"at most 5"``, ``"= 1"``, ``"1 to 5"``, or two of the first
four joined by ``"and"``, as in ``"> 1 and at most 3.05"``; ``">="`` and ``"<="`` are also accepted. Words from `OVER` may
follow that say over what the measured number is the smallest or largest. Any other text is a description of what a function
judges.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from dumbbell.judge.estimate import ROUNDING, Outcome
from dumbbell.judge.rule import Judgement, Rule
from dumbbell.report.numbers import number

OVER = ("in all", "in all cases", "at both loads", "at every load", "for both backgrounds", "in both panels")
"""What may follow a bound."""

_NUMBER = r"[-−]?\d+(?:\.\d+)?(?:e-?\d+)?"
_PART = re.compile(rf"(?P<sign>>=|<=|>|<|=|at least|at most) ?(?P<limit>{_NUMBER})")
_RANGE = re.compile(rf"(?P<low>{_NUMBER}) to (?P<high>{_NUMBER})")

COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "at least": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "at most": operator.le,
    "=": operator.eq,
}

Part = tuple[str, float]
"""A comparison and its limit."""


def _limit(text: str) -> float:
    return float(text.replace("−", "-"))


def _parts(text: str) -> tuple[Part, ...]:
    """Return the comparisons that a bound states; none if it is not one."""
    core = next((text.removesuffix(f" {words}") for words in OVER if text.endswith(f" {words}")), text)
    both = _RANGE.fullmatch(core)
    if both:
        return (">=", _limit(both["low"])), ("<=", _limit(both["high"]))
    found = [_PART.fullmatch(part) for part in core.split(" and ")]
    return tuple((part["sign"], _limit(part["limit"])) for part in found if part) if all(found) else ()


@dataclass(frozen=True, kw_only=True)
class Bound(Rule):
    """Comparisons of the measured number with limits, all of which must hold.

    Parameters
    ----------
    parts
        The comparisons.
    """

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, text: str, units: str = "") -> Self | None:
        """Return the bound that a text states, or ``None`` if the text only describes one."""
        parts = _parts(text)
        return cls(bound=text, units=units, parts=parts) if parts else None

    def accepts(self, value: float) -> bool:
        """Return whether a number satisfies every comparison; equality and closed limits have the slack of sums."""
        for sign, limit in self.parts:
            slack = ROUNDING * max(1.0, abs(limit))
            is_closed = COMPARISONS[sign](limit, limit)
            if not (COMPARISONS[sign](value, limit) or (is_closed and abs(value - limit) <= slack)):
                return False
        return True

    def miss(self, outcome: Outcome) -> list[str]:
        """Return the number and the bound that it does not satisfy."""
        return [f"measured {number(outcome.measured)}{self.unit}; accepted {self.words()}"]

    def judge(self, outcome: Outcome) -> Judgement:
        """Return the judgement: of the measured number, and of its resamples where there are some."""
        accepted = self.accepts(outcome.measured)
        support = outcome.support
        if len(outcome.resamples):
            support = float(np.mean([self.accepts(value) for value in outcome.resamples]))
        return self.decided(outcome, accepted, support)
