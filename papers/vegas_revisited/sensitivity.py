"""The effect of each open assumption: the tables' claims evaluated again with one assumption varied.

A varied assumption is compared with as many runs of the chosen assumptions that met the same arrivals, so that the
difference is the assumption's. The placebo is a random choice of as many runs of the tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from dumbbell.claims import Claim, Finding
from dumbbell.papers import Settings
from dumbbell.sensitivity import Sensitivity, Variation, judged_moves, placebo_of_misses

from .assumptions import VARIATIONS
from .evidence import Evidence
from .plan import CHOSEN, replications

# Claims with evidence only from the runs of the tables.
TABLE_SCENARIOS = {f"table-{number}" for number in (1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12)} | {"wan-rtx"}

# Claims judged on runs of their own although they speak of a table.
OTHER_EVIDENCE = {"VR-Q-25", "VR-Q-29", "VR-Q-30"} | {
    f"VR-Q-{number:02d}" for number in (9, 10, 11, 26, 27, 28, 108)
}

SHOWN = (
    ("thr Reno, low, Reno", "thr", "reno", "reno", "low"),
    ("rtx Reno, low, Reno", "rtx", "reno", "reno", "low"),
    ("thr Vegas', low, Reno", "thr", "vegasfix", "reno", "low"),
    ("thr Vegas, low, Reno", "thr", "vegas", "reno", "low"),
    ("thr Reno, high, Reno", "thr", "reno", "reno", "high"),
    ("thr Vegas', high, Reno", "thr", "vegasfix", "reno", "high"),
    ("thr Vegas, high, Reno", "thr", "vegas", "reno", "high"),
)
"""Means that the table of the section shows, by heading."""


def _means(evidence: Evidence) -> dict[str, float | None]:
    return {
        heading: float(evidence.metric(metric, foreground, background, load)[0])
        for heading, metric, foreground, background, load in SHOWN
    }


def tested(claims: Sequence[Claim[Evidence]]) -> list[Claim[Evidence]]:
    """Return the claims that are judged on the runs of the tables alone."""
    return [
        claim
        for claim in claims
        if claim.scenario in TABLE_SCENARIOS
        and claim.id not in OTHER_EVIDENCE
        and "table III" not in claim.source
    ]


def study(
    settings: Settings, claims: Sequence[Claim[Evidence]], evidence: Evidence, findings: Sequence[Finding]
) -> Sensitivity[Variation]:
    """Return the baseline, every variation that was run, and the placebo; nothing if none was run.

    Parameters are those of `dumbbell.papers.ClaimedPaper.study`.
    """
    counts, seed = replications(settings).sensitivity, settings.seed
    if not counts:
        return Sensitivity()
    judged = tested(claims)
    varied = (
        (variation, evidence.with_group(variation.name, counts))
        for variation in VARIATIONS
        if any(key.startswith(f"{variation.name}/") for key in evidence.names())
    )
    moves = judged_moves(judged, evidence.with_group(CHOSEN, counts), varied, shown=_means)
    tables = evidence.results[evidence.results["key"].astype(str).str.startswith("table/")]

    def of(rows: pd.DataFrame) -> Evidence:
        return Evidence(rows, evidence.observed, seed=seed, full=False, resamples=0)

    def count(key: str) -> int:
        return counts.get(key.rsplit("|", 1)[-1], 0)

    return Sensitivity(moves, placebo_of_misses(judged, findings, tables, count, of, seed=seed))
