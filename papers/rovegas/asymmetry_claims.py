"""Claims on links whose rates differ: the analysis (section 5, Figs. 3 to 5) and Figs. 7 and 8."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, above, listing, resampled
from dumbbell.models import rovegas as model
from dumbbell.quantities import bits_per_second

from .assumptions import FORWARD_RATE_KBPS, PACKET_BYTES, backward_rate_kbps
from .evidence import Evidence, Row, Values, worst
from .register import claim, estimate
from .scenarios import ASYMMETRIES, OTHER_ASYMMETRIES, SYMMETRIES, alone

ALPHA, BETA = 1.0, 3.0
FORWARD_PACKETS = FORWARD_RATE_KBPS * 1000 / 8 / PACKET_BYTES
"""u_f, packets/s."""

ASYMMETRIC = tuple(sorted((*OTHER_ASYMMETRIES, *ASYMMETRIES)))
LIMITED = (8, 16, 32)
"""Factors at which the paper finds the keep-up rule to bind."""

# Order of the entries of `Row["steady"]`.
DROPPED, PER_ACK, BURST, DIFF = range(4)

KEEP_UP_BINDS = 2.9
"""From this number of packets per acknowledgement on, the keep-up rule counts as the limit."""


def _names(points: tuple[float, ...]) -> list[str]:
    return [f"k = {k:g}" for k in points]


def _queue(evidence: Evidence, variant: str, k: float, direction: str) -> Values:
    return evidence.first(f"{direction}_queue", 0, "ana", variant, k)


def _steady(evidence: Evidence, index: int, k: float) -> Values:
    return evidence.first("steady", index, "ana", "rovegas", k)


def _packets_per_second(evidence: Evidence, variant: str, k: float) -> Values:
    return evidence.packets("ana", variant, k) * 1000 / 8 / PACKET_BYTES


def _ratio(evidence: Evidence, k: float) -> Values:
    """Return the throughput of RoVegas over that of Vegas, option's bytes left out."""
    return evidence.throughput("ana", "rovegas", k) / evidence.throughput("ana", "vegas", k)


def _packet_ratio(evidence: Evidence, k: float) -> Values:
    """Return F, the ratio in packets."""
    return evidence.packets("ana", "rovegas", k) / evidence.packets("ana", "vegas", k)


@estimate
def extreme_queue_of_vegas(
    evidence: Evidence,
    direction: Literal["forward", "backward"],
    factors: Literal["symmetric", "asymmetric"],
    extreme: Literal["smallest", "largest"],
    bound: float | None = None,
) -> Outcome:
    """Return the smallest or the largest mean queue over some factors, packets, which has to respect a bound."""
    points = SYMMETRIES if factors == "symmetric" else ASYMMETRIC
    queues = [_queue(evidence, "vegas", k, direction) for k in points]
    found = np.minimum.reduce(queues) if extreme == "smallest" else np.maximum.reduce(queues)
    holds = None if bound is None else found >= bound if extreme == "smallest" else found <= bound
    return resampled(found, holds=holds, note=listing(_names(points), queues))


@claim("RV-ANA-04")
def throughput_of_vegas_over_capacity(evidence: Evidence) -> Outcome:
    return resampled(
        worst((evidence.throughput("ana", "vegas", k) / FORWARD_RATE_KBPS for k in SYMMETRIES), 1)
    )


@claim("RV-ANA-08")
def throughput_of_vegas_over_capacity_by_k(evidence: Evidence) -> Outcome:
    shares = [evidence.throughput("ana", "vegas", k) * k / FORWARD_RATE_KBPS for k in ASYMMETRIC]
    return resampled(worst(shares, 1), note=listing(_names(ASYMMETRIC), shares, "{:.4f}"))


@claim("RV-ANA-09")
def largest_difference_of_rovegas_and_vegas_at_small_k(evidence: Evidence) -> Outcome:
    return resampled(np.maximum.reduce([np.abs(_packet_ratio(evidence, k) - 1) for k in SYMMETRIES]))


@claim("RV-ANA-10")
def least_excess_of_rovegas_over_capacity_by_k(evidence: Evidence) -> Outcome:
    excess = [_packets_per_second(evidence, "rovegas", k) - FORWARD_PACKETS / k for k in ASYMMETRIC]
    return above(excess, note=listing(_names(ASYMMETRIC), excess, "{:.1f}"))


@claim("RV-ANA-11")
def smallest_mean_diff_of_rovegas(evidence: Evidence) -> Outcome:
    free = [k for k in ASYMMETRIC if float(_steady(evidence, PER_ACK, k)[0]) < KEEP_UP_BINDS]
    if not free:
        raise NotMeasured("The keep-up rule binds at every asymmetric factor.")
    diffs = [_steady(evidence, DIFF, k) for k in free]
    least = np.minimum.reduce(diffs)
    return resampled(least, holds=least >= ALPHA, note=listing(_names(tuple(free)), diffs))


@claim("RV-ANA-12")
def largest_mean_diff_of_rovegas(evidence: Evidence) -> Outcome:
    diffs = [_steady(evidence, DIFF, k) for k in ASYMMETRIC]
    most = np.maximum.reduce(diffs)
    return resampled(most, holds=most <= BETA, note=listing(_names(ASYMMETRIC), diffs))


