"""Content of the report on the full design. All numbers in the text are computed from the runs or read from the paper's data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import pandas as pd

from dumbbell.report import Block, Cell, Column, Details, Figure, Section, Table, Text
from dumbbell.statistics import Interval

from dumbbell.report.numbers import fixed as signed
from ..printed import TERMS
from ..scenarios import PHASE_LETTERS
from . import figures
from .clusters import PARTS, Agreement, clustered, contributions
from .conclusions import extremes_table, inside_table, paragraphs, plain_term
from .design import CLUSTERED, TABLES, between_blocks, blocks
from .effects import CONFIDENCE, Study, surviving

LARGEST = 20
"""Number of the largest effects shown directly; a folded table below has all of them."""


def _by_response(studies: Sequence[Study]) -> list[list[Study]]:
    return [list(group) for _, group in groupby(studies, key=lambda study: study.response.column)]


def _groups(studies: Sequence[Study], span: int) -> list[tuple[str, int]]:
    """Return headings over the columns of each study."""
    return [("", 1), *((study.condition.title, span) for study in studies)]


def _p(value: float) -> str:
    """Return a p value for reading."""
    return "" if np.isnan(value) else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _width(value: float) -> str:
    """Return a half-width for reading."""
    return "–" if np.isnan(value) else f"{value:.2f}"


def _within(interval: Interval) -> str:
    """Return an estimate with its half-width."""
    return f"{signed(interval.estimate)} ± {_width(interval.half_width)}"


def sections(studies: Sequence[Study], agreement: Agreement | None) -> list[Section]:
    """Return the sections of the report.

    Parameters
    ----------
    studies
        The analyses, response by response.
    agreement
        The comparison with the clustered tables; ``None`` where the design leaves some of A to G out.
    """
    made = [_design(studies)]
    if agreement is not None:
        made.append(_reading(studies))
    made += [_variation(studies), _main(studies), _interactions(studies), _all(studies)]
    if agreement is not None:
        made.append(_agreement(studies, agreement))
    return made


def _design(studies: Sequence[Study]) -> Section:
    """Return the section on the design, the error, and the correction for the number of effects."""
    analysis = studies[0].analysis
    count, runs = len(analysis.effects), analysis.replications
    groups = int(blocks(studies[0].mechanisms).max()) + 1
    apart = between_blocks(studies[0].mechanisms)
    together = surviving(studies).sum(axis=1)
    rows: list[list[Cell | str]] = []
    for study, all_columns in zip(studies, together, strict=True):
        one = study.analysis
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
                str(int((study.ranking["p_holm"] <= 1 - CONFIDENCE).sum())),
                str(int(all_columns)),
                str(int((study.ranking["p_bh"] <= 1 - CONFIDENCE).sum())),
            ]
        )
    quantile = analysis.simultaneous_quantile
    return Section(
        anchor="design",
        title="The design",
        blocks=[
            Text(
                paragraphs=[
                    f"Every combination of the mechanisms {studies[0].mechanisms[0]} to {studies[0].mechanisms[-1]}: "
                    f"{len(analysis.cells)} cells with {runs} replications each, for every load and background, with the corrections "
                    "of `Vegas'` in foreground and background, and otherwise as in the paper's tables.",
                    f"The cells of a replication are divided into {groups} blocks of {len(analysis.cells) // groups}. Cells of a block share their random numbers: "
                    "they have the same conversations and the same start of the transfer. Random numbers are independent between blocks and between "
                    f"replications. Within a block any {len(apart[0]) - 1} mechanisms are balanced; {len(apart)} interactions of {len(apart[0])} and more "
                    "differ between blocks only and are confounded with the variation between blocks, which their errors include. The standard error of an effect is computed from "
                    f"its {runs} values in single replications, with {runs - 1} degrees of freedom, because replications are independent of each other. "
                    "Unlike a pooled error, this assumes neither equal variances of the cells nor equal reactions of the cells "
                    "to a block. Each value is a mean over all cells, and therefore close to normal.",
                    f"A column has {count} effects. Intervals are corrected by Bonferroni's method: the quantile 1 − {1 - CONFIDENCE:.1f}/(2 × {count}) of Student's t, "
                    f"{quantile:.2f}, so that all intervals of a column hold simultaneously with {100 * CONFIDENCE:.0f} %. An effect is significant if its interval excludes 0. "
                    f"The p values corrected by Holm's method bound the probability of any false positive in a column by {100 * (1 - CONFIDENCE):.0f} %, once for the column and once for "
                    f"all {count * len(studies)} effects of the report. The q values by Benjamini and Hochberg bound the share of false positives among "
                    "the significant effects.",
                    *_few(runs),
                ]
            ),
            Table(
                caption="Columns: variation and number of significant effects",
                groups=[("", 3), ("share of the variation [%]", 3), ("", 1), ("significant effects", 4)],
                columns=[Column(title="response", align="left"), Column(title="condition", align="left")]
                + [
                    Column(title=name)
                    for name in (
                        "mean", "effects", "replications", "error", "median half-width", "Bonferroni", "Holm", "Holm, all columns",
                        "Benjamini-Hochberg",
                    )
                ],
                rows=rows,
                note="Half-widths are those of the simultaneous intervals. Replications: differences between replications that are common to all cells.",
            ),
        ],
    )  # fmt: skip


def _few(runs: int) -> list[str]:
    """Return a warning for designs with too few replications for useful intervals."""
    if runs >= 10:
        return []
    return [
        f"With {runs} replications, the intervals are so wide that hardly any effect is significant. Such a report shows the layout, not the findings."
    ]


def _reading(studies: Sequence[Study]) -> Section:
    """Return the section on what the clusters conceal."""
    blocks: list[Block] = [
        Text(paragraphs=paragraphs(studies)),
        inside_table(studies),
        extremes_table(studies),
    ]
    for group in _by_response(studies):
        blocks.append(
            Details(
                title=f"Composition of each effect of the three-factor design: {group[0].response.title}",
                blocks=[_contributions(study) for study in group],
            )
        )
    return Section(anchor="clusters", title="What the clusters conceal", blocks=blocks)


def _contributions(study: Study) -> Table:
    """Return the effects of the eight cells as sums of effects of the full design."""
    parts, eight = contributions(study), clustered(study)
    rows: list[list[Cell | str]] = []
    for term in ("mean", *TERMS):
        value = eight.mean if term == "mean" else float(eight.effects[term.replace("_", ":")])
        rows.append(
            [
                term,
                Cell(text=signed(value), tone="strong"),
                *(_within(part) for part in parts[term]),
            ]
        )
    clusters = ", ".join(f"{phase} = {letters}" for phase, letters in PHASE_LETTERS.items())
    return Table(
        caption=f"{study.response.title[:1].upper()}{study.response.title[1:]}, {study.condition.title}, {study.response.unit}",
        columns=[
            Column(title="", align="left"),
            Column(title="in the eight cells"),
            *(Column(title=part) for part in PARTS),
        ],
        rows=rows,
        note=f"The parts of each row add up to its second column. Clusters: {clusters}. The first part of the mean is the mean over all cells; half-widths are those of individual 90 % intervals.",
    )


def _variation(studies: Sequence[Study]) -> Section:
    """Return the section on what kinds of effects explain."""
    blocks: list[Block] = []
    for group in _by_response(studies):
        shares = [study.shares() for study in group]
        rows: list[list[Cell | str]] = []
        for kinds in zip(*shares, strict=True):
            row: list[Cell | str] = [Cell(text=kinds[0].kind, detail=f"{kinds[0].count} effects")]
            for share in kinds:
                row += [f"{share.percent:.2f}", _width(share.by_chance), str(share.standing_out)]
            rows.append(row)
        for name, percent in (
            ("replications", [study.analysis.percent_replications for study in group]),
            ("error", [study.analysis.percent_error for study in group]),
        ):
            row = [name]
            for value in percent:
                row += [f"{value:.2f}", "", ""]
            rows.append(row)
        blocks.append(
            Table(
                caption=f"Shares of the variation of {group[0].response.title}, %",
                groups=_groups(group, 3),
                columns=[Column(title="", align="left")]
                + [Column(title=name) for _ in group for name in ("share", "by chance", "significant")],
                rows=rows,
                note="By chance: the share that this number of effects would explain if none were real. Clusters: AG, B, CDEF.",
            )
        )
    return Section(
        anchor="variation",
        title="Variation explained",
        blocks=[
            *blocks,
            Figure(
                svg=figures.pareto(studies),
                caption="The largest effects by the share of the variation they explain.",
            ),
        ],
    )


def _main(studies: Sequence[Study]) -> Section:
    """Return the section on the mechanisms by themselves."""
    blocks: list[Block] = [
        Figure(
            svg=figures.main_effects(studies),
            caption="The mean without and with each mechanism, over all settings of the others, with the simultaneous intervals of the effects of "
            "a column. Grey: the interval contains 0.",
        )
    ]
    for group in _by_response(studies):
        rows: list[list[Cell | str]] = []
        for letter in group[0].mechanisms:
            row: list[Cell | str] = [letter]
            for study in group:
                row += [_effect_cell(study, letter), f"{float(study.analysis.percent[letter]):.2f}"]
            rows.append(row)
        blocks.append(
            Table(
                caption=f"Main effects on {group[0].response.title}, {group[0].response.unit}, and shares of the variation, %",
                groups=_groups(group, 2),
                columns=[Column(title="", align="left")]
                + [Column(title=name) for _ in group for name in ("effect", "share")],
                rows=rows,
                note="An effect is half the change from off to on. Grey: the interval contains 0.",
            )
        )
    return Section(anchor="main-effects", title="Main effects", blocks=blocks)


def _effect_cell(study: Study, term: str) -> Cell:
    """Return an effect with its simultaneous half-width."""
    outstanding = term in study.standing_out
    return Cell(
        text=f"{signed(float(study.analysis.effects[term]))} ± {_width(float(study.joint_half_widths[term]))}",
        tone="" if outstanding else "muted",
        hint=f"p (Holm) {_p(study.by_term['p_holm'][term])}, q {_p(study.by_term['p_bh'][term])}",
    )


def _interactions(studies: Sequence[Study]) -> Section:
    """Return the section on pairs of mechanisms."""
    blocks: list[Block] = []
    for group in _by_response(studies):
        blocks.append(
            Figure(
                svg=figures.interactions(group),
                caption=f"The pairs with the largest interactions in {group[0].response.title}: mean at both levels of one mechanism, for both levels of the other. Parallel lines would "
                "mean no interaction.",
            )
        )
    for group in _by_response(studies):
        ranked = [study.largest(LARGEST // 2, order=2) for study in group]
        rows: list[list[Cell | str]] = []
        for terms in zip(*ranked, strict=True):
            row: list[Cell | str] = [str(len(rows) + 1)]
            for study, term in zip(group, terms, strict=True):
                row += [
                    plain_term(term),
                    _effect_cell(study, term),
                    f"{float(study.analysis.percent[term]):.2f}",
                ]
            rows.append(row)
        blocks.append(
            Table(
                caption=f"The largest interactions of two mechanisms in {group[0].response.title}, {group[0].response.unit}, and shares, %",
                groups=_groups(group, 3),
                columns=[Column(title="rank")]
                + [Column(title=name) for _ in group for name in ("pair", "effect", "share")],
                rows=rows,
            )
        )
    return Section(anchor="interactions", title="Interactions of two mechanisms", blocks=blocks)


def _all(studies: Sequence[Study]) -> Section:
    """Return the section with every effect."""
    blocks: list[Block] = [
        Figure(
            svg=figures.half_normal(studies),
            caption="The sizes of all effects against half-normal quantiles. Effects that are only noise are on a line through the origin.",
        ),
        Text(
            paragraphs=[
                "Effects are ranked by the share of the variation they explain. The file `effects.csv` in the folder of this report has all effects, with standard errors and "
                "uncorrected p values."
            ]
        ),
    ]
    for study in studies:
        title = f"{study.response.title}, {study.condition.title}"
        blocks.append(_ranked(study, f"The {LARGEST} largest effects: {title}", study.ranking.head(LARGEST)))
        blocks.append(
            Details(
                title=f"All {len(study.ranking)} effects: {title}",
                blocks=[_ranked(study, title[:1].upper() + title[1:], study.ranking)],
            )
        )
    return Section(anchor="all-effects", title="All effects", blocks=blocks)


def _ranked(study: Study, caption: str, ranking: pd.DataFrame) -> Table:
    """Return a table of ranked effects."""
    return Table(
        caption=f"{caption}, {study.response.unit}",
        columns=[
            Column(title="rank"),
            Column(title="effect of", align="left"),
            Column(title="effect"),
            Column(title="interval"),
            Column(title="share [%]"),
            Column(title="p, Holm"),
            Column(title="q"),
        ],
        rows=[
            [
                str(rank),
                plain_term(row["term"]),
                Cell(
                    text=signed(row["effect"], 3), tone="strong" if row["term"] in study.standing_out else ""
                ),
                "" if np.isnan(row["low"]) else f"{signed(row['low'], 3)} to {signed(row['high'], 3)}",
                f"{row['percent']:.3f}",
                _p(row["p_holm"]),
                _p(row["p_bh"]),
            ]
            for rank, row in ranking.iterrows()
        ],
    )


def _agreement(studies: Sequence[Study], agreement: Agreement) -> Section:
    """Return the section that compares the eight clustered cells with the runs of the paper's tables."""
    cells = ", ".join(
        letters or "none" for letters in ("", "CDEF", "B", "BCDEF", "AG", "ACDEFG", "ABG", CLUSTERED)
    )
    blocks: list[Block] = [
        Text(
            paragraphs=[
                f"The three-factor design of Tables VI to IX consists of eight of the cells: {cells}, with all other mechanisms off and no averaging. Their effects "
                f"are compared with those of the runs of the tables (stage “{TABLES}”), which have the scenarios and the random numbers of the paper's reproduction "
                "and are independent of the runs of the design.",
                f"Of {agreement.count} effects the 90 % intervals of both overlap in {agreement.overlapping}. The 90 % interval of the difference contains 0 in "
                f"{agreement.agreeing}; about {0.9 * agreement.count:.0f} are expected by chance. Corrected for all comparisons, it contains 0 in "
                f"{agreement.agreeing_jointly}.",
            ]
        )
    ]
    for study in studies:
        own = [
            c for c in agreement.comparisons if (c.condition, c.response) == (study.condition, study.response)
        ]
        blocks.append(
            Table(
                caption=f"{study.response.title[:1].upper()}{study.response.title[1:]}, {study.condition.title}, {study.response.unit}",
                columns=[Column(title="", align="left")]
                + [
                    Column(title=name)
                    for name in ("eight cells of the design", "runs of the tables", "difference", "corrected half-width", "paper")
                ],
                rows=[
                    [
                        c.term,
                        _within(c.design),
                        _within(c.tables),
                        Cell(
                            text=_within(c.difference),
                            tone="good" if c.agree else "muted" if c.agree_jointly else "bad",
                        ),
                        _width(c.joint_half_width),
                        signed(c.printed),
                    ]
                    for c in own
                ],
                note="Green: the 90 % interval of the difference contains 0. Grey: only the interval corrected for all comparisons does. Red: neither does.",
            )
        )  # fmt: skip
    return Section(anchor="agreement", title="The clustered tables within the design", blocks=blocks)
