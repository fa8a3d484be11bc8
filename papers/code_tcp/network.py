"""The networks of Figs. 7 and 8 and the TCPs that meet there.

[chan2010 §2, §4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell import Cbr, DropTail, Flow, Poisson, Scenario, topologies

from .assumptions import Assumptions

BOTTLENECK = "r1-r2"

PACKET = 1000
"""Payload of a packet, bytes. [chan2010 §4]"""

VARIANTS = ("vegas", "vegasa", "newvegas", "code")
"""The delay-based variants in the paper's order."""

RECEIVER_FIELDS = ("headers", "delayed_ack", "receive_buffer", "timestamps", "handshake")
"""Fields of a TCP that its receiver has a part in."""

# A sender's processing time comes from datagrams on its own access link: each takes as long as a packet at the
# bottleneck, and together they leave the link free for one time in twenty.
NOISE_SPEED = 50
NOISE_LOAD = 0.95


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A connection across the bottleneck.

    Parameters
    ----------
    name
        Its name in results.
    tcp
        Its ``tcp`` table.
    start, source
        As a flow takes them; data without end by default.
    rtt_ms
        Base round-trip time, ms; that of the assumptions by default.
    """

    name: str
    tcp: dict[str, Any]
    start: Any = "0 s"
    source: Any = None
    rtt_ms: float | None = None


def tcp(kind: str, assumptions: Assumptions, **changes: Any) -> dict[str, Any]:
    """Return the ``tcp`` table of a TCP of the paper.

    Parameters
    ----------
    kind
        ``"reno"`` (the reference TCP of the assumptions) or one of `VARIANTS`.
    assumptions
        What the paper leaves open.
    **changes
        Other parameters of the congestion control.
    """
    table: dict[str, Any] = {
        "variant": assumptions.reference if kind == "reno" else kind,
        "recovery": {"max_burst": 2},
        "window": {"grow_when": "always", "reduction_base": "real-window"},
        "mss": f"{PACKET} bytes",
        "headers": {"data": assumptions.header, "ack": "40 bytes"},
        "initial_window": "2 segments",
        # The receiver's window never limits, and only a loss or the queue ends the first slow start.
        "initial_ssthresh": "unlimited",
        "receive_buffer": "unlimited",
        "delayed_ack": "off",
        "timer": {
            "kind": "rfc6298",
            "granularity": "10 ms",
            "whole_ticks": True,
            "minimum": assumptions.minimum_rto,
            "maximum": "60 s",
            "initial": "3 s",
        },
    }
    if kind == "reno":
        return table
    congestion = delay_based(kind, assumptions) | {"round_diff": assumptions.round_diff}
    if kind == "vegasa":
        congestion["inclusive"] = assumptions.inclusive
    if kind == "newvegas":
        congestion["timeout_avoidance"] = assumptions.timeout_avoidance
    if kind == "code":
        congestion["truncate"] = assumptions.truncate
    return {**table, "mechanisms": assumptions.mechanisms, "congestion": congestion | changes}


def delay_based(kind: str, assumptions: Assumptions) -> dict[str, Any]:
    """Return what the congestion control of a variant states in the simulator and in a kernel."""
    congestion: dict[str, Any] = {
        "name": kind,
        "alpha": 1.0,
        "beta": 3.0,
        "gamma": 1.0,
        "numerator": assumptions.numerator,
        "rtt": assumptions.rtt,
        "increase": assumptions.increase,
    }
    if kind == "newvegas":
        congestion["band_rtt"] = "target"
    if kind == "code":
        congestion |= {
            "band_rtt": assumptions.band_rtt,
            "epsilon": assumptions.epsilon,
            "clamp": assumptions.clamp,
        }
    return congestion


def _senders(connections: Sequence[Connection]) -> list[Any]:
    """Return the flow of each connection, from a host of its own."""
    return [
        {
            "name": c.name,
            "from": f"s{n}",
            "to": f"d{n}",
            "tcp": c.tcp,
            "start": c.start,
            **({} if c.source is None else {"source": c.source}),
        }
        for n, c in enumerate(connections, start=1)
    ]


def _queue(packets: int, assumptions: Assumptions) -> DropTail:
    return DropTail(limit=f"{packets} packets", counts_service=assumptions.counts_service)


def _noise(count: int, rate: float) -> list[Flow]:
    """Return the flows that make the processing times of so many senders random."""
    noise = Cbr(
        rate=f"{NOISE_LOAD * NOISE_SPEED * rate:g} Mbit/s", packet=f"{NOISE_SPEED * PACKET} bytes", jitter=1.0
    )
    return [Flow(name=f"noise{n}", from_=f"s{n}", to="r1", source=noise) for n in range(1, count + 1)]


def _delays_ms(connections: Sequence[Connection], assumptions: Assumptions) -> list[float]:
    """Return the delay of each connection's access links, ms."""
    return [
        assumptions.access_ms if c.rtt_ms is None else (c.rtt_ms - 2 * assumptions.delay_ms) / 4
        for c in connections
    ]


def network(
    name: str,
    connections: Sequence[Connection],
    assumptions: Assumptions,
    *,
    rate: float,
    duration_s: float = 200.0,
    from_s: float = 50.0,
    buffer: int | None = None,
    cross: bool = True,
    jitter: bool = False,
    impairments: Sequence[Any] | None = None,
    **settings: Any,
) -> Scenario:
    """Return a scenario on the network of Fig. 7, or of Fig. 8 when round-trip times differ.

    Parameters
    ----------
    name
        Name of the scenario.
    connections
        Who sends, each from a separate host.
    assumptions
        What the paper leaves open.
    rate
        Of the bottleneck, Mbit/s.
    duration_s, from_s
        End of the run and begin of the measurement, s. [chan2010 §4.1]
    buffer
        Packets the bottleneck's queue takes; those of the assumptions by default.
    cross
        Whether the cross traffic of the assumptions is there.
    jitter
        Whether senders take random processing times, regardless of the assumptions.
    impairments
        What else loses packets at the bottleneck.
    **settings
        Further fields of the scenario.
    """
    count = len(connections)
    has_cross = cross and assumptions.cross > 0
    has_jitter = jitter or (cross and assumptions.jitter)
    own_rate = f"{NOISE_SPEED * rate:g} Mbit/s" if has_jitter else assumptions.access_rate
    delays = _delays_ms(connections, assumptions) + [assumptions.access_ms] * has_cross
    shape = topologies.dumbbell(
        pairs=len(delays),
        rate=f"{rate:g} Mbit/s",
        delay=f"{assumptions.delay_ms:g} ms",
        queue=_queue(assumptions.buffer if buffer is None else buffer, assumptions),
        access_rate=[own_rate] * count + ["1 Gbit/s"] * has_cross,
        access_delay=[f"{delay:g} ms" for delay in delays],
        impairments=impairments,
    )
    flows = _senders(connections)
    if has_cross:
        random = Poisson(rate=f"{assumptions.cross * rate:g} Mbit/s", packet=f"{PACKET} bytes")
        flows.append(Flow(name="cross", from_=f"s{count + 1}", to=f"d{count + 1}", source=random))
    flows += _noise(count, rate) if has_jitter else []
    times = {"duration": f"{duration_s:g} s", "rules": "classic", "measure_from": f"{from_s:g} s"}
    return shape.scenario(name=name, flows=flows, **times, **settings)
