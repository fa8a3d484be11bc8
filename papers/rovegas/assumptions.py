"""Sizes, rates and rules stated by the paper, and what it leaves open.

[chan2004 §5-6]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dumbbell import sensitivity
from dumbbell.quantities import nanoseconds

FORWARD_RATE_KBPS = 1600.0
ACCESS_RATE = "10 Mbit/s"
ACCESS_RATE_KBPS = 10_000.0
CONNECTION_RATE = "1.6 Mbit/s"
ON_RATE = "3.2 Mbit/s"

PACKET_BYTES = 1000
OPTION_BYTES = 8
PLAIN_ACK_BYTES = 40

QUEUE_PACKETS = 50
ASYMMETRIC_QUEUE_PACKETS = 10


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open, with the values chosen here.

    Parameters
    ----------
    burst
        Mean ON time of the variable-rate sources; the mean OFF time follows from the load.
    burst_packet
        Size of their packets.
    sized_by_bytes
        Size of the acknowledgement, in bytes, by which the backward rate is set for RoVegas.
    layout
        How the variable-rate sources of the parking lot enter: ``"backward"``, nearest to the sender first, or
        ``"backward-far"``, nearest to the receiver first.
    delays
        Where the delays of Fig. 18 differ: ``"chain"``, senders one hop apart, or ``"access"``, one bottleneck and access
        links of different lengths.
    bias_delay
        Propagation delay of the bottleneck of Figs. 15 and 17, one way.
    access_delay
        Propagation delay of an access link.
    round_diff
        Whether the difference is rounded to whole packets before it is compared.
    rtt
        Which round-trip time enters the actual rate.
    numerator
        The numerators of the expected and the actual rate.
    increase
        How the window adds the granted packet.
    gamma
        Threshold of slow start, packets.
    mechanisms
        Mechanisms of Vegas that are on, by their letters: H is the limit of three packets that an acknowledgement releases.
    equal_band
        Value of alpha and beta where they are equal, packets.
    counts_service
        Whether the limit of a queue counts the packet in transmission.
    base_rtt
        How RoVegas adopts a derived base round-trip time if every router has the option.
    base_rtt_mixed
        The same if not every router has it.
    hosts_stamp
        Whether hosts add the wait in their own output queue.
    minimum_rto, tick
        Least retransmission timeout, and the granularity of its clock.
    jitter_s
        Starts of connections are drawn within so much, s.
    """

    burst: str = "10 ms"
    burst_packet: str = "1000 bytes"
    sized_by_bytes: int = PLAIN_ACK_BYTES + OPTION_BYTES
    layout: str = "backward"
    delays: str = "chain"
    bias_delay: str = "20 ms"
    access_delay: str = "1 ms"
    round_diff: bool = True
    rtt: str = "mean"
    numerator: str = "window"
    increase: str = "at-once"
    gamma: float = 1.0
    mechanisms: str = "ABCDEFGHI"
    equal_band: float = 2.0
    counts_service: bool = False
    base_rtt: str = "replace"
    base_rtt_mixed: str = "minimum"
    hosts_stamp: bool = True
    minimum_rto: str = "200 ms"
    tick: str = "100 ms"
    jitter_s: float = 0.1


def payload_bytes(variant: str) -> int:
    """Return the bytes of a data packet that count as throughput: all except RoVegas's option."""
    return PACKET_BYTES - OPTION_BYTES if variant == "rovegas" else PACKET_BYTES


def acknowledgement_bytes(variant: str) -> int:
    """Return the size of an acknowledgement on the wire, bytes."""
    return PLAIN_ACK_BYTES + OPTION_BYTES if variant == "rovegas" else PLAIN_ACK_BYTES


def backward_rate_kbps(k: float, sized_by_bytes: int = PLAIN_ACK_BYTES) -> float:
    """Return the backward rate C_b of an asymmetric factor, kbit/s.

    Parameters
    ----------
    k
        Data packets that the forward link carries in the time of one acknowledgement on the backward link.
    sized_by_bytes
        Size of that acknowledgement, bytes.
    """
    packets_per_second = FORWARD_RATE_KBPS * 1000 / (8 * PACKET_BYTES)
    return packets_per_second / k * 8 * sized_by_bytes / 1000


