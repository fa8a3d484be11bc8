"""Sensitivity of a paper's claims to its open assumptions.

An assumption that a paper leaves open is chosen, and then varied, one at a time, to other admissible values. The
claims are evaluated again on the varied runs and compared with the findings on the same number of runs with the
chosen assumptions, so that the difference is due to the assumption. `Sensitivity` collects the moves of a paper,
names the moves that turn a miss, and writes the section of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from dumbbell import plots
from dumbbell.claims import Finding, NotMeasured, number
from dumbbell.report import Block, Cell, Column, Details, Figure, Section, Table, Text

__all__ = ["Move", "Sensitivity", "Variation", "quantities"]

E = TypeVar("E")

MINUS = "−"

# Relative change of a quantity above which it is shown in bold.
FAR = 0.1

# Maximum number of moves named for a miss.
NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Variation:
    """A variation of one assumption; the subclass of a paper adds what changes and which experiments it affects.

    Parameters
    ----------
    name
        Its name in the keys of runs.
    assumption
        The assumption, in words; empty if `value` is sufficient.
    value
        Its new value, in words.
    """

    name: str
    assumption: str
    value: str

    @property
    def label(self) -> str:
        """The move in words."""
        return f"{self.assumption}: {self.value}" if self.assumption else self.value


V = TypeVar("V", bound=Variation)


@dataclass(frozen=True, kw_only=True)
class Move(Generic[V]):
    """The effect of varying one assumption.

    Parameters
    ----------
    variation
        The assumption and its new value; ``None`` for the chosen assumptions.
    findings
        The claims evaluated on the varied runs.
    baseline
        The same claims, in the same order, evaluated with the chosen assumptions.
    group
        Group of experiments that the claims belong to, where a paper moves assumptions group by group.
    shown
        Quantities for the table, by heading; ``None`` where one was not measured.
    """

    variation: V | None
    findings: Sequence[Finding]
    baseline: Sequence[Finding]
    group: str = ""
    shown: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        moved, chosen = ([finding.claim.id for finding in part] for part in (self.findings, self.baseline))
        if moved != chosen:
            raise ValueError(f"{self.label}: the findings are not on the claims of the baseline")

    @property
    def label(self) -> str:
        """The move in words."""
        return "as chosen" if self.variation is None else self.variation.label

    @property
    def judged(self) -> list[tuple[Finding, Finding]]:
        """The findings before and after the move for every claim that both could evaluate."""
        pairs = zip(self.baseline, self.findings, strict=True)
        return [(before, after) for before, after in pairs if before.is_judged and after.is_judged]

    @property
    def reproduced(self) -> int:
        """Number of claims reproduced with the move, of those in `judged`."""
        return sum(after.verdict == "reproduced" for _, after in self.judged)

    @property
    def changed(self) -> list[Finding]:
        """Findings with the move whose measured number or verdict differs."""
        return [
            after
            for before, after in zip(self.baseline, self.findings, strict=True)
            if before.measured != after.measured or before.verdict != after.verdict
        ]

    @property
    def gained(self) -> list[Finding]:
        """Findings with the move on claims that are reproduced only with it."""
        return [after for before, after in self._turned() if after.verdict == "reproduced"]

    @property
    def lost(self) -> list[Finding]:
        """Findings with the move on claims that are reproduced only without it."""
        return [after for before, after in self._turned() if before.verdict == "reproduced"]

    def _turned(self) -> Iterator[tuple[Finding, Finding]]:
        return ((before, after) for before, after in self.judged if before.verdict != after.verdict)


class Sensitivity(Generic[V]):
    """The moves of a paper's assumptions.

    Parameters
    ----------
    moves
        The moves in order; the assumptions as chosen come first in each group, if they are shown.
    """

    def __init__(self, moves: Iterable[Move[V]] = ()) -> None:
        self.moves = list(moves)

    def __iter__(self) -> Iterator[Move[V]]:
        return iter(self.moves)

    def __len__(self) -> int:
        return len(self.moves)

    @property
    def varied(self) -> list[Move[V]]:
        """The moves without the assumptions as chosen."""
        return [move for move in self.moves if move.variation is not None]

    def named(self, name: str) -> Move[V] | None:
        """Return the first move of a variation; ``None`` if there is none."""
        found = (move for move in self.moves if move.variation is not None and move.variation.name == name)
        return next(found, None)

    def explain(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings with, for each miss, the varied assumptions under which the claim holds.

        Only moves that take the measured number out of its interval are named: others change sides by chance.
        """
        turned: dict[str, list[str]] = {}
        missed = {finding.claim.id: finding for finding in findings if finding.verdict == "not-reproduced"}
        for move in self.varied:
            for gain in move.gained:
                finding = missed.get(gain.claim.id)
                if finding is not None and gain.measured is not None and not _inside(finding, gain.measured):
                    turned.setdefault(gain.claim.id, []).append(move.label)
        return [
            replace(finding, why=f"{finding.why} {_holds_with(turned[finding.claim.id])}".strip())
            if finding.claim.id in turned
            else finding
            for finding in findings
        ]

    def section(
        self,
        *,
        paragraphs: Sequence[str],
        groups: Mapping[str, str] | None = None,
        note: str = "",
        further: Sequence[Block] = (),
    ) -> Section:
        """Return the section of the report: claims gained and lost by each move, quantities, and the claims themselves.

        Parameters
        ----------
        paragraphs
            How assumptions were varied, and what is compared.
        groups
            Captions of the groups of moves, in order; one table of all moves without.
        note
            What the headings of the quantities mean.
        further
            Further blocks of the section.
        """
        if not self.varied:
            blocks: list[Block] = [Text(paragraphs=["No assumption was varied in this reproduction."])]
            return Section(anchor="sensitivity", title="Sensitivity", blocks=[*blocks, *further])
        blocks = [
            Text(paragraphs=paragraphs),
            Figure(svg=self.figure(), caption="Claims that change their verdict."),
        ]
        for group, caption in (groups or {"": "Effect of varying one assumption"}).items():
            own = [move for move in self.moves if move.group == group]
            if any(move.variation is not None for move in own):
                blocks.append(_table(own, caption, note))
        return Section(
            anchor="sensitivity",
            title="Sensitivity",
            blocks=[*blocks, *map(_details, self._turning()), *further],
        )

    def _turning(self) -> list[Move[V]]:
        return [move for move in self.varied if move.gained or move.lost]

    def figure(self) -> str:
        """Draw how many claims each move gains and loses; returns the text of an SVG file."""
        moved = self.varied
        drawn, axes = plots.figure(width=8.5, height=0.6 + 0.24 * len(moved))
        ax = axes[0, 0]
        place = list(range(len(moved)))[::-1]
        gained, lost = [len(move.gained) for move in moved], [-len(move.lost) for move in moved]
        ax.barh(place, gained, color=plots.COLOURS[2], height=0.7, label="reproduced only with the variation")
        ax.barh(place, lost, color=plots.COLOURS[1], height=0.7, label="lost with the variation")
        ax.axvline(0, color="#333333", linewidth=0.8)
        ax.set_yticks(place, [move.label for move in moved], fontsize=8)
        ax.set_xlabel("claims")
        ax.legend(frameon=False, fontsize=8)
        return plots.to_svg(drawn)


