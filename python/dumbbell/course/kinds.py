"""The kinds of tasks, and how an answer to each is judged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from dumbbell.course.verdicts import Outcome

Judgement = tuple[Outcome, str]
"""An outcome and its reason."""


class Task(Protocol):
    """A task: what it expects, and how it judges an answer."""

    def expected(self) -> str:
        """Return what an answer is, with its unit."""

    def judged(self, answer: Any) -> Judgement:
        """Return the judgement of an answer."""


@dataclass(frozen=True)
class Slip:
    """A common mistake.

    Parameters
    ----------
    wrong
        Returns the number that the mistake gives, from the right one.
    hint
        The question that leads to the mistake, without the answer.
    """

    wrong: Callable[[float], float]
    hint: str


def times(factor: float, hint: str) -> Slip:
    """Return the slip whose number is wrong by a factor."""
    return Slip(lambda truth: truth * factor, hint)


BITS = "Bits or bytes? Check both numbers of the fraction."
PREFIX = "The digits are right, the unit is not: check s and ms, or M and k."
COMMON = (
    times(8, BITS),
    times(1 / 8, BITS),
    times(1e3, PREFIX),
    times(1e-3, PREFIX),
    times(1e6, PREFIX),
    times(1e-6, PREFIX),
    times(100, "A percentage or a fraction? Check the unit that the task asks for."),
    times(1 / 100, "A percentage or a fraction? Check the unit that the task asks for."),
    times(2, "You are off by a factor of two: a whole round trip or one way? The peak, or the mean?"),
    times(1 / 2, "You are off by a factor of two: a whole round trip or one way? The peak, or the mean?"),
    times(-1, "The sign is wrong."),
)
"""Slips that any quantity may have. Those of a task come first."""

CLOSE = 0.03
"""Relative distance within which a number is taken for that of a slip; that of the task, if it is larger."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A task whose answer is a number.

    Parameters
    ----------
    truth
        Calculates or measures the right number.
    unit
        Its unit, or what it counts; empty for none.
    tolerance
        Accepted distance from the truth, as a fraction of it, above 0.
    source
        How the truth is found: a formula or a measurement.
    hint
        For a wrong number that no slip explains.
    slips
        Mistakes of this task.
    """

    truth: Callable[[], float]
    unit: str
    tolerance: float
    source: str
    hint: str
    slips: Sequence[Slip] = ()

    def expected(self) -> str:
        """Return the unit and the tolerance."""
        unit = f"({self.unit})" if self.unit else "without unit"
        return f"a number {unit}, within {100 * self.tolerance:g} %"

    def judged(self, answer: Any) -> Judgement:
        """Compare a number with the truth; a wrong one gets the hint of the nearest slip."""
        number = as_number(answer)
        if isinstance(number, str):
            return "rejected", f"{number}; expected {self.expected()}."
        truth = self.truth()
        if abs(number - truth) <= self.tolerance * abs(truth):
            return "accepted", f"{truth:.4g} {self.unit}".strip() + f": {self.source}."
        return "rejected", self._hint(number, truth)

    def _hint(self, number: float, truth: float) -> str:
        close = max(CLOSE, self.tolerance)
        for slips in (self.slips, COMMON):
            distances = [abs(number / slip.wrong(truth) - 1) for slip in slips]
            if distances and min(distances) <= close:
                return slips[int(np.argmin(distances))].hint
        size = "small" if number < truth else "large"
        return f"The number is too {size}. {self.hint}"


def as_number(answer: Any) -> float | str:
    """Return an answer as a finite number, or what is wrong with it.

    Numbers of numpy count, and arrays and columns of one number.
    """
    if isinstance(answer, bool | np.bool_):
        return "This is true or false, not a number"
    if isinstance(answer, str):
        return "This is a text; write the number alone, without quotation marks and unit"
    try:
        values = np.asarray(answer)
    except Exception:
        return f"This is not a number, but {_kind(answer)}"
    if values.dtype.kind not in "iuf":
        return f"This is not a number, but {_kind(answer)}"
    if values.size != 1:
        return f"These are {values.size} numbers; decide for one of them, or their mean"
    number = float(values.item())
    return number if math.isfinite(number) else "This number is not finite"


def _kind(answer: Any) -> str:
    name = type(answer).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A task whose answer is one of several statements.

    Parameters
    ----------
    truth
        Measures which statement holds, and returns its letter.
    hints
        For each letter, the hint for one who chose it although it does not hold.
    source
        How the truth is found.
    """

    truth: Callable[[], str]
    hints: Mapping[str, str]
    source: str

    def expected(self) -> str:
        """Return the letters."""
        return f"one of the letters {', '.join(map(repr, self.hints))}"

    def judged(self, answer: Any) -> Judgement:
        """Compare a letter with the statement that holds."""
        letter = answer.strip().lower() if isinstance(answer, str) else ""
        if letter not in self.hints:
            return "rejected", f"Expected {self.expected()}."
        if letter == self.truth():
            return "accepted", f"{self.source[0].upper()}{self.source[1:]}."
        return "rejected", self.hints[letter]


@dataclass(frozen=True, kw_only=True)
class OpenQuestion:
    """A task whose answer is a text that a person reads."""

    LEAST_WORDS: ClassVar[int] = 30

    def expected(self) -> str:
        """Return the length."""
        return f"a text of at least {self.LEAST_WORDS} words"

    def judged(self, answer: Any) -> Judgement:
        """Note a text, which only a person can judge."""
        if not isinstance(answer, str):
            return "rejected", f"Expected {self.expected()}, in quotation marks."
        words = len(answer.split())
        if words < self.LEAST_WORDS:
            return (
                "rejected",
                f"This has {words} words; say why, with a number from your runs. Expected {self.expected()}.",
            )
        return "noted", "The check does not judge it: your teacher reads it."
