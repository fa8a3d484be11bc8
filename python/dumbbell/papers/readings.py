"""Readings of a paper: the scoreboard under each, so that nobody has to trust our choice.

A paper leaves details open. The *best-supported* reading fills them in as the evidence suggests, which may include elements that
the paper does not mention; the *literal* one has nothing but what the paper states and the assumptions of its
specification. Both are judged on the same claims with the same number of runs. The first reading of a sequence is the
one that the paper's own scoreboard shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell import claims
from dumbbell.claims import Finding, scoreboard
from dumbbell.report import Block, Cell, Column, Table
from dumbbell.report.numbers import number

GROUPS: Mapping[str, str] = dict(zip(claims.SHORT_GROUPS, claims.GROUPS, strict=True))
"""Keys in the JSON of the groups that claims are counted in."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A reading of a paper, with the claims judged under it.

    Parameters
    ----------
    name
        Its name, as ``"literal"``.
    statement
        What it takes from the paper and what it adds, in a sentence.
    findings
        The findings on all claims of the paper.
    """

    name: str
    statement: str
    findings: Sequence[Finding]

    def scores(self) -> dict[str, dict[str, Any]]:
        """Return ``orderings`` and ``values``: the ``claims`` counted, those ``holding``, and the ``share``, percent."""
        rows = {row["name"]: row for row in scoreboard(self.findings)["groups"]}
        found = {}
        for key, group in GROUPS.items():
            row = rows[group]
            counted = row["reproduced"] + row["undecided"] + row["missed"]
            found[key] = {"holding": row["holding"], "claims": counted, "share": row["share"]}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return name, statement and scores as plain data for JSON."""
        return {"name": self.name, "statement": self.statement, **self.scores()}


def _score(score: Mapping[str, Any]) -> Cell:
    share = "–" if score["share"] is None else f"{score['share']:.1f} %"
    return Cell(text=share, detail=f"{score['holding']} of {score['claims']}")


def _scores(readings: Sequence[Reading]) -> Table:
    rows: list[list[Cell | str]] = []
    for place, reading in enumerate(readings):
        scores = reading.scores()
        label = Cell(text=reading.name, tone="" if place else "strong")
        rows.append([label, reading.statement, *(_score(scores[key]) for key in GROUPS)])
    return Table(
        caption="Printed claims that hold under each reading",
        columns=[
            Column(title="reading", align="left"),
            Column(title="what it contains", align="left"),
            *(Column(title=group) for group in GROUPS.values()),
        ],
        rows=rows,
        note="Same claims, seeds and replications. Bold: the reading of the scoreboard.",
    )


def _differing(readings: Sequence[Reading]) -> list[list[Finding]]:
    """Return the findings of each reading on every counted claim that does not hold, or fail, under all."""
    by_claim = zip(*(reading.findings for reading in readings), strict=True)
    counted = ([*findings] for findings in by_claim if any(finding.is_measured for finding in findings))
    return [findings for findings in counted if len({finding.holds for finding in findings}) > 1]


def _verdict(finding: Finding) -> Cell:
    return Cell(
        text=number(finding.measured),
        detail=finding.verdict.replace("-", " "),
        tone="good" if finding.holds else "muted" if finding.holds is None else "bad",
        hint=finding.why,
    )


def _differences(readings: Sequence[Reading]) -> Table:
    rows: list[list[Cell | str]] = []
    for findings in _differing(readings):
        claim = findings[0].claim
        paper = number(claim.paper_value) if claim.paper_value is not None else ""
        rows.append([claim.id, claim.statement, paper, claim.rule(), *map(_verdict, findings)])
    return Table(
        caption="Claims that hold under one reading only",
        columns=[
            Column(title="claim", align="left"),
            Column(title="statement", align="left"),
            Column(title="paper"),
            Column(title="rule", align="left"),
            *(Column(title=reading.name) for reading in readings),
        ],
        rows=rows,
    )


def compared(readings: Sequence[Reading]) -> list[Block]:
    """Return the scores of each reading, and the claims that differ.

    Parameters
    ----------
    readings
        The readings, that of the scoreboard first; each with findings on the same claims in the same order.

    Raises
    ------
    ValueError
        There are fewer than two readings, or they are not on the same claims.
    """
    if len(readings) < 2:
        raise ValueError(f"{len(readings)} readings; accepted: at least two")
    for reading in readings[1:]:
        if [f.claim.id for f in reading.findings] != [f.claim.id for f in readings[0].findings]:
            raise ValueError(f"reading {reading.name} is not on the claims of {readings[0].name}")
    return [_scores(readings), _differences(readings)]
