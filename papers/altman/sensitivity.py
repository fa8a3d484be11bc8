"""Sensitivity to each assumption: the claims evaluated again with one of them varied."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Claim, Finding, judge
from dumbbell.sensitivity import Move, Sensitivity, placebo_of_misses

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .plan import BASE

CHANGED = "claims measured differently"


def study(
    claims: Sequence[Claim[Evidence]],
    evidence: Evidence,
    findings: Sequence[Finding],
    runs: int,
    *,
    seed: int,
) -> Sensitivity[Variation]:
    """Return the effects of all moves that were run or need no run, and the placebo; nothing without runs.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the assumptions as chosen.
    findings
        The findings on it.
    runs
        Runs of a configuration with a varied assumption.
    seed
        Seed of the placebo.
    """
    if not runs:
        return Sensitivity()
    moves: list[Move[Variation]] = [Move(variation=None, findings=findings, baseline=findings)]
    for variation in VARIATIONS:
        if variation.kinds and not evidence.has_runs(variation.name):
            continue
        moved = judge(claims, evidence.of_group(variation.name))
        moves.append(Move(variation=variation, findings=moved, baseline=findings))
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
