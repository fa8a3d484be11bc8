"""The report of a paper as a Markdown file: what every report says of claims, beside what a paper computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dumbbell.claims import Finding
from dumbbell.papers import readings
from dumbbell.papers.readings import Reading
from dumbbell.report import Block
from dumbbell.report.page import Page
from dumbbell.sensitivity import Sensitivity


class PaperPage(Page):
    """The report of a paper.

    Parameters
    ----------
    path
        The Markdown file.
    findings
        The findings on all claims.
    moves
        The effect of varying each assumption.
    judged
        The claims judged under each reading; empty without.
    """

    def __init__(
        self,
        path: Path,
        findings: Sequence[Finding],
        moves: Sensitivity[Any] | None = None,
        judged: Sequence[Reading] = (),
    ) -> None:
        super().__init__(path)
        self.findings = findings
        self.moves: Sensitivity[Any] = Sensitivity() if moves is None else moves
        self.judged = judged
        self.missed = [finding for finding in findings if finding.verdict == "not-reproduced"]
        self.undecided = [finding for finding in findings if finding.verdict == "undecided"]

    def moved(self) -> list[Block]:
        """Return the effect of each move; a note on the quantities may follow it."""
        return self.moves.moved()

    def turned(self) -> list[Block]:
        """Return the claims that each move turns."""
        return self.moves.turned()

    def readings(self) -> list[Block]:
        """Return the scores of each reading, and the claims that differ."""
        return readings.compared(self.judged)