def quantities(shown: Mapping[str, Callable[[E], float]], evidence: E) -> dict[str, float | None]:
    """Return the values of functions of some evidence, by heading; ``None`` where evidence is missing."""
    found: dict[str, float | None] = {}
    for heading, measure in shown.items():
        try:
            found[heading] = float(measure(evidence))
        except NotMeasured:
            found[heading] = None
    return found


def _inside(finding: Finding, measured: float) -> bool:
    """Return whether a number lies inside the interval of a finding."""
    return finding.low is not None and finding.high is not None and finding.low <= measured <= finding.high


def _holds_with(labels: Sequence[str]) -> str:
    more = f"; and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return f"It holds with another assumption ({'; '.join(labels[:NAMED])}{more})."


def _table(moves: Sequence[Move[V]], caption: str, note: str) -> Table:
    """Return the table of some moves; quantities far from those of the first one are bold."""
    headings = list(moves[0].shown)
    rows: list[list[Cell | str]] = []
    for move in moves:
        score = f"{move.reproduced} of {len(move.judged)}"
        if move.variation is None:
            row: list[Cell | str] = [Cell(text="none", tone="strong"), move.label, score, "", ""]
        else:
            counts = f"+{len(move.gained)}", f"{MINUS}{len(move.lost)}"
            row = [move.variation.assumption, move.variation.value, score, *counts]
        rows.append(row + [_quantity(move, moves[0], heading) for heading in headings])
    return Table(
        caption=caption,
        columns=[
            Column(title="assumption", align="left"),
            Column(title="varied to", align="left"),
            Column(title="reproduced"),
            Column(title="gained"),
            Column(title="lost"),
            *(Column(title=heading) for heading in headings),
        ],
        rows=rows,
        note=note,
    )


def _quantity(move: Move[V], chosen: Move[V], heading: str) -> Cell | str:
    """Return a quantity of a move; empty if it equals that of the chosen assumptions."""
    value, usual = move.shown.get(heading), chosen.shown.get(heading)
    if value is None or (move is not chosen and value == usual):
        return ""
    is_far = move is not chosen and usual is not None and abs(value - usual) > FAR * abs(usual)
    return Cell(text=number(value), tone="strong" if is_far else "")


def _details(move: Move[V]) -> Details:
    """Return the claims that a move turns."""
    return Details(
        title=f"{move.label}: {len(move.gained)} gained, {len(move.lost)} lost",
        blocks=[
            Table(
                caption="Claims whose verdict changes",
                columns=[
                    Column(title="", align="left"),
                    Column(title="claim", align="left"),
                    Column(title="statement", align="left"),
                    Column(title="paper"),
                    Column(title="measured"),
                    Column(title="interval"),
                ],
                rows=[
                    *(_change(finding, Cell(text="gained", tone="good")) for finding in move.gained),
                    *(_change(finding, Cell(text="lost", tone="bad")) for finding in move.lost),
                ],
            )
        ],
    )


def _change(finding: Finding, label: Cell) -> list[Cell | str]:
    return [
        label,
        finding.claim.id,
        finding.claim.statement,
        number(finding.claim.paper_value),
        number(finding.measured),
        "" if finding.low is None else f"{number(finding.low)} to {number(finding.high)}",
    ]
