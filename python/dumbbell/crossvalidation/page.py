"""The report of a cross-validation: the comparison, the matching of the peer, and the agreement of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dumbbell.campaign import duration
from dumbbell.crossvalidation.grid import Agreement, Grid, sides_of
from dumbbell.crossvalidation.peer import Peer
from dumbbell.crossvalidation.tables import points_table
from dumbbell.judge.criterion import Criterion, criteria_table
from dumbbell.report import Block, Cell, Column, Details, Section, Table, Text, render_page

TRACED = (
    "A disagreement is traced to a rule if it disappears when one side follows the rule of the other and nothing else "
    "changes. The value of that side is then in brackets."
)

# Longer lists of disagreements are folded away.
SHOWN_POINTS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """A grid with its results.

    Parameters
    ----------
    grid
        The grid.
    agreement
        The agreement of both sides; none if there was nothing to evaluate.
    criteria
        The grid's criteria, and those that every grid has.
    blocks
        The grid's own tables and figures.
    runs
        Number of runs on both sides together.
    cases
        Number of cases.
    failures
        Error messages of the peer, by the keys of the cases.
    """

    grid: Grid
    agreement: Agreement | None
    criteria: tuple[Criterion, ...]
    blocks: Sequence[Block]
    runs: int
    cases: int
    failures: dict[str, str]

    @property
    def points(self) -> pd.DataFrame:
        """The evaluated points."""
        if self.agreement is None:
            return pd.DataFrame({"point": [], "agrees": [], "explanation": []})
        return self.agreement.points

    @property
    def disagreeing(self) -> pd.DataFrame:
        """The points that do not agree."""
        return self.points[~self.points["agrees"].astype(bool)]


def page(
    peer: Peer,
    judged: Sequence[Judged],
    *,
    facts: Sequence[tuple[str, str]],
    failures: dict[str, str],
    notice: str,
) -> str:
    """Return the report as the text of one self-contained HTML file.

    Parameters
    ----------
    peer
        The peer.
    judged
        The grids, in order.
    facts
        Pairs of name and value for the head.
    failures
        Why a grid could not be evaluated, by its name.
    notice
        A remark for the top, or an empty text.
    """
    return render_page(
        title=f"Dumbbell and {peer.title}",
        subtitle=f"The same scenarios in Dumbbell and in {peer.title}, compared run by run.",
        facts=facts,
        sections=[
            Section(anchor="criteria", title="Criteria", blocks=_summary(judged, failures)),
            Section(anchor="rules", title=f"Matching {peer.title}", blocks=[_rules(peer)]),
            *(
                Section(anchor=f"grid-{one.grid.name}", title=one.grid.title, blocks=_blocks(one))
                for one in judged
            ),
        ],
        notice=notice,
    )


def _summary(judged: Sequence[Judged], failures: dict[str, str]) -> list[Block]:
    rows: list[list[Cell | str]] = []
    for one in judged:
        heading = Cell(
            text=one.grid.title, detail=f"{counted_text(one.cases, 'case')}, {counted_text(one.runs, 'run')}"
        )
        for number, row in enumerate(criteria_table(one.criteria).rows):
            rows.append([heading if number == 0 else "", *row])
        if not one.criteria:
            rows.append([heading, Cell(text="no case for this peer", tone="muted"), "", "", ""])
    columns = [Column(title="grid", align="left"), *criteria_table([]).columns]
    blocks: list[Block] = [Table(caption="Criteria: targets and measured values", columns=columns, rows=rows)]
    if failures:
        blocks.append(Text(paragraphs=[f"{name} was not evaluated: {why}" for name, why in failures.items()]))
    return blocks


def _rules(peer: Peer) -> Table:
    return Table(
        caption=f"Defaults and faults of {peer.title} that matter, and how each was matched",
        columns=Column.words("aspect", peer.title, "matched"),
        rows=[[rule.aspect, rule.peer, rule.matched] for rule in peer.rules],
    )


def _blocks(one: Judged) -> list[Block]:
    blocks: list[Block] = [Text(paragraphs=[one.grid.question])]
    if one.criteria:
        blocks.append(criteria_table(one.criteria))
    blocks.extend(one.blocks)
    if len(one.disagreeing):
        table = points_table(one.disagreeing, caption=f"Disagreeing points: {_of(one)}", note=TRACED)
        folded = len(one.disagreeing) > SHOWN_POINTS
        blocks.append(Details(title=table.caption, blocks=[table]) if folded else table)
    elif len(one.points):
        blocks.append(Text(paragraphs=[f"No point of {len(one.points)} disagrees."]))
    else:
        blocks.append(Text(paragraphs=["Nothing was evaluated."]))
    if one.failures:
        listed = Table(
            caption=f"Cases in which the peer failed: {len(one.failures)} of {one.cases}",
            columns=Column.words("case", "error message"),
            rows=[[key, why] for key, why in one.failures.items()],
        )
        blocks.append(Details(title=listed.caption, blocks=[listed]))
    return blocks


def _of(one: Judged) -> str:
    return f"{len(one.disagreeing)} of {len(one.points)}"


def cases_text(judged: Sequence[Judged]) -> str:
    """Return how many cases were run, and where."""
    both = sum(one.cases for one in judged if len(sides_of(one.grid)) > 1)
    alone = sum(one.cases for one in judged) - both
    parts = [(both, "on both sides"), (alone, "in Dumbbell only")]
    return ", ".join(f"{number} {where}" for number, where in parts if number) or "none"


def counted_text(number: int, noun: str) -> str:
    """Return a count in words, as ``"1 run"`` or ``"2 runs"``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cpu_text(seconds: float | None) -> str:
    """Return a CPU time in words; short ones in hundredths of a second."""
    if seconds is None:
        return "not measured"
    return f"{seconds:.2f} s" if seconds < 10 else duration(seconds)
