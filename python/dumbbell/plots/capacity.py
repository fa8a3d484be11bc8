"""What the path of some flows holds and carries: the references of a picture over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from dumbbell.errors import ScenarioError
from dumbbell.quantities import bits_per_second, nanoseconds, size_bytes
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    from dumbbell.scenario import Link

MOST_FLOWS = 1000
"""A scenario with more flows is not looked into."""

VARYING = ("changes", "outages", "opportunities", "trace", "wifi")
"""Fields of a link whose rate or delay is not the stated one all the time."""


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The bottleneck of a path.

    Parameters
    ----------
    rate_bps
        Its rate, bit/s.
    payload_bps
        What it carries of the payload of full segments, bit/s.
    bdp_segments
        Bandwidth-delay product: full segments that the path holds without a queue, by propagation delays.
    buffer_packets
        Packets that the drop-tail queue of the bottleneck holds; infinite or unknown ones are missing (NaN).
    """

    rate_bps: float
    payload_bps: float
    bdp_segments: float
    buffer_packets: float


def capacity_of(scenario: Scenario, flows: Sequence[str]) -> Capacity | None:
    """Return the capacity of the path that some flows share; ``None`` if it changes, is not known, or differs.

    Parameters
    ----------
    scenario
        The scenario.
    flows
        Names of flows.
    """
    if len(scenario.flows) > MOST_FLOWS:
        return None
    stated = scenario.resolved()
    links = {link["name"]: link for link in stated["links"]}
    found: list[Capacity] = []
    for flow in stated["flows"]:
        if flow["name"] in flows and flow.get("tcp"):
            try:
                one = _of_flow(scenario, flow, links)
            except (ScenarioError, KeyError, TypeError):
                return None
            if one is None:
                return None
            found.append(one)
    if not found or any(_differs(one, found[0]) for one in found):
        return None
    return found[0]


def _differs(one: Capacity, other: Capacity) -> bool:
    pairs = [(one.rate_bps, other.rate_bps), (one.bdp_segments, other.bdp_segments)]
    return not all(math.isclose(*pair, rel_tol=0.02) for pair in pairs)


def _of_flow(scenario: Scenario, flow: Mapping[str, Any], links: Mapping[str, Any]) -> Capacity | None:
    from dumbbell.scenario.builders import Node
    from dumbbell.topologies.network import Topology

    ends = dict.fromkeys(end for link in links.values() for end in (link["from"], link["to"]))
    network = Topology(
        nodes=tuple(Node(name=name) for name in ends), links=cast("tuple[Link, ...]", scenario.links)
    )
    there = [links[name] for name in network.path(flow["from"], flow["to"])]
    back = [links[name] for name in network.path(flow["to"], flow["from"])]
    if flow.get("reroutes") or any(link.get(name) for link in (*there, *back) for name in VARYING):
        return None
    rates = [bits_per_second(link["rate"], "rate") for link in there]
    rtt_s = sum(nanoseconds(link["delay"], "delay") for link in (*there, *back)) / 1e9
    tcp = flow["tcp"]
    mss = size_bytes(tcp["mss"], "mss")
    packet = mss + size_bytes(tcp["headers"]["data"], "headers")
    rate = min(rates)
    return Capacity(
        rate_bps=float(rate),
        payload_bps=rate * mss / packet,
        bdp_segments=rate * rtt_s / 8.0 / packet,
        buffer_packets=_buffer(there[rates.index(rate)]["queue"]),
    )


def _buffer(queue: Mapping[str, Any]) -> float:
    """Return how many packets a queue holds, if it drops from the tail and states packets."""
    number, _, unit = str(queue.get("limit", "")).partition(" ")
    is_known = queue.get("kind") == "droptail" and unit in ("packets", "packet") and number.isdigit()
    return float(number) if is_known else math.nan
