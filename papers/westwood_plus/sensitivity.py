"""The effect of each open assumption: the claims evaluated again on the runs of other readings.

A reading is run with the seeds of the main one and compared with as many of its runs on the same points, so that the difference
is the reading's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from dumbbell.claims import Claim, Finding
from dumbbell.sensitivity import Move, Sensitivity, judged_moves, placebo_of_misses, quantities

from . import printed
from .assumptions import CONNECTION, HOPS, MANY_FLOWS, VARIATIONS, WIRELESS, Variation
from .connection_claims import BUSY
from .evidence import Evidence
from .hops_claims import goodput
from .lossy_claims import gains
from .many_flows_claims import jain
from .plan import EACH, VARIANTS

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    CONNECTION: ("one connection", ("W-T1-",)),
    MANY_FLOWS: ("one bottleneck", ("W-F1-", "W-F12", "W-F13", "W-F14", "W-F15", "W-F16")),
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


def table_1_goodput(evidence: Evidence, variant: str, intervals: tuple[int, ...]) -> float:
    """Return the mean goodput in some intervals of Table I, Mbit/s."""
    return float(evidence.stacked(f"table-1/{variant}", "intervals")[:, list(intervals)].mean())


def _busy(variant: str) -> Callable[[Evidence], float]:
    return lambda evidence: table_1_goodput(evidence, variant, BUSY)


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
        "New Reno, first": lambda evidence: table_1_goodput(evidence, "newreno", (0,)),
        "worst cell [%]": worst_miss,
    },
    MANY_FLOWS: {
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


def study(
    claims: Sequence[Claim[Evidence]], results: pd.DataFrame, findings: Sequence[Finding], *, seed: int
) -> Sensitivity[Variation]:
    """Return every reading that was run, group by group, the main one first, and the placebo.

    Parameters
    ----------
    claims
        All claims of the paper.
    results
        The table of results.
    findings
        The findings from it.
    seed
        Seed of the placebo.
    """
    moves: list[Move[Variation]] = []
    for group, (_, beginnings) in GROUPS.items():
        tested = [claim for claim in claims if claim.id.startswith(beginnings)]
        shown = partial(quantities, SHOWN[group])
        for variation in VARIATIONS:
            moved = Evidence(results, variation.name)
            if group not in variation.groups or not moved.counts():
                continue
            # A reading is compared with as many runs as it has itself.
            usual = Evidence(results, only=moved.counts())
            chosen, varied = judged_moves(tested, usual, [(variation, moved)], group=group, shown=shown)
            if not any(finding.is_judged for finding in varied.findings):
                continue
            if not any(move.group == group for move in moves):
                moves.append(chosen)
            moves.append(varied)
    counts: dict[str, int] = {}
    for variation in VARIATIONS:
        for key, count in Evidence(results, variation.name).counts().items():
            counts[key] = max(count, counts.get(key, 0))
    beginnings = tuple(beginning for _, names in GROUPS.values() for beginning in names)
    grouped = [claim for claim in claims if claim.id.startswith(beginnings)]
    counted = results[results["key"].isin(counts)]
    return Sensitivity(
        moves, placebo_of_misses(grouped, findings, counted, lambda key: counts[key], Evidence, seed=seed)
    )
