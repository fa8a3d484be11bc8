"""Claims of Fig. 3 and of the abstract: Vegas and Reno with video traffic."""

from __future__ import annotations

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome

from .evidence import Evidence, Values
from .plan import VIDEO_BUFFERS
from .register import claim


def ratio(evidence: Evidence, column: str, rate: float, buffer: int) -> Values:
    """Return a mean of Vegas over that of Reno with video traffic, with resamples."""
    vegas, reno = (
        evidence.mean(evidence.column(f"video/{variant}/{rate:.0f}/{buffer}", column))
        for variant in ("vegas", "reno")
    )
    return vegas / reno


@claim("ALT-28")
def largest_ratio_of_retransmissions(evidence: Evidence) -> Outcome:
    cases = [(300.0, buffer) for buffer in VIDEO_BUFFERS if buffer >= 20]
    cases += [(600.0, buffer) for buffer in VIDEO_BUFFERS if buffer >= 40]
    ratios = np.array([ratio(evidence, "retransmitted", *case) for case in cases])
    worst = cases[int(np.argmax(ratios[:, 0]))]
    largest = ratios.max(axis=0)
    return Outcome.of(
        largest,
        holds=largest < 0.2,
        note=f"largest at {worst[0]:.0f} packets/s with {worst[1]} packets of buffer",
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
