"""Claims of Fig. 3 and of the abstract: Vegas and Reno with video traffic."""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome

from .evidence import Evidence, Values
from .plan import VIDEO_BUFFERS, VIDEO_RATES
from .register import claim


def ratio(evidence: Evidence, column: str, rate: float, buffer: int) -> Values:
    """Return a mean of Vegas over that of Reno with video traffic, with resamples."""
    vegas, reno = (
        evidence.mean(evidence.column(f"video/{variant}/{rate:.0f}/{buffer}", column))
        for variant in ("vegas", "reno")
    )
    return vegas / reno


@claim("ALT-28")
def least_ratio_of_retransmissions(evidence: Evidence) -> Outcome:
    """Return the ratio at the largest available bandwidth, with the buffer at which it is smallest.

    Vegas retransmits nothing with large buffers, and Reno does not either with the largest.
    """
    rate = max(VIDEO_RATES)
    by_buffer = {}
    for buffer in VIDEO_BUFFERS:
        reno = evidence.column(f"video/reno/{rate:.0f}/{buffer}", "retransmitted")
        if reno.sum() > 0:
            by_buffer[buffer] = ratio(evidence, "retransmitted", rate, buffer)
    if not by_buffer:
        raise NotMeasured("Reno retransmits nothing.")
    best = min(by_buffer, key=lambda buffer: by_buffer[buffer][0])
    listed = ", ".join(f"{buffer}: {found[0]:.2f}" for buffer, found in by_buffer.items())
    return Outcome.of(
        by_buffer[best],
        holds=by_buffer[best] < 0.2,
        note=f"by packets of buffer: {listed}",
    )


@claim("ALT-29")
def smaller_difference_with_small_buffer(evidence: Evidence) -> Outcome:
    parts, differences = [], []
    for rate in (300.0, 600.0):
        window, losses = (ratio(evidence, column, rate, 5) for column in ("window", "losses"))
        differences.append(np.maximum(np.abs(window - 1.0), np.abs(losses - 1.0)))
        parts.append(
            f"{rate:.0f} packets/s: mean window {window[0]:.2f} and losses {losses[0]:.2f} of Reno's"
        )
    smaller = np.minimum(*differences)
    return Outcome.of(smaller, holds=smaller <= 0.1, note="; ".join(parts))


@claim("ALT-30")
def fall_of_loss_ratio_with_available_bandwidth(evidence: Evidence) -> Outcome:
    low, high = (ratio(evidence, "losses", rate, 40) for rate in (150.0, 600.0))
    return Outcome.of(low - high, holds=high <= low, note=f"{low[0]:.3f} and {high[0]:.3f}")


@claim("ALT-31")
def cited_gain_of_vegas_over_reno(_evidence: Evidence) -> Outcome:
    raise NotMeasured(
        "The paper quotes it from [brakmo1995] as background and neither derives nor simulates it."
    )
