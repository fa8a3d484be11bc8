"""What a check says of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["accepted", "rejected", "unanswered", "noted"]
"""``"noted"`` is an answer that a person reads, and no program judges."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """The verdict on one answer; as the last line of a cell, it shows its text.

    Attributes
    ----------
    task : str
        The task, as ``"1.3"``.
    outcome : str
        ``"accepted"``, ``"rejected"``, ``"unanswered"``, or ``"noted"`` for an open question.
    text : str
        The reason: the truth of an accepted answer, or a hint for a rejected one.
    """

    task: str
    outcome: Outcome
    text: str

    def __str__(self) -> str:
        return f"Task {self.task}: {self.outcome}. {self.text}"

    __repr__ = __str__
