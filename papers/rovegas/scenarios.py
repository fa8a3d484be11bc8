"""The paper's networks and scenarios.

A scenario has the name of its experiment, as ``"fig-9"``, which determines its reduction (`reduction`).

[chan2004 §5-6]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from dumbbell import Flow, Link, Node, Probe, Scenario, Tcp
from dumbbell.topologies import Hop, Topology, chain
from dumbbell.traffic import vbr

from .assumptions import (
    ACCESS_RATE,
    ASYMMETRIC_QUEUE_PACKETS,
    CONNECTION_RATE,
    ON_RATE,
    PLAIN_ACK_BYTES,
    QUEUE_PACKETS,
    Assumptions,
    backward_rate_kbps,
    vegas_rules,
)

ASYMMETRIES = (2, 4, 8, 16, 32)
"""Asymmetric factors k of Figs. 7 and 8."""

SYMMETRIES = (0.25, 0.5, 1.0)
"""Factors k for which the analysis says that the forward link is the bottleneck."""

OTHER_ASYMMETRIES = (1.5, 3.0)
"""Further factors above 1 at which the analysis is checked."""

BAND_PANELS = {"a": ("vegas", False), "b": ("vegas", True), "c": ("rovegas", False), "d": ("rovegas", True)}
"""The four panels of Figs. 17 and 18: the variant, and whether alpha equals beta."""

REROUTE_S = (60.0, 120.0)
"""When the fixed delay grows, and when it is as before."""


def _queue(packets: int, place: Assumptions) -> dict[str, Any]:
    return {"kind": "droptail", "limit": f"{packets} packets", "counts_service": place.counts_service}


def _stamping(routers: int, pairs: int, place: Assumptions, only: Sequence[str] | None = None) -> list[str]:
    """Return the nodes that stamp queueing times: some routers, all if ``None``, and the hosts."""
    stamping = [f"r{number}" for number in range(1, routers + 1)] if only is None else list(only)
    # Without stamping routers, hosts do not stamp either: their connection is plain Vegas.
    if place.hosts_stamp and stamping:
        stamping += [f"{end}{number}" for end in "sd" for number in range(1, pairs + 1)]
    return stamping


def _single(
    place: Assumptions, *, packets: int, backward_kbps: float | None = None, pairs: int = 1, reverse: int = 0
) -> Topology:
    """Return the network of Figs. 2, 6 and 14: one bottleneck, with pairs in both directions."""
    rate = None if backward_kbps is None else f"{round(1000 * backward_kbps)} bit/s"
    hop = Hop(
        rate=CONNECTION_RATE,
        delay="20 ms" if pairs == 1 else place.bias_delay,
        queue=_queue(packets, place),
        reverse_rate=rate,
    )
    return chain(
        hops=[hop],
        pairs=[(1, 2)] * pairs + [(2, 1)] * reverse,
        aqt=_stamping(2, pairs + reverse, place),
        access_rate=ACCESS_RATE,
        access_delay=place.access_delay,
    )


def _variable(name: str, pair: int, load: float, place: Assumptions, start_s: float) -> Flow:
    """Return a variable-rate source: exponential ON-OFF, 3.2 Mbit/s while ON, `load` times 1.6 Mbit/s on average."""
    return Flow(
        name=name,
        from_=f"s{pair}",
        to=f"d{pair}",
        start=f"{start_s:g} s",
        source=vbr(
            load,
            CONNECTION_RATE,
            ON_RATE,
            place.burst_packet,
            place.burst,
        ),
    )


def _starting(start_s: float, jitter_s: float) -> str | dict[str, Any]:
    if jitter_s == 0:
        return f"{start_s:g} s"
    return {"uniform": [f"{start_s:g} s", f"{start_s + jitter_s:g} s"]}


def _connection(index: int, tcp: dict[str, Any], **settings: Any) -> Flow:
    table = Tcp.from_dict(tcp)
    return Flow(name=f"c{index}", from_=f"s{index}", to=f"d{index}", tcp=table, **settings)


def alone(
    name: str,
    variant: str,
    k: float,
    place: Assumptions,
    *,
    duration_s: float = 200.0,
) -> Scenario:
    """Return a single connection over asymmetric links: Figs. 3 to 5, 7 and 8, and the analysis.

    Parameters
    ----------
    name
        The experiment.
    variant
        Its variant.
    k
        Asymmetric factor.
    place
        What the paper leaves open.
    duration_s
        Simulated time, s; the second half counts.
    """
    sized_by = place.sized_by_bytes if variant == "rovegas" else PLAIN_ACK_BYTES
    shape = _single(place, packets=ASYMMETRIC_QUEUE_PACKETS, backward_kbps=backward_rate_kbps(k, sized_by))
    tcp = vegas_rules(variant, place)
    return shape.scenario(
        name=name,
        rules="classic",
        duration=f"{duration_s:g} s",
        measure_from=f"{duration_s / 2:g} s",
        flows=[_connection(1, tcp)],
        probes=[
            Probe(
                flows=["c1"],
                quantities=["cwnd", "ssthresh", "vegas_diff", "base_rtt", "seq_sent", "seq_acked"],
            ),
            Probe(links=["r1-r2", "r2-r1"], quantities=["backlog", "drops"]),
            Probe(flows=["c1"], quantities=["delivered"], period="1 s"),
        ],
    )


def _base_rtt(variant: str) -> list[Probe]:
    """Return the probe of the base round-trip time, which Reno does not have."""
    return [] if variant == "reno" else [Probe(flows=["c1"], quantities=["base_rtt"])]


def backward_load(
    name: str,
    variant: str,
    load: float,
    place: Assumptions,
    *,
    enters_s: float = 0.0,
    duration_s: float = 200.0,
) -> Scenario:
    """Return one connection with a variable-rate source against it on a symmetric bottleneck: Figs. 9 and 10.

    Parameters
    ----------
    name, variant, place, duration_s
        As for `alone`.
    load
        Mean rate of the source over that of the link; none enters at 0.
    enters_s
        When the source starts, s.
    """
    shape = _single(place, packets=QUEUE_PACKETS, reverse=1)
    flows = [_connection(1, vegas_rules(variant, place))]
    if load > 0:
        flows.append(_variable("v1", 2, load, place, enters_s))
    return _delivering(shape, name, variant, flows, duration_s)


def _delivering(
    shape: Topology, name: str, variant: str, flows: Sequence[Flow], duration_s: float
) -> Scenario:
    """Return a scenario in which what the first connection delivers is recorded."""
    return shape.scenario(
        name=name,
        rules="classic",
        duration=f"{duration_s:g} s",
        flows=flows,
        probes=[Probe(flows=["c1"], quantities=["delivered"], period="1 s"), *_base_rtt(variant)],
    )


def parking_lot(
    name: str,
    variant: str,
    load: float,
    place: Assumptions,
    *,
    enters_s: Sequence[float] = (0.0, 0.0, 0.0),
    duration_s: float = 200.0,
    routers: Sequence[str] | None = None,
) -> Scenario:
    """Return one connection over three hops, each with a variable-rate source against it: Figs. 12, 13 and 19.

    Parameters
    ----------
    name, variant, load, place, duration_s
        As for `backward_load`.
    enters_s
        When each source starts, s.
    routers
        The routers that stamp queueing time; all when not given. With fewer, RoVegas keeps the base round-trip time as it
        does in a mixed network.
    """
    hop = Hop(rate=CONNECTION_RATE, delay="10 ms", queue=_queue(QUEUE_PACKETS, place))
    against = [(2, 1), (3, 2), (4, 3)]
    if place.layout == "backward-far":
        against.reverse()
    shape = chain(
        hops=[hop] * 3,
        pairs=[(1, 4), *against],
        aqt=_stamping(4, 4, place, routers),
        access_rate=ACCESS_RATE,
        access_delay=place.access_delay,
    )
    mixed = place.base_rtt_mixed if routers is not None else None
    flows = [_connection(1, vegas_rules(variant, place, base_rtt=mixed))]
    if load > 0:
        flows += [
            _variable(f"v{index}", index + 1, load, place, start)
            for index, start in enumerate(enters_s, start=1)
        ]
    return _delivering(shape, name, variant, flows, duration_s)


def staggered(
    name: str,
    variant: str,
    place: Assumptions,
    *,
    connections: int,
    apart_s: float,
    duration_s: float,
    equal: bool = False,
) -> Scenario:
    """Return connections that start one after another over one bottleneck: Figs. 15 and 17.

    Parameters
    ----------
    name, variant, place
        As for `alone`.
    connections
        How many.
    apart_s
        Time between two starts, s.
    duration_s
        Simulated time, s; throughput is that of the last 40 s.
    equal
        Whether alpha equals beta.
    """
    shape = _single(place, packets=QUEUE_PACKETS, pairs=connections)
    return _connections(
        name,
        variant,
        place,
        shape,
        starts_s=[apart_s * index for index in range(connections)],
        duration_s=duration_s,
        equal=equal,
    )


def unequal_delays(
    name: str, variant: str, place: Assumptions, *, duration_s: float = 200.0, equal: bool = False
) -> Scenario:
    """Return five connections of different delays that start together: Fig. 18.

    Parameters
    ----------
    name, variant, place, duration_s, equal
        As for `staggered`.
    """
    hop = Hop(rate=CONNECTION_RATE, delay="10 ms", queue=_queue(QUEUE_PACKETS, place))
    if place.delays == "chain":
        shape = chain(
            hops=[hop] * 5,
            pairs=[(first, 6) for first in range(1, 6)],
            aqt=_stamping(6, 5, place),
            access_rate=ACCESS_RATE,
            access_delay=place.access_delay,
        )
    else:
        shape = chain(
            hops=[hop],
            pairs=[(1, 2)] * 5,
            aqt=_stamping(2, 5, place),
            access_rate=ACCESS_RATE,
            sender_delay=[f"{1 + 10 * hops} ms" for hops in (4, 3, 2, 1, 0)],
            receiver_delay=place.access_delay,
        )
    return _connections(name, variant, place, shape, starts_s=[0.0] * 5, duration_s=duration_s, equal=equal)


def _connections(
    name: str,
    variant: str,
    place: Assumptions,
    shape: Topology,
    *,
    starts_s: Sequence[float],
    duration_s: float,
    equal: bool,
) -> Scenario:
    alpha, beta = (place.equal_band, place.equal_band) if equal else (1.0, 3.0)
    tcp = vegas_rules(variant, place, alpha=alpha, beta=beta)
    shown = ["delivered", "cwnd"] if variant == "reno" else ["delivered", "base_rtt", "cwnd"]
    return shape.scenario(
        name=name,
        rules="classic",
        duration=f"{duration_s:g} s",
        measure_from=f"{duration_s - 40:g} s",
        flows=[
            _connection(index, tcp, start=_starting(start, place.jitter_s))
            for index, start in enumerate(starts_s, start=1)
        ],
        probes=[
            Probe(flows=["*"], quantities=shown, period="1 s"),
            Probe(links=[shape.bottlenecks[-1]], quantities=["backlog"]),
        ],
    )


def _third_router(place: Assumptions) -> list[Link]:
    """Return the links over a third router."""
    return [
        Link(
            name=f"{start}-{stop}",
            from_=start,
            to=stop,
            rate=CONNECTION_RATE,
            delay="20 ms",
            queue=_queue(QUEUE_PACKETS, place),
        )
        for start, stop in (("r1", "r3"), ("r3", "r2"), ("r2", "r3"), ("r3", "r1"))
    ]


def _ways(lengths: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the fields of a flow that takes the short or the long way from some times on."""
    ways = {"short": ("s1", "r1", "r2", "d1"), "long": ("s1", "r1", "r3", "r2", "d1")}
    taken = [
        {
            "at": at,
            "path": [f"{one}-{two}" for one, two in pairwise(ways[length])],
            "reverse_path": [f"{one}-{two}" for one, two in pairwise(ways[length][::-1])],
        }
        for at, length in lengths
    ]
    return {key: taken[0][key] for key in ("path", "reverse_path")} | {"reroutes": taken[1:]}


