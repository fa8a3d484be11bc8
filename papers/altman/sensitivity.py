"""Sensitivity to each assumption: the claims evaluated again with one of them varied."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Claim, Finding
from dumbbell.papers import Settings
from dumbbell.sensitivity import Sensitivity, judged_moves, placebo_of_misses

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .plan import BASE, replications

CHANGED = "claims measured differently"


def study(
    settings: Settings, claims: Sequence[Claim[Evidence]], evidence: Evidence, findings: Sequence[Finding]
) -> Sensitivity[Variation]:
    """Return the effects of all moves that were run or need no run, and the placebo; nothing without runs.

    Parameters are those of `dumbbell.papers.ClaimedPaper.study`.
    """
    runs, seed = replications(settings).moved, settings.seed
    if not runs:
        return Sensitivity()
    varied = (
        (variation, evidence.of_group(variation.name))
        for variation in VARIATIONS
        if not variation.kinds or evidence.has_runs(variation.name)
    )
    moves = judged_moves(claims, evidence, varied, baseline=findings)
    unvaried = evidence.results[evidence.results["key"].astype(str).str.startswith(f"{BASE}|")]
    drawn = placebo_of_misses(
        claims,
        findings,
        unvaried,
        lambda _: runs,
        lambda rows: Evidence(rows, seed=seed, phases=evidence.phases),
        seed=seed,
    )
    return Sensitivity(moves, drawn)
