"""What each assumption decides: the claims judged again with one of them moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dumbbell.claims import Claim, Finding, judge

from .evidence import Evidence
from .plan import SENSITIVITY, Variation

__all__ = ["Moved", "explain", "study"]


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What moving one assumption did.

    Parameters
    ----------
    variation
        The assumption and where it was moved.
    findings
        The claims judged on the moved runs, and on the others where the assumption bears on none.
    gained, lost
        Claims reproduced only with, and only without, the move.
    changed
        Claims whose measured number differs.
    """

    variation: Variation
    findings: Sequence[Finding]
    gained: Sequence[Finding]
    lost: Sequence[Finding]
    changed: Sequence[Finding]


def study(claims: Sequence[Claim[Evidence]], evidence: Evidence, findings: Sequence[Finding]) -> list[Moved]:
    """Return what every move does that was run, or that needs no run.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the assumptions as chosen.
    findings
        The findings on it.
    """
    moves = []
    for variation in SENSITIVITY:
        if variation.kinds and not evidence.has_runs(variation.name):
            continue
        moved = judge(claims, evidence.moved(variation.name))
        pairs = [
            (before, after)
            for before, after in zip(findings, moved, strict=True)
            if before.measured != after.measured or before.verdict != after.verdict
        ]
        moves.append(
            Moved(
                variation=variation,
                findings=moved,
                gained=[
                    after
                    for before, after in pairs
                    if after.verdict == "reproduced" and before.verdict == "not-reproduced"
                ],
                lost=[
                    after
                    for before, after in pairs
                    if after.verdict == "not-reproduced" and before.verdict == "reproduced"
                ],
                changed=[after for _, after in pairs],
            )
        )
    return moves


def explain(findings: Sequence[Finding], moves: Sequence[Moved]) -> list[Finding]:
    """Return the findings with, for each miss, the moved assumptions under which the claim holds."""
    turned: dict[str, list[str]] = {}
    for move in moves:
        for gain in move.gained:
            turned.setdefault(gain.claim.id, []).append(
                f"{move.variation.assumption}: {move.variation.value}"
            )
    return [
        replace(
            finding,
            why=f"{finding.why} It holds with another assumption ({'; '.join(turned[finding.claim.id])}).".strip(),
        )
        if finding.verdict == "not-reproduced" and finding.claim.id in turned
        else finding
        for finding in findings
    ]
