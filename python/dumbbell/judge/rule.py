"""Rules that an outcome must satisfy, and the judgement on it.

An interval decides a tolerance: the outcome holds if the whole interval is accepted, and does not hold if none of it is.
Resamples decide an inequality: at least 95 % of them must support it, or at most 5 %. Anything between is undecided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dumbbell.judge.estimate import ROUNDING, Outcome, joined
from dumbbell.report.numbers import number, signed

Verdict = Literal["holds", "does not hold", "undecided", "not checkable"]

# An inequality that at most or at least these shares of the resamples support is decided.
DECIDED = (0.05, 0.95)

# Units that a sentence does not repeat after a number.
UNSAID = ("", "-", "flag", "sign")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a rule says of an outcome.

    Parameters
    ----------
    verdict
        The verdict, with the interval or the resamples.
    holds
        Whether the estimate alone satisfies the rule; ``None`` if it could not be checked.
    why
        Why the verdict is what it is, one sentence or none.
    """

    verdict: Verdict
    holds: bool | None
    why: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """An inequality that the outcome decides itself; the base of the other rules.

    Parameters
    ----------
    bound
        The inequality in words, such as ``"< 3"``.
    units
        Units of the measured value.
    """

    bound: str = ""
    units: str = ""

    @property
    def unit(self) -> str:
        """The units after a number, with their space."""
        return "" if self.units in UNSAID else f" {self.units}"

    def words(self) -> str:
        """Return the rule in words."""
        return self.bound or "strict on the means"

    def accepts(self, _value: float) -> bool:
        """Return whether a value satisfies the rule; an ordering cannot tell by the value."""
        return False

    def is_decided(self, _outcome: Outcome, _accepted: bool) -> bool:
        """Return whether the interval leaves no doubt."""
        return True

    def miss(self, outcome: Outcome) -> list[str]:
        """Return why an outcome is not accepted."""
        return [f"the inequality does not hold ({number(outcome.measured)}{self.unit})"]

    def doubt(self) -> list[str]:
        """Return why an accepted outcome is undecided."""
        return []

    def judge(self, outcome: Outcome) -> Judgement:
        """Return the judgement on an outcome: that of the estimate, unless the interval or the resamples allow both."""
        if outcome.holds is not None:
            return self.decided(outcome, outcome.holds, outcome.support)
        accepted = not math.isnan(outcome.measured) and self.accepts(outcome.measured)
        decided = self.is_decided(outcome, accepted)
        return self._judgement(outcome, accepted, decided, [] if decided or not accepted else self.doubt())

    def decided(self, outcome: Outcome, accepted: bool, support: float) -> Judgement:
        """Return the judgement on an inequality, whose share of supporting resamples is known, or NaN."""
        return self._judgement(outcome, accepted, *_supported(accepted, support))

    def _judgement(self, outcome: Outcome, accepted: bool, decided: bool, said: list[str]) -> Judgement:
        verdict: Verdict = "undecided" if not decided else "holds" if accepted else "does not hold"
        missed = [] if accepted else self.miss(outcome)
        text = joined(*missed, *said, outcome.note.rstrip("."))
        return Judgement(
            verdict=verdict, holds=accepted, why=f"{text[:1].upper()}{text[1:]}." if text else ""
        )


def _supported(accepted: bool, support: float) -> tuple[bool, list[str]]:
    """Return whether the resamples decide an inequality, and what they say."""
    if math.isnan(support):
        return True, []
    share = f"it holds in {100 * support:.0f} % of the resamples"
    if DECIDED[0] < support < DECIDED[1]:
        return False, [f"inside sampling noise: {share}"]
    # A count of resamples cannot overrule the estimate: where they disagree, nothing is decided.
    return (support > 0.5) == accepted, [] if accepted else [share]


@dataclass(frozen=True, kw_only=True)
class Share(Rule):
    """An ordering that must hold at a share of the points or runs.

    Parameters
    ----------
    least
        The share, from 0 to 1.
    """

    least: float

    def words(self) -> str:
        """Return the rule in words."""
        return " ".join(
            part for part in (self.bound, f"in at least {100 * self.least:g} % of the points") if part
        )

    def accepts(self, value: float) -> bool:
        """Return whether a share is large enough."""
        return value >= self.least - ROUNDING

    def miss(self, outcome: Outcome) -> list[str]:
        """Return why a share is not accepted."""
        if outcome.holds is not None:
            return super().miss(outcome)
        return [f"it holds at {100 * outcome.measured:.0f} % of the points; accepted {self.words()}"]


@dataclass(frozen=True, kw_only=True)
class Within(Rule):
    """A tolerance around a stated number.

    Parameters
    ----------
    value
        The number.
    tolerance
        The largest accepted difference: in the units of the number, or a fraction of it.
    relative
        Whether it is a fraction.
    """

    value: float
    tolerance: float
    relative: bool = False

    @property
    def allowed(self) -> float:
        """Largest accepted difference, in the units of the number."""
        return self.tolerance * abs(self.value) if self.relative else self.tolerance

    @property
    def tolerates_zero(self) -> bool:
        """Whether the tolerance around a number other than zero includes zero, and with it the opposite sign."""
        return bool(self.value) and self.allowed >= abs(self.value)

    def words(self) -> str:
        """Return the rule in words."""
        if self.tolerance == 0.0:
            return "exact"
        zero = ", which includes zero" if self.tolerates_zero else ""
        if self.relative:
            return f"within {100 * self.tolerance:g} %{zero}"
        return f"within {self.tolerance:g}{f' {self.units}' if self.units else ''}{zero}"

    def accepts(self, value: float) -> bool:
        """Return whether a value is within the tolerance."""
        return abs(value - self.value) <= self.allowed + ROUNDING * max(1.0, abs(self.value))

    def is_decided(self, outcome: Outcome, accepted: bool) -> bool:
        """Return whether the whole interval is accepted, or none of it; it may also contain the accepted range."""
        if math.isnan(outcome.low) or math.isnan(outcome.measured):
            return True
        ends = [self.accepts(limit) for limit in (outcome.low, outcome.high)]
        return all(ends) if accepted else not any(ends) and not self._is_inside(outcome)

    def miss(self, outcome: Outcome) -> list[str]:
        """Return how far a value is from the stated one, and whether sampling can explain it."""
        gap = outcome.measured - self.value
        relative = f" ({signed(100 * gap / abs(self.value), 0)} %)" if self.value else ""
        said = [
            f"measured {number(outcome.measured)}{self.unit} against {number(self.value)}{self.unit}{relative}; "
            f"accepted {self.words()}"
        ]
        if not math.isnan(outcome.low):
            place, word = (
                ("inside", "can explain") if self._is_inside(outcome) else ("outside", "does not explain")
            )
            said.append(f"the paper's number is {place} our 90 % interval: sampling noise {word} the miss")
        return said

    def doubt(self) -> list[str]:
        """Return that part of the interval is not accepted."""
        return [f"undecided: the 90 % interval is not all {self.words()} of {number(self.value)}{self.unit}"]

    def _is_inside(self, outcome: Outcome) -> bool:
        return outcome.low <= self.value <= outcome.high
