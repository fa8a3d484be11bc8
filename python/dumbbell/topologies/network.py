"""A network as data, and the row of routers from which every shape of this package is built."""

from __future__ import annotations

import inspect
import json
import operator
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, Unpack, get_args, get_type_hints

from dumbbell import _engine
from dumbbell.errors import ScenarioError, refusal
from dumbbell.parts import Part, plain
from dumbbell.quantities import nanoseconds
from dumbbell.scenario import Data, Flow, Impairment, Link, LinkChange, Node, Queue, Scenario
from dumbbell.scenario.units import suggest_unit
from dumbbell.shown import html_of

if TYPE_CHECKING:
    import networkx

P = ParamSpec("P")
T = TypeVar("T")

Discipline = str | Queue | Data
Impairments = Sequence[str | Impairment | Data]
Changes = Sequence[LinkChange | Data]
Stamping = bool | str | Collection[str]


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
        return tuple(f"{left}-{right}" for left, right in pairwise(self._routers))

    @property
    def reverse_bottlenecks(self) -> tuple[str, ...]:
        """Names of the links between routers from right to left, the leftmost first."""
        return tuple(f"{right}-{left}" for left, right in pairwise(self._routers))

    @property
    def _routers(self) -> list[str]:
        return [node.name for node in self.nodes if node.name.startswith("r")]

    @cached_property
    def _graph(self) -> networkx.DiGraph[str]:
        """The nodes, and which of them links join."""
        import networkx

        graph: networkx.DiGraph[str] = networkx.DiGraph()
        graph.add_nodes_from(node.name for node in self.nodes)
        graph.add_edges_from(self._by_ends)
        return graph

    @cached_property
    def _inner(self) -> networkx.DiGraph[str]:
        """The graph without its leaves, so that a search does not visit all hosts of a router."""
        leaves = [
            name for name in self._graph if len({*self._graph.pred[name], *self._graph.succ[name]}) == 1
        ]
        inner = self._graph.copy()
        inner.remove_nodes_from(leaves)
        return inner

    @cached_property
    def _by_ends(self) -> dict[tuple[str, str], Link]:
        """The first link between two nodes."""
        return {(link.from_, link.to): link for link in reversed(self.links)}

    @cached_property
    def _by_name(self) -> dict[str, Link]:
        return {link.name: link for link in self.links}

    def link(self, name: str) -> Link:
        """Return the link of a name.

        Raises
        ------
        ScenarioError
            There is no such link.
        """
        if name not in self._by_name:
            raise refusal("link", name, ", ".join(self._by_name), names=self._by_name)
        return self._by_name[name]

    def path(self, start: str, end: str) -> tuple[str, ...]:
        """Return the names of the links from one node to another, over the fewest hops.

        Raises
        ------
        ScenarioError
            A node is not there, or no path leads between them.
        """
        import networkx

        for node in (start, end):
            if node not in self._graph:
                names = list(self._graph)
                raise refusal("node", node, ", ".join(names), names=names)
        if start == end:
            return ()
        if (start, end) in self._by_ends:
            return (self._by_ends[start, end].name,)
        first, last = (
            [name] if name in self._inner else [*neighbours]
            for name, neighbours in ((start, self._graph.succ[start]), (end, self._graph.pred[end]))
        )
        try:
            middle = networkx.shortest_path(self._inner, first[0], last[0])
        except (IndexError, networkx.NodeNotFound, networkx.NetworkXNoPath):
            raise refusal("node", end, f"a node that can be reached from {start}") from None
        nodes = [
            *([start] if start not in self._inner else []),
            *middle,
            *([end] if end not in self._inner else []),
        ]
        return tuple(self._by_ends[ends].name for ends in pairwise(nodes))

    def propagation_rtt_s(self, sender: str, receiver: str) -> float:
        """Return the propagation delays from sender to receiver and back, in seconds.

        Time in queues and on transmitters is not part of it.

        Raises
        ------
        ScenarioError
            A node is not there, or no path leads between them.
        """
        names = self.path(sender, receiver) + self.path(receiver, sender)
        return sum(nanoseconds(self.link(name).delay, f"links.{name}.delay") for name in names) / 1e9

    def _repr_html_(self) -> str:
        return html_of(self)

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
class Hop(Part):
    """A pair of links between two neighbouring routers; forward is from left to right.

    Parameters
    ----------
    rate, delay, queue
        Transmission rate, propagation delay and queue discipline of the forward link; the default queue holds 100
        packets.
    impairments
        Impairments of the forward link.
    reverse_rate, reverse_delay, reverse_queue
        Those of the link back; as forward when not given.
    reverse_impairments
        Impairments of the reverse link; none by default, even if the forward link has some.
    changes, reverse_changes
        Changes of rate and delay of the forward link and of the link back; none when not given.
    """

    rate: str
    delay: str
    queue: Discipline | None = None
    impairments: Impairments | None = None
    reverse_rate: str | None = None
    reverse_delay: str | None = None
    reverse_queue: Discipline | None = None
    reverse_impairments: Impairments | None = None
    changes: Changes | None = None
    reverse_changes: Changes | None = None


