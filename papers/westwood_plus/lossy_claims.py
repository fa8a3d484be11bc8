"""Claims about lossy links: figs. 26 to 32 [grieco2004 §3.4]."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of

from .evidence import Evidence, recorded, signed
from .plan import DELAYED, EACH
from .register import claim, estimate
from .scenarios import (
    BAD_LOSS,
    DURATION_S,
    SATELLITE_FLOWS,
    SATELLITE_RATE,
    SATELLITE_RTT_S,
    SEGMENT_BITS,
)

Values = NDArray[np.float64]

# A quarter of the 40 segments that the paper's pipe holds, and the tolerance above it.
QUARTER, ABOVE = 10.0, 3.0

START_S = 50.0


def bad_ms(evidence: Evidence, figure: str) -> list[str]:
    """Return the dwell times of the bad state that were run, ms, in the form used in keys."""
    return evidence.grid(f"{figure}/westwoodp/{DELAYED}")


def least_felt_ms() -> float:
    """Return the dwell time from which the satellite channel takes something from New Reno, ms.

    By eq. 2 with delayed acknowledgements, the mean window is sqrt((1 - p)/p). Below this dwell time it would exceed the share
    of each of the 20 connections in the pipe, so that the link and not the channel decides. [grieco2004 §2.3]
    """
    share = SATELLITE_RATE * 1e6 * SATELLITE_RTT_S / SEGMENT_BITS / SATELLITE_FLOWS
    loss = 1.0 / (1.0 + share**2)
    # The channel is bad for a part Tb / (1 s + Tb) of the time and then loses a tenth.
    return 1e3 * loss / (BAD_LOSS - loss)


def judged_ms(evidence: Evidence, figure: str) -> list[str]:
    """Return the dwell times that claims are judged at.

    The gains printed for the satellite begin at 20 %: its figure has no dwell times at which the channel takes nothing.
    """
    least = least_felt_ms() if figure == "fig-32" else 0.0
    return [point for point in bad_ms(evidence, figure) if float(point) >= least]


def goodputs(evidence: Evidence, figure: str, variant: str, acks: str) -> list[Values]:
    """Return the goodput, Mbit/s, of each run, by dwell time; over the satellite, of all flows together."""
    return [evidence.total(f"{figure}/{variant}/{acks}/{point}") for point in bad_ms(evidence, figure)]


def _means(evidence: Evidence, figure: str, variant: str, acks: str) -> Values:
    keys = [f"{figure}/{variant}/{acks}/{point}" for point in judged_ms(evidence, figure)]
    return np.array([evidence.total(key).mean() for key in keys])


def _others(acks: str) -> tuple[str, ...]:
    return ("newreno",) if acks == DELAYED else ("newreno", "sack")


def gains(evidence: Evidence, figure: str, acks: str) -> Values:
    """Return the gains of Westwood+ in mean goodput, %, by other variant and dwell time."""
    west = _means(evidence, figure, "westwoodp", acks)
    found: Values = 100 * np.vstack(
        [west / _means(evidence, figure, other, acks) - 1 for other in _others(acks)]
    )
    return found


def _where(evidence: Evidence, figure: str, found: Values) -> str:
    best = found.max(axis=0)
    listed = ", ".join(
        f"{signed(gain, 0)} at {point}" for gain, point in zip(best, judged_ms(evidence, figure), strict=True)
    )
    return f"largest gain, %, by dwell time, ms: {listed}"


@estimate
def least_gain(evidence: Evidence, figure: str, acks: str) -> Outcome:
    found = gains(evidence, figure, acks)
    return Outcome(measured=float(found.min()), note=_where(evidence, figure, found))


@estimate
def largest_gain(evidence: Evidence, figure: str, acks: str) -> Outcome:
    found = gains(evidence, figure, acks)
    return Outcome(measured=float(found.max()), note=_where(evidence, figure, found))


@estimate
def share_ahead(evidence: Evidence, figure: str, acks: str) -> Outcome:
    found = gains(evidence, figure, acks)
    return Outcome.share((found > 0).all(axis=0), note=_where(evidence, figure, found))


@claim("W-F27b-3")
def goodput_of_sack_over_newreno(evidence: Evidence) -> Outcome:
    ratios = _means(evidence, "fig-27", "sack", EACH) / _means(evidence, "fig-27", "newreno", EACH)
    return Outcome(measured=float(ratios.mean()), note=f"from {ratios.min():.2f} to {ratios.max():.2f}")


def _threshold(row: pd.Series) -> float:
    """Return the mean of the threshold over time, without the start, segments."""
    return recorded(row, "ssthresh").mean(START_S, float(DURATION_S))


@claim("W-F28-1")
def mean_threshold_of_plus(evidence: Evidence) -> Outcome:
    return mean_of(evidence.of("fig-28/westwoodp", _threshold))


@claim("W-F29-1")
def mean_threshold_of_newreno(evidence: Evidence) -> Outcome:
    return mean_of(evidence.of("fig-28/newreno", _threshold), holds=lambda mean: mean <= QUARTER + ABOVE)


@claim("W-F30-1")
def goodput_with_each_over_delayed_acknowledgements(evidence: Evidence) -> Outcome:
    ratios = np.vstack(
        [
            _means(evidence, "fig-30", variant, EACH) / _means(evidence, "fig-30", variant, DELAYED)
            for variant in ("newreno", "westwoodp")
        ]
    )
    return Outcome(measured=float(ratios.mean()), note=f"from {ratios.min():.2f} to {ratios.max():.2f}")


@claim("W-F30-4")
def wired_traffic_lessens_gain(evidence: Evidence) -> Outcome:
    if bad_ms(evidence, "fig-27") != bad_ms(evidence, "fig-30"):
        raise NotMeasured("The dwell times of figs. 27 and 30 differ.")
    shared, alone = (gains(evidence, figure, EACH) for figure in ("fig-30", "fig-27"))
    note = _where(evidence, "fig-30", shared)
    return Outcome.share(
        shared < alone, note=f"{note}; without traffic {signed(alone[:, 0].max(), 0)} at the first"
    )


@claim("W-F32-4")
def plus_is_at_or_above_others(evidence: Evidence) -> Outcome:
    found = np.vstack([gains(evidence, "fig-32", acks) for acks in (DELAYED, EACH)])
    return Outcome.share((found >= 0).all(axis=0), note=f"smallest gain {signed(found.min())} %")
