"""The networks of the paper and the TCP that runs on them [grieco2004 §3].

Flows are named by their role: ``f1``, ``f2``, … are measured, ``x1``, … is cross traffic in the same direction, ``b1``,
… is traffic on the reverse path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell import Flow, Scenario, Tcp, topologies
from dumbbell.scenario import (
    Bernoulli,
    DelayedAck,
    DropTail,
    Forced,
    Headers,
    LinkChange,
    Probe,
    Restart,
    Rfc6298Timer,
    TwoState,
    Uniform,
    Vegas,
    WindowRules,
)

from .assumptions import Assumptions

DURATION_S = 1000
"""Length of all simulations but the shortest, s. [grieco2004 §3]"""

SEGMENT_BITS = 1500 * 8
"""Bits of a packet. [grieco2004 §3]"""

EDGES_S = (0.0, 250.0, 500.0, 750.0, 1000.0)
"""The intervals of Table I: traffic on the reverse path is off, on, off, on. [grieco2004 §3.1]"""

PERIOD_S = 0.2
"""Period of the windows that are looked at, s."""

BAD_LOSS = 0.1
"""Probability of a loss in the bad state of the channel. [grieco2004 §3.4.1]"""

SATELLITE_FLOWS, SATELLITE_RATE, SATELLITE_RTT_S = 20, 10.0, 0.59
"""Connections over the satellite, the rate of its link, Mbit/s, and their round-trip time, s. [grieco2004 §3.4.2]"""

NEVER_BINDS = "100 MB"

REVERSE_FLOWS = 10


def tcp(variant: str, assumptions: Assumptions, *, delayed_ack: bool | None = None) -> Tcp:
    """Return a variant as in the paper.

    Parameters
    ----------
    variant
        ``"newreno"``, ``"reno"``, ``"sack"``, ``"vegas"``, ``"westwood"`` or ``"westwoodp"``.
    assumptions
        What the paper leaves open.
    delayed_ack
        Whether the receiver delays acknowledgements; by default it does, unless for Vegas and SACK.
    """
    delays = variant not in ("vegas", "sack") if delayed_ack is None else delayed_ack
    congestion: Vegas | Mapping[str, Any] | None = None
    if variant == "vegas":
        congestion = (
            Vegas(
                numerator="ns2", round_diff=True, fix_timeout=False, fix_base_rtt=False, fix_invariant=False
            )
            if assumptions.vegas == "ns2"
            else Vegas()
        )
    if variant == "westwoodp":
        congestion = {
            "name": variant,
            "interval_rtt": assumptions.interval_rtt,
            "minimum_interval": assumptions.minimum_interval,
            "only_reduce": assumptions.only_reduce,
        }
    # The simulator of 2004: its windows, two segments an acknowledgement in recoveries, and a recovery with SACK by RFC 6675.
    recovery: dict[str, Any] = {"max_burst": 2}
    if variant in ("newreno", "westwood", "westwoodp"):
        deflation = "partial" if assumptions.partial_deflation else "full"
        recovery |= {"partial_ack": assumptions.partial_ack, "deflation": deflation}
    if variant == "sack":
        recovery |= {"rescue": False}
    return Tcp(
        variant=variant,
        congestion=congestion,
        recovery=recovery,
        window=WindowRules(grow_when="always", reduction_base="real-window"),
        mss="1500 bytes",
        headers=Headers(data=f"{assumptions.wire_header} bytes", ack="40 bytes"),
        initial_window="3 segments",
        initial_ssthresh="unlimited",
        receive_buffer=NEVER_BINDS,
        send_buffer="unlimited",
        timestamps=True,
        delayed_ack=DelayedAck(segments=2, timer=assumptions.delayed_ack_timer) if delays else "off",
        limited_transmit=assumptions.limited_transmit,
        timer=Rfc6298Timer(
            granularity=assumptions.tick,
            whole_ticks=True,
            minimum=assumptions.minimum_rto,
            maximum="64 s",
            initial=assumptions.initial_rto,
        ),
    )


def bdp_packets(rate: float, rtt_s: float) -> int:
    """Return the product of a rate (Mbit/s) and a round-trip time in packets, rounded: the paper's rule for queues."""
    return round(rate * 1e6 * rtt_s / SEGMENT_BITS)