def vegas_rules(
    variant: str, place: Assumptions, *, alpha: float = 1.0, beta: float = 3.0, base_rtt: str | None = None
) -> dict[str, Any]:
    """Return the ``tcp`` table of a connection.

    Parameters
    ----------
    variant
        ``"vegas"``, ``"rovegas"`` or ``"reno"``.
    place
        What the paper leaves open.
    alpha, beta
        Thresholds, packets.
    base_rtt
        How RoVegas adopts a derived base round-trip time; as in `place` when not given.
    """
    congestion: str | dict[str, Any] = "reno"
    if variant != "reno":
        congestion = {
            "name": variant,
            "alpha": alpha,
            "beta": beta,
            "gamma": place.gamma,
            "round_diff": place.round_diff,
            "rtt": place.rtt,
            "numerator": place.numerator,
            "increase": place.increase,
        }
    if variant == "rovegas" and isinstance(congestion, dict):
        congestion["base_rtt"] = base_rtt or place.base_rtt
    return ({} if variant == "reno" else {"mechanisms": place.mechanisms}) | {
        "variant": variant,
        "congestion": congestion,
        "recovery": {"max_burst": 2},
        "window": {"grow_when": "always", "reduction_base": "real-window"},
        "mss": f"{payload_bytes(variant)} bytes",
        "headers": {"data": "0 bytes", "ack": f"{PLAIN_ACK_BYTES} bytes"},
        "initial_window": "2 segments",
        "initial_ssthresh": "unlimited",
        "receive_buffer": "unlimited",
        "timer": {
            "kind": "rfc6298",
            "granularity": place.tick,
            "whole_ticks": True,
            "minimum": place.minimum_rto,
            "initial": "3 s",
        },
    }


def fixed_delay_s(
    variant: str, place: Assumptions, *, bottleneck_ms: float = 20.0, backward_kbps: float | None = None
) -> float:
    """Return the round-trip time over one bottleneck without any queueing, s.

    Parameters
    ----------
    variant, place
        As for `alone`.
    bottleneck_ms
        Propagation delay of the bottleneck, one way, ms.
    backward_kbps
        Rate of the backward link, kbit/s; the forward one's when not given.
    """
    propagation = 2 * (2 * nanoseconds(place.access_delay, "access_delay") / 1e6 + bottleneck_ms)
    data = 8 * PACKET_BYTES * (1 / FORWARD_RATE_KBPS + 2 / ACCESS_RATE_KBPS)
    acknowledgement = 8 * acknowledgement_bytes(variant)
    back = acknowledgement * (1 / (backward_kbps or FORWARD_RATE_KBPS) + 2 / ACCESS_RATE_KBPS)
    return (propagation + data + back) / 1000


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """A variation of one open assumption, for the sensitivity section.

    Parameters
    ----------
    touches
        The experiments it concerns.
    """

    touches: Sequence[str]

    def place(self, base: Assumptions) -> Assumptions:
        """Return assumptions with this one varied."""
        return replace(base, **self.changes)


def _varied(name: str, touches: Sequence[str], assumption: str, value: str, **changes: Any) -> Variation:
    return Variation(name=name, assumption=assumption, value=value, changes=changes, touches=touches)


ANALYSIS = ("ana", "fig-3", "fig-4", "fig-5")
TRAFFIC = ("fig-9", "fig-10", "fig-12", "fig-13", "fig-19")
CONNECTIONS = ("fig-15", "fig-17", "fig-18")
EVERYTHING = (*ANALYSIS, *TRAFFIC, *CONNECTIONS)


