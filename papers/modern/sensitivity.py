"""Sensitivity to each open assumption: the claims judged again with one of them varied."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Claim, Finding
from dumbbell.papers import Settings
from dumbbell.sensitivity import Sensitivity, judged_moves

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .plan import BASE, replications


def study(
    settings: Settings, claims: Sequence[Claim[Evidence]], evidence: Evidence, _findings: Sequence[Finding]
) -> Sensitivity[Variation]:
    """Return the assumptions as they are and every variation that was run.

    A variation is run with the first seed alone, and compared with as many runs of the base. Parameters are those of
    `dumbbell.papers.ClaimedPaper.study`.
    """
    count = replications(settings)
    varied = [
        (variation, evidence.of_group(variation.name, count))
        for variation in VARIATIONS
        if evidence.has_runs(variation.name)
    ]
    if not varied:
        return Sensitivity()
    return Sensitivity(judged_moves(claims, evidence.of_group(BASE, count), varied))
