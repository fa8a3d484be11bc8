"""Misses looked into one by one, read from ``examined.toml``: what was tried, and what it showed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from dumbbell.claims import Finding
from dumbbell.report import Column, Section, Table

__all__ = ["CAUSES", "entries", "section"]

CAUSES: Mapping[str, str] = {
    "reading": "a choice where the paper is silent",
    "sampling": "too few runs or points",
    "rule": "a rule of the sender or of the measure",
    "open": "not explained",
}
"""Each cause in words."""


@cache
def entries() -> Mapping[str, Mapping[str, str]]:
    """Return what was examined: ``cause``, ``tried`` and ``shown`` of each claim, by its name."""
    path = Path(__file__).with_name("examined.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))


def section(findings: Sequence[Finding]) -> Section:
    """Return the section on examined misses, with the verdict that each of them has in this report."""
    verdicts = {finding.claim.id: finding.verdict for finding in findings}
    return Section(
        anchor="examined",
        title="Misses looked into",
        blocks=[
            Table(
                caption="Misses looked into one by one",
                columns=[
                    Column(title=title, align="left")
                    for title in ("claim", "here", "cause", "tried", "shown")
                ],
                rows=[
                    [
                        name,
                        verdicts.get(name, "").replace("-", " "),
                        CAUSES[entry["cause"]],
                        entry["tried"],
                        entry["shown"],
                    ]
                    for name, entry in entries().items()
                ],
                note="The numbers come from separate trials, not from the runs of this report. No reading was adopted because "
                "a claim then holds.",
            )
        ],
    )
