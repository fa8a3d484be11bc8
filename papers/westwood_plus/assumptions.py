"""What the paper leaves open, with our choice and its reason, and how each choice is varied.

A field of `Assumptions` is used wherever it applies. A `Variation` is an alternative reading of the paper: a few
changed fields, and the groups of experiments to run. [grieco2004 §3]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell import sensitivity

# The groups of experiments that readings are run on.
CONNECTION = "connection"
MANY_FLOWS = "many flows"
HOPS = "hops"
WIRELESS = "wireless"


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open, with our choice. `REASONS` has the reason for each.

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
        Queue (packets) and rate (Mbit/s) of the reverse path in the single-connection network.
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
    reverse_queue: int = 20
    reverse_rate: float = 2.0
    connection_reverse_rtts: str = "equal"
    many_flows_reverse_rtts: str = "spread"
    channel: str = "packet"
    wired_rate: float = 10.0
    cross_variant: str = "newreno"
    wireless_queue: int = 42


REASONS: Mapping[str, tuple[str, str]] = {
    "wire_header": (
        "headers in addition to the 1500 bytes",
        "Table I has 99.5 % of the link's rate, so that packets have 1500 bytes on the wire",
    ),
    "access_rate": ("rate of access links", "that of the multi-bottleneck network"),
    "bottleneck_delay": (
        "delay of the shared link, one way [ms]",
        "the 20 ms that all round-trip times of §3.2 have in common",
    ),
    "counts_service": ("queue limit counts the packet in service", "as the simulator's drop-tail queue does"),
    "partial_ack": ("timer at partial acknowledgements", "the simulator's default until May 2003"),
    "partial_deflation": (
        "deflation of the window at partial acknowledgements",
        "the simulator's default until May 2003: a partial acknowledgement ends the inflation",
    ),
    "minimum_rto": ("minimum retransmission timeout", "the simulator's default until October 2004"),
    "initial_rto": ("timeout before the first sample", "the simulator's default until 2006"),
    "tick": ("tick of the timer", "the simulator's default since 2002"),
    "limited_transmit": ("limited transmit", "the simulator's default since 2001"),
    "delayed_ack_timer": ("longest delay of an acknowledgement", "the simulator's default"),
    "vegas": (
        "form of Vegas",
        "the paper ran the simulator's: thresholds of 1 and 3 on a rounded difference",
    ),
    "only_reduce": (
        "Westwood+ never raises its window at a loss",
        "the original Westwood and its code; the pseudo-code alone would raise it after too high an estimate",
    ),
    "interval_rtt": ("interval of a bandwidth sample", "the last round-trip time, as §2.2 says"),
    "minimum_interval": ("minimum interval", "§2.2 states none; Linux has 50 ms"),
    "start_spread": ("flows start within [s]", "makes replications differ; not stated"),
    "reverse_queue": (
        "queue on the reverse path, one connection [packets]",
        "with 40, as on the forward path, all three variants are far below Table I while it is busy; with 20 they are not; see "
        "the readings of Table I",
    ),
    "reverse_rate": ("rate of the reverse path, one connection [Mbit/s]", "a full-duplex link"),
    "connection_reverse_rtts": (
        "round-trip times on the reverse path, one connection",
        "as that of the connection",
    ),
    "many_flows_reverse_rtts": (
        "round-trip times on the reverse path, many connections",
        "spread like those of the connections",
    ),
    "channel": (
        "what advances the lossy channel",
        "packets, as in the simulator that the paper names: its error model with fixed dwell times and transition probabilities, "
        "the one that the text describes, looks at its state only when a packet arrives",
    ),
    "wired_rate": ("rate of the wired bottleneck [Mbit/s]", "that of the other networks"),
    "cross_variant": ("cross traffic of the wireless network", "the paper's usual traffic"),
    "wireless_queue": ("queue at the wireless link [packets]", "its rate times the round-trip time"),
}
"""For each assumption its name in words and the reason for our choice."""


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """An alternative reading of the paper; `value` describes it.

    Parameters
    ----------
    groups
        The groups of experiments it is run on.
    changes
        The fields of `Assumptions` it moves.
    """

    assumption: str = ""
    groups: tuple[str, ...]
    changes: Mapping[str, Any] = field(default_factory=dict)

    def assumptions(self) -> Assumptions:
        """Return the assumptions of the reading."""
        return replace(Assumptions(), **self.changes)


LITERAL = Assumptions(channel="time")
"""The literal reading: the dwell times of the lossy channel are times, whether packets pass or not."""

VARIATIONS = (
    Variation(
        name="full-duplex",
        value="queue of 40 packets on the reverse path, as on the forward path",
        groups=(CONNECTION,),
        changes={"reverse_queue": 40},
    ),
    Variation(
        name="full-duplex-spread",
        value="40 packets on the reverse path, its round-trip times spread over 43–250 ms",
        groups=(CONNECTION,),
        changes={"reverse_queue": 40, "connection_reverse_rtts": "spread"},
    ),
    Variation(
        name="full-duplex-half",
        value="40 packets on the reverse path, its round-trip times 125 ms",
        groups=(CONNECTION,),
        changes={"reverse_queue": 40, "connection_reverse_rtts": "half"},
    ),
    Variation(
        name="reverse-fast",
        value="5 Mbit/s and 40 packets on the reverse path",
        groups=(CONNECTION,),
        changes={"reverse_queue": 40, "reverse_rate": 5.0},
    ),
    Variation(
        name="reverse-spread",
        value="round-trip times on the reverse path spread over 43–250 ms (single bottleneck: all 250 ms)",
        groups=(CONNECTION, MANY_FLOWS),
        changes={"connection_reverse_rtts": "spread", "many_flows_reverse_rtts": "equal"},
    ),
    Variation(
        name="waiting-only",
        value="queue limits count waiting packets only",
        groups=(CONNECTION, MANY_FLOWS, HOPS),
        changes={"counts_service": False},
    ),
    Variation(
        name="deflation",
        value="partial acknowledgements deflate the window by what they acknowledge",
        groups=(CONNECTION, MANY_FLOWS, HOPS, WIRELESS),
        changes={"partial_deflation": True},
    ),
    Variation(
        name="impatient",
        value="timer restarted at the first partial acknowledgement only",
        groups=(CONNECTION, MANY_FLOWS, HOPS, WIRELESS),
        changes={"partial_ack": "impatient"},
    ),
    Variation(
        name="short-rto",
        value="minimum retransmission timeout 0.2 s",
        groups=(CONNECTION, MANY_FLOWS, HOPS, WIRELESS),
        changes={"minimum_rto": "200 ms"},
    ),
    Variation(
        name="no-limited-transmit",
        value="no limited transmit",
        groups=(CONNECTION, MANY_FLOWS, HOPS, WIRELESS),
        changes={"limited_transmit": False},
    ),
    Variation(
        name="headers",
        value="40 bytes of headers in addition to the 1500",
        groups=(CONNECTION, MANY_FLOWS),
        changes={"wire_header": 40},
    ),
    Variation(
        name="corrected-vegas",
        value="Vegas without the simulator's deviations",
        groups=(CONNECTION, MANY_FLOWS, HOPS),
        changes={"vegas": "corrected"},
    ),
    Variation(
        name="literal-window",
        value="Westwood+ sets its window to the estimate, also upwards",
        groups=(CONNECTION, MANY_FLOWS, HOPS, WIRELESS),
        changes={"only_reduce": False},
    ),
    Variation(
        name="smoothed-interval",
        value="a sample of the bandwidth per smoothed round-trip time",
        groups=(CONNECTION, MANY_FLOWS, HOPS),
        changes={"interval_rtt": "smoothed"},
    ),
    Variation(
        name="interval-floor",
        value="at least 50 ms for a sample of the bandwidth",
        groups=(MANY_FLOWS,),
        changes={"minimum_interval": "50 ms"},
    ),
    Variation(
        name="together",
        value="all flows start within 10 ms",
        groups=(CONNECTION, MANY_FLOWS, HOPS),
        changes={"start_spread": 0.01},
    ),
    Variation(
        name="polled",
        value="the lossy channel advances by packets: the first packet after a dwell draws the next state",
        groups=(WIRELESS,),
        changes={"channel": "poll"},
    ),
    Variation(
        name="timed",
        value="the lossy channel advances by time, whether packets pass or not: the dwell times of the text taken literally",
        groups=(WIRELESS,),
        changes={"channel": "time"},
    ),
    Variation(
        name="wired-slow",
        value="wired bottleneck of 5 Mbit/s",
        groups=(WIRELESS,),
        changes={"wired_rate": 5.0},
    ),
    Variation(
        name="cross-westwood",
        value="Westwood+ cross traffic before the wireless hop",
        groups=(WIRELESS,),
        changes={"cross_variant": "westwoodp"},
    ),
)
"""The readings the sensitivity section compares with the main one."""
