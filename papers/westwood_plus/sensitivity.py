"""What each open assumption decides: the claims judged again on the runs of other readings.

A reading is run with the seeds of the main one and compared with as many of its runs on the same points, so that the difference
is the reading's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dumbbell.claims import Claim, Finding, NotMeasured, judge

from . import printed
from .assumptions import CONNECTION, CROWD, HOPS, READINGS, WIRELESS, Reading
from .connection_claims import BUSY
from .crowd_claims import jain
from .evidence import Evidence
from .experiments import EACH, VARIANTS
from .hops_claims import goodput
from .lossy_claims import gains

__all__ = ["GROUPS", "SHOWN", "Moved", "explain", "study", "worst_miss"]

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    CONNECTION: ("one connection", ("W-T1-",)),
    CROWD: ("one bottleneck", ("W-F1-", "W-F12", "W-F13", "W-F14", "W-F15", "W-F16")),
    HOPS: ("several hops", ("W-F18", "W-F19", "W-F20", "W-F21", "W-F22", "W-F23", "W-F24", "W-F25")),
    WIRELESS: ("lossy links", ("W-F27", "W-F28", "W-F29", "W-F30", "W-F32")),
}
"""Each group of experiments in words, and how the names of the claims judged on it begin."""


def worst_miss(evidence: Evidence) -> float:
    """Return by how much the goodputs miss Table I at worst, %."""
    misses = [
        abs(evidence.stacked(f"table-1/{variant}", "intervals").mean(axis=0) / printed.table_1(variant) - 1)
        for variant in VARIANTS
    ]
    return 100 * float(np.max(misses))


def _busy(variant: str) -> Callable[[Evidence], float]:
    return lambda evidence: float(evidence.stacked(f"table-1/{variant}", "intervals")[:, list(BUSY)].mean())


def _least(variant: str) -> Callable[[Evidence], float]:
    return lambda evidence: float(evidence.stacked(f"fig-12/{variant}/20", "segments").min(axis=1).mean())


def _largest(variant: str) -> Callable[[Evidence], float]:
    return lambda evidence: float(evidence.stacked(f"fig-12/{variant}/20", "segments").max(axis=1).mean())


def _gap(evidence: Evidence) -> float:
    return float((jain(evidence, "westwoodp", 10) - jain(evidence, "newreno", 10)).mean())


def _c1(cross: str, c1: str, count: int) -> Callable[[Evidence], float]:
    return lambda evidence: float(goodput(evidence, cross, c1, count).mean())


SHOWN: Mapping[str, Mapping[str, Callable[[Evidence], float]]] = {
    CONNECTION: {
        "New Reno, busy": _busy("newreno"),
        "Vegas, busy": _busy("vegas"),
        "Westwood+, busy": _busy("westwoodp"),
        "New Reno, first": lambda evidence: float(
            evidence.stacked("table-1/newreno", "intervals")[:, 0].mean()
        ),
        "worst cell [%]": worst_miss,
    },
    CROWD: {
        "New Reno, least": _least("newreno"),
        "New Reno, largest": _largest("newreno"),
        "Westwood+, least": _least("westwoodp"),
        "Westwood+, largest": _largest("westwoodp"),
        "gap in fairness, M = 10": _gap,
    },
    HOPS: {
        "New Reno over itself, 1 hop": _c1("newreno", "newreno", 1),
        "4 hops": _c1("newreno", "newreno", 4),
        "Westwood+ over New Reno, 4 hops": _c1("newreno", "westwoodp", 4),
        "over itself, 4 hops": _c1("westwoodp", "westwoodp", 4),
        "Vegas over itself, 4 hops": _c1("vegas", "vegas", 4),
    },
    WIRELESS: {
        "fig. 27 (a), largest gain [%]": lambda evidence: float(gains(evidence, "fig-27", "delayed").max()),
        "least": lambda evidence: float(gains(evidence, "fig-27", "delayed").min()),
        "fig. 27 (b), largest": lambda evidence: float(gains(evidence, "fig-27", EACH).max()),
        "fig. 30, largest": lambda evidence: float(gains(evidence, "fig-30", EACH).max()),
        "fig. 32, largest": lambda evidence: float(gains(evidence, "fig-32", "delayed").max()),
    },
}
"""Quantities that the section's tables show, by group of experiments."""


@dataclass(frozen=True, kw_only=True)
class Moved:
    """What a reading did to one group of experiments.

    Parameters
    ----------
    reading
        The reading; ``None`` for the main one, on the runs that the group's first reading is compared with.
    group
        The group of experiments.
    reproduced, tested
        Claims reproduced, of those judged.
    gained, lost
        Claims reproduced only with, and only without, the reading.
    shown
        The quantities of `SHOWN`.
    """

    reading: Reading | None
    group: str
    reproduced: int
    tested: int
    gained: Sequence[Finding] = ()
    lost: Sequence[Finding] = ()
    shown: Sequence[float | None] = ()


def _quantities(group: str, evidence: Evidence) -> list[float | None]:
    found: list[float | None] = []
    for quantity in SHOWN[group].values():
        try:
            found.append(quantity(evidence))
        except NotMeasured:
            found.append(None)
    return found


def _held(finding: Finding) -> bool:
    return finding.verdict == "reproduced"


def _reproduced(findings: Sequence[Finding]) -> int:
    return sum(map(_held, findings))


def study(claims: Sequence[Claim[Evidence]], results: pd.DataFrame) -> list[Moved]:
    """Return every reading that was run, group by group, the main one first."""
    found: list[Moved] = []
    for group, (_, beginnings) in GROUPS.items():
        tested = [claim for claim in claims if claim.id.startswith(beginnings)]
        for reading in READINGS:
            moved = Evidence(results, reading.name)
            if group not in reading.groups or not moved.counts():
                continue
            usual = Evidence(results, only=moved.counts())
            before, after = judge(tested, usual), judge(tested, moved)
            pairs = [pair for pair in zip(before, after, strict=True) if pair[1].verdict != "not-checkable"]
            if not pairs:
                continue
            if not any(move.group == group for move in found):
                found.append(
                    Moved(
                        reading=None,
                        group=group,
                        reproduced=_reproduced([old for old, _ in pairs]),
                        tested=len(pairs),
                        shown=_quantities(group, usual),
                    )
                )
            found.append(
                Moved(
                    reading=reading,
                    group=group,
                    reproduced=_reproduced([new for _, new in pairs]),
                    tested=len(pairs),
                    gained=[new for old, new in pairs if _held(new) and not _held(old)],
                    lost=[new for old, new in pairs if _held(old) and not _held(new)],
                    shown=_quantities(group, moved),
                )
            )
    return found


def explain(findings: Sequence[Finding], moves: Sequence[Moved]) -> list[Finding]:
    """Return the findings with, for each miss, the readings under which the claim holds."""
    turned: dict[str, list[str]] = {}
    for move in moves:
        for gain in move.gained:
            if move.reading is not None:
                turned.setdefault(gain.claim.id, []).append(move.reading.words)
    explained = []
    for finding in findings:
        readings = turned.get(finding.claim.id)
        if readings and finding.verdict == "not-reproduced":
            listed = "; ".join(readings[:3]) + (
                f"; and {len(readings) - 3} more" if len(readings) > 3 else ""
            )
            finding = replace(
                finding, why=f"{finding.why} It holds under another reading ({listed}).".strip()
            )
        explained.append(finding)
    return explained
