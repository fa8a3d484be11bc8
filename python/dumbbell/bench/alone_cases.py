"""Flows alone on a link: the links, the senders, what theory lets them use, and the rules that leave a part unused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.engine import catalogue
from dumbbell.scenario import DropTail, Flow, Scenario
from dumbbell.topologies import dumbbell as dumbbell_of

RATES_MBPS = (1, 2, 5, 10, 20, 50)
RTTS_MS = (10, 20, 50, 100, 200)
BUFFERS_BDP = (0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
PIPES = (8.0, 420.0)
"""Least and largest bandwidth-delay product, in packets of 1,500 bytes."""

TOLERANCE = 0.02
"""Part of the link that a result may be below its reference."""

QUICK_EVERY = 9
"""In a trial, one of so many settings is run: one buffer per path, each of which is that of some."""

UNLIMITED = {"receive_buffer": "unlimited", "send_buffer": "unlimited", "initial_ssthresh": "unlimited"}
"""What every flow states: no buffer of a host and no initial threshold limits it."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A link.

    Parameters
    ----------
    rate_mbps
        Its rate, Mbit/s.
    rtt_ms
        Round-trip propagation delay, ms.
    buffer_bdp
        Buffer over the bandwidth-delay product.
    """

    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float

    @property
    def label(self) -> str:
        """In words."""
        return f"{self.rate_mbps:g} Mbit/s, {self.rtt_ms:g} ms, {self.buffer_bdp:g} BDP"


@dataclass(frozen=True, kw_only=True)
class Sender:
    """A TCP.

    Parameters
    ----------
    rules, variant
        Environment and name in it.
    congestion, recovery
        What the name stands for.
    mss, packet
        Payload and size of a full packet, bytes.
    acks_every
        Segments per acknowledgement.
    """

    rules: str
    variant: str
    congestion: str
    recovery: str
    mss: int
    packet: int
    acks_every: int

    def scenario(self, setting: Setting, more: Mapping[str, Any] | None = None) -> Scenario:
        """Return the flow on a link, with further fields of its ``tcp`` table."""
        pipe, buffer = self.packets(setting)
        # After the overshoot of the first slow start, and growth from nothing to the product; then two sawteeth if the buffer
        # is small. Of a longer one with a large buffer, every part is as good.
        begin_s = 30.0 + (100.0 * (1.0 + setting.buffer_bdp) + self.acks_every * pipe) * setting.rtt_ms / 1e3
        cycle_s = (pipe + buffer) * max(1.0, 0.75 * (1.0 + buffer / pipe)) * setting.rtt_ms / 1e3
        is_small = setting.buffer_bdp < 1.0
        longest_s = (6e5 if is_small else 1.5e5) * 8 * self.packet / (1e6 * setting.rate_mbps)
        measured_s = max(40.0, min(longest_s, cycle_s * (2.0 if is_small else 1.0)))
        shape = dumbbell_of(
            pairs=1,
            rate=f"{setting.rate_mbps:g} Mbit/s",
            delay=f"{setting.rtt_ms / 2:g} ms",
            queue=DropTail(limit=f"{buffer} packets"),
            access_rate="1 Gbit/s",
            access_delay="0 s",
        )
        tcp = {"rules": self.rules, "variant": self.variant, **UNLIMITED, **(more or {})}
        return shape.scenario(
            duration=f"{begin_s + measured_s:.3f} s",
            measure_from=f"{begin_s:.3f} s",
            flows=[Flow(name="flow", from_="s1", to="d1", tcp=tcp)],
        )

    def packets(self, setting: Setting) -> tuple[float, int]:
        """Return bandwidth-delay product and buffer of a link in packets."""
        pipe = 1e3 * setting.rate_mbps * setting.rtt_ms / 8 / self.packet
        return pipe, max(2, round(setting.buffer_bdp * pipe))

    def reference(self, setting: Setting) -> float:
        """Return the part of a link that it uses in theory."""
        pipe, buffer = self.packets(setting)
        if self.recovery == "tahoe":
            return tahoe(pipe, buffer)
        return sawtooth(pipe, buffer, acks_every=self.acks_every)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule of some TCPs that leaves part of a link unused.

    Parameters
    ----------
    name, source
        What it is, and where it is from.
    congestions, recoveries
        Congestion controls or recoveries that have it.
    without
        Fields of the ``tcp`` table that take it away.
    """

    name: str
    source: str
    congestions: tuple[str, ...] = ()
    recoveries: tuple[str, ...] = ()
    without: Mapping[str, Any] = field(default_factory=dict)

    def concerns(self, sender: Sender) -> bool:
        """Return whether a TCP has it."""
        return sender.congestion in self.congestions or sender.recovery in self.recoveries


