"""Claims about many connections on one bottleneck: figs. 12 to 16 [grieco2004 §3.2]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dumbbell import statistics
from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of, quotient

from . import printed
from .evidence import Evidence, signed
from .plan import VARIANTS
from .register import claim, estimate

Values = NDArray[np.float64]

ENOUGH_MBPS = 9.0


def flows(evidence: Evidence) -> list[int]:
    """Return the numbers of flows that were run."""
    return [int(point) for point in evidence.grid("fig-12/newreno")]


def jain(evidence: Evidence, variant: str, count: int) -> Values:
    """Return Jain's index of the goodputs, for each run."""
    return np.array(
        [statistics.jain_index(values) for values in evidence.each(f"fig-12/{variant}/{count}", "goodput")]
    )


def _total(evidence: Evidence, variant: str, count: int) -> Values:
    return evidence.total(f"fig-12/{variant}/{count}")


@claim("W-F12-1")
def least_number_of_flows_that_fill_link(evidence: Evidence) -> Outcome:
    counts = flows(evidence)
    if counts[-1] < 100:
        raise NotMeasured("Fewer than 100 flows were run.")
    least = {count: min(_total(evidence, variant, count).mean() for variant in VARIANTS) for count in counts}
    # From this number on no larger one falls below.
    enough = [
        count for count in counts if all(least[other] >= ENOUGH_MBPS for other in counts if other >= count)
    ]
    listed = ", ".join(f"{count}: {least[count]:.2f}" for count in counts[:4])
    return Outcome(
        measured=float(enough[0]) if enough else float("nan"),
        note=f"smallest total by flows, Mbit/s: {listed}",
    )


@claim("W-F12-2")
def total_of_vegas_is_below_newreno(evidence: Evidence) -> Outcome:
    flags = [
        _total(evidence, "vegas", count) < 0.8 * _total(evidence, "newreno", count)
        for count in flows(evidence)
        if count < 40
    ]
    return Outcome.share(np.concatenate(flags))


@estimate
def mean_total_over_flows(evidence: Evidence, variant: str) -> Outcome:
    totals = np.vstack([_total(evidence, variant, count) for count in flows(evidence)])
    means = totals.mean(axis=1)
    return mean_of(totals.mean(axis=0), note=f"from {means.min():.2f} to {means.max():.2f} Mbit/s")


@claim("W-F13-1")
def plus_is_fairer_than_newreno(evidence: Evidence) -> Outcome:
    flags = [
        jain(evidence, "westwoodp", count) > jain(evidence, "newreno", count)
        for count in flows(evidence)
        if count < 60
    ]
    return Outcome.share(np.concatenate(flags))


@claim("W-F13-2")
def vegas_is_fairest(evidence: Evidence) -> Outcome:
    margins = {
        count: float(
            jain(evidence, "vegas", count).mean()
            - max(jain(evidence, variant, count).mean() for variant in ("newreno", "westwoodp"))
        )
        for count in flows(evidence)
    }
    behind = {count: -margin for count, margin in margins.items() if margin <= 0}
    note = "means over the runs"
    if behind:
        note = f"behind by at most {max(behind.values()):.4f} with {', '.join(map(str, behind))} flows"
    return Outcome.share([margin > 0 for margin in margins.values()], note=note)


@claim("W-F13-3")
def share_of_steps_that_lessen_fairness_gap(evidence: Evidence) -> Outcome:
    counts = [count for count in flows(evidence) if count <= 60]
    gaps = [
        float((jain(evidence, "westwoodp", count) - jain(evidence, "newreno", count)).mean())
        for count in counts
    ]
    listed = ", ".join(f"{gap:.3f} with {count}" for gap, count in zip(gaps, counts, strict=True))
    return Outcome.share([after < before for before, after in pairwise(gaps)], note=f"gap {listed}")


def _ends(evidence: Evidence, variant: str) -> tuple[Values, Values]:
    """Return the smallest and the largest final sequence number of 20 connections, for each run."""
    segments = evidence.stacked(f"fig-12/{variant}/20", "segments")
    return segments.min(axis=1), segments.max(axis=1)


@estimate
def final_sequence_number(evidence: Evidence, variant: str, which: int) -> Outcome:
    paper = printed.final_sequence_numbers(variant)[which]
    values = _ends(evidence, variant)[which]
    return mean_of(values, note=f"{signed(100 * (values.mean() / paper - 1))} %")


def _width(evidence: Evidence, variant: str) -> Values:
    least, largest = _ends(evidence, variant)
    return largest - least


@claim("W-F15-3")
def range_of_plus_is_narrower_in_each_run(evidence: Evidence) -> Outcome:
    return Outcome.share(_width(evidence, "westwoodp") < _width(evidence, "newreno"))


@claim("W-F15-4")
def range_of_plus_over_newreno(evidence: Evidence) -> Outcome:
    return quotient(_width(evidence, "westwoodp"), _width(evidence, "newreno"))


def _spread(evidence: Evidence, variant: str) -> Values:
    least, largest = _ends(evidence, variant)
    return largest / least


@estimate
def best_over_worst_flow(evidence: Evidence, variant: str) -> Outcome:
    return mean_of(_spread(evidence, variant))


@claim("W-F16-1")
def vegas_flows_end_closer_than_plus(evidence: Evidence) -> Outcome:
    vegas, west = _spread(evidence, "vegas"), _spread(evidence, "westwoodp")
    return Outcome.share(vegas < west, note=f"{vegas.mean():.2f} against {west.mean():.2f}")


@claim("W-F16-2")
def vegas_flows_carry_less_than_newreno(evidence: Evidence) -> Outcome:
    vegas, reno = (evidence.total(f"fig-12/{variant}/20", "segments") for variant in ("vegas", "newreno"))
    return Outcome.share(vegas < 0.8 * reno, note=f"{vegas.mean() / reno.mean():.2f} of New Reno's")
