"""A network as data, and the row of routers from which every shape of this package is built."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar, Unpack, get_args, get_type_hints

from dumbbell.errors import refusal
from dumbbell.quantities import nanoseconds, written_time
from dumbbell.scenario import Data, DropTail, Flow, Impairment, Link, LinkChange, Node, Queue, Scenario
from dumbbell.shown import html_of

if TYPE_CHECKING:
    import networkx

P = ParamSpec("P")
T = TypeVar("T")

Discipline = str | Queue | Data
Impairments = Sequence[str | Impairment | Data]
Changes = Sequence[LinkChange | Data]
Stamping = bool | str | Collection[str]

# Access links are fast and never lose a packet unless the caller says otherwise: the bottleneck is where
# things happen.
ACCESS_RATE = "100 Mbit/s"
ACCESS_DELAY = "0.1 ms"
ACCESS_QUEUE = DropTail(limit="unlimited")
BOTTLENECK_QUEUE = DropTail(limit="100 packets")


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
class Hop:
    """A pair of links between two neighbouring routers; forward is from left to right.

    Parameters
    ----------
    rate, delay, queue
        Transmission rate, propagation delay and queue discipline of the forward link.
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
    queue: Discipline = BOTTLENECK_QUEUE
    impairments: Impairments | None = None
    reverse_rate: str | None = None
    reverse_delay: str | None = None
    reverse_queue: Discipline | None = None
    reverse_impairments: Impairments | None = None
    changes: Changes | None = None
    reverse_changes: Changes | None = None

    def links(self, left: str, right: str) -> tuple[Link, Link]:
        """Return the link from `left` to `right` and the one back."""
        forward = _link(left, right, self.rate, self.delay, self.queue, self.impairments, self.changes)
        backward = _link(
            right,
            left,
            self.rate if self.reverse_rate is None else self.reverse_rate,
            self.delay if self.reverse_delay is None else self.reverse_delay,
            self.queue if self.reverse_queue is None else self.reverse_queue,
            self.reverse_impairments,
            self.reverse_changes,
        )
        return forward, backward


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
    _check_pairs(hops, pairs)
    routers = [f"r{number}" for number in range(1, len(hops) + 2)]
    hosts = [f"{end}{number}" for number in range(1, len(pairs) + 1) for end in "sd"]
    links = [link for ends, hop in zip(pairwise(routers), hops, strict=True) for link in hop.links(*ends)]
    links += _access_links(hops, pairs, access)
    phase_of = _by_name("tick_phase", access.get("tick_phase"), routers + hosts)
    nodes = [Node(name=name, tick_phase=phase_of.get(name)) for name in routers + hosts]
    return Topology(nodes=_stamping(nodes, aqt), links=tuple(links))


def _check_pairs(hops: Sequence[Hop], pairs: Sequence[tuple[int, int]]) -> None:
    if not hops:
        raise refusal("hops", len(hops), "at least one hop, between two routers")
    if not pairs:
        raise refusal("pairs", len(pairs), "at least one pair of hosts")
    last = len(hops) + 1
    for index, pair in enumerate(pairs):
        if len(pair) != 2 or not all(1 <= number <= last for number in pair):
            raise refusal(f"pairs[{index}]", pair, f"two numbers of routers, each from 1 to {last}")


def _access_links(hops: Sequence[Hop], pairs: Sequence[tuple[int, int]], access: Access) -> list[Link]:
    """Return the links of all hosts, there and back."""
    rates = per_pair("access_rate", access.get("access_rate", ACCESS_RATE), len(pairs))
    delays = _delays_of_ends(hops, pairs, access)
    queue = access.get("access_queue", ACCESS_QUEUE)
    links: list[Link] = []
    for number, (pair, rate, ends) in enumerate(zip(pairs, rates, delays, strict=True), start=1):
        for host, router, delay in zip((f"s{number}", f"d{number}"), pair, ends, strict=True):
            links.append(_link(host, f"r{router}", rate, delay, queue))
            links.append(_link(f"r{router}", host, rate, delay, queue))
    names = [link.name for link in links]
    impaired = _by_name("access_impairments", access.get("access_impairments"), names)
    changed = _by_name("access_changes", access.get("access_changes"), names)
    return [
        dataclasses.replace(link, impairments=impaired.get(link.name), changes=changed.get(link.name))
        for link in links
    ]


