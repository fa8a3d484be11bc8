"""The report of a paper as a Markdown file: what every report says of claims, beside what a paper computes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from dumbbell.papers import readings
from dumbbell.papers.misses import Misses
from dumbbell.papers.opening import counts_of
from dumbbell.papers.paper import Evaluation
from dumbbell.report import Block, Section, Table
from dumbbell.report.page import Page

APPENDIX = (
    "readings", "sensitivity", "tensions", "set-up", "assumptions", "calibration", "rules", "testbed", "laws", "unchecked",
)  # fmt: skip
"""Sections that a report shows after the claims, in this order; the others are results, and keep the order of the paper."""

MISSES = ("misses", "examined")
"""Sections on what is not reproduced, which follow the results."""


def arranged(sections: Sequence[Section]) -> tuple[list[Section], list[Section]]:
    """Return the results of a report with the misses at their end, and its appendix."""
    results = [section for section in sections if section.anchor not in APPENDIX]
    appendix = [section for section in sections if section.anchor in APPENDIX]
    return (
        sorted(results, key=lambda section: section.anchor in MISSES),
        sorted(appendix, key=lambda section: APPENDIX.index(section.anchor)),
    )


class PaperPage(Page):
    """The report of a paper.

    Parameters
    ----------
    evaluation
        The findings on all claims, and what comes with them.
    name
        Name of the Markdown file, in the folder of the subclass.

    Attributes
    ----------
    figures
        The module that draws the paper's figures.
    """

    figures: ModuleType

    def __init__(self, evaluation: Evaluation[Any], *, name: str = "report.md") -> None:
        super().__init__(Path(str(sys.modules[type(self).__module__].__file__)).parent / name)
        self.evaluation = evaluation
        self.evidence = evaluation.evidence
        self.findings = evaluation.findings
        self.moves = evaluation.moves
        self.judged = evaluation.readings
        self.missed = [finding for finding in self.findings if finding.verdict == "not-reproduced"]
        self.undecided = [finding for finding in self.findings if finding.verdict == "undecided"]
        self._misses = Misses(self.findings)

    @property
    def verdicts(self) -> str:
        """The verdicts on printed claims, those that the scoreboard counts, in a sentence; and what else does not hold."""
        counted = [finding for finding in self.findings if finding.counts]
        reproduced, undecided, missed = counts_of(counted)
        others = [finding for finding in self.missed if not finding.counts]
        return (
            f"Of {len(counted)} printed claims, {reproduced} are reproduced, {undecided} are undecided and {missed} are not "
            f"reproduced. {len(others)} claims of other classes are not reproduced."
        )

    def figure(self, name: str, *options: str) -> str:
        """Draw a figure of `figures` from the evidence."""
        draw: Callable[..., str] = getattr(self.figures, name)
        return draw(self.evidence, *options)

    def moved(self) -> list[Block]:
        """Return the effect of each move; a note on the quantities may follow it."""
        return self.moves.moved()

    def turned(self) -> list[Block]:
        """Return the claims that each move turns."""
        return self.moves.turned()

    def readings(self) -> list[Block]:
        """Return the scores of each reading, and the claims that differ."""
        return readings.compared(self.judged)

    def is_missed(self, *names: str) -> bool:
        """Return whether one of these claims is not reproduced."""
        return any(finding.claim.id in names for finding in self.missed)

    def cause(self, name: str, caller: Callable[[], str]) -> str:
        """Keep the cause of a miss; see `dumbbell.papers.misses`."""
        self._misses.tell(name, caller())
        return ""

    def not_reproduced(self) -> Block:
        """Return the table of the claims that are not reproduced."""
        return self._misses.not_reproduced()

    def examined(self, name: str, cause: str, caller: Callable[[], str]) -> str:
        """Keep what was looked into; see `dumbbell.papers.misses`."""
        self._misses.examine(name, cause, caller())
        return ""

    def looked_into(self) -> Table:
        """Return the table of what was looked into."""
        return self._misses.looked_into()


def choices(assumptions: Any) -> dict[str, str]:
    """Return the values of a dataclass of assumptions as tables show them, by field."""
    shown = {}
    for name, value in asdict(assumptions).items():
        if isinstance(value, bool):
            shown[name] = ("no", "yes")[value]
        else:
            shown[name] = f"{value:g}" if isinstance(value, float) else str(value)
    return shown
