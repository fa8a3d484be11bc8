"""What the report on the full design computes; ``report.md`` names it.

All numbers are computed from the runs or read from the paper's data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from dumbbell.report import Cell
from dumbbell.report.numbers import fixed, number
from dumbbell.report.page import Page, Row
from dumbbell.statistics import Interval

from ..printed import TERMS
from ..scenarios import PHASE_LETTERS
from . import figures
from .clusters import (
    PARTS,
    Agreement,
    against_each_other,
    clustered,
    coherence,
    contributions,
    inside,
    outstanding_cells,
)
from .design import CLUSTERED, Response, between_blocks, blocks
from .effects import CONFIDENCE, KINDS, Study, kind, surviving

PAIRS = 10
"""Number of interactions of two mechanisms shown for each study."""

CLUSTERS = [phase for phase, letters in PHASE_LETTERS.items() if len(letters) > 1]
"""The clusters of several mechanisms."""

NAMED = 3
"""Number of effects of a kind that are named in the text."""


def _p(value: float) -> str:
    """Return a p value for reading."""
    return "" if np.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _width(value: float) -> str:
    """Return a half-width for reading."""
    return "–" if np.isnan(value) else f"{value:.2f}"


def _within(interval: Interval) -> str:
    """Return an estimate with its half-width."""
    return f"{fixed(interval.estimate, 2)} ± {_width(interval.half_width)}"


def _limits(low: float, high: float, digits: int) -> str:
    """Return the limits of an interval; an empty text without."""
    return "" if np.isnan(low) else f"{fixed(low, digits)} to {fixed(high, digits)}"


def _plain(term: str) -> str:
    """Return a term without its separators, as ``CDE``."""
    return term.replace(":", "")


def _effects(study: Study, terms: Sequence[str]) -> str:
    """Return effects in words, the largest first."""
    ranked = sorted(terms, key=lambda term: -abs(float(study.analysis.effects[term])))
    words = [f"{_plain(term)} {fixed(float(study.analysis.effects[term]), 2)}" for term in ranked[:NAMED]]
    more = len(ranked) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")


def _effect_cell(study: Study, term: str) -> Cell:
    """Return an effect with its simultaneous half-width."""
    effect, half = float(study.analysis.effects[term]), float(study.joint_half_widths[term])
    return Cell(
        text=f"{fixed(effect, 2)} ± {_width(half)}",
        tone="" if term in study.standing_out else "muted",
        hint=f"p (Holm) {_p(study.by_term['p_holm'][term])}, q {_p(study.by_term['p_bh'][term])}",
    )


class Content(Page):
    """The report.

    Parameters
    ----------
    studies
        The analyses, response by response.
    agreement
        The comparison with the clustered tables; ``None`` where the design leaves some of A to G out.
    """

    clustered = CLUSTERED
    confidence = CONFIDENCE
    parts = PARTS

    def __init__(self, studies: Sequence[Study], agreement: Agreement | None) -> None:
        super().__init__(Path(__file__).with_name("report.md"))
        self.studies = list(studies)
        self.agreement = agreement
        self.analysis = studies[0].analysis
        self.mechanisms = studies[0].mechanisms
        self.count = len(self.analysis.effects)
        self.runs = self.analysis.replications
        self.responses: list[Response] = list(dict.fromkeys(study.response for study in studies))

    def of(self, response: str) -> list[Study]:
        """Return the studies of a response, by its column."""
        return [study for study in self.studies if study.response.column == response]

    def figure(self, name: str, response: str = "") -> str:
        """Draw a figure of `figures`, of all studies or of those of a response."""
        draw: Callable[[Sequence[Study]], str] = getattr(figures, name)
        return draw(self.of(response) if response else self.studies)

    # The design

    @property
    def blocks(self) -> int:
        """Number of blocks of a replication."""
        return int(blocks(self.mechanisms).max()) + 1

    @cached_property
    def apart(self) -> list[str]:
        """The interactions that differ between blocks only."""
        return between_blocks(self.mechanisms)

    @property
    def quantile(self) -> str:
        """The quantile of the simultaneous intervals."""
        return f"{self.analysis.simultaneous_quantile:.2f}"

    def overview(self) -> list[Row]:
        """Return the variation and the number of significant effects of each column."""
        rows: list[Row] = []
        for study, all_columns in zip(self.studies, surviving(self.studies).sum(axis=1), strict=True):
            one, ranking = study.analysis, study.ranking
            rows.append(
                [
                    study.response.title,
                    study.condition.title,
                    Cell(text=f"{one.mean:.2f}", detail=study.response.unit),
                    f"{float(one.percent.sum()):.1f}",
                    f"{one.percent_replications:.1f}",
                    f"{one.percent_error:.1f}",
                    _width(float(np.median(study.joint_half_widths))),
                    Cell(text=str(len(study.standing_out)), tone="strong"),
                    str(int((ranking["p_holm"] <= 1 - CONFIDENCE).sum())),
                    str(int(all_columns)),
                    str(int((ranking["p_bh"] <= 1 - CONFIDENCE).sum())),
                ]
            )
        return rows

    # What the clusters conceal

    def everywhere(self, describe: Callable[[Study], str], nothing: str) -> str:
        """Return the findings of each study, by response; studies without findings are omitted."""
        parts = []
        for response in self.responses:
            texts = [(study.condition.title, describe(study)) for study in self.of(response.column)]
            found = "; ".join(f"{condition}: {text}" for condition, text in texts if text)
            parts.append(f"On {response.title}, {found or nothing}.")
        return " ".join(parts)

    @staticmethod
    def opposed(study: Study) -> str:
        """Return the members of clusters that have significant effects of opposite sign."""
        texts = []
        for phase in CLUSTERS:
            raising, lowering = against_each_other(study, phase)
            if raising and lowering:
                texts.append(
                    f"in {phase} {_effects(study, raising)} against {_effects(study, lowering)} {study.response.unit}"
                )
        return ", ".join(texts)

    @staticmethod
    def inside_clusters(study: Study) -> str:
        """Return the significant interactions within clusters."""
        texts = []
        for phase in CLUSTERS:
            terms = inside(phase, study.mechanisms)
            found = [term for term in terms if term in study.standing_out]
            if found:
                texts.append(
                    f"{len(found)} of {len(terms)} in {phase} ({_effects(study, found)} {study.response.unit})"
                )
        return ", ".join(texts)

    @staticmethod
    def between_clusters(study: Study) -> str:
        """Return the significant pairs of mechanisms of different clusters."""
        found = [term for term in study.standing_out if kind(term) == KINDS[2]]
        return f"{_effects(study, found)} {study.response.unit}" if found else ""

    @staticmethod
    def outside_clusters(study: Study) -> str:
        """Return the significant effects with mechanisms of no cluster."""
        found = [term for term in study.standing_out if set(term.split(":")) - set(CLUSTERED)]
        if not found:
            return ""
        alone = [term for term in found if ":" not in term]
        together = len(found) - len(alone)
        main = (
            f"{_effects(study, alone)} {study.response.unit} as main effects" if alone else "no main effect"
        )
        return main + (
            f", and {together} interaction{'s' if together > 1 else ''} with them" if together else ""
        )

    def recovery_shares(self) -> str:
        """Return the variation of throughput explained by recovery as one factor, and by its single mechanisms."""
        members, texts = list(PHASE_LETTERS["rec"]), []
        for study in self.of("throughput"):
            texts.append(
                f"{study.condition.title}: {float(clustered(study).percent['rec']):.1f} % as one factor, "
                f"{float(study.analysis.percent[members].sum()):.1f} % individually "
                f"(coherence {coherence(study, 'rec'):.2f})"
            )
        return "; in ".join(texts)

    def members(self) -> list[Row]:
        """Return the composition of each cluster's effect in the eight cells."""
        return [self._members(study, phase) for study in self.studies for phase in CLUSTERS]

    @staticmethod
    def _members(study: Study, phase: str) -> Row:
        eight, letters = clustered(study), PHASE_LETTERS[phase]
        terms = inside(phase, study.mechanisms)
        effects = study.analysis.effects
        return [
            study.response.title,
            study.condition.title,
            phase,
            Cell(
                text=f"{fixed(float(eight.effects[phase]), 2)} ± {eight.effect(phase).hw_two_sided:.2f}",
                tone="strong",
            ),
            fixed(float(effects[list(letters)].sum()), 2),
            "  ".join(
                f"{letter} {fixed(float(effects[letter]), 2)}{'' if letter in study.standing_out else ' n'}"
                for letter in letters
            ),
            f"{coherence(study, phase):.2f}",
            f"{sum(term in study.standing_out for term in terms)} of {len(terms)}",
            f"{float(study.analysis.percent[terms].sum()):.2f}",
        ]

    def best_combinations(self) -> list[Row]:
        """Return the best combination under every condition, compared with that of the paper's Vegas."""
        rows: list[Row] = []
        for study in self.studies:
            more_is_better = study.response.metric == "thr"
            best = outstanding_cells(study, highest=more_is_better)
            difference = best.difference
            itself = best.letters == CLUSTERED
            counts = [str(best.better), str(best.worse)]
            rows.append(
                [
                    f"{'most' if more_is_better else 'least'} {study.response.title}",
                    study.condition.title,
                    Cell(text=best.letters or "none", tone="strong"),
                    number(best.mean),
                    "" if itself else fixed(difference.estimate, 2),
                    "" if itself else f"{fixed(difference.low, 2)} to {fixed(difference.high, 2)}",
                    *(counts if more_is_better else reversed(counts)),
                ]
            )
        return rows

    def composition(self, place: str) -> list[Row]:
        """Return the effects of the eight cells as sums of effects of the full design."""
        study = self.studies[int(place)]
        parts, eight = contributions(study), clustered(study)
        values = {"mean": eight.mean} | {term: float(eight.effects[term.replace("_", ":")]) for term in TERMS}
        return [
            [term, Cell(text=fixed(value, 2), tone="strong"), *map(_within, parts[term])]
            for term, value in values.items()
        ]

    # Effects

    def shares(self, response: str) -> list[Row]:
        """Return what each kind of effects, the replications and the error explain."""
        found = self.of(response)
        rows: list[list[Cell | str]] = []
        for kinds in zip(*(study.shares() for study in found), strict=True):
            row: list[Cell | str] = [Cell(text=kinds[0].kind, detail=f"{kinds[0].count} effects")]
            for share in kinds:
                row += [f"{share.percent:.2f}", _width(share.by_chance), str(share.standing_out)]
            rows.append(row)
        replications: list[Cell | str] = ["replications"]
        error: list[Cell | str] = ["error"]
        for study in found:
            replications += [f"{study.analysis.percent_replications:.2f}", "", ""]
            error += [f"{study.analysis.percent_error:.2f}", "", ""]
        return [*rows, replications, error]

    def main(self, response: str) -> list[Row]:
        """Return the main effects on a response."""
        rows: list[Row] = []
        for letter in self.mechanisms:
            row: list[Cell | str] = [letter]
            for study in self.of(response):
                row += [_effect_cell(study, letter), f"{float(study.analysis.percent[letter]):.2f}"]
            rows.append(row)
        return rows

    def pairs(self, response: str) -> list[Row]:
        """Return the largest interactions of two mechanisms."""
        found = self.of(response)
        ranked = [study.largest(PAIRS, order=2) for study in found]
        rows: list[Row] = []
        for terms in zip(*ranked, strict=True):
            row: list[Cell | str] = [str(len(rows) + 1)]
            for study, term in zip(found, terms, strict=True):
                row += [
                    _plain(term),
                    _effect_cell(study, term),
                    f"{float(study.analysis.percent[term]):.2f}",
                ]
            rows.append(row)
        return rows

    def ranked(self, place: str, count: str) -> list[Row]:
        """Return the largest effects of a study."""
        study = self.studies[int(place)]
        return [
            [
                str(rank),
                _plain(row["term"]),
                Cell(
                    text=fixed(row["effect"], 3), tone="strong" if row["term"] in study.standing_out else ""
                ),
                _limits(row["low"], row["high"], 3),
                f"{row['percent']:.3f}",
                _p(row["p_holm"]),
                _p(row["p_bh"]),
            ]
            for rank, row in study.ranking.head(int(count)).iterrows()
        ]

    # Agreement

    def comparisons(self, place: str) -> list[Row]:
        """Return the effects of a study in the eight cells beside those of the runs of the tables."""
        study = self.studies[int(place)]
        return [
            [
                one.term,
                _within(one.design),
                _within(one.tables),
                Cell(
                    text=_within(one.difference),
                    tone="good" if one.agree else "muted" if one.agree_jointly else "bad",
                ),
                _width(one.joint_half_width),
                fixed(one.printed, 2),
            ]
            for one in (self.agreement.comparisons if self.agreement else ())
            if (one.condition, one.response) == (study.condition, study.response)
        ]
