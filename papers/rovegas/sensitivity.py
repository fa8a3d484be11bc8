"""Sensitivity to each open assumption: the claims evaluated again with one assumption varied.

A moved assumption is run with the seeds of the paper's experiments and compared with the first of their runs, as many of them, so
that the difference is the assumption's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from dumbbell.claims import Claim, Finding
from dumbbell.papers import Settings
from dumbbell.sensitivity import Sensitivity, judged_moves, placebo_of_misses, quantities

from .assumptions import VARIATIONS, Variation
from .evidence import PAPER, Evidence
from .plan import replications


def _ratio(figure: str, point: float | str) -> Callable[[Evidence], float]:
    return lambda evidence: float(
        evidence.throughput(figure, "rovegas", point)[0] / evidence.throughput(figure, "vegas", point)[0]
    )


def _rate_ratio(figure: str, begin_s: float, end_s: float) -> Callable[[Evidence], float]:
    return lambda evidence: float(
        evidence.rate(figure, "rovegas", "", begin_s, end_s)[0]
        / evidence.rate(figure, "vegas", "", begin_s, end_s)[0]
    )


def _queue(variant: str) -> Callable[[Evidence], float]:
    return lambda evidence: float(evidence.queue_after(variant, 8)[0])


def _fairness(figure: str, panel: str) -> Callable[[Evidence], float]:
    return lambda evidence: float(evidence.jain(figure, panel)[0])


SHOWN: Mapping[str, Callable[[Evidence], float]] = {
    "Fig. 8, k = 2": _ratio("ana", 2),
    "k = 4": _ratio("ana", 4),
    "k = 16": _ratio("ana", 16),
    "Fig. 9": _rate_ratio("fig-9", 50, 200),
    "Fig. 10, load 1": _ratio("fig-10", 1.0),
    "Fig. 12, three sources": _rate_ratio("fig-12", 300, 400),
    "Fig. 13, load 1": _ratio("fig-13", 1.0),
    "Fig. 15, Vegas": _queue("vegas"),
    "RoVegas": _queue("rovegas"),
    "Fig. 17 (b)": _fairness("fig-17", "b"),
    "(d)": _fairness("fig-17", "d"),
    "Fig. 18 (b)": _fairness("fig-18", "b"),
    "Fig. 18 (d)": _fairness("fig-18", "d"),
}
"""Quantities that the table of the section shows, by heading: ratios of throughputs, queues with eight connections, fairness."""


def study(
    settings: Settings, claims: Sequence[Claim[Evidence]], evidence: Evidence, findings: Sequence[Finding]
) -> Sensitivity[Variation]:
    """Return the assumptions as they are, every variation that was run, and the placebo.

    Parameters are those of `dumbbell.papers.ClaimedPaper.study`.
    """
    base, runs, seed = evidence.base, replications(settings).moved, settings.seed
    if not runs:
        return Sensitivity()
    groups = evidence.groups()
    varied = (
        (variation, evidence.varied(variation.name, variation.place(base), runs))
        for variation in VARIATIONS
        if variation.name in groups
    )
    moves = judged_moves(claims, evidence.varied(PAPER, base, runs), varied, shown=partial(quantities, SHOWN))
    unvaried = evidence.results[evidence.results["key"].astype(str).str.startswith(f"{PAPER}|")]
    drawn = placebo_of_misses(
        claims, findings, unvaried, lambda _: runs, lambda rows: Evidence(rows, base, seed=seed), seed=seed
    )
    return Sensitivity(moves, drawn)
