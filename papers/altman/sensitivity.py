"""Sensitivity to each assumption: the claims evaluated again with one of them varied."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Claim, Finding, judge
from dumbbell.sensitivity import Move, Sensitivity

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence

__all__ = ["study"]

CHANGED = "claims measured differently"


def study(
    claims: Sequence[Claim[Evidence]], evidence: Evidence, findings: Sequence[Finding]
) -> Sensitivity[Variation]:
    """Return the effects of all moves that were run or need no run.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the assumptions as chosen.
    findings
        The findings on it.
    """
    moves: list[Move[Variation]] = [Move(variation=None, findings=findings, baseline=findings)]
    for variation in VARIATIONS:
        if variation.kinds and not evidence.has_runs(variation.name):
            continue
        moved = judge(claims, evidence.moved(variation.name))
        moves.append(Move(variation=variation, findings=moved, baseline=findings))
    return Sensitivity(moves)