NEVER = "1000000 s"

RULES = (
    Rule(
        name="A timeout halves the window with the inflation of the recovery, up to the receive window, here unlimited",
        source="BSD",
        recoveries=("newreno",),
        without={"window": {"reduction_base": "real-window"}},
    ),
    Rule(
        name="A recovery without selective acknowledgements repairs one loss per round trip, or times out",
        source="RFC 6582 §4",
        recoveries=("reno", "newreno", "ns2vegas"),
        without={"recovery": "sack"},
    ),
    Rule(
        name="Growth as on a path of 25 ms: rho^2 segments per round trip, and in slow start 2^rho - 1 for each of them; rho is "
        "8 if the round trip takes 200 ms",
        source="[caini2004 §3]",
        congestions=("hybla",),
        without={"congestion": {"name": "hybla", "reference": "10 s"}},
    ),
    Rule(
        name="Duplicate ACKs of what is sent again cause another fast retransmit",
        source="RFC 2582 §5",
        recoveries=("tahoe",),
        without={"recovery": {"kind": "tahoe", "careful_variant": True}},
    ),
    Rule(
        name="A window equal to its threshold is in slow start",
        source="BSD",
        recoveries=("tahoe",),
        without={"window": {"slow_start_at_ssthresh": False}},
    ),
    Rule(
        name="Without times of transmissions, a lost retransmission is found by the timeout",
        source="RFC 6675 §5, RFC 8985 §1",
        recoveries=("sack", "ns2sack", "ns3sack"),
        without={"recovery": "rack"},
    ),
    Rule(
        name="ProbeRTT: four segments for 200 ms and a round trip, every 10 s",
        source="[cardwell2017]",
        congestions=("bbr",),
        without={"congestion": {"name": "bbr", "min_rtt_window": NEVER}},
    ),
    Rule(
        name="ProbeRTT: half of the window for 200 ms and a round trip, every 5 s",
        source="[bbr2026]",
        congestions=("bbr3",),
        without={"congestion": {"name": "bbr3", "probe_rtt_interval": NEVER}},
    ),
    Rule(
        name="Slowdowns: two segments for two round trips, for up to a tenth of the time",
        source="[balasubramanian2020 §4.4]",
        congestions=("ledbatpp",),
        without={"congestion": {"name": "ledbatpp", "slowdown": False}},
    ),
    Rule(
        name="Pacing at the window per smoothed round-trip time, which has the queue for a while after a loss, and growth "
        "only if the window is used; DCTCP has the same window without pacing",
        source="[prague2024]",
        congestions=("prague",),
        without={"variant": "dctcp"},
    ),
    Rule(
        name="Above 30 queued segments, the delay window falls by what is queued",
        source="[tan2006 §3]",
        congestions=("compound",),
        without={"congestion": {"name": "compound", "gamma": 1e6}},
    ),
    Rule(
        name="A round counts what is acknowledged, which with delayed acknowledgements is up to two segments less, and a large "
        "initial window is a burst: both look like a queue",
        source="[hengartner2000 §VII.C]",
        congestions=("vegas", "newvegas", "vegasa", "code"),
        without={"delayed_ack": "off", "initial_window": "2 segments"},
    ),
    Rule(
        name="Limited transmit sends two more segments into a full queue",
        source="RFC 3042",
        recoveries=("rack",),
        without={"limited_transmit": False},
    ),
)