def _queue(packets: int, assumptions: Assumptions) -> DropTail:
    return DropTail(limit=f"{packets} packets", counts_service=assumptions.counts_service)


def rtts(count: int) -> list[float]:
    """Return the round-trip times of so many connections, ms: spread over [20 + 230/M, 250] as in [grieco2004 §3.2]."""
    return [20.0 + 230.0 * index / count for index in range(1, count + 1)]


def _reverse_rtts(kind: str) -> list[float]:
    """Return the round-trip times of the flows on the reverse path, ms, by the names of `Assumptions`."""
    spread = {
        "equal": [250.0] * REVERSE_FLOWS,
        "half": [125.0] * REVERSE_FLOWS,
        "spread": rtts(REVERSE_FLOWS),
    }
    return spread[kind]


def reverse_queue_packets(assumptions: Assumptions) -> int:
    """Return the room of the queue on the reverse path of the single-connection network, packets."""
    if assumptions.reverse_queue is not None:
        return assumptions.reverse_queue
    largest = max(_reverse_rtts(assumptions.connection_reverse_rtts))
    return bdp_packets(assumptions.reverse_rate, largest / 1e3)


def _milliseconds(values: Sequence[float]) -> list[str]:
    return [f"{value:.6g} ms" for value in values]


def _start(assumptions: Assumptions, after: float = 0.0) -> Uniform:
    return Uniform(uniform=(f"{after} s", f"{after + assumptions.start_spread} s"))


def _backward(
    count: int, first: int, variant: str, assumptions: Assumptions, restarts: bool = False
) -> list[Flow]:
    """Return the flows on the reverse path, between the pairs from number `first` on.

    With `restarts` they run in the second and the last interval of Table I, each time as new connections.
    """
    begin, end, again, last = EDGES_S[1:]
    flows = []
    for index in range(count):
        # The second start is not drawn: the flows follow each other through the spread.
        timing: dict[str, Any] = {"start": _start(assumptions)}
        if restarts:
            shift = assumptions.start_spread * (index + 0.5) / count
            timing = {
                "start": _start(assumptions, begin),
                "stop": f"{end} s",
                "restarts": [Restart(start=f"{again + shift} s", stop=f"{last} s")],
            }
        flows.append(
            Flow(
                name=f"b{index + 1}",
                from_=f"s{first + index}",
                to=f"d{first + index}",
                tcp=tcp(variant, assumptions),
                **timing,
            )
        )
    return flows


def connection(
    variant: str, assumptions: Assumptions, *, reverse: str = "newreno", traced: bool = False
) -> Scenario:
    """Return the single connection with ten on-off senders on the way of its acknowledgements (fig. 3).

    Parameters
    ----------
    variant, reverse
        TCP of the connection and of the senders on the reverse path.
    assumptions
        What the paper leaves open.
    traced
        Whether to record its window and threshold; delivered data is always recorded every 250 s.
    """
    backward = _reverse_rtts(assumptions.connection_reverse_rtts)
    shape = topologies.dumbbell(
        pairs=1,
        reverse_pairs=REVERSE_FLOWS,
        rate="2 Mbit/s",
        delay=f"{assumptions.bottleneck_delay:g} ms",
        queue=_queue(40, assumptions),
        reverse_rate=f"{assumptions.reverse_rate:g} Mbit/s",
        reverse_queue=_queue(reverse_queue_packets(assumptions), assumptions),
        access_rate=assumptions.access_rate,
        rtt=_milliseconds([250.0, *backward]),
    )
    flows = [_first(variant, assumptions)]
    flows += _backward(REVERSE_FLOWS, 2, reverse, assumptions, restarts=True)
    probes = [Probe(flows=["f1"], quantities=["delivered"], period="250 s")]
    if traced:
        probes += _window_probes()
    return shape.scenario(
        name=f"single connection, {variant}",
        rules="classic",
        duration=f"{DURATION_S} s",
        flows=flows,
        probes=probes,
    )