def rerouted(
    name: str, variant: str, place: Assumptions, *, base_rtt: str, by: str, shortens: bool = False
) -> Scenario:
    """Return one connection whose path is longer for a while, or longer at first.

    Parameters
    ----------
    name, variant, place
        As for `alone`.
    base_rtt
        How RoVegas adopts a derived base round-trip time.
    by
        ``"delay"``: the delays of the bottleneck's links double; ``"path"``: the connection crosses a third router on a way that
        is twice as long.
    shortens
        Whether the path is long until the first of `REROUTE_S` and short from then on, instead of long between both.
    """
    shape = _single(place, packets=QUEUE_PACKETS)
    begin, end = (f"{time:g} s" for time in REROUTE_S)
    lengths = (
        [("0 s", "long"), (begin, "short")]
        if shortens
        else [("0 s", "short"), (begin, "long"), (end, "short")]
    )
    settings: dict[str, Any] = {}
    links, nodes = list(shape.links), list(shape.nodes)
    if by == "delay":
        delays = {"short": "20 ms", "long": "40 ms"}
        changes = [{"at": at, "delay": delays[length]} for at, length in lengths[1:]]
        links = [
            replace(link, delay=delays[lengths[0][1]], changes=changes)
            if link.name in ("r1-r2", "r2-r1")
            else link
            for link in links
        ]
    else:
        nodes.append(Node(name="r3", aqt=True))
        links += _third_router(place)
        settings = _ways(lengths)
    shape = replace(shape, nodes=tuple(nodes), links=tuple(links))
    tcp = vegas_rules(variant, place, base_rtt=base_rtt)
    return shape.scenario(
        name=name,
        rules="classic",
        duration="180 s",
        flows=[_connection(1, tcp, **settings)],
        probes=[
            Probe(flows=["c1"], quantities=["delivered", "cwnd"], period="1 s"),
            *_base_rtt(variant),
        ],
    )


