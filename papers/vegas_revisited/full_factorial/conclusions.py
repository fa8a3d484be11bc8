"""Conclusions from the full design: what the clusters of the three-factor design conceal. Every number is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from dumbbell.report import Cell, Column, Table
from dumbbell.report.numbers import number

from dumbbell.report.numbers import fixed as signed
from ..scenarios import PHASE_LETTERS
from .clusters import (
    against_each_other,
    clustered,
    coherence,
    inside,
    outstanding_cells,
)
from .design import CLUSTERED
from .effects import KINDS, Study, kind

CLUSTERS = [phase for phase, letters in PHASE_LETTERS.items() if len(letters) > 1]
"""The clusters of several mechanisms."""

NAMED = 3
"""Number of effects of a kind that are named in the text."""


def plain_term(term: str) -> str:
    """Return a term without its separators, as ``CDE``."""
    return term.replace(":", "")


def _effects(study: Study, terms: Sequence[str]) -> str:
    """Return effects in words, the largest first."""
    ranked = sorted(terms, key=lambda term: -abs(float(study.analysis.effects[term])))
    words = [f"{plain_term(term)} {signed(float(study.analysis.effects[term]))}" for term in ranked[:NAMED]]
    more = len(ranked) - len(words)
    return ", ".join(words) + (f" and {more} more" if more else "")


def _everywhere(studies: Sequence[Study], describe: Callable[[Study], str], nothing: str) -> str:
    """Return the findings of each study, by response; studies without findings are omitted."""
    parts = []
    for title, group in groupby(studies, key=lambda study: study.response.title):
        texts = [(study.condition.title, describe(study)) for study in group]
        found = "; ".join(f"{condition}: {text}" for condition, text in texts if text)
        parts.append(f"On {title}, {found}." if found else f"On {title}, {nothing}.")
    return " ".join(parts)


def _against(study: Study) -> str:
    texts = []
    for phase in CLUSTERS:
        raising, lowering = against_each_other(study, phase)
        if raising and lowering:
            texts.append(
                f"in {phase} {_effects(study, raising)} against {_effects(study, lowering)} {study.response.unit}"
            )
    return ", ".join(texts)


def _inside(study: Study) -> str:
    texts = []
    for phase in CLUSTERS:
        terms = inside(phase, study.mechanisms)
        found = [term for term in terms if term in study.standing_out]
        if found:
            texts.append(
                f"{len(found)} of {len(terms)} in {phase} ({_effects(study, found)} {study.response.unit})"
            )
    return ", ".join(texts)


def _between(study: Study) -> str:
    found = [term for term in study.standing_out if kind(term) == KINDS[2]]
    return f"{_effects(study, found)} {study.response.unit}" if found else ""


def _outside(study: Study) -> str:
    found = [term for term in study.standing_out if set(term.split(":")) - set(CLUSTERED)]
    if not found:
        return ""
    alone = [term for term in found if ":" not in term]
    main = f"{_effects(study, alone)} {study.response.unit} as main effects" if alone else "no main effect"
    together = len(found) - len(alone)
    return f"{main}" + (
        f", and {together} interaction{'s' if together > 1 else ''} with them" if together else ""
    )


def _shares(study: Study) -> str:
    """Return the variation explained by recovery as one factor and by its single mechanisms, with their agreement in sign."""
    members = list(PHASE_LETTERS["rec"])
    one_by_one = float(study.analysis.percent[members].sum())
    as_one = float(clustered(study).percent["rec"])
    return f"{as_one:.1f} % as one factor, {one_by_one:.1f} % individually (coherence {coherence(study, 'rec'):.2f})"


def paragraphs(studies: Sequence[Study]) -> list[str]:
    """Return the reading, a paragraph for each question."""
    throughput = [study for study in studies if study.response.metric == "thr"]
    return [
        "The three-factor design switches A with G, and C with D, E and F. In its eight cells, the product of two mechanisms of one "
        "cluster is constant, so every interaction of an even number of them is part of the mean, and every interaction of "
        "an odd number is part of the cluster's effect. It cannot distinguish members that help each other from "
        "members that counteract each other, and says nothing about H, I and J. An effect is named below if its interval, corrected for all effects of "
        "its column, excludes 0; effects are half the change from off to on.",
        "Opposite signs. The effect of a cluster is the sum of the effects of its members. "
        + _everywhere(studies, _against, "no cluster has members with significant effects of opposite sign"),
        "Significant interactions within clusters. "
        + _everywhere(studies, _inside, "no interaction within a cluster is significant"),
        "Significant pairs across clusters, the components of interactions of the phases. "
        + _everywhere(studies, _between, "no pair of mechanisms of different clusters is significant"),
        "H, I and J, which are off in the paper's designs. "
        + _everywhere(studies, _outside, "no effect with H, I or J is significant"),
        "Shares of variation do not add up over a cluster: as one factor its share grows with the square of the sum of the members' "
        "effects, individually with the sum of their squares. Coherence is the ratio of the two divided by the number of members: "
        "1 if all have the same effect, 0.25 if only one of four has an effect, 0 if they cancel. Recovery explains, of the "
        "variation of throughput, in "
        + "; in ".join(f"{study.condition.title}: {_shares(study)}" for study in throughput)
        + ". The first share refers to the variation among the eight cells, the second to that among all cells of the design.",
    ]


def inside_table(studies: Sequence[Study]) -> Table:
    """Return the composition of each cluster's effect in the eight cells."""
    rows: list[list[Cell | str]] = []
    for study in studies:
        eight = clustered(study)
        for phase in CLUSTERS:
            members = PHASE_LETTERS[phase]
            terms = inside(phase, study.mechanisms)
            found = [term for term in terms if term in study.standing_out]
            effects = study.analysis.effects
            rows.append(
                [
                    study.response.title,
                    study.condition.title,
                    phase,
                    Cell(
                        text=f"{signed(float(eight.effects[phase]))} ± {eight.effect(phase).hw_two_sided:.2f}",
                        tone="strong",
                    ),
                    signed(float(effects[list(members)].sum())),
                    "  ".join(
                        f"{letter} {signed(float(effects[letter]))}{'' if letter in study.standing_out else ' n'}"
                        for letter in members
                    ),
                    f"{coherence(study, phase):.2f}",
                    f"{len(found)} of {len(terms)}",
                    f"{float(study.analysis.percent[terms].sum()):.2f}",
                ]
            )
    return Table(
        caption="Effect of each cluster in the eight cells of the three-factor design, and effects of its members over all cells of the full design",
        columns=[Column(title=name, align="left") for name in ("response", "condition", "cluster")]
        + [
            Column(title="effect as one"),
            Column(title="sum of members"),
            Column(title="members", align="left"),
            Column(title="coherence"),
            Column(title="interactions inside"),
            Column(title="their share [%]"),
        ],
        rows=rows,
        note="In KB/s and KB. The effect as one is measured with the other mechanisms as in the three-factor design, those of the members "
        "over all settings of the others. An n marks members that are not significant.",
    )


