"""Claims on several connections: persistent congestion and fairness (Figs. 15, 17 and 18), and cited ones of section 2."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from dumbbell.judge.estimate import Outcome, above, listing, resampled
from dumbbell.models import rovegas as model
from dumbbell.quantities import nanoseconds

from .assumptions import FORWARD_RATE_KBPS, PACKET_BYTES, fixed_delay_s
from .evidence import Evidence, Row, Values
from .register import claim, estimate
from .scenarios import staggered

ALPHA, BETA = 1.0, 3.0
CONNECTIONS = range(1, 9)
MANY = 3
"""Other connections that are many. [chan2004 §2.2.2] says that many are active; one or two are not many."""
FORWARD_PACKETS = FORWARD_RATE_KBPS * 1000 / 8 / PACKET_BYTES


def true_delay_ms(evidence: Evidence, variant: str) -> float:
    """Return the round-trip time without queueing in the network of Figs. 15 and 17, ms."""
    bottleneck = nanoseconds(evidence.place("fig-15").bias_delay, "delay") / 1e6
    return 1000 * fixed_delay_s(variant, evidence.place("fig-15"), bottleneck_ms=bottleneck)


def _queues(evidence: Evidence, variant: str) -> list[Values]:
    return [evidence.queue_after(variant, n) for n in CONNECTIONS]


def _last_base_rtts(evidence: Evidence, variant: str) -> list[Values]:
    """Return the base round-trip time each connection of Fig. 15 ends with, ms."""
    return [evidence.first("base_rtt", 4 * index + 3, "fig-15", variant) for index in range(len(CONNECTIONS))]


@estimate
def queue_after(evidence: Evidence, variant: str, n: int, each: int = 1) -> Outcome:
    return resampled(evidence.queue_after(variant, n) / each)


@estimate
def stated(evidence: Evidence, parameter: str, factor: float = 1.0) -> Outcome:
    """Return a parameter of the connections of Fig. 15."""
    scenario = staggered(
        "fig-15", "vegas", evidence.place("fig-15"), connections=8, apart_s=20, duration_s=180
    )
    flows: list[dict[str, Any]] = scenario.resolved()["flows"]
    return Outcome(measured=factor * float(flows[0]["tcp"]["congestion"][parameter]))


@claim("RV-F15-03")
def queue_of_four_vegas_connections(evidence: Evidence) -> Outcome:
    return above([evidence.queue_after("vegas", 4)], limit=4 * BETA)


@claim("RV-F15-08")
def share_of_entries_with_kept_target(evidence: Evidence) -> Outcome:
    queues = _queues(evidence, "rovegas")
    kept = [n * ALPHA <= queue[0] <= n * BETA for n, queue in zip(CONNECTIONS, queues, strict=True)]
    return Outcome.share(kept, 1.0, listing([f"n = {n}" for n in CONNECTIONS], queues, "{:.1f}"))


@claim("RV-F15-09")
def queue_of_eight_rovegas_over_vegas(evidence: Evidence) -> Outcome:
    ratio = evidence.queue_after("rovegas", 8) / evidence.queue_after("vegas", 8)
    return resampled(ratio, holds=ratio < 0.6)


@claim("RV-F15-10")
def least_step_of_queue_per_vegas_connection(evidence: Evidence) -> Outcome:
    each = [queue / n for n, queue in zip(CONNECTIONS, _queues(evidence, "vegas"), strict=True)]
    steps = [two - one for one, two in pairwise(each)]
    return above(steps, note=listing([f"n = {n}" for n in CONNECTIONS], each))


@claim("RV-F15-11")
def queue_of_eight_over_four_vegas_connections(evidence: Evidence) -> Outcome:
    return resampled(evidence.queue_after("vegas", 8) / evidence.queue_after("vegas", 4))


def kept_target(evidence: Evidence) -> Values:
    """Return the target backlog of each Vegas connection of Fig. 15 by the best fit of the fluid model, packets."""
    fluid = model.persistent_queue(len(CONNECTIONS))
    queues = np.array(_queues(evidence, "vegas"))
    return np.asarray(fluid @ queues / (fluid @ fluid))


@claim("RV-F15-20")
def least_step_of_late_vegas_base_rtt(evidence: Evidence) -> Outcome:
    base = _last_base_rtts(evidence, "vegas")
    # The second overestimates the fixed delay, and each later one more than the one before it.
    true = true_delay_ms(evidence, "vegas")
    steps = [base[1] - true, *(two - one for one, two in pairwise(base[1:]))]
    return above(
        steps, note=f"fixed delay {true:.1f} ms; " + listing([f"{n}" for n in CONNECTIONS], base, "{:.1f}")
    )


@claim("RV-F15-21")
def largest_error_of_rovegas_base_rtt(evidence: Evidence) -> Outcome:
    true = true_delay_ms(evidence, "rovegas")
    errors = np.maximum.reduce([base - true for base in _last_base_rtts(evidence, "rovegas")])
    # To a thousandth of a millisecond, as a derived base round-trip time is exact.
    return resampled(errors, holds=errors <= 0.001)


@claim("RV-CTX-05")
def least_queue_of_joining_vegas_connection(evidence: Evidence) -> Outcome:
    """Return the least queue of the connections that join many others; the note has it with fewer, too."""
    kept = []
    for n in CONNECTIONS[1:]:
        window = (20.0 * n - 10.0, 20.0 * n)

        def queued(row: Row, n: int = n, window: tuple[float, float] = window) -> float:
            share = np.asarray(row["bins"]).reshape(len(CONNECTIONS), -1)[
                n - 1, int(window[0]) : int(window[1])
            ]
            queue = np.asarray(row["queue_bins"])[int(window[0]) : int(window[1])]
            return float(share.mean() / FORWARD_RATE_KBPS * queue.mean())

        kept.append(evidence.mean_of(evidence.rows("fig-15", "vegas"), queued))
    others = [f"beside {n - 1}" for n in CONNECTIONS[1:]]
    return above(kept[MANY - 1 :], limit=BETA, note=listing(others, kept, "{:.1f}"))


@claim("RV-F17-08")
def lead_of_newest_vegas_connection(evidence: Evidence) -> Outcome:
    *others, newest = evidence.throughputs("fig-17", "b")
    return above([newest - np.maximum.reduce(others)])


@claim("RV-CTX-02")
def share_of_longest_delay_vegas_less_reno(evidence: Evidence) -> Outcome:
    def longest(variant: str) -> Values:
        rates = evidence.throughputs("fig-18", variant)
        return np.asarray(rates[0] / np.sum(rates, axis=0))

    vegas, reno = longest("a"), longest("reno")
    return above([vegas - reno], note=f"Vegas {vegas[0]:.3f}, Reno {reno[0]:.3f}")


@claim("RV-CTX-04")
def share_of_reno_less_vegas(evidence: Evidence) -> Outcome:
    vegas, reno = evidence.throughputs("ctx", "head-to-head")
    return above([reno - vegas], note=f"Vegas {vegas[0]:.0f}, Reno {reno[0]:.0f} kbit/s")