@claim("RV-ANA-13")
def share_of_acknowledgements_to_drop(evidence: Evidence) -> Outcome:
    # From the rates of the scenario: the load of a full forward link and the capacity of the backward link.
    k = _offered(evidence)
    return Outcome(
        measured=float(np.asarray(model.ack_drop_ratio(k))), note="the model, at the rates of the scenario"
    )


@claim("RV-ANA-14")
def packets_per_acknowledgement_needed(evidence: Evidence) -> Outcome:
    dropped = float(np.asarray(model.ack_drop_ratio(_offered(evidence))))
    return Outcome(measured=1 / (1 - dropped), note="the model, at the rates of the scenario")


def _offered(evidence: Evidence) -> float:
    """Return how many packets a full forward link carries for each acknowledgement of the backward link, at k = 8."""
    links = {
        link["name"]: link for link in alone("ana", "vegas", 8, evidence.place("ana")).resolved()["links"]
    }
    forward, backward = (bits_per_second(links[name]["rate"], "rate") for name in ("r1-r2", "r2-r1"))
    return (forward / (8 * PACKET_BYTES)) / (backward / (8 * 40))


@estimate
def keep_up_limit(evidence: Evidence, index: int, aim: float) -> Outcome:
    found = [_steady(evidence, index, k) for k in LIMITED]
    return resampled(worst(found, aim), note=listing(_names(LIMITED), found, "{:.3f}"))


@claim("RV-ANA-18")
def excess_beyond_which_window_does_not_grow(evidence: Evidence) -> Outcome:
    rows = [evidence.rows("unit-keepup", "rovegas", k)[0]["guard"] for k in LIMITED]
    grew, held = max(row[0] for row in rows), min(row[1] for row in rows)
    # The threshold is between the largest excess at which the window grew and the smallest at which it did not.
    lies_at_two = grew <= 2.0 < held
    return Outcome(
        measured=2.0 if lies_at_two else (grew + held) / 2,
        note=f"the window grew at an excess of up to {grew:.3f} packets and was held from {held:.3f} on, the packet just "
        "acknowledged counted as outstanding",
    )


@claim("RV-ANA-19")
def least_ratio_of_rovegas_over_vegas(evidence: Evidence) -> Outcome:
    ratios = [_packet_ratio(evidence, k) for k in ASYMMETRIC]
    return above(ratios, listing(_names(ASYMMETRIC), ratios), limit=1.0)


@claim("RV-ANA-20")
def largest_ratio_of_rovegas_over_vegas(evidence: Evidence) -> Outcome:
    ratios = [_packet_ratio(evidence, k) for k in ASYMMETRIC]
    most = np.maximum.reduce(ratios)
    return resampled(most, holds=most <= 3.05, note=listing(_names(ASYMMETRIC), ratios))


@claim("RV-ANA-21")
def ratio_without_option_over_ratio_of_packets(evidence: Evidence) -> Outcome:
    return resampled(
        worst(
            (_ratio(evidence, k) / _packet_ratio(evidence, k) for k in ASYMMETRIC),
            float(model.goodput_share()),
        )
    )


@claim("RV-ANA-22")
def unused_share_of_forward_link(evidence: Evidence) -> Outcome:
    return above([FORWARD_PACKETS - _packets_per_second(evidence, "rovegas", 8)])


@estimate
def greatest_queue(evidence: Evidence, figure: str, variant: str) -> Outcome:
    """Return a queue from a curve of all changes: its maximum; the note has the mean."""
    mean = evidence.first("forward_queue", 0, figure, variant)
    return resampled(
        evidence.first("forward_queue", 1, figure, variant),
        note=f"the greatest length, which a curve of every change shows; {mean[0]:.2f} wait on average",
    )


@claim("RV-F3-04")
def variance_of_settled_vegas_window(evidence: Evidence) -> Outcome:
    def variance(row: Row) -> float:
        return float(row["window"][1]) ** 2

    return resampled(evidence.mean_of(evidence.rows("fig-3", "vegas"), variance))


@claim("RV-F7-01")
def backward_rate_that_makes_k_4(evidence: Evidence) -> Outcome:
    links = alone("ana", "vegas", 4, evidence.place("ana")).resolved()["links"]
    rate = next(link["rate"] for link in links if link["name"] == "r2-r1")
    return Outcome(
        measured=bits_per_second(rate, "rate") / 1000,
        note=f"the formula gives {backward_rate_kbps(4):g} kbit/s",
    )


@estimate
def least_fall_with_k(evidence: Evidence, variant: str) -> Outcome:
    found = [evidence.throughput("ana", variant, k) for k in ASYMMETRIES]
    steps = [one - two for one, two in pairwise(found)]
    return above(steps, note=listing(_names(ASYMMETRIES), found, "{:.1f}"))


@claim("RV-F8-17")
def least_lead_of_rovegas_over_all_k(evidence: Evidence) -> Outcome:
    return above(
        [
            evidence.throughput("ana", "rovegas", k) - evidence.throughput("ana", "vegas", k)
            for k in ASYMMETRIES
        ]
    )


@claim("RV-F8-18")
def throughput_of_rovegas_at_k_2_over_full_link(evidence: Evidence) -> Outcome:
    full = FORWARD_RATE_KBPS * model.goodput_share()
    return resampled(evidence.throughput("ana", "rovegas", 2) / full)
