"""Sensitivity to each open assumption: the claims judged again with one of them varied."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Claim, judge
from dumbbell.papers import Settings
from dumbbell.sensitivity import Move, Sensitivity

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .plan import BASE, replications


def study(
    claims: Sequence[Claim[Evidence]], evidence: Evidence, settings: Settings
) -> Sensitivity[Variation]:
    """Return the assumptions as they are and every variation that was run.

    A variation is run with the first seed alone, and compared with as many runs of the base.

    Parameters
    ----------
    claims
        All claims.
    evidence
        The evidence of the assumptions as chosen.
    settings
        How the runs were planned.
    """
    if not any(evidence.has_runs(variation.name) for variation in VARIATIONS):
        return Sensitivity()
    count = replications(settings)
    baseline = judge(claims, evidence.of_group(BASE, count))
    moves: list[Move[Variation]] = [Move(variation=None, findings=baseline, baseline=baseline)]
    for variation in VARIATIONS:
        if evidence.has_runs(variation.name):
            moved = judge(claims, evidence.of_group(variation.name, count))
            moves.append(Move(variation=variation, findings=moved, baseline=baseline))
    return Sensitivity(moves)
