"""Parts of scenarios as plain data: a bottleneck between two hosts, flows and probes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .assumptions import Assumptions

Data = dict[str, Any]

FORWARD = "a-b"
"""Name of the bottleneck."""

BACKGROUND = "background"
"""Name of datagrams that arrive at random beside the flows that are compared."""

UNLIMITED_MBPS = 100_000.0
"""Rate of links that are no bottleneck, Mbit/s."""

GIGABIT_MBPS = 1000 * 1500 / 1538
"""What a gigabit of Ethernet carries of packets of 1500 bytes, each with a frame and a gap of 38 bytes, Mbit/s."""

SHAPER_BURST = 1_000_000
"""Bucket of the shaper in the scripts of the study of when to use BBR, bytes."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario of the collection.

    Parameters
    ----------
    key
        Its name in the plan.
    stage
        Group of the plan.
    data
        The scenario as plain data.
    is_random
        Whether it draws random numbers, and is repeated.
    """

    key: str
    stage: str
    data: Data
    is_random: bool = False


def rate_of(mbps: float) -> str:
    """Return a rate for a scenario."""
    return f"{round(mbps * 1e6)} bit/s"


def milliseconds(time_ms: float) -> str:
    """Return a time for a scenario, to the nanosecond."""
    return f"{round(time_ms * 1e6)} ns"


def bdp_bytes(mbps: float, rtt_ms: float, share: float = 1.0) -> int:
    """Return a multiple of the bandwidth-delay product, bytes."""
    return round(mbps * 1e3 * rtt_ms / 8 * share)


def drop_tail(size: int | None, unit: str = "bytes") -> Data:
    """Return a drop-tail queue of this size; without a limit for ``None``."""
    return {"kind": "droptail", "limit": "unlimited" if size is None else f"{size} {unit}"}


def rfc(congestion: str | Data, assumptions: Assumptions, **more: Any) -> Data:
    """Return classic TCP with segments of 1000 bytes and windows without bounds."""
    return {
        "rules": "classic",
        "congestion": congestion,
        "recovery": assumptions.recovery,
        "mss": "1000 bytes",
        "initial_window": "10 segments",
        "receive_buffer": "4000 MB",
        **more,
    }


def linux(congestion: str | Data, assumptions: Assumptions, **more: Any) -> Data:
    """Return TCP under the rules of Linux, with a receive buffer that never limits."""
    return {
        "rules": "linux",
        "congestion": congestion,
        "receive_buffer": "4000 MB",
        **dict(assumptions.linux),
        **more,
    }


def linux_bbr(assumptions: Assumptions, **more: Any) -> Data:
    """Return TCP with BBR as Linux had it before release 5.1: without the allowance for ACK aggregation.

    Parameters
    ----------
    assumptions
        The assumptions.
    more
        Further parameters of BBR.
    """
    return linux({"name": "bbr", "extra_acked_gain": 0.0, **more}, assumptions)


def flow(
    name: str,
    tcp: Data,
    *,
    source: str | Data = "greedy",
    start_s: float | tuple[float, float] = 0.0,
    stop_s: float | None = None,
) -> Data:
    """Return a flow of TCP from host a to host b; its start is drawn if two times are given."""
    start: Any = (
        {"uniform": [milliseconds(1e3 * time) for time in start_s]}
        if isinstance(start_s, tuple)
        else milliseconds(1e3 * start_s)
    )
    made: Data = {"name": name, "from": "a", "to": "b", "tcp": tcp, "source": source, "start": start}
    if stop_s is not None:
        made["stop"] = milliseconds(1e3 * stop_s)
    return made


def datagrams(name: str, mbps: float, packet: int = 1000, *, start_s: float = 0.0, **more: Any) -> Data:
    """Return a source of datagrams at a constant rate."""
    return {
        "name": name,
        "from": "a",
        "to": "b",
        "start": milliseconds(1e3 * start_s),
        "source": {"kind": "cbr", "rate": rate_of(mbps), "packet": f"{packet} bytes", **more},
    }


def bulk(tcps: Sequence[tuple[str, Data]], start_s: float | tuple[float, float] = 0.0) -> list[Data]:
    """Return bulk flows, one for each name and TCP."""
    return [flow(name, tcp, start_s=start_s) for name, tcp in tcps]


def disturbed(data: Data, mbps: float) -> Data:
    """Return a scenario with datagrams that arrive at random, 3 % of a bottleneck of this rate.

    Without them, phases decide which flow finds a queue full.
    """
    background = {"kind": "poisson", "rate": rate_of(0.03 * mbps), "packet": "200 bytes"}
    return data | {
        "flows": [*data["flows"], {"name": BACKGROUND, "from": "a", "to": "b", "source": background}]
    }


def staggered(tcps: Sequence[tuple[str, Data]], apart_s: float) -> list[Data]:
    """Return bulk flows that start one after the other."""
    return [flow(name, tcp, start_s=index * apart_s) for index, (name, tcp) in enumerate(tcps)]


def probe(
    *quantities: str, flows: Sequence[str] = (), link: bool = False, period_ms: float | None = None
) -> Data:
    """Return a probe of flows, or of the bottleneck."""
    made: Data = {"quantities": list(quantities)}
    if link:
        made["links"] = [FORWARD]
    else:
        made["flows"] = list(flows)
    if period_ms is not None:
        made["period"] = milliseconds(period_ms)
    return made


def outage(mbps: float, begin_s: float, end_s: float) -> list[Data]:
    """Return changes of a link that delivers nothing for a time: a bit per second instead of its rate."""
    return [
        {"at": milliseconds(1e3 * begin_s), "rate": "1 bit/s"},
        {"at": milliseconds(1e3 * end_s), "rate": rate_of(mbps)},
    ]


def _way(name: str, mbps: float, rtt_ms: float) -> Data:
    """Return a link between the hosts that its name names, with half of a round-trip time."""
    start, end = name.split("-")
    return {
        "name": name,
        "from": start,
        "to": end,
        "rate": rate_of(mbps),
        "delay": milliseconds(rtt_ms / 2),
    }


def bottleneck(
    name: str,
    mbps: float,
    rtt_ms: float,
    flows: Sequence[Data],
    duration_s: float,
    *,
    queue: Data | None = None,
    from_s: float = 0.0,
    probes: Sequence[Data] = (),
    impairments: Sequence[Data] = (),
    changes: Sequence[Data] = (),
    back_mbps: float = UNLIMITED_MBPS,
    link: Mapping[str, Any] | None = None,
) -> Data:
    """Return a scenario of two hosts with a bottleneck from a to b.

    Parameters
    ----------
    name
        Name of the scenario.
    mbps, rtt_ms
        Rate of the bottleneck, and the round-trip time without transmission and queueing.
    flows
        The flows.
    duration_s, from_s
        Duration, and the beginning of the measurement.
    queue, impairments, changes, link
        Of the bottleneck; `link` holds further fields.
    probes
        The probes.
    back_mbps
        Rate of the way back.
    """
    there = _way(FORWARD, mbps, rtt_ms) | {
        "queue": drop_tail(None) if queue is None else queue,
        **(link or {}),
    }
    if impairments:
        there["impairments"] = list(impairments)
    if changes:
        there["changes"] = list(changes)
    made: Data = {
        "name": name,
        "duration": milliseconds(1e3 * duration_s),
        "rules": "classic",
        "nodes": ["a", "b"],
        "links": [there, _way("b-a", back_mbps, rtt_ms)],
        "flows": list(flows),
    }
    if from_s:
        made["measure_from"] = milliseconds(1e3 * from_s)
    if probes:
        made["probes"] = list(probes)
    return made


def lossy_way(data: Data, probability: float) -> Data:
    """Return a scenario whose packets are lost at random on their way to the bottleneck, as by netem before a shaper.

    What is lost there takes no time of the bottleneck.
    """
    ways: list[Data] = [
        {"name": f"{one}-{other}", "from": one, "to": other, "rate": rate_of(UNLIMITED_MBPS), "delay": "0 ns"}
        for one, other in (("s", "a"), ("a", "s"))
    ]
    ways[0]["impairments"] = [{"kind": "bernoulli", "probability": probability}]
    return data | {
        "nodes": ["s", *data["nodes"]],
        "links": [*data["links"], *ways],
        "flows": [one | {"from": "s"} for one in data["flows"]],
    }


def shaped(
    name: str, mbps: float, rtt_ms: float, buffer: int, flows: Sequence[Data], duration_s: float,
    *, loss: float = 0.0, from_s: float = 0.0,
) -> Data:  # fmt: skip
    """Return flows from hosts of their own, with a gigabit each, over a router that loses and then shapes.

    The set-up of the study of when to use BBR: netem, with a token bucket as its child.

    Parameters
    ----------
    name
        Name of the scenario.
    mbps, rtt_ms
        Rate of the shaper, and the round-trip time without transmission and queueing.
    buffer
        Size of its queue, bytes.
    flows
        The flows.
    duration_s, from_s
        Duration, and the beginning of the measurement.
    loss
        Part of the packets that is lost at random before the shaper.
    """
    shaper = {
        "kind": "tokenbucket",
        "rate": rate_of(mbps),
        "burst": f"{SHAPER_BURST} bytes",
        "limit": f"{buffer} bytes",
    }
    data = bottleneck(name, UNLIMITED_MBPS, rtt_ms, flows, duration_s, queue=shaper, from_s=from_s)
    hosts = [f"s{index}" for index in range(1, len(flows) + 1)]
    for host in hosts:
        way: Data = {
            "name": f"{host}-a", "from": host, "to": "a", "rate": rate_of(GIGABIT_MBPS), "delay": "0 ns",
        }  # fmt: skip
        if loss:
            way["impairments"] = [{"kind": "bernoulli", "probability": loss}]
        data["links"] += [
            way,
            {"name": f"a-{host}", "from": "a", "to": host, "rate": rate_of(UNLIMITED_MBPS), "delay": "0 ns"},
        ]
    return data | {
        "nodes": [*hosts, *data["nodes"]],
        "flows": [one | {"from": host} for one, host in zip(flows, hosts, strict=True)],
    }


def lines(prefix: str, count: int, tcp: Data) -> list[tuple[str, Data]]:
    """Return names and the same TCP of several flows."""
    return [(f"{prefix}{index}", tcp) for index in range(1, count + 1)]