def _window_probes() -> list[Probe]:
    return [
        Probe(flows=["f1"], quantities=["cwnd", "srtt"], period=f"{PERIOD_S} s"),
        Probe(flows=["f1"], quantities=["ssthresh", "seq_sent", "seq_acked"]),
    ]


def many_flows(
    variant: str,
    flows: int,
    assumptions: Assumptions,
    *,
    lines: bool = False,
    estimates: bool = False,
    duration_s: int = DURATION_S,
) -> Scenario:
    """Return many connections of one kind on a bottleneck of 10 Mbit/s, with ten New Reno senders on the reverse path (fig. 11).

    Parameters
    ----------
    variant
        TCP of the connections.
    flows
        Their number, M.
    assumptions
        What the paper leaves open.
    lines
        Whether to record what each delivered, every 10 s.
    estimates
        Whether to record each connection's bandwidth estimate and threshold.
    duration_s
        Length of the simulation, s.
    """
    shape = topologies.dumbbell(
        pairs=flows,
        reverse_pairs=REVERSE_FLOWS,
        rate="10 Mbit/s",
        delay=f"{assumptions.bottleneck_delay:g} ms",
        queue=_queue(bdp_packets(10.0, 0.25), assumptions),
        access_rate=assumptions.access_rate,
        rtt=_milliseconds([*rtts(flows), *_reverse_rtts(assumptions.many_flows_reverse_rtts)]),
    )
    sender = tcp(variant, assumptions)
    names = [f"f{index}" for index in range(1, flows + 1)]
    members = [
        Flow(name=name, from_=f"s{index}", to=f"d{index}", tcp=sender, start=_start(assumptions))
        for index, name in enumerate(names, start=1)
    ]
    members += _backward(REVERSE_FLOWS, flows + 1, "newreno", assumptions)
    probes = []
    if lines:
        probes.append(Probe(flows=names, quantities=["delivered"], period="10 s"))
    if estimates:
        probes.append(Probe(flows=names, quantities=["bandwidth", "ssthresh"]))
    return shape.scenario(
        name=f"single bottleneck, {flows} {variant}",
        rules="classic",
        duration=f"{duration_s} s",
        flows=members,
        probes=probes,
    )


def hops(
    c1: str, cross: str, count: int, assumptions: Assumptions, *, duration_s: int = DURATION_S
) -> Scenario:
    """Return a connection over several bottlenecks, each with its own cross traffic in both directions (fig. 17).

    The connection is ``f1``. Over hop k goes ``x{k}`` (the paper's C of number 2k) forward and ``b{k}`` (2k + 1) back.

    Parameters
    ----------
    c1, cross
        TCP of the connection and of the cross traffic.
    count
        Number of hops, N.
    assumptions
        What the paper leaves open.
    duration_s
        Length of the simulation, s.
    """
    hop = topologies.Hop(rate="10 Mbit/s", delay="10 ms", queue=_queue(125, assumptions))
    pairs = [(1, count + 1)]
    for number in range(1, count + 1):
        pairs += [(number, number + 1), (number + 1, number)]
    shape = topologies.chain(
        hops=[hop] * count, pairs=pairs, access_rate=assumptions.access_rate, access_delay="20 ms"
    )
    sender = tcp(cross, assumptions)
    flows = [Flow(name="f1", from_="s1", to="d1", tcp=tcp(c1, assumptions), start="10 s")]
    for pair in range(2, len(pairs) + 1):
        name = f"{'x' if pair % 2 == 0 else 'b'}{pair // 2}"
        flows.append(Flow(name=name, from_=f"s{pair}", to=f"d{pair}", tcp=sender, start=_start(assumptions)))
    return shape.scenario(
        name=f"{count} hops, {c1} over {cross}", rules="classic", duration=f"{duration_s} s", flows=flows
    )


def _channel(bad_s: float, assumptions: Assumptions) -> list[TwoState]:
    """Return the two-state channel, of either direction of a link."""
    return [
        TwoState(good="1 s", bad=f"{bad_s * 1e3:g} ms", loss=BAD_LOSS, change=0.5, clock=assumptions.channel)
    ]