def sawtooth(pipe: float, buffer: int, *, acks_every: int = 1) -> float:
    """Return the part of a link that a window uses which a loss halves, and which otherwise grows by a segment per round trip.

    Parameters
    ----------
    pipe, buffer
        Bandwidth-delay product and buffer, packets.
    acks_every
        Segments per acknowledgement: each waits for those after it.
    """
    return _used(pipe, buffer, acks_every, (math.floor(pipe + 1 + buffer) + 1) / 2, ())


def tahoe(pipe: float, buffer: int) -> float:
    """Return the same of a window that a loss sets to one segment, for a slow start up to half of it.

    A buffer that does not hold half of a round trip's growth overflows in the slow start, too [lakshman1997 §III].
    """
    half = (math.floor(pipe + 1 + buffer) + 1) / 2
    # What follows the lost segment is sent again.
    rounds = [0.0]
    window = 1.0
    while window < half:
        rounds.append(window)
        grown = min(2 * window, half)
        if grown - window > buffer:
            half, grown = grown / 2, 1.0
            rounds.append(0.0)
        window = grown
    return _used(pipe, buffer, 1, half, rounds)


def _used(pipe: float, buffer: int, acks_every: int, begin: float, before: Sequence[float]) -> float:
    """Return the part of a link used by rounds with the windows `before`, and then by one that grows from `begin` to a loss."""
    most = math.floor(pipe + 1 + buffer)
    # The round of the recovery has the window after it.
    windows = [*before, begin, *(begin + n for n in range(most + 2 - math.floor(begin)))]
    shortest = pipe + acks_every
    sent = sum(math.floor(window) for window in windows)
    return sent / sum(max(shortest, math.floor(window)) for window in windows)


def settings(*, quick: bool = False) -> list[Setting]:
    """Return the links: every path of a fitting product with every buffer; in a trial, one buffer for each path."""
    found = [
        Setting(rate_mbps=rate, rtt_ms=rtt, buffer_bdp=buffer)
        for rate in RATES_MBPS
        for rtt in RTTS_MS
        if PIPES[0] <= rate * rtt / 12.0 <= PIPES[1]
        for buffer in BUFFERS_BDP
    ]
    return found[:: QUICK_EVERY + 1] if quick else found


def senders() -> list[Sender]:
    """Return every name of every environment that has it."""
    return [
        _sender(rules, variant["name"], stands_for)
        for variant in catalogue()["variants"]
        for rules, stands_for in variant["environments"].items()
        if stands_for is not None
    ]


def _sender(rules: str, variant: str, stands_for: Mapping[str, Any]) -> Sender:
    flow = Flow(name="flow", from_="s1", to="d1", tcp={"rules": rules, "variant": variant})
    read = dumbbell_of(pairs=1, rate="1 Mbit/s", delay="1 ms").scenario(duration="1 s", flows=[flow])
    tcp = read.resolved()["flows"][0]["tcp"]
    mss, header = (int(text.split()[0]) for text in (tcp["mss"], tcp["headers"]["data"]))
    return Sender(
        rules=rules,
        variant=variant,
        congestion=stands_for["congestion"],
        recovery=stands_for["recovery"],
        mss=mss,
        packet=mss + header,
        acks_every=1 if tcp["delayed_ack"] == "off" else 2,
    )


@dataclass(frozen=True, kw_only=True)
class Result:
    """A flow alone on a link.

    Parameters
    ----------
    sender, setting
        The flow and the link.
    used, reference
        Parts of the link: that of new data with its headers, and that of theory.
    rule
        The rule to which a result below the reference is traced; empty if none explains it, or none is needed.
    without
        The part used without that rule.
    """

    sender: Sender
    setting: Setting
    used: float
    reference: float
    rule: str = ""
    without: float = math.nan

    @property
    def gap(self) -> float:
        """How much more of the link it uses than the reference."""
        return self.used - self.reference

    @property
    def is_below(self) -> bool:
        """Whether it is below the reference by more than the tolerance."""
        return self.gap < -TOLERANCE