def _by_name(field: str, value: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Return the value for each of `names`, from one value for all or from a mapping by name."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(names, value)
    for name in value:
        if name not in names:
            raise refusal(field, name, f"names among {', '.join(names)}", names=names)
    return value


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


def _link(
    start: str,
    end: str,
    rate: str,
    delay: str,
    queue: Discipline,
    impairments: Impairments | None = None,
    changes: Changes | None = None,
) -> Link:
    return Link(
        name=f"{start}-{end}",
        from_=start,
        to=end,
        rate=rate,
        delay=delay,
        queue=queue,
        impairments=impairments,
        changes=changes,
    )


def _stamping(nodes: Sequence[Node], aqt: Stamping) -> tuple[Node, ...]:
    """Return the nodes with those stamping queueing times that `aqt` names."""
    known = dict.fromkeys(node.name for node in nodes)
    every = known if aqt is True else {}
    named = every if isinstance(aqt, bool) else dict.fromkeys([aqt] if isinstance(aqt, str) else aqt)
    for name in named:
        if name not in known:
            raise refusal("aqt", name, f"True, False, or names among {', '.join(known)}", names=known)
    return tuple(dataclasses.replace(node, aqt=True) if node.name in named else node for node in nodes)


def per_pair(field: str, value: str | Sequence[str], count: int) -> list[str]:
    """Return one text for each pair.

    Raises
    ------
    ScenarioError
        There are not as many as pairs.
    """
    if isinstance(value, str):
        return [value] * count
    given = list(value)
    if len(given) != count:
        raise refusal(field, given, f"one value for all pairs, or a list with one per pair: {count}")
    return given


def access_delays(rtt: str, crossed_ns: int, field: str) -> tuple[str, str]:
    """Return the delays of a sender's and a receiver's links for a round-trip time.

    Parameters
    ----------
    rtt
        The round-trip propagation delay.
    crossed_ns
        The part of the links between routers, in both directions, in nanoseconds.
    field
        Where the round-trip time was found, for the error.

    Raises
    ------
    ScenarioError
        It is not a time, or shorter than the path.
    """
    left = nanoseconds(rtt, field) - crossed_ns
    if left < 0:
        raise refusal(
            field, rtt, f"at least {written_time(crossed_ns)}, the delays of the hops there and back"
        )
    # An odd nanosecond is lost: the two links of a host have one delay.
    one_way = left // 2
    return written_time(one_way // 2), written_time(one_way - one_way // 2)


def _delays_of_ends(
    hops: Sequence[Hop], pairs: Sequence[tuple[int, int]], access: Access
) -> list[tuple[str, str]]:
    """Return the delays of a sender's and of a receiver's links, for each pair."""
    rtt = access.get("rtt")
    count = len(pairs)
    if rtt is None:
        both = per_pair("access_delay", access.get("access_delay", ACCESS_DELAY), count)
        sender = access.get("sender_delay")
        receiver = access.get("receiver_delay")
        return list(
            zip(
                both if sender is None else per_pair("sender_delay", sender, count),
                both if receiver is None else per_pair("receiver_delay", receiver, count),
                strict=True,
            )
        )
    for field in ("access_delay", "sender_delay", "receiver_delay"):
        if access.get(field) is not None:
            raise refusal(field, str(access.get(field)), "no value together with rtt, which sets the delays")
    delays = []
    for index, ((enter, leave), time) in enumerate(zip(pairs, per_pair("rtt", rtt, count), strict=True)):
        crossed = hops[min(enter, leave) - 1 : max(enter, leave) - 1]
        crossed_ns = sum(
            nanoseconds(link.delay, "delay") for hop in crossed for link in hop.links("r1", "r2")
        )
        delays.append(access_delays(time, crossed_ns, f"rtt[{index}]"))
    return delays