def _first(variant: str, assumptions: Assumptions, *, delayed_ack: bool | None = None) -> Flow:
    """Return the measured connection of a network with one."""
    sender = tcp(variant, assumptions, delayed_ack=delayed_ack)
    return Flow(name="f1", from_="s1", to="d1", tcp=sender, start="0 s")


def _wireless_hops(bad_s: float, assumptions: Assumptions) -> list[topologies.Hop]:
    """Return the wired part and the lossy last hop."""
    channel = _channel(bad_s, assumptions)
    wired = topologies.Hop(
        rate=f"{assumptions.wired_rate:g} Mbit/s",
        delay=f"{assumptions.bottleneck_delay:g} ms",
        queue=_queue(bdp_packets(assumptions.wired_rate, 0.25), assumptions),
    )
    last = topologies.Hop(
        rate="2 Mbit/s",
        delay="20 ms",
        queue=_queue(assumptions.wireless_queue, assumptions),
        impairments=channel,
        reverse_impairments=channel,
    )
    return [wired, last]


def wireless(
    variant: str,
    bad_s: float,
    assumptions: Assumptions,
    *,
    delayed_ack: bool,
    shared: bool = False,
    traced: bool = False,
    duration_s: int = DURATION_S,
) -> Scenario:
    """Return a connection whose last hop is a lossy wireless link of 2 Mbit/s (fig. 26).

    Parameters
    ----------
    variant
        TCP of the connection.
    bad_s
        Dwell time of the channel's bad state, s.
    assumptions
        What the paper leaves open.
    delayed_ack
        Whether its receiver delays acknowledgements.
    shared
        Whether five connections share the wired part and ten New Reno senders the reverse path.
    traced
        Whether to record its window and threshold.
    duration_s
        Length of the simulation, s.
    """
    cross = [66.0 + (250.0 - 66.0) * index / 4 for index in range(5)] if shared else []
    backward = [46.0 + (250.0 - 46.0) * index / 9 for index in range(REVERSE_FLOWS)] if shared else []
    # One way the connection has 105 ms before the wireless link, a tenth of a millisecond of it behind.
    near = 0.1
    first = 105.0 - assumptions.bottleneck_delay - near
    around = [(value / 2 - assumptions.bottleneck_delay) / 2 for value in (*cross, *backward)]
    shape = topologies.chain(
        hops=_wireless_hops(bad_s, assumptions),
        pairs=[(1, 3), *[(1, 2)] * len(cross), *[(2, 1)] * len(backward)],
        access_rate=assumptions.access_rate,
        sender_delay=_milliseconds([first, *around]),
        receiver_delay=_milliseconds([near, *around]),
    )
    flows = [_first(variant, assumptions, delayed_ack=delayed_ack)]
    between = tcp(assumptions.cross_variant, assumptions)
    for index in range(1, len(cross) + 1):
        ends = f"s{index + 1}", f"d{index + 1}"
        flows.append(
            Flow(name=f"x{index}", from_=ends[0], to=ends[1], tcp=between, start=_start(assumptions))
        )
    flows += _backward(len(backward), len(cross) + 2, "newreno", assumptions)
    return shape.scenario(
        name=f"wireless last hop, {variant}",
        rules="classic",
        duration=f"{duration_s} s",
        flows=flows,
        probes=_window_probes() if traced else [],
    )


def satellite(
    variant: str, bad_s: float, assumptions: Assumptions, *, delayed_ack: bool, duration_s: int = DURATION_S
) -> Scenario:
    """Return 20 connections over a lossy satellite link of 10 Mbit/s, with ten New Reno senders on the reverse path (fig. 31).

    Parameters are those of `wireless`.
    """
    count = SATELLITE_FLOWS
    channel = _channel(bad_s, assumptions)
    shape = topologies.dumbbell(
        pairs=count,
        reverse_pairs=REVERSE_FLOWS,
        rate=f"{SATELLITE_RATE:g} Mbit/s",
        delay="275 ms",
        queue=_queue(bdp_packets(SATELLITE_RATE, SATELLITE_RTT_S), assumptions),
        impairments=channel,
        reverse_impairments=channel,
        access_rate=assumptions.access_rate,
        rtt=f"{1e3 * SATELLITE_RTT_S:g} ms",
    )
    sender = tcp(variant, assumptions, delayed_ack=delayed_ack)
    flows = [
        Flow(name=f"f{index}", from_=f"s{index}", to=f"d{index}", tcp=sender, start=_start(assumptions))
        for index in range(1, count + 1)
    ]
    flows += _backward(REVERSE_FLOWS, count + 1, "newreno", assumptions)
    return shape.scenario(
        name=f"satellite, {variant}", rules="classic", duration=f"{duration_s} s", flows=flows
    )


