"""Misses and what is behind them, told in the Markdown file of a report.

The cause of a miss is a paragraph under the name of its claim. What was looked into is two: what was tried, and what it
showed::

    {% call cause("A-1") %}
    Why the claim fails.
    {% endcall %}

    {not_reproduced}

    {% call examined("A-1", "sampling") %}
    What was tried.

    What it showed.
    {% endcall %}

    {looked_into}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.claims import Finding
from dumbbell.papers.claim_details import ANCHOR
from dumbbell.report import Block, Cell, Column, Table, Text
from dumbbell.report.numbers import number

CAUSES: Mapping[str, str] = {
    "reading": "a choice where the paper is silent",
    "sampling": "too few runs or points",
    "rule": "a rule of the sender or of the measure",
    "open": "not explained",
}
"""Each cause in words."""


class Misses:
    """The misses of a report.

    Parameters
    ----------
    findings
        The findings on all claims.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        self._findings = {finding.claim.id: finding for finding in findings}
        self._causes: dict[str, str] = {}
        self._examined: dict[str, list[str]] = {}

    def tell(self, name: str, text: str) -> None:
        """Keep the cause of a miss.

        Raises
        ------
        ValueError
            There is no such claim.
        """
        self._causes[self._known(name).claim.id] = _line(text)

    def examine(self, name: str, cause: str, text: str) -> None:
        """Keep what was looked into.

        Parameters
        ----------
        name
            Name of the claim.
        cause
            One of `CAUSES`.
        text
            A paragraph on what was tried, and one on what it showed.

        Raises
        ------
        ValueError
            There is no such claim or cause, or the text has more or fewer paragraphs.
        """
        if cause not in CAUSES:
            raise ValueError(f'{name}: the cause is "{cause}"; accepted: {", ".join(CAUSES)}')
        paragraphs = [_line(part) for part in text.strip().split("\n\n")]
        if len(paragraphs) != 2:
            raise ValueError(
                f"{name}: {len(paragraphs)} paragraphs; accepted: what was tried, and what it showed"
            )
        here = self._known(name).verdict.replace("-", " ")
        self._examined[name] = [name, here, CAUSES[cause], *paragraphs]

    def _known(self, name: str) -> Finding:
        if name not in self._findings:
            raise ValueError(f"{name} is no claim of this report")
        return self._findings[name]

    def not_reproduced(self) -> Block:
        """Return the table of the claims that are not reproduced."""
        missed = [finding for finding in self._findings.values() if finding.verdict == "not-reproduced"]
        if not missed:
            return Text(paragraphs=["Every claim that could be checked is reproduced."])
        return Table(
            caption="Claims not reproduced",
            columns=[
                Column(title="claim", align="left"),
                Column(title="reason", align="left"),
                *([Column(title="cause", align="left")] if self._causes else []),
                Column(title="statement", align="left"),
                Column(title="paper"),
                Column(title="measured"),
                Column(title="accepted", align="left"),
            ],
            rows=[
                [
                    Cell(
                        text=finding.claim.id,
                        detail=finding.claim.source,
                        link=f"#{ANCHOR}{finding.claim.id}",
                    ),
                    finding.why,
                    *([self._causes.get(finding.claim.id, "")] if self._causes else []),
                    finding.claim.statement,
                    number(finding.claim.paper_value, digits=4),
                    number(finding.measured, digits=4),
                    finding.claim.rule(),
                ]
                for finding in missed
            ],
        )

    def looked_into(self) -> Table:
        """Return the table of what was looked into, with the verdict that each claim has in this report."""
        return Table(
            caption="Misses looked into one by one",
            columns=[
                Column(title=title, align="left") for title in ("claim", "here", "cause", "tried", "shown")
            ],
            rows=list(self._examined.values()),
            note="The numbers come from separate trials, not from the runs of this report. No reading was adopted because "
            "a claim then holds.",
        )


def _line(text: str) -> str:
    return " ".join(text.split())