def extremes_table(studies: Sequence[Study]) -> Table:
    """Return the best combination under every condition, compared with that of the paper's Vegas."""
    rows: list[list[Cell | str]] = []
    for study in studies:
        more_is_better = study.response.metric == "thr"
        best = outstanding_cells(study, highest=more_is_better)
        difference = best.difference
        better, worse = (best.better, best.worse) if more_is_better else (best.worse, best.better)
        itself = best.letters == CLUSTERED
        rows.append(
            [
                f"{'most' if more_is_better else 'least'} {study.response.title}",
                study.condition.title,
                Cell(text=best.letters or "none", tone="strong"),
                number(best.mean),
                "" if itself else signed(difference.estimate),
                "" if itself else f"{signed(difference.low)} to {signed(difference.high)}",
                str(better),
                str(worse),
            ]
        )
    return Table(
        caption=f"The best combination, compared with {CLUSTERED}",
        columns=[Column(title=name, align="left") for name in ("", "condition", "on")]
        + [
            Column(title=name)
            for name in (
                "mean",
                f"minus {CLUSTERED}",
                "interval",
                "significantly better",
                "significantly worse",
            )
        ],
        rows=rows,
        note=f"In KB/s and KB. Differences are paired by replication, and their intervals hold for all combinations simultaneously, which "
        f"accounts for the selection of the best. The last columns count the combinations with an interval entirely on one side of {CLUSTERED}.",
    )
