"""The effect of each open assumption: the claims on averages evaluated again with one assumption varied.

A moved reading is run with the seeds of the main one at some of its points, and compared with the main reading at the same
points and repetitions, so that the difference is the assumption's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dumbbell.claims import Claim, Finding
from dumbbell.sensitivity import Move, Sensitivity, judged_moves, placebo_of_misses
from dumbbell.statistics import Interval

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .network import VARIANTS
from .plan import Counts

SCENARIOS = {
    "fig9": ("fig-9",),
    "rtt": ("fig-10", "fig-11", "fig-12", "fig-13"),
    "fig14": ("fig-14",),
    "fig15": ("fig-15",),
    "table2": ("table-2",),
    "windows": ("fig-2", "fig-3", "fig-5", "fig-6"),
    "pairs": ("fig-16", "fig-17", "fig-18", "mix-code-vegas"),
    "startup": ("startup",),
}
"""The scenarios of the claims that are judged on the runs of a figure."""


Moved = tuple[Move[Variation], Mapping[str, Interval]]
"""A move, and with it the pooled mean ratio to Reno in Fig. 9 by variant, with its 95 % interval."""


def nearest(ratios: Mapping[str, Interval]) -> str:
    """Return the variant whose ratio in Fig. 9 is nearest to 1."""
    return min(ratios, key=lambda kind: abs(ratios[kind].estimate - 1))


def _compared(evidence: Evidence, count: Counts) -> Evidence:
    """Return the main reading at the points and with the repetitions of the moves."""
    points = {
        "fig9": count.moved_rates,
        "table2": count.moved_rates,
        "rtt-a": count.moved_rtts,
        "rtt-b": count.moved_rtts,
        "fig14": count.moved_buffers,
        "fig15": count.moved_mixes,
    }
    return replace(evidence, runs=count.moved, points=points)


def in_figure_9(moves: Sensitivity[Variation], evidence: Evidence, count: Counts) -> list[Moved]:
    """Return the moves that Fig. 9 was run with, and its ratios.

    Parameters
    ----------
    moves
        What `study` returned.
    evidence, count
        See `study`.
    """
    base = _compared(evidence, count)
    evidences = (
        (move, replace(base, group=move.variation.name) if move.variation else base) for move in moves
    )
    return [
        (move, {kind: moved.pooled("fig9", kind) for kind in VARIANTS})
        for move, moved in evidences
        if moved.has("fig9")
    ]


def _concerns(variation: Variation, claim: Claim[Evidence]) -> bool:
    return any(claim.scenario in SCENARIOS[figure] for figure in variation.figures)


def study(
    claims: Sequence[Claim[Evidence]],
    evidence: Evidence,
    findings: Sequence[Finding],
    count: Counts,
    *,
    seed: int,
) -> Sensitivity[Variation]:
    """Return the main reading at the points of the moves, every move that was run, and the placebo.

    Parameters
    ----------
    claims, evidence, findings
        As of `dumbbell.papers.ClaimedPaper.study`.
    count
        Replications and points of the reproduction.
    seed
        Seed of the placebo.
    """
    base = _compared(evidence, count)
    tested = [claim for claim in claims if any(claim.scenario in names for names in SCENARIOS.values())]
    varied = (
        (variation, replace(base, group=variation.name))
        for variation in VARIATIONS
        if variation.name in count.variations
    )
    moves = judged_moves(tested, base, varied, concerns=_concerns)
    usual = evidence.table[evidence.table["key"].astype(str).str.startswith("base/")]
    drawn = placebo_of_misses(
        tested, findings, usual, lambda _: count.moved, lambda rows: replace(base, results=rows), seed=seed
    )
    return Sensitivity(moves, drawn)
