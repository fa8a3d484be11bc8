"""Misses that were looked into one by one: what was tried, and what it showed.

A paper writes them down in a TOML file with a table for each claim, under its name: ``cause``, ``tried`` and ``shown``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from dumbbell.claims import Finding
from dumbbell.report import Column, Section, Table

CAUSES: Mapping[str, str] = {
    "reading": "a choice where the paper is silent",
    "sampling": "too few runs or points",
    "rule": "a rule of the sender or of the measure",
    "open": "not explained",
}
"""Each cause in words."""


def entries(path: str | Path) -> Mapping[str, Mapping[str, str]]:
    """Return what was examined: ``cause``, ``tried`` and ``shown`` of each claim, by its name.

    Parameters
    ----------
    path
        The TOML file.

    Raises
    ------
    ValueError
        A table of the file is incomplete, or its cause is not known.
    """
    file = Path(path)
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))
    for name, entry in found.items():
        if entry.keys() != {"cause", "tried", "shown"}:
            raise ValueError(
                f"{file.name}: [{name}] has {', '.join(sorted(entry))}; accepted: cause, shown, tried"
            )
        if entry["cause"] not in CAUSES:
            raise ValueError(
                f'{file.name}: [{name}]: `cause` is "{entry["cause"]}"; accepted: {", ".join(CAUSES)}'
            )
    return found


def section(path: str | Path, findings: Sequence[Finding]) -> Section:
    """Return the section on examined misses, with the verdict that each of them has in this report.

    Parameters
    ----------
    path
        See `entries`.
    findings
        The findings of this report.
    """
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
                    for name, entry in entries(path).items()
                ],
                note="The numbers come from separate trials, not from the runs of this report. No reading was adopted because "
                "a claim then holds.",
            )
        ],
    )
