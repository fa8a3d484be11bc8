"""Diverse scenarios whose packets are captured: at senders, routers and receivers, of the simulator and of Linux."""

from __future__ import annotations

import random
from typing import Any

VARIANTS = (
    {"variant": "cubic"},
    {"variant": "reno"},
    {"variant": "bbr"},
    {"variant": "cubic", "rules": "linux"},
    {"variant": "bbr", "rules": "linux"},
    {"variant": "newreno", "rules": "classic", "handshake": True},
    {"variant": "sack", "rules": "classic", "handshake": True, "timestamps": True},
    {"variant": "reno", "rules": "classic", "handshake": True},
    {"variant": "vegas", "rules": "classic"},
    {"variant": "cubic", "rules": "linux", "ecn": "classic"},
)
KERNELS = ("cubic", "bbr", "reno")
NODES = ("sender", "sender", "router", "receiver")


def scenario(number: int, *, linux: bool = False) -> tuple[dict[str, Any], str]:
    """Return a scenario drawn by its number, and the node at which it is captured."""
    draw = random.Random(number)
    rate, delay = draw.choice((2.0, 10.0, 40.0)), draw.choice((3, 20, 60))
    packets = max(4, int(rate * 1e6 * 2 * delay * 1e-3 / 12_000 * draw.choice((0.2, 0.5, 1.0, 3.0))))
    queue: Any = draw.choice(
        ({"kind": "droptail", "limit": f"{packets} packets"},) * 3 + ("codel", "fqcodel")
    )
    forward, back = draw.choice(_impairments(delay)), draw.choice(_impairments(delay)[:2])
    links = [
        _link("sender", "router", 1000.0, 0, None, []),
        _link("router", "receiver", rate, delay, queue, forward),
        _link("receiver", "router", rate, delay, None, back),
        _link("router", "sender", 1000.0, 0, None, []),
    ]
    flows = [_flow(draw, place, linux=linux) for place in range(draw.choice((1, 1, 2)))]
    made = {
        "name": f"capture {number}",
        "duration": "8 s",
        "nodes": ["sender", "router", "receiver"],
        "links": links,
        "flows": flows,
    }
    return made, draw.choice(NODES)


def _link(
    start: str, end: str, rate: float, delay: int, queue: Any, impairments: list[Any]
) -> dict[str, Any]:
    link = {
        "name": f"{start}-{end}",
        "from": start,
        "to": end,
        "rate": f"{rate} Mbit/s",
        "delay": f"{delay} ms",
    }
    if queue is not None:
        link["queue"] = queue
    return link | ({"impairments": impairments} if impairments else {})


def _impairments(delay: int) -> tuple[list[Any], ...]:
    return (
        [],
        [{"kind": "bernoulli", "probability": 0.01}],
        [{"kind": "bernoulli", "probability": 0.03}],
        [{"kind": "reorder", "probability": 0.01, "delay": f"{1 + delay // 4} ms"}],
        [{"kind": "reorder", "probability": 0.005, "delay": f"{2 + delay} ms"}],
        [{"kind": "duplicate", "probability": 0.01}],
        [{"kind": "gilbert", "p": 0.002, "r": 0.2}],
    )


def _flow(draw: random.Random, place: int, *, linux: bool) -> dict[str, Any]:
    source = draw.choice(
        (
            {"kind": "greedy"},
            {"kind": "greedy"},
            {"kind": "transfer", "size": "300 kB"},
            {"kind": "transfer", "size": "2 MB"},
        )
    )
    flow: dict[str, Any] = {"name": f"f{place}", "from": "sender", "to": "receiver", "source": source}
    flow["start"] = f"{place * 700} ms"
    if linux:
        return flow | {"transport": {"name": "linux", "tree": "6.12", "congestion": draw.choice(KERNELS)}}
    tcp = dict(draw.choice(VARIANTS))
    if draw.random() < 0.3:
        tcp["receive_buffer"] = draw.choice(("8 segments", "40 segments"))
    if draw.random() < 0.3:
        tcp["delayed_ack"] = "off"
    if draw.random() < 0.2:
        tcp |= {"receive_buffer": "30 kB", "reading": {"rate": draw.choice(("500 kbit/s", "3 Mbit/s"))}}
    return flow | {"tcp": tcp}