class AccessLinks(TypedDict, total=False):
    """The access links of hosts but for their delays, and the nodes.

    A pair of hosts has four access links: two at the sender and two at the receiver, one in each
    direction. A sequence has one item per pair, in order.
    """

    access_rate: str | Sequence[str]
    """Rate of all four access links of a pair."""
    access_queue: Discipline
    """Queue discipline of all access links."""
    access_impairments: Impairments | Mapping[str, Impairments] | None
    """What loses packets on all access links, or on those named: ``{"r2-d1": [Bernoulli(probability=0.01)]}``."""
    access_changes: Changes | Mapping[str, Changes] | None
    """Changes of rate and delay of all access links, or of those named."""
    tick_phase: str | Mapping[str, str] | None
    """Phase of the coarse clocks of all nodes, or of those named: ``"random"`` or a time, as in `Node`."""


class Access(AccessLinks, total=False):
    """The access links of hosts: parameters accepted by every builder in addition to its own."""

    access_delay: str | Sequence[str]
    """Propagation delay of each of the four access links of a pair, so that a pair's RTT has it four
    times."""
    sender_delay: str | Sequence[str] | None
    """Propagation delay of both of a sender's links, instead of `access_delay`."""
    receiver_delay: str | Sequence[str] | None
    """Propagation delay of both of a receiver's links, instead of `access_delay`."""
    rtt: str | Sequence[str] | None
    """A pair's round-trip propagation delay: what the hops leave of it is divided equally among the four
    access links, to a nanosecond. It takes the place of all other delays of access links."""


def builder(function: Callable[P, T]) -> Callable[P, T]:
    """Return a builder that rejects unknown arguments and suggests the nearest name.

    Without this, ``**access`` would accept any name.

    Raises
    ------
    ScenarioError
        An argument is unknown to the builder and to what it accepts besides, such as `Access`.
    """
    known: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            (settings,) = get_args(get_type_hints(function)[parameter.name])
            known += settings.__annotations__
        else:
            known.append(parameter.name)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        for name, value in kwargs.items():
            if name not in known:
                problem = f"is not an argument of topologies.{function.__name__}"
                raise refusal(name, value, ", ".join(known), names=known, problem=problem, near=name)
        return function(*args, **kwargs)

    return checked


@builder
def chain(
    *,
    hops: Sequence[Hop],
    pairs: Sequence[tuple[int, int]],
    aqt: Stamping = False,
    **access: Unpack[Access],
) -> Topology:
    """Return a row of routers with hosts at any of them.

    Routers are ``r1``, ``r2``, … from left to right. The n-th pair is the sender ``sn`` and the receiver
    ``dn``. A link is named by the nodes it joins: ``r1-r2``, ``s1-r1``.

    Parameters
    ----------
    hops
        The hops between neighbouring routers; there is one more router than hops.
    pairs
        For each sender-receiver pair the numbers, from 1, of the router the sender is at and of the one its
        receiver is at. The pair (3, 1) sends from right to left.
    aqt
        Nodes that stamp packets with their queueing time, for flows that carry the option: all including hosts
        (True), none, or those named.
    **access
        The access links, see `Access`: 100 Mbit/s, 0.1 ms and unlimited queues unless stated. Also the
        `tick_phase` of nodes.

    Raises
    ------
    ScenarioError
        There is no hop or no pair, a router does not exist, a per-pair value does not have one entry per pair, a
        round-trip time is shorter than the hops it crosses, a name is no node's or link's, or an argument is
        not known.

    Examples
    --------
    A staircase: senders at every router, all receivers at the last one, so that the pairs cross three, two
    and one hop:

    >>> hop = Hop(rate="1.6 Mbit/s", delay="10 ms")
    >>> stairs = chain(hops=[hop] * 3, pairs=[(first, 4) for first in (1, 2, 3)], access_delay="1 ms")
    >>> [stairs.propagation_rtt_s(f"s{n}", f"d{n}") for n in (1, 2, 3)]
    [0.064, 0.044, 0.024]

    Cross traffic against the direction of the first pair, on each hop:

    >>> chain(hops=[hop] * 3, pairs=[(1, 4), (2, 1), (3, 2), (4, 3)]).path("s3", "d3")
    ('s3-r3', 'r3-r2', 'r2-d3')
    """
    return built("chain", locals())


def built(kind: str, arguments: Mapping[str, Any]) -> Topology:
    """Return the topology that the engine builds from the name of a shape.

    Parameters
    ----------
    kind
        The name.
    arguments
        The arguments of its builder, with those of access links as ``access``; what is ``None`` has its default.

    Raises
    ------
    ScenarioError
        A member is not accepted.
    """
    members = {name: value for name, value in arguments.items() if name != "access"} | arguments["access"]
    stated = {name: list(value) if isinstance(value, Set) else value for name, value in members.items()}
    try:
        network = json.loads(_engine.network(json.dumps(plain({"kind": kind, **stated}, ""))))
    except ScenarioError as error:
        suggest_unit(error)
        raise
    return Topology(
        nodes=tuple(map(Node.from_dict, network["nodes"])), links=tuple(map(Link.from_dict, network["links"]))
    )


def counted(field: str, value: int, least: int) -> int:
    """Return a number of pairs or hops.

    Raises
    ------
    ScenarioError
        It is not a whole number of at least `least`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise refusal(field, value, f"a whole number of at least {least}")
    return number
