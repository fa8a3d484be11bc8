"""What the paper leaves open, with our choice and its reason, and how each choice is varied.

A field of `Assumptions` is used wherever it applies. A `Variation` is an alternative reading of the paper: a few
changed fields, and the groups of experiments to run. [grieco2004 §3]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dumbbell import sensitivity

# The groups of experiments that readings are run on.
CONNECTION = "connection"
MANY_FLOWS = "many flows"
HOPS = "hops"
WIRELESS = "wireless"


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open, with our choice; `report.md` has the reason for each.

    Parameters
    ----------
    wire_header
        Bytes on the wire in addition to the 1500 of a segment.
    access_rate
        Rate of the links between hosts and routers.
    bottleneck_delay
        Propagation delay of the shared link of the single-connection and single-bottleneck networks, ms; the rest of a
        round-trip time lies in the access links.
    counts_service
        Whether a queue's limit includes the packet in service.
    partial_ack
        What a partial acknowledgement does to the retransmission timer in New Reno and Westwood+.
    partial_deflation
        Whether a partial acknowledgement deflates the window by the data it acknowledges, or ends the inflation.
    minimum_rto, initial_rto, tick
        The retransmission timer.
    limited_transmit
        Whether the first two duplicate acknowledgements release new segments.
    delayed_ack_timer
        Longest delay of an acknowledgement.
    vegas
        ``"ns2"``: the simulator's form of Vegas. ``"corrected"``: all deviations of that form removed.
    only_reduce
        Whether three duplicate acknowledgements never raise Westwood+'s window.
    interval_rtt, minimum_interval
        How long Westwood+ measures for a sample.
    start_spread
        Flows start within this many seconds of each other.
    reverse_queue, reverse_rate
        Queue (packets) and rate (Mbit/s) of the reverse path in the single-connection network. ``None`` is the queue by the
        paper's rule: the rate times the largest round-trip time of the flows on that path [grieco2004 §3].
    connection_reverse_rtts, many_flows_reverse_rtts
        Round-trip times of the ten flows on the reverse path, with one connection and with many: ``"equal"`` (250 ms),
        ``"half"`` (125 ms), ``"spread"`` (over 250 ms by the rule of the single-bottleneck network).
    channel
        What advances the two-state channel: ``"packet"``, every packet after a dwell until the state has changed, as in the
        simulator; ``"poll"``, the first packet after a dwell; ``"time"``.
    wired_rate
        Rate of the wired bottleneck before the wireless hop, Mbit/s.
    cross_variant
        TCP of the cross traffic on the wired part.
    wireless_queue
        Queue at the wireless link, packets.
    """

    wire_header: int = 0
    access_rate: str = "100 Mbit/s"
    bottleneck_delay: float = 10.0
    counts_service: bool = True
    partial_ack: str = "slow-but-steady"
    partial_deflation: bool = False
    minimum_rto: str = "1 s"
    initial_rto: str = "6 s"
    tick: str = "10 ms"
    limited_transmit: bool = True
    delayed_ack_timer: str = "100 ms"
    vegas: str = "ns2"
    only_reduce: bool = True
    interval_rtt: str = "newest"
    minimum_interval: str = "0 s"
    start_spread: float = 1.0
    reverse_queue: int | None = None
    reverse_rate: float = 2.0
    connection_reverse_rtts: str = "half"
    many_flows_reverse_rtts: str = "spread"
    channel: str = "packet"
    wired_rate: float = 10.0
    cross_variant: str = "newreno"
    wireless_queue: int = 42


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """An alternative reading of the paper; `value` describes it.

    Parameters
    ----------
    groups
        The groups of experiments it is run on.
    """

    assumption: str = ""
    groups: tuple[str, ...]

    def assumptions(self) -> Assumptions:
        """Return the assumptions of the reading."""
        return replace(Assumptions(), **self.changes)


LITERAL = Assumptions(channel="time")
"""The literal reading: the dwell times of the lossy channel are times, whether packets pass or not."""

WIRED = (CONNECTION, MANY_FLOWS, HOPS)
EVERYWHERE = (*WIRED, WIRELESS)


def _varied(name: str, groups: tuple[str, ...], value: str, **changes: Any) -> Variation:
    return Variation(name=name, value=value, groups=groups, changes=changes)


VARIATIONS = (
    _varied(
        "full-duplex",
        (CONNECTION,),
        "round-trip times on the reverse path 250 ms, as that of the connection; by the paper's rule a queue of 42 packets",
        connection_reverse_rtts="equal",
    ),
    _varied(
        "full-duplex-spread",
        (CONNECTION,),
        "round-trip times on the reverse path spread over 43–250 ms; by the paper's rule a queue of 42 packets",
        connection_reverse_rtts="spread",
    ),
    _varied(
        "full-duplex-half",
        (CONNECTION,),
        "40 packets on the reverse path, as on the forward path, with round-trip times of 125 ms",
        reverse_queue=40,
    ),
    _varied(
        "twenty",
        (CONNECTION,),
        "20 packets on the reverse path, against the paper's rule, with round-trip times of 250 ms",
        reverse_queue=20,
        connection_reverse_rtts="equal",
    ),
    _varied(
        "reverse-fast",
        (CONNECTION,),
        "5 Mbit/s on the reverse path; by the paper's rule a queue of 52 packets",
        reverse_rate=5.0,
    ),
    _varied(
        "reverse-spread",
        (MANY_FLOWS,),
        "round-trip times on the reverse path all 250 ms",
        many_flows_reverse_rtts="equal",
    ),
    _varied("waiting-only", WIRED, "queue limits count waiting packets only", counts_service=False),
    _varied(
        "deflation",
        EVERYWHERE,
        "partial acknowledgements deflate the window by what they acknowledge",
        partial_deflation=True,
    ),
    _varied(
        "impatient",
        EVERYWHERE,
        "timer restarted at the first partial acknowledgement only",
        partial_ack="impatient",
    ),
    _varied("short-rto", EVERYWHERE, "minimum retransmission timeout 0.2 s", minimum_rto="200 ms"),
    _varied("no-limited-transmit", EVERYWHERE, "no limited transmit", limited_transmit=False),
    _varied(
        "headers", (CONNECTION, MANY_FLOWS), "40 bytes of headers in addition to the 1500", wire_header=40
    ),
    _varied("corrected-vegas", WIRED, "Vegas without the simulator's deviations", vegas="corrected"),
    _varied(
        "literal-window",
        EVERYWHERE,
        "Westwood+ sets its window to the estimate, also upwards",
        only_reduce=False,
    ),
    _varied(
        "smoothed-interval",
        WIRED,
        "a sample of the bandwidth per smoothed round-trip time",
        interval_rtt="smoothed",
    ),
    _varied(
        "interval-floor",
        (MANY_FLOWS,),
        "at least 50 ms for a sample of the bandwidth",
        minimum_interval="50 ms",
    ),
    _varied("together", WIRED, "all flows start within 10 ms", start_spread=0.01),
    _varied(
        "polled",
        (WIRELESS,),
        "the lossy channel advances by packets: the first packet after a dwell draws the next state",
        channel="poll",
    ),
    _varied(
        "timed",
        (WIRELESS,),
        "the lossy channel advances by time, whether packets pass or not: the dwell times of the text taken literally",
        channel="time",
    ),
    _varied("wired-slow", (WIRELESS,), "wired bottleneck of 5 Mbit/s", wired_rate=5.0),
    _varied(
        "cross-westwood",
        (WIRELESS,),
        "Westwood+ cross traffic before the wireless hop",
        cross_variant="westwoodp",
    ),
)
"""The readings the sensitivity section compares with the main one."""
