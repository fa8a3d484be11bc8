"""What each open assumption decides: the claims on averages judged again with one assumption moved.

A moved reading is run with the seeds of the main one at some of its points, and compared with the main reading at the same
points and repetitions, so that the difference is the assumption's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dumbbell.claims import Claim, Finding, judge
from dumbbell.statistics import Interval

from .assumptions import VARIATIONS, Variation
from .evidence import Evidence
from .network import VARIANTS
from .scenarios import Counts

__all__ = ["Moved", "explain", "study"]

SCENARIOS = {
    "fig9": ("fig-9",),
    "rtt": ("fig-10", "fig-11", "fig-12", "fig-13"),
    "fig14": ("fig-14",),
    "fig15": ("fig-15",),
    "table2": ("table-2",),
    "windows": ("fig-2", "fig-3", "fig-5", "fig-6"),
    "pairs": ("fig-16", "fig-17", "fig-18", "mix-code-vegas"),
}
"""The scenarios of the claims that are judged on the runs of a figure."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What moving one assumption did.

    Parameters
    ----------
    variation
        The assumption and where it was moved; ``None`` for the main reading at the same points.
    findings
        The claims judged on the moved runs.
    gained, lost
        Claims reproduced only with, and only without, the move.
    ratios
        Pooled mean ratio to Reno in Fig. 9 by variant, with its 95 % interval; empty if Fig. 9 was not run.
    """

    variation: Variation | None
    findings: Sequence[Finding]
    gained: Sequence[Finding]
    lost: Sequence[Finding]
    ratios: Mapping[str, Interval]

    @property
    def label(self) -> str:
        """The move in words."""
        return (
            "main reading"
            if self.variation is None
            else f"{self.variation.assumption}: {self.variation.value}"
        )

    @property
    def reproduced(self) -> int:
        """Number of claims reproduced."""
        return sum(finding.verdict == "reproduced" for finding in self.findings)

    @property
    def checked(self) -> int:
        """Number of claims that could be judged."""
        return sum(finding.verdict != "not-checkable" for finding in self.findings)

    @property
    def nearest(self) -> str:
        """The variant whose ratio in Fig. 9 is nearest to 1; empty if Fig. 9 was not run."""
        far = {kind: abs(ratio.estimate - 1) for kind, ratio in self.ratios.items()}
        return min(far, key=far.__getitem__) if far else ""


def _ratios(evidence: Evidence) -> dict[str, Interval]:
    if not evidence.has("fig9"):
        return {}
    return {kind: evidence.pooled("fig9", kind) for kind in VARIANTS}


def study(claims: Sequence[Claim[Evidence]], evidence: Evidence, count: Counts) -> list[Moved]:
    """Return the main reading at the points of the moves, and every move that was run.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the whole reproduction.
    count
        Its replications and points.
    """
    points = {
        "fig9": count.moved_rates,
        "table2": count.moved_rates,
        "rtt-a": count.moved_rtts,
        "rtt-b": count.moved_rtts,
        "fig14": count.moved_buffers,
        "fig15": count.moved_mixes,
    }
    base = replace(evidence, runs=count.moved, points=points)
    tested = [claim for claim in claims if any(claim.scenario in names for names in SCENARIOS.values())]
    baseline = {finding.claim.id: finding for finding in judge(tested, base)}
    study = [
        Moved(variation=None, findings=list(baseline.values()), gained=(), lost=(), ratios=_ratios(base))
    ]
    for variation in VARIATIONS:
        if variation.name not in count.variations:
            continue
        moved = replace(base, group=variation.name)
        wanted = {name for figure in variation.figures for name in SCENARIOS[figure]}
        findings = judge([claim for claim in tested if claim.scenario in wanted], moved)
        changed = [
            finding
            for finding in findings
            if "not-checkable" not in (finding.verdict, baseline[finding.claim.id].verdict)
            and finding.verdict != baseline[finding.claim.id].verdict
        ]
        study.append(
            Moved(
                variation=variation,
                findings=findings,
                gained=[finding for finding in changed if finding.verdict == "reproduced"],
                lost=[finding for finding in changed if finding.verdict != "reproduced"],
                ratios=_ratios(moved),
            )
        )
    return study


def explain(findings: Sequence[Finding], moves: Sequence[Moved]) -> list[Finding]:
    """Return the findings with, for each miss, the moved assumptions under which the claim holds."""
    turned: dict[str, list[str]] = {}
    for move in moves:
        for gain in move.gained:
            turned.setdefault(gain.claim.id, []).append(move.label)
    explained = []
    for finding in findings:
        labels = turned.get(finding.claim.id, [])
        if finding.verdict == "not-reproduced" and labels:
            listed = "; ".join(labels[:3]) + (f"; and {len(labels) - 3} more" if len(labels) > 3 else "")
            finding = replace(
                finding, why=f"{finding.why} It holds with another assumption ({listed}).".strip()
            )
        explained.append(finding)
    return explained