def head_to_head(name: str, place: Assumptions) -> Scenario:
    """Return one Vegas and one Reno connection that share the bottleneck."""
    shape = _single(place, packets=QUEUE_PACKETS, pairs=2)
    return shape.scenario(
        name=name,
        rules="classic",
        duration="200 s",
        measure_from="40 s",
        flows=[
            _connection(index, vegas_rules(variant, place), start=_starting(0.0, place.jitter_s))
            for index, variant in enumerate(("vegas", "reno"), start=1)
        ],
    )


def slow_start(name: str, variant: str, place: Assumptions) -> Scenario:
    """Return one connection that opens its window over a link wide enough for its slow start to be seen."""
    hop = Hop(rate="20 Mbit/s", delay="20 ms", queue=_queue(QUEUE_PACKETS, place))
    shape = chain(
        hops=[hop],
        pairs=[(1, 2)],
        aqt=_stamping(2, 1, place),
        access_rate="100 Mbit/s",
        access_delay=place.access_delay,
    )
    return shape.scenario(
        name=name,
        rules="classic",
        duration="4 s",
        flows=[_connection(1, vegas_rules(variant, place))],
        probes=[Probe(flows=["c1"], quantities=["cwnd", "ssthresh", "seq_sent", "seq_acked"])],
    )


def keep_up(name: str, variant: str, k: float, place: Assumptions) -> Scenario:
    """Return one connection that was never in slow start, and whose window may grow with every acknowledgement."""
    spread = alone(name, variant, k, replace(place, increase="spread"))
    return spread.with_values({"flows.c1.tcp.initial_ssthresh": "2 segments"})


def window_rule(name: str, variant: str, place: Assumptions) -> Scenario:
    """Return one connection against light variable-rate traffic, with every check and every window recorded."""
    plain = backward_load(name, variant, 0.3, replace(place, increase="at-once"))
    probe = Probe(flows=["c1"], quantities=["cwnd", "ssthresh", "vegas_diff"])
    return replace(plain, probes=[probe])
