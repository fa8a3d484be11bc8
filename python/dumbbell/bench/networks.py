"""Scenarios of variable size, as JSON text: they can be large, and the process that runs one parses it itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dumbbell.bench.cases import HEADER, NOTHING, PAYLOAD

# Hosts on either side of a bottleneck of many flows.
PAIRS = 10

# Each flow's share of a bottleneck of many flows, bit/s, and of its buffer, packets.
SHARE_BPS, SHARE_PACKETS = 100_000, 5

# Idle flows: the one-way delay and the simulated time, between which the first windows arrive and no acknowledgement does,
# and a timer that does not expire meanwhile.
IDLE_DELAY_S, IDLE_S = 2.0, 3.0
IDLE_TIMER = {"kind": "rfc6298", "initial": "60 s"}

Text = tuple[str, str]
"""A scenario, and the same one without simulated time."""


def many_flows(flows: int, duration_s: float) -> Text:
    """Return many NewReno flows at one bottleneck, 0.1 Mbit/s for each.

    Parameters
    ----------
    flows
        How many.
    duration_s
        Simulated time, s.
    """
    return _many_flows(flows, duration_s, 0.1, {})


def idle_flows(flows: int) -> Text:
    """Return idle flows: their first windows arrive, and they wait for acknowledgements until the end of the run.

    Parameters
    ----------
    flows
        How many.
    """
    return _many_flows(flows, IDLE_S, IDLE_DELAY_S, {"timer": IDLE_TIMER})


def _many_flows(flows: int, duration_s: float, delay_s: float, tcp: dict[str, Any]) -> Text:
    rate = flows * SHARE_BPS
    queue = {"kind": "droptail", "limit": f"{flows * SHARE_PACKETS} packets"}
    links = _pair("r1", "r2", rate, _seconds(delay_s), queue)
    for number in range(PAIRS):
        links += _pair(f"s{number}", "r1", 10 * rate, "1 ms") + _pair("r2", f"d{number}", 10 * rate, "1 ms")
    listed = []
    for number in range(flows):
        start_s = duration_s / 10 * number / flows
        flow = _flow(f"f{number}", f"s{number % PAIRS}", f"d{number % PAIRS}", "newreno", start_s)
        flow["tcp"] |= tcp
        listed.append(flow)
    return _text(duration_s, links, listed)


def long_window(segments: int, packets: float, *, lossless: bool) -> Text:
    """Return one SACK flow over a link of 10 Gbit/s whose path holds so many segments.

    Parameters
    ----------
    segments
        Rate times round-trip propagation delay, segments of 1,000 bytes; the queue has room for as many.
    packets
        Packets that the link can carry within the run.
    lossless
        Whether the receive buffer keeps the queue from overflowing.
    """
    rate = 10_000_000_000
    serialization_s = 8 * (PAYLOAD + HEADER) / rate
    delay = f"{round(1e9 * segments * serialization_s / 2)} ns"
    queue = {"kind": "droptail", "limit": f"{segments} packets"}
    links = _pair("s", "r", 10 * rate, "0 s") + _pair("r", "d", rate, delay, queue)
    flow = _flow("f", "s", "d", "sack", 0.0)
    # The largest that TCP's window field can express, scaled, is a gibibyte.
    flow["tcp"]["receive_buffer"] = f"{segments + segments // 2} segments" if lossless else "1 GiB"
    return _text(packets * serialization_s, links, [flow])


def row(hops: int, duration_s: float, *, joined: bool) -> Text:
    """Return one NewReno flow over a row of links of 10 Mbit/s, 20 ms long altogether.

    Parameters
    ----------
    hops
        How many.
    duration_s
        Simulated time, s.
    joined
        Whether datagrams, a thousandth of the rate, join at each link.
    """
    rate = 10_000_000
    delay = f"{round(20e6 / hops)} ns"
    queue = {"kind": "droptail", "limit": "100 packets"}
    links = _pair("s", "r0", 10 * rate, "1 ms") + _pair(f"r{hops}", "d", 10 * rate, "1 ms")
    for hop in range(hops):
        links += _pair(f"r{hop}", f"r{hop + 1}", rate, delay, queue)
    flows = [_flow("f", "s", "d", "newreno", 0.0)]
    if joined:
        source = {"kind": "cbr", "rate": f"{rate // 1000} bit/s", "packet": f"{PAYLOAD + HEADER} bytes"}
        flows += [
            {"name": f"x{hop}", "from": f"r{hop}", "to": f"r{hop + 1}", "source": source}
            for hop in range(hops)
        ]
    return _text(duration_s, links, flows)


def one_flow(duration_s: float, *, traces: str = "none") -> Text:
    """Return one NewReno flow at a bottleneck of 10 Mbit/s.

    Parameters
    ----------
    duration_s
        Simulated time, s.
    traces
        How densely cwnd, srtt, flight size and backlog are recorded: ``none``, a period, or ``every change``.
    """
    rate = 10_000_000
    queue = {"kind": "droptail", "limit": "100 packets"}
    links = _pair("r1", "r2", rate, "20 ms", queue)
    links += _pair("s", "r1", 10 * rate, "1 ms") + _pair("r2", "d", 10 * rate, "1 ms")
    probes: list[dict[str, Any]] = []
    if traces != "none":
        period = {} if traces == "every change" else {"period": traces}
        probes = [
            {"flows": ["f"], "quantities": ["cwnd", "srtt", "flight_size"], **period},
            {"links": ["r1-r2"], "quantities": ["backlog"], **period},
        ]
    return _text(duration_s, links, [_flow("f", "s", "d", "newreno", 0.0)], probes)


def _seconds(time_s: float) -> str:
    return f"{round(1e9 * time_s)} ns"


def _pair(
    one: str, other: str, rate: int, delay: str, queue: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the links that go back and forth between two nodes."""
    return [
        {"name": f"{begin}-{end}", "from": begin, "to": end, "rate": f"{rate} bit/s", "delay": delay}
        | ({"queue": queue} if queue else {})
        for begin, end in ((one, other), (other, one))
    ]


def _flow(name: str, begin: str, end: str, variant: str, start_s: float) -> dict[str, Any]:
    sizes = {
        "mss": f"{PAYLOAD} bytes",
        "headers": {"data": f"{HEADER} bytes", "ack": f"{HEADER} bytes"},
    }
    return {
        "name": name,
        "from": begin,
        "to": end,
        "start": _seconds(start_s),
        "tcp": {"variant": variant, **sizes},
    }


def _text(
    duration_s: float,
    links: Sequence[dict[str, Any]],
    flows: Sequence[dict[str, Any]],
    probes: Sequence[dict[str, Any]] = (),
) -> Text:
    nodes = list(dict.fromkeys(node for link in links for node in (link["from"], link["to"])))
    data = {"nodes": nodes, "links": links, "flows": flows, "probes": probes}
    whole, nothing = (
        json.dumps({"duration": duration, "rules": "classic", **data})
        for duration in (_seconds(duration_s), NOTHING)
    )
    return whole, nothing