VARIATIONS: tuple[Variation, ...] = (
    _varied("on-5", TRAFFIC, "mean ON time of the variable-rate sources", "5 ms", burst="5 ms"),
    _varied("on-7", TRAFFIC, "mean ON time of the variable-rate sources", "7.5 ms", burst="7.5 ms"),
    _varied("on-15", TRAFFIC, "mean ON time of the variable-rate sources", "15 ms", burst="15 ms"),
    _varied("on-50", TRAFFIC, "mean ON time of the variable-rate sources", "50 ms", burst="50 ms"),
    _varied(
        "on-500",
        TRAFFIC,
        "mean ON time of the variable-rate sources",
        "500 ms, the default of ns-2",
        burst="500 ms",
    ),
    _varied(
        "packet-500", TRAFFIC, "packets of the variable-rate sources", "500 bytes", burst_packet="500 bytes"
    ),
    _varied(
        "packet-210",
        TRAFFIC,
        "packets of the variable-rate sources",
        "210 bytes, the default of ns-2",
        burst_packet="210 bytes",
    ),
    _varied(
        "sized-40",
        ANALYSIS,
        "backward rate for RoVegas",
        "that for acknowledgements of 40 bytes",
        sized_by_bytes=40,
    ),
    _varied(
        "far",
        ("fig-12", "fig-19"),
        "order of the sources in the parking lot",
        "farthest from the sender first",
        layout="backward-far",
    ),
    _varied(
        "access",
        ("fig-18",),
        "network of Fig. 18",
        "one bottleneck, access links of different lengths",
        delays="access",
    ),
    _varied(
        "bias-10",
        ("fig-15", "fig-17"),
        "delay of the bottleneck of Figs. 15 and 17",
        "10 ms",
        bias_delay="10 ms",
    ),
    _varied(
        "bias-40",
        ("fig-15", "fig-17"),
        "delay of the bottleneck of Figs. 15 and 17",
        "40 ms",
        bias_delay="40 ms",
    ),
    _varied(
        "access-0",
        ANALYSIS,
        "delay of access links in the analysis",
        "none: the round trip is 40 ms",
        access_delay="0 ms",
    ),
    _varied("real", EVERYTHING, "difference before it is compared", "not rounded", round_diff=False),
    _varied("newest", EVERYTHING, "round-trip time of the actual rate", "the newest sample", rtt="newest"),
    _varied(
        "transit",
        EVERYTHING,
        "numerators of the rates",
        "what is in transit, and what was sent",
        numerator="in-transit",
    ),
    _varied("ns2", EVERYTHING, "numerators of the rates", "those of ns-2", numerator="ns2"),
    _varied(
        "spread",
        EVERYTHING,
        "increase of the window",
        "over the acknowledgements of a round trip, as in ns-2",
        increase="spread",
    ),
    _varied("gamma-3", EVERYTHING, "gamma", "3", gamma=3.0),
    _varied(
        "bursts", EVERYTHING, "limit of three packets for each acknowledgement", "none", mechanisms="ABCDEFGI"
    ),
    _varied("band-1", ("fig-17", "fig-18"), "alpha = beta in Figs. 17 and 18", "1", equal_band=1.0),
    _varied("band-3", ("fig-17", "fig-18"), "alpha = beta in Figs. 17 and 18", "3", equal_band=3.0),
    _varied(
        "service", EVERYTHING, "limit of a queue", "counts the packet in transmission", counts_service=True
    ),
    _varied(
        "minimum",
        EVERYTHING,
        "base round-trip time of RoVegas",
        "the least derived one everywhere",
        base_rtt="minimum",
    ),
    _varied(
        "replace",
        ("fig-19",),
        "base round-trip time in the mixed network",
        "the newest derived one",
        base_rtt_mixed="replace",
    ),
    _varied(
        "hosts",
        EVERYTHING,
        "wait in the hosts' own queues",
        "not part of the stamped time",
        hosts_stamp=False,
    ),
    _varied("rto-1000", TRAFFIC, "retransmission timer", "at least 1 s, ticks of 100 ms", minimum_rto="1 s"),
    _varied("tick-10", TRAFFIC, "retransmission timer", "at least 0.2 s, ticks of 10 ms", tick="10 ms"),
    _varied(
        "rto-1000-tick-10",
        TRAFFIC,
        "retransmission timer",
        "at least 1 s, ticks of 10 ms",
        minimum_rto="1 s",
        tick="10 ms",
    ),
    _varied("sharp", CONNECTIONS, "starts of connections", "exactly together or apart", jitter_s=0.0),
)
"""Every open assumption, varied one at a time."""
