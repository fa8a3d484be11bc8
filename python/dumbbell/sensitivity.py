"""Sensitivity of a paper's claims to its open assumptions.

An assumption that a paper leaves open is chosen, and then varied, one at a time, to other admissible values. The
claims are evaluated again on the varied runs and compared with the findings on the same number of runs with the
chosen assumptions, so that the difference is due to the assumption. `Sensitivity` collects the moves of a paper,
names the moves that explain a miss, and writes the section of the report.

A claim close to its limit also changes sides by chance. A move therefore explains a miss only if a placebo does not:
other runs with the chosen assumptions, as many as the move has, relabelled as a variation. With many moves one of
them is likely to be lucky, so the placebo gets as many attempts as there are moves. With many misses one of them is
likely to be lucky, so the chances are adjusted for their number, by Benjamini and Hochberg's procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from dumbbell import plots
from dumbbell.claims import Claim, Finding, judge
from dumbbell.judge.estimate import NotMeasured
from dumbbell.report import Block, Cell, Column, Details, Figure, Table, Text
from dumbbell.report.numbers import number
from dumbbell.statistics import adjust_p_values

E = TypeVar("E")

MINUS = "−"

# Relative change of a quantity above which it is shown in bold.
FAR = 0.1

# Maximum number of moves named for a miss.
NAMED = 3

REPLICATIONS = 20
"""Minimum number of runs of each configuration with a varied assumption."""

PLACEBO_DRAWS = 1000
"""Number of times the runs with the chosen assumptions are relabelled."""

# Maximum share of the explained misses that moves would turn by chance.
CHANCE = 0.1


@dataclass(frozen=True, kw_only=True)
class Variation:
    """A variation of one assumption; the subclass of a paper may add which experiments it affects.

    Parameters
    ----------
    name
        Its name in the keys of runs.
    assumption
        The assumption, in words; empty if `value` is sufficient.
    value
        Its new value, in words.
    changes
        The changed fields of the paper's assumptions.
    """

    name: str
    assumption: str
    value: str
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)

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
        """Number of claims that hold with the move, of those in `judged`."""
        return sum(after.holds is True for _, after in self.judged)

    @property
    def changed(self) -> list[Finding]:
        """Findings with the move whose measured number differs, or the side that the estimate falls on."""
        return [
            after
            for before, after in zip(self.baseline, self.findings, strict=True)
            if before.measured != after.measured or before.holds != after.holds
        ]

    @property
    def gained(self) -> list[Finding]:
        """Findings with the move on claims that hold only with it."""
        return [after for _, after in self._turned() if after.holds]

    @property
    def lost(self) -> list[Finding]:
        """Findings with the move on claims that hold only without it."""
        return [after for _, after in self._turned() if not after.holds]

    def _turned(self) -> Iterator[tuple[Finding, Finding]]:
        return ((before, after) for before, after in self.judged if before.holds != after.holds)


@dataclass(frozen=True, kw_only=True)
class ExplainedMisses:
    """The misses that varied assumptions explain.

    Parameters
    ----------
    explained
        The ids of the explained claims.
    by_placebo
        How many claims placebos explain by the same rule, on relabellings that the rule has not seen.
    has_placebo
        Whether runs with the chosen assumptions were relabelled; without, a placebo explains nothing.
    """

    explained: Sequence[str] = ()
    by_placebo: float = 0.0
    has_placebo: bool = False


class Sensitivity(Generic[V]):
    """The moves of a paper's assumptions.

    Parameters
    ----------
    moves
        The moves in order; the assumptions as chosen come first in each group, if they are shown.
    placebo
        Returns the findings on claims from each relabelling of the runs with the chosen assumptions, see `placebo`; called
        when misses are explained. ``None`` where runs with the same assumptions do not differ.
    explanation
        The misses that the moves explain; ``None`` if none was to be explained.
    """

    def __init__(
        self,
        moves: Iterable[Move[V]] = (),
        placebo: Callable[[], Sequence[Sequence[Finding]]] | None = None,
        explanation: ExplainedMisses | None = None,
    ) -> None:
        self.moves = list(moves)
        self._placebo = placebo
        self._explanation = explanation

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

    @property
    def explained(self) -> list[str]:
        """The ids of the claims that the moves explain."""
        return [] if self._explanation is None else list(self._explanation.explained)

    def explain(self, findings: Sequence[Finding]) -> tuple[list[Finding], Sensitivity[V]]:
        """Return the findings with, for each miss, the varied assumptions that explain it, and the moves that know them.

        A move explains a miss if the claim holds with it, and if the chance that the same number of placebos would turn
        the claim, adjusted for the number of misses, is at most 10 %.
        """
        held: dict[str, list[bool]] = {}
        for draw in self._placebo() if self._placebo is not None else ():
            for finding in draw:
                held.setdefault(finding.claim.id, []).append(finding.holds is True)
        tried, labels = self._tried(finding.claim.id for finding in findings if finding.holds is False)
        chances = [
            _chance(held.get(name, ()), tries) if name in labels else 1.0 for name, tries in tried.items()
        ]
        explained = [
            name
            for name, chance in zip(tried, adjust_p_values(chances, "bh"), strict=True)
            if name in labels and chance <= CHANCE
        ]
        explanation = ExplainedMisses(
            explained=explained,
            by_placebo=_by_placebo(held, tried, len(explained)),
            has_placebo=bool(held),
        )
        told = [
            replace(finding, why=f"{finding.why} {_reason(finding.claim.id, labels, explained)}".strip())
            if finding.claim.id in tried and finding.holds is False
            else finding
            for finding in findings
        ]
        return told, Sensitivity(self.moves, self._placebo, explanation)

    def _tried(self, missed: Iterable[str]) -> tuple[dict[str, int], dict[str, list[str]]]:
        """Return how many moves measured each missed claim differently, and the labels of those with which a claim holds."""
        labels: dict[str, list[str]] = {}
        tried: dict[str, int] = {}
        for move in self.varied:
            for before, after in move.judged:
                if before.measured != after.measured or before.holds != after.holds:
                    tried[after.claim.id] = tried.get(after.claim.id, 0) + 1
                    if after.holds:
                        labels.setdefault(after.claim.id, []).append(move.label)
        return {name: tried[name] for name in missed if name in tried}, labels

    @property
    def is_explained(self) -> bool:
        """Whether misses were explained, with at least one varied assumption."""
        return self._explanation is not None and bool(self.varied)

    @property
    def placebo_explains(self) -> float:
        """How many claims placebos explain by the same rule."""
        return 0.0 if self._explanation is None else self._explanation.by_placebo

    @property
    def placebo_share(self) -> float | None:
        """Share of the explanations that placebos also earn, from 0 to 1; ``None`` without explanations."""
        return self.placebo_explains / len(self.explained) if self.explained else None

    def explanations(self) -> dict[str, float | int | None]:
        """Return the numbers of explained claims, and of those that placebos explain, as plain data for JSON."""
        return {
            "explained": len(self.explained),
            "by_placebo": round(self.placebo_explains, 2),
            "share": self.placebo_share,
        }

    def moved(self, *, groups: Mapping[str, str] | None = None, note: str = "") -> list[Block]:
        """Return what the placebo explains, the claims gained and lost by each move, and the quantities.

        Parameters
        ----------
        groups
            Captions of the groups of moves, in order; one table of all moves without.
        note
            What the headings of the quantities mean.
        """
        blocks: list[Block] = [Text(paragraphs=[self._placebo_text()])] if self.is_explained else []
        blocks.append(Figure(svg=self.figure(), caption="Claims that change their side."))
        for group, caption in (groups or {"": "Effect of varying one assumption"}).items():
            own = [move for move in self.moves if move.group == group]
            if any(move.variation is not None for move in own):
                blocks.append(_table(own, caption, note))
        return blocks

    def turned(self) -> list[Block]:
        """Return the claims that each move turns."""
        return [_details(move) for move in self.varied if move.gained or move.lost]

    def _placebo_text(self) -> str:
        text = (
            f"{len(self.explained)} misses are explained by a varied assumption: the claim holds with it, and as many "
            "placebos as there are variations would turn it so rarely that at most 10 % of the explanations are due to chance. "
            "A placebo is the chosen assumptions with other runs, as many as a variation has."
        )
        if self._explanation is None or not self._explanation.has_placebo:
            return f"{text} Runs with the same assumptions do not differ here, so a placebo explains nothing."
        share = (
            ""
            if self.placebo_share is None
            else f", {100 * self.placebo_share:.0f} % of the number explained"
        )
        return (
            f"{text} By the same rule, placebos that the rule has not seen explain {self.placebo_explains:.1f} "
            f"claims{share}."
        )

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


def _chance(held: Sequence[bool], tries: int) -> float:
    """Return the probability that so many placebos turn a claim, from the draws in which it held; 0 without draws."""
    return 1 - (1 - float(np.mean(held))) ** tries if held else 0.0


def _by_placebo(held: Mapping[str, Sequence[bool]], tried: Mapping[str, int], explained: int) -> float:
    """Return how many claims placebos explain on average: one half of the draws sets the rule, the other is tried."""
    # What the procedure accepts with so many explanations, or would accept of a first one.
    limit = CHANCE * max(1, explained) / max(1, len(tried))
    total = 0.0
    for name, tries in tried.items():
        draws = held.get(name, ())
        half = len(draws) // 2
        if half and _chance(draws[:half], tries) <= limit:
            total += _chance(draws[half:], tries)
    return total


def _reason(name: str, labels: Mapping[str, Sequence[str]], explained: Sequence[str]) -> str:
    """Return whether varied assumptions explain a miss, in a sentence."""
    if name in explained:
        return _holds_with(labels[name])
    if name in labels:
        return "Not explained: runs with the chosen assumptions turn it as often as a varied assumption does."
    return "Not explained: no varied assumption turns it."


def judged_moves(
    claims: Sequence[Claim[E]],
    chosen: E,
    varied: Iterable[tuple[V, E]],
    *,
    group: str = "",
    shown: Callable[[E], Mapping[str, float | None]] | None = None,
    baseline: Sequence[Finding] | None = None,
    concerns: Callable[[V, Claim[E]], bool] = lambda _variation, _claim: True,
) -> list[Move[V]]:
    """Return the chosen assumptions and their variations as moves.

    Parameters
    ----------
    claims
        The claims to judge.
    chosen
        The evidence with the chosen assumptions, from as many runs as a variation has.
    varied
        Each variation that was run, with its evidence.
    group
        See `Move`.
    shown
        Returns the quantities for the table from some evidence; none without.
    baseline
        The findings from `chosen`, if they are known.
    concerns
        Whether a variation bears on a claim.
    """
    known = judge(claims, chosen) if baseline is None else baseline

    def move(
        variation: V | None, evidence: E, after: Sequence[Finding], before: Sequence[Finding]
    ) -> Move[V]:
        quantities = {} if shown is None else shown(evidence)
        return Move(variation=variation, group=group, findings=after, baseline=before, shown=quantities)

    moves = [move(None, chosen, known, known)]
    for variation, evidence in varied:
        own = [concerns(variation, claim) for claim in claims]
        after = judge([claim for claim, is_own in zip(claims, own, strict=True) if is_own], evidence)
        before = [finding for finding, is_own in zip(known, own, strict=True) if is_own]
        moves.append(move(variation, evidence, after, before))
    return moves


def quantities(shown: Mapping[str, Callable[[E], float]], evidence: E) -> dict[str, float | None]:
    """Return the values of functions of some evidence, by heading; ``None`` where evidence is missing."""
    found: dict[str, float | None] = {}
    for heading, measure in shown.items():
        try:
            found[heading] = float(measure(evidence))
        except NotMeasured:
            found[heading] = None
    return found


def _holds_with(labels: Sequence[str]) -> str:
    more = f"; and {len(labels) - NAMED} more" if len(labels) > NAMED else ""
    return f"It holds with another assumption ({'; '.join(labels[:NAMED])}{more})."


def relabelled(
    results: pd.DataFrame, count: Callable[[str], int], generator: np.random.Generator
) -> pd.DataFrame:
    """Return a table of results with a random choice of the runs of each key.

    Keys with the same number of runs get the same positions, so that paired runs stay paired.

    Parameters
    ----------
    results
        The table of results.
    count
        The number of runs to choose for a key; all of them if it has fewer.
    generator
        The source of the choice.
    """
    orders: dict[int, np.ndarray] = {}
    chosen = []
    for key, rows in results.groupby("key", sort=False).indices.items():
        if len(rows) not in orders:
            orders[len(rows)] = generator.permutation(len(rows))
        chosen.append(rows[orders[len(rows)][: count(str(key))]])
    return results.iloc[np.concatenate(chosen)] if chosen else results


def placebo(
    results: pd.DataFrame,
    count: Callable[[str], int],
    findings: Callable[[pd.DataFrame], Sequence[Finding]],
    *,
    seed: int,
    draws: int = PLACEBO_DRAWS,
) -> list[Sequence[Finding]]:
    """Return the findings from relabelled runs with the chosen assumptions.

    Parameters
    ----------
    results, count
        See `relabelled`; only the runs with the chosen assumptions.
    findings
        Evaluates the claims on a table of results.
    seed
        Seed of the choices.
    draws
        Number of relabellings.
    """
    generator = np.random.default_rng([seed, draws])
    return [findings(relabelled(results, count, generator)) for _ in range(draws)]


def placebo_of_misses(
    claims: Sequence[Claim[E]],
    findings: Sequence[Finding],
    results: pd.DataFrame,
    count: Callable[[str], int],
    evidence: Callable[[pd.DataFrame], E],
    *,
    seed: int,
) -> Callable[[], list[Sequence[Finding]]]:
    """Return the placebo of `Sensitivity` for the claims that do not hold.

    Parameters
    ----------
    claims
        The claims that the moves are judged on.
    findings
        The findings with the chosen assumptions.
    results, count, seed
        See `placebo`.
    evidence
        Makes the evidence of a table of results.
    """
    missed = {finding.claim.id for finding in findings if finding.holds is False}
    doubtful = [claim for claim in claims if claim.id in missed]
    return lambda: placebo(results, count, lambda drawn: judge(doubtful, evidence(drawn)), seed=seed)


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
            *Column.words("assumption", "varied to"),
            *Column.numbers("reproduced", "gained", "lost"),
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
                    *Column.words("", "claim", "statement"),
                    *Column.numbers("paper", "measured", "interval"),
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
