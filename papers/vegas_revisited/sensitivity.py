"""What each open assumption decides: the tables' claims judged again with one assumption moved.

A moved assumption is run with the seeds of the tables, and compared with the first runs of the tables at the same number of
replications, so that the difference is the assumption's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dumbbell.claims import Claim, Finding, judge

from .evidence import Evidence
from .scenarios import SENSITIVITY, Variation

__all__ = ["Moved", "explain", "study"]

# Claims whose evidence is the tables' runs and nothing else.
TABLE_SCENARIOS = {f"table-{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12)} | {"wan-rtx"}

# Claims judged on runs of their own although they speak of a table.
OTHER_EVIDENCE = {"VR-Q-25", "VR-Q-29", "VR-Q-30"} | {
    f"VR-Q-{number:02d}" for number in (9, 10, 11, 26, 27, 28, 108)
}

SHOWN = (
    ("Reno, low, Reno", "thr", "reno", "reno", "low"),
    ("Reno, low, Reno", "rtx", "reno", "reno", "low"),
    ("Vegas', low, Reno", "thr", "vegasfix", "reno", "low"),
    ("Vegas, low, Reno", "thr", "vegas", "reno", "low"),
    ("Reno, high, Reno", "thr", "reno", "reno", "high"),
    ("Vegas', high, Reno", "thr", "vegasfix", "reno", "high"),
    ("Vegas, high, Reno", "thr", "vegas", "reno", "high"),
)


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What moving one assumption did.

    Parameters
    ----------
    variation
        The assumption and where it was moved; ``None`` for the baseline.
    findings
        The tables' claims judged on the moved runs.
    gained, lost
        Claims reproduced only with, and only without, the move.
    means
        The means of the configurations in `SHOWN`.
    """

    variation: Variation | None
    findings: Sequence[Finding]
    gained: Sequence[Finding]
    lost: Sequence[Finding]
    means: Sequence[float]

    @property
    def reproduced(self) -> int:
        """Number of claims reproduced."""
        return sum(finding.verdict == "reproduced" for finding in self.findings)


def _means(evidence: Evidence) -> list[float]:
    return [
        float(evidence.metric(metric, foreground, background, load)[0])
        for _, metric, foreground, background, load in SHOWN
    ]


def _same_numbers(one: Finding, two: Finding) -> bool:
    return one.measured == two.measured


def study(
    claims: Sequence[Claim[Evidence]], evidence: Evidence, replications: Mapping[str, int]
) -> list[Moved]:
    """Return the baseline and every variation that was run.

    Parameters
    ----------
    claims
        All claims of the paper.
    evidence
        The evidence of the whole reproduction.
    replications
        Runs per configuration of the comparison, by load.
    """
    tested = [
        claim
        for claim in claims
        if claim.scenario in TABLE_SCENARIOS
        and claim.id not in OTHER_EVIDENCE
        and "table III" not in claim.source
    ]
    base = evidence.with_group("table", replications)
    baseline = judge(tested, base)
    study = [Moved(variation=None, findings=baseline, gained=(), lost=(), means=_means(base))]
    for variation in SENSITIVITY:
        if not any(key.startswith(f"{variation.name}/") for key in evidence.names()):
            continue
        moved = evidence.with_group(variation.name, replications)
        findings = judge(tested, moved)
        gained, lost = [], []
        for before, after in zip(baseline, findings, strict=True):
            if before.verdict == after.verdict or _same_numbers(before, after):
                continue
            if after.verdict == "reproduced":
                gained.append(after)
            elif before.verdict == "reproduced":
                lost.append(after)
        study.append(
            Moved(variation=variation, findings=findings, gained=gained, lost=lost, means=_means(moved))
        )
    return study


def explain(findings: Sequence[Finding], moves: Sequence[Moved]) -> list[Finding]:
    """Return the findings with, for each miss, the moved assumptions under which the claim holds.

    Only moves that take the measured number out of its interval are named: others change sides by chance.
    """
    missed = {finding.claim.id: finding for finding in findings if finding.verdict == "not-reproduced"}
    turned: dict[str, list[str]] = {}
    for move in moves:
        for gain in move.gained if move.variation is not None else ():
            finding = missed.get(gain.claim.id)
            if finding is None or gain.measured is None:
                continue
            if (
                finding.low is not None
                and finding.high is not None
                and finding.low <= gain.measured <= finding.high
            ):
                continue
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
