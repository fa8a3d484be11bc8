"""What each open assumption decides: the claims judged again with one assumption moved.

A moved assumption is run with the seeds of the paper's experiments and compared with the first of their runs, as many of them, so
that the difference is the assumption's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dumbbell.claims import Claim, Finding, NotMeasured, judge

from .assumptions import Assumptions
from .evidence import PAPER, Evidence, Values
from .variations import VARIATIONS, Variation

__all__ = ["SHOWN", "Moved", "explain", "study"]


def _ratio(figure: str, point: float | str) -> Callable[[Evidence], Values]:
    return lambda evidence: (
        evidence.throughput(figure, "rovegas", point) / evidence.throughput(figure, "vegas", point)
    )


SHOWN: Mapping[str, Callable[[Evidence], Values]] = {
    "Fig. 8, k = 2": _ratio("ana", 2),
    "k = 4": _ratio("ana", 4),
    "k = 16": _ratio("ana", 16),
    "Fig. 9": lambda evidence: (
        evidence.rate("fig-9", "rovegas", "", 50, 200) / evidence.rate("fig-9", "vegas", "", 50, 200)
    ),
    "Fig. 10, load 1": _ratio("fig-10", 1.0),
    "Fig. 12, three sources": lambda evidence: (
        evidence.rate("fig-12", "rovegas", "", 300, 400) / evidence.rate("fig-12", "vegas", "", 300, 400)
    ),
    "Fig. 13, load 1": _ratio("fig-13", 1.0),
    "Fig. 15, Vegas": lambda evidence: evidence.queue_after("vegas", 8),
    "RoVegas": lambda evidence: evidence.queue_after("rovegas", 8),
    "Fig. 17 (b)": lambda evidence: evidence.jain("fig-17", "b"),
    "(d)": lambda evidence: evidence.jain("fig-17", "d"),
    "Fig. 18 (b)": lambda evidence: evidence.jain("fig-18", "b"),
    "(d) ": lambda evidence: evidence.jain("fig-18", "d"),
}
"""Quantities that the table of the section shows, by heading: ratios of throughputs, queues with eight connections, fairness."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What moving one assumption did.

    Parameters
    ----------
    variation
        The assumption and where it was moved; ``None`` for the assumptions as they are.
    findings
        The claims judged on the moved runs.
    gained, lost
        Claims reproduced only with, and only without, the move.
    shown
        The quantities of `SHOWN`.
    """

    variation: Variation | None
    findings: Sequence[Finding]
    gained: Sequence[Finding]
    lost: Sequence[Finding]
    shown: Sequence[float | None]

    @property
    def reproduced(self) -> int:
        """Number of claims reproduced."""
        return sum(finding.verdict == "reproduced" for finding in self.findings)


def _quantities(evidence: Evidence) -> list[float | None]:
    found: list[float | None] = []
    for quantity in SHOWN.values():
        try:
            found.append(float(quantity(evidence)[0]))
        except NotMeasured:
            found.append(None)
    return found


def study(claims: Sequence[Claim[Evidence]], evidence: Evidence, base: Assumptions, runs: int) -> list[Moved]:
    """Return the assumptions as they are, and every variation that was run.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the whole reproduction.
    base
        The assumptions as they are.
    runs
        Runs of a configuration in the comparison.
    """
    if not runs:
        return []
    unmoved = evidence.of_group(PAPER, base, runs)
    baseline = judge(claims, unmoved)
    found = [Moved(variation=None, findings=baseline, gained=(), lost=(), shown=_quantities(unmoved))]
    groups = evidence.groups()
    for variation in VARIATIONS:
        if variation.name not in groups:
            continue
        moved = evidence.of_group(variation.name, variation.place(base), runs)
        findings = judge(claims, moved)
        gained, lost = [], []
        for before, after in zip(baseline, findings, strict=True):
            if before.verdict == after.verdict:
                continue
            if after.verdict == "reproduced":
                gained.append(after)
            elif before.verdict == "reproduced":
                lost.append(after)
        found.append(
            Moved(variation=variation, findings=findings, gained=gained, lost=lost, shown=_quantities(moved))
        )
    return found


def explain(findings: Sequence[Finding], moves: Sequence[Moved]) -> list[Finding]:
    """Return the findings with, for each miss, the moved assumptions under which the claim holds.

    Only moves that take the measured number out of its interval are named: others change sides by chance.
    """
    missed = {finding.claim.id: finding for finding in findings if finding.verdict == "not-reproduced"}
    turned: dict[str, list[str]] = {}
    for move in moves:
        for gain in move.gained:
            finding = missed.get(gain.claim.id)
            if finding is None or gain.measured is None or move.variation is None:
                continue
            inside = (
                finding.low is not None
                and finding.high is not None
                and finding.low <= gain.measured <= finding.high
            )
            if not inside:
                turned.setdefault(gain.claim.id, []).append(
                    f"{move.variation.assumption}: {move.variation.value}"
                )
    explained = []
    for finding in findings:
        moved = turned.get(finding.claim.id)
        if moved:
            listed = "; ".join(moved[:3]) + (f"; and {len(moved) - 3} more" if len(moved) > 3 else "")
            finding = replace(
                finding, why=f"{finding.why} It holds with another assumption ({listed}).".strip()
            )
        explained.append(finding)
    return explained