def one_flow(
    variant: str,
    assumptions: Assumptions,
    *,
    rate: float = 1.0,
    rtt_ms: float = 250.0,
    queue: int | None = None,
    delayed_ack: bool = True,
    forced: Sequence[int] = (),
    duration_s: float = 200.0,
    backlog_period: str = "10 ms",
) -> Scenario:
    """Return one connection alone on a link, with all it knows recorded: fig. 2, and the rules of the algorithm.

    Parameters
    ----------
    variant, assumptions, delayed_ack
        As in `wireless`.
    rate
        Of the link, Mbit/s.
    rtt_ms
        Round-trip propagation delay, ms.
    queue
        Room at the link, packets; by the paper's rule if not given.
    forced
        Ordinals of the data packets that are lost, counted from 1.
    duration_s
        Length of the simulation, s.
    backlog_period
        How often the queue is looked at.
    """
    shape = topologies.dumbbell(
        pairs=1,
        rate=f"{rate} Mbit/s",
        delay=f"{rtt_ms / 4} ms",
        queue=_queue(bdp_packets(rate, rtt_ms / 1e3) if queue is None else queue, assumptions),
        impairments=[Forced(packets=list(forced))] if forced else None,
        access_rate=assumptions.access_rate,
        rtt=f"{rtt_ms} ms",
    )
    return shape.scenario(
        name=f"one {variant}",
        rules="classic",
        duration=f"{duration_s} s",
        flows=[_first(variant, assumptions, delayed_ack=delayed_ack)],
        probes=[
            Probe(flows=["f1"], quantities=["cwnd", "ssthresh", "bandwidth", "base_rtt", "seq_acked"]),
            Probe(links=["r1-r2"], quantities=["backlog"], period=backlog_period),
        ],
    )


def lossy(
    variant: str,
    loss: float,
    rtt_ms: float,
    queueing_ms: float,
    assumptions: Assumptions,
    *,
    duration_s: float = 400.0,
) -> Scenario:
    """Return one connection with independent losses and a constant queueing time, as eqs. 2 and 3 suppose [grieco2004 §2.3].

    The link is never full. Its delay grows once, after the first packets: the smallest round-trip time is that of before, and
    all later ones exceed it by the same queueing time.

    Parameters
    ----------
    variant, assumptions
        As in `wireless`; acknowledgements are not delayed.
    loss
        Probability of losing a packet.
    rtt_ms
        Round-trip time with the queueing time, ms.
    queueing_ms
        The queueing time, ms.
    duration_s
        Length of the simulation, s; the first 20 s are not measured.
    """
    base = rtt_ms - queueing_ms
    shape = topologies.dumbbell(
        pairs=1,
        rate="1 Gbit/s",
        delay=f"{base / 4:.6f} ms",
        queue=DropTail(limit="unlimited"),
        impairments=[Bernoulli(probability=loss)],
        access_rate="1 Gbit/s",
        rtt=f"{base:.6f} ms",
    )
    scenario = shape.scenario(
        name=f"{variant}, loss {loss:g}",
        rules="classic",
        duration=f"{duration_s} s",
        measure_from="20 s",
        flows=[_first(variant, assumptions, delayed_ack=False)],
    )
    change = LinkChange(at="500 ms", delay=f"{base / 4 + queueing_ms:.6f} ms")
    return scenario.with_values({"links.r1-r2.changes": [change.to_dict()]})
