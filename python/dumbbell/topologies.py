"""The field's shapes of networks: dumbbell, parking lot, chain with cross traffic.

Each function returns a `Topology`: nodes and unidirectional links, named by one rule. Routers are ``r1``,
``r2``, … from left to right; senders are ``s1``, ``s2``, … and their receivers ``d1``, ``d2``, …; a link is
named by the nodes it joins, ``r1-r2`` and ``r2-r1``.

Examples
--------
>>> from dumbbell import topologies
>>> shape = topologies.dumbbell(pairs=2, rate="10 Mbit/s", delay="20 ms")
>>> [link.name for link in shape.links][:2]
['r1-r2', 'r2-r1']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from dumbbell.scenario import Data, DropTail, Flow, Impairment, Link, Node, Queue, Scenario

__all__ = ["Hop", "Topology", "chain", "dumbbell", "parking_lot"]

# Access links are fast and never lose a packet unless the caller says otherwise: the bottleneck is where
# things happen.
ACCESS_RATE = "100 Mbit/s"
ACCESS_DELAY = "0.1 ms"
ACCESS_QUEUE = DropTail(limit="unlimited")
BOTTLENECK_QUEUE = DropTail(limit="100 packets")

Discipline = str | Queue | Data


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Nodes and links of a network.

    Parameters
    ----------
    nodes
        Hosts and routers.
    links
        Unidirectional links.
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def bottlenecks(self) -> tuple[str, ...]:
        """Names of the links between routers, left to right, those of the forward direction only."""
        routers = [node.name for node in self.nodes if node.name.startswith("r")]
        return tuple(f"{left}-{right}" for left, right in pairwise(routers))

    def scenario(
        self, *, duration: str, flows: Sequence[Flow | Data], name: str | None = None, **settings: Any
    ) -> Scenario:
        """Return a scenario on this network.

        Parameters
        ----------
        duration, flows, name
            As `Scenario` takes them.
        **settings
            Further fields of `Scenario`, as ``probes`` or ``measure_from``.

        Raises
        ------
        ScenarioError
            A field is not accepted.
        """
        return Scenario(
            name=name, duration=duration, nodes=self.nodes, links=self.links, flows=flows, **settings
        )


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A pair of links between two neighbouring routers.

    Parameters
    ----------
    rate
        Transmission rate of either direction.
    delay
        Propagation delay of either direction.
    queue
        Queue discipline of either direction.
    impairments
        What loses packets in the forward direction, left to right.
    """

    rate: str
    delay: str
    queue: Discipline = BOTTLENECK_QUEUE
    impairments: Sequence[str | Impairment | Data] | None = None


def dumbbell(
    *,
    pairs: int,
    rate: str,
    delay: str,
    queue: Discipline = BOTTLENECK_QUEUE,
    access_rate: str = ACCESS_RATE,
    access_delay: str | Sequence[str] = ACCESS_DELAY,
    access_queue: Discipline = ACCESS_QUEUE,
    impairments: Sequence[str | Impairment | Data] | None = None,
) -> Topology:
    """Return `pairs` senders and receivers that share one bottleneck, ``r1-r2`` and back.

    Parameters
    ----------
    pairs
        Number of sender-receiver pairs, at least one: ``s1`` to ``d1`` and so on.
    rate, delay, queue
        The bottleneck's, in either direction.
    access_rate, access_queue
        The access links'.
    access_delay
        Propagation delay of each access link; a sequence gives one delay per pair, for flows of different
        RTT.
    impairments
        What loses packets on ``r1-r2``.

    Raises
    ------
    ValueError
        There is no pair, or the delays are not one per pair.
    """
    return chain(
        hops=[Hop(rate=rate, delay=delay, queue=queue, impairments=impairments)],
        pairs=[(1, 2)] * pairs,
        access_rate=access_rate,
        access_delay=access_delay,
        access_queue=access_queue,
    )


def parking_lot(
    *,
    hops: int,
    rate: str,
    delay: str,
    queue: Discipline = BOTTLENECK_QUEUE,
    access_rate: str = ACCESS_RATE,
    access_delay: str | Sequence[str] = ACCESS_DELAY,
    access_queue: Discipline = ACCESS_QUEUE,
) -> Topology:
    """Return a row of equal bottlenecks: the pair ``s1``-``d1`` crosses all, each further pair one.

    Parameters
    ----------
    hops
        Number of bottlenecks, at least one. The pair ``s2``-``d2`` crosses the first, and so on.
    rate, delay, queue
        Each bottleneck's, in either direction.
    access_rate, access_delay, access_queue
        The access links', as in `dumbbell`; a sequence of delays has ``hops + 1`` items.

    Raises
    ------
    ValueError
        There is no hop, or the delays are not one per pair.
    """
    spans = [(1, hops + 1)] + [(index, index + 1) for index in range(1, hops + 1)]
    return chain(
        hops=[Hop(rate=rate, delay=delay, queue=queue)] * hops,
        pairs=spans,
        access_rate=access_rate,
        access_delay=access_delay,
        access_queue=access_queue,
    )


def chain(
    *,
    hops: Sequence[Hop],
    pairs: Sequence[tuple[int, int]],
    access_rate: str = ACCESS_RATE,
    access_delay: str | Sequence[str] = ACCESS_DELAY,
    access_queue: Discipline = ACCESS_QUEUE,
) -> Topology:
    """Return a row of routers with hosts at any of them: several bottlenecks with cross traffic.

    Parameters
    ----------
    hops
        What lies between neighbouring routers; there is one router more than hops.
    pairs
        For each sender-receiver pair the numbers, from 1, of the router the sender is at and of the one its
        receiver is at. The pair (3, 1) sends from right to left.
    access_rate, access_queue
        The access links'.
    access_delay
        Propagation delay of each access link; a sequence gives one delay per pair.

    Raises
    ------
    ValueError
        There is no hop or no pair, a router's number is not there, or the delays are not one per pair.
    """
    if not hops:
        raise ValueError("a network of routers takes at least one hop between them")
    if not pairs:
        raise ValueError("a network takes at least one pair of hosts")
    delays = [access_delay] * len(pairs) if isinstance(access_delay, str) else list(access_delay)
    if len(delays) != len(pairs):
        raise ValueError(
            f"{len(delays)} access delays for {len(pairs)} pairs; accepted: one delay, or one per pair"
        )
    routers = [f"r{index}" for index in range(1, len(hops) + 2)]
    nodes = [Node(name=name) for name in routers]
    links: list[Link] = []
    for left, right, hop in zip(routers, routers[1:], hops, strict=False):
        forward = Link(
            name=f"{left}-{right}",
            from_=left,
            to=right,
            rate=hop.rate,
            delay=hop.delay,
            queue=hop.queue,
            impairments=hop.impairments,
        )
        backward = Link(
            name=f"{right}-{left}", from_=right, to=left, rate=hop.rate, delay=hop.delay, queue=hop.queue
        )
        links += [forward, backward]
    for index, ((enter, leave), host_delay) in enumerate(zip(pairs, delays, strict=True), start=1):
        for number in (enter, leave):
            if not 1 <= number <= len(routers):
                raise ValueError(f"pair {index} is at router {number}; accepted: 1 to {len(routers)}")
        for host, router in ((f"s{index}", routers[enter - 1]), (f"d{index}", routers[leave - 1])):
            nodes.append(Node(name=host))
            links += [
                Link(name=f"{a}-{b}", from_=a, to=b, rate=access_rate, delay=host_delay, queue=access_queue)
                for a, b in ((host, router), (router, host))
            ]
    return Topology(nodes=tuple(nodes), links=tuple(links))
