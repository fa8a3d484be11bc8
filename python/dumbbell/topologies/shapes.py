"""Named network shapes, each a `chain` with a rule for its pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Unpack

from dumbbell.errors import refusal
from dumbbell.quantities import nanoseconds, written_time
from dumbbell.scenario import DropTail
from dumbbell.topologies.network import (
    BOTTLENECK_QUEUE,
    Access,
    AccessLinks,
    Changes,
    Discipline,
    Hop,
    Impairments,
    Stamping,
    Topology,
    access_delays,
    builder,
    chain,
    counted,
    per_pair,
)

# Default queue sizes of the shapes, in packets of 1500 bytes: 150, 250, 250 and 590 ms at their rate.
HOP_QUEUE = DropTail(limit="125 packets")
WIRELESS_QUEUE = DropTail(limit="42 packets")
WIRED_QUEUE = DropTail(limit="208 packets")
SATELLITE_QUEUE = DropTail(limit="491 packets")


@builder
def dumbbell(
    *,
    pairs: int,
    reverse_pairs: int = 0,
    rate: str,
    delay: str,
    queue: Discipline = BOTTLENECK_QUEUE,
    impairments: Impairments | None = None,
    reverse_rate: str | None = None,
    reverse_delay: str | None = None,
    reverse_queue: Discipline | None = None,
    reverse_impairments: Impairments | None = None,
    changes: Changes | None = None,
    reverse_changes: Changes | None = None,
    aqt: Stamping = False,
    **access: Unpack[Access],
) -> Topology:
    """Return senders and receivers that share one bottleneck, ``r1-r2`` and back.

    Parameters
    ----------
    pairs
        Number of sender-receiver pairs, at least one: ``s1`` to ``d1`` and so on, from left to right.
    reverse_pairs
        Number of pairs that send from right to left. They are numbered after the others: of 2 and 1, the
        last is ``s3`` at ``r2`` to ``d3`` at ``r1``.
    rate, delay, queue, impairments
        The bottleneck's, ``r1-r2``.
    reverse_rate, reverse_delay, reverse_queue
        Those of ``r2-r1``; as forward when not given.
    reverse_impairments
        Impairments of ``r2-r1``; none by default.
    changes, reverse_changes
        Changes of rate and delay of ``r1-r2`` and of ``r2-r1`` while the simulation runs; none when not given.
    aqt
        Which nodes stamp queueing times, as in `chain`.
    **access
        The access links, as in `chain`; per-pair values include the reverse pairs.

    Raises
    ------
    ScenarioError
        There is no pair, a per-pair value does not have one entry per pair, or a round-trip time is shorter than
        the bottleneck's.
    """
    hop = Hop(
        rate=rate,
        delay=delay,
        queue=queue,
        impairments=impairments,
        reverse_rate=reverse_rate,
        reverse_delay=reverse_delay,
        reverse_queue=reverse_queue,
        reverse_impairments=reverse_impairments,
        changes=changes,
        reverse_changes=reverse_changes,
    )
    forward = [(1, 2)] * counted("pairs", pairs, 1)
    backward = [(2, 1)] * counted("reverse_pairs", reverse_pairs, 0)
    return chain(hops=[hop], pairs=forward + backward, aqt=aqt, **access)


@builder
def parking_lot(
    *,
    hops: int,
    rate: str,
    delay: str,
    queue: Discipline = BOTTLENECK_QUEUE,
    impairments: Impairments | None = None,
    reverse_impairments: Impairments | None = None,
    changes: Changes | None = None,
    reverse_changes: Changes | None = None,
    aqt: Stamping = False,
    **access: Unpack[Access],
) -> Topology:
    """Return a row of equal bottlenecks: the pair ``s1``-``d1`` crosses all, each further pair one.

    Parameters
    ----------
    hops
        Number of bottlenecks, at least one. The pair ``s2``-``d2`` crosses the first, and so on.
    rate, delay, queue
        Each bottleneck's, in either direction.
    impairments, reverse_impairments
        Impairments of each bottleneck, from left to right and back; none by default.
    changes, reverse_changes
        Changes of rate and delay of each bottleneck while the simulation runs, from left to right and back; none
        when not given.
    aqt
        Which nodes stamp queueing times, as in `chain`.
    **access
        The access links, as in `chain`; there are ``hops + 1`` pairs.

    Raises
    ------
    ScenarioError
        There is no hop, a per-pair value does not have one entry per pair, or a round-trip time is shorter than
        the hops it crosses.
    """
    spans = [(1, counted("hops", hops, 1) + 1)] + [(index, index + 1) for index in range(1, hops + 1)]
    hop = Hop(
        rate=rate,
        delay=delay,
        queue=queue,
        impairments=impairments,
        reverse_impairments=reverse_impairments,
        changes=changes,
        reverse_changes=reverse_changes,
    )
    return chain(hops=[hop] * hops, pairs=spans, aqt=aqt, **access)


@builder
def multi_bottleneck(
    *,
    hops: int,
    rate: str = "10 Mbit/s",
    delay: str = "10 ms",
    queue: Discipline = HOP_QUEUE,
    impairments: Impairments | None = None,
    reverse_impairments: Impairments | None = None,
    changes: Changes | None = None,
    reverse_changes: Changes | None = None,
    aqt: Stamping = False,
    **access: Unpack[Access],
) -> Topology:
    """Return a row of equal bottlenecks that one long pair crosses, with cross traffic on each both ways.

    The pair ``s1``-``d1`` crosses all hops. On the k-th hop the pair ``2k`` sends forward, from ``rk`` to
    the router after it, and the pair ``2k + 1`` sends backward. The long pair has the longest round trip
    and loses packets at every router: the worst case for it.

    Parameters
    ----------
    hops
        Number of bottlenecks, at least one; there are ``2 hops + 1`` pairs.
    rate, delay, queue
        Each bottleneck's, in either direction. The default queue holds 150 ms of 1500-byte packets at the
        default rate; state it with any other rate.
    impairments, reverse_impairments
        Impairments of each bottleneck, from left to right and back; none by default.
    changes, reverse_changes
        Changes of rate and delay of each bottleneck while the simulation runs, from left to right and back; none
        when not given.
    aqt
        Which nodes stamp queueing times, as in `chain`.
    **access
        The access links, as in `chain`, but with a delay of 20 ms unless stated: long enough that the cross
        traffic, with a round trip of 100 ms, is no match that is decided by round-trip times alone.

    Raises
    ------
    ScenarioError
        There is no hop, a per-pair value does not have one entry per pair, or a round-trip time is shorter than
        the hops it crosses.

    Notes
    -----
    The defaults are those of [grieco2004 figure 17].

    Examples
    --------
    >>> shape = multi_bottleneck(hops=2)
    >>> [shape.path(f"s{n}", f"d{n}")[1:-1] for n in range(1, 6)]
    [('r1-r2', 'r2-r3'), ('r1-r2',), ('r2-r1',), ('r2-r3',), ('r3-r2',)]
    >>> shape.propagation_rtt_s("s1", "d1"), shape.propagation_rtt_s("s2", "d2")
    (0.12, 0.1)
    """
    long = (1, counted("hops", hops, 1) + 1)
    cross = [pair for k in range(1, long[1]) for pair in ((k, k + 1), (k + 1, k))]
    hop = Hop(
        rate=rate,
        delay=delay,
        queue=queue,
        impairments=impairments,
        reverse_impairments=reverse_impairments,
        changes=changes,
        reverse_changes=reverse_changes,
    )
    return chain(hops=[hop] * (long[1] - 1), pairs=[long, *cross], aqt=aqt, **_usual_delay(access, "20 ms"))


@builder
def last_hop_wireless(
    *,
    cross_pairs: int = 5,
    reverse_pairs: int = 10,
    rate: str = "2 Mbit/s",
    delay: str = "20 ms",
    queue: Discipline = WIRELESS_QUEUE,
    impairments: Impairments | None = None,
    changes: Changes | None = None,
    wired_rate: str = "10 Mbit/s",
    wired_delay: str = "10 ms",
    wired_queue: Discipline = WIRED_QUEUE,
    wired_impairments: Impairments | None = None,
    wired_changes: Changes | None = None,
    rtt: str = "250 ms",
    cross_rtt: str | Sequence[str] | None = None,
    reverse_rtt: str | Sequence[str] | None = None,
    aqt: Stamping = False,
    **access: Unpack[AccessLinks],
) -> Topology:
    """Return a wired bottleneck whose first pair ends in a wireless link that loses packets.

    The pair ``s1``-``d1`` crosses the wired bottleneck ``r1-r2`` and then the wireless links ``r2-d1`` and
    ``d1-r2``. Pairs from 2 on send over the wired bottleneck alone: first the cross pairs from left to right,
    then the reverse pairs from right to left.

    Parameters
    ----------
    cross_pairs, reverse_pairs
        Numbers of additional pairs on the wired bottleneck, zero or more.
    rate, delay, queue
        The wireless link's, in either direction. The default queue holds the bandwidth-delay product of the
        first pair.
    impairments
        Impairments of the wireless link, independent in each direction.
    changes
        Changes of rate and delay of the wireless link while the simulation runs, in either direction.
    wired_rate, wired_delay, wired_queue, wired_impairments, wired_changes
        Those of ``r1-r2`` and ``r2-r1``; the default queue holds 250 ms.
    rtt
        Round-trip propagation delay of the first pair; the access delay of its sender provides what the wired and
        the wireless link leave.
    cross_rtt, reverse_rtt
        Round-trip propagation delays of the cross and the reverse pairs: one, or one per pair. By default, `spread`
        distributes them evenly between that of the wired bottleneck and `rtt`.
    aqt
        Which nodes stamp queueing times, as in `chain`.
    **access
        The access links but for their delays, and the nodes, as in `chain`: see `AccessLinks`. The wireless links are
        not among them.

    Raises
    ------
    ScenarioError
        A number of pairs is below zero, a per-pair value does not have one entry per pair, or a round-trip time is
        shorter than the links it crosses.

    Notes
    -----
    Rates and delays of the wireless link, numbers of pairs and round-trip times are those of
    [grieco2004 figure 26]; how fast the wired part is the paper leaves open.

    Examples
    --------
    >>> shape = last_hop_wireless(impairments=[{"kind": "bernoulli", "probability": 0.01}])
    >>> shape.path("s1", "d1")
    ('s1-r1', 'r1-r2', 'r2-d1')
    >>> [shape.propagation_rtt_s(f"s{n}", f"d{n}") for n in (1, 2, 6, 7, 16)]
    [0.25, 0.066, 0.25, 0.043, 0.25]
    """
    counts = counted("cross_pairs", cross_pairs, 0), counted("reverse_pairs", reverse_pairs, 0)
    wired_ns = 2 * nanoseconds(wired_delay, "wired_delay")
    fixed_ns = wired_ns + 2 * nanoseconds(delay, "delay")
    if nanoseconds(rtt, "rtt") < fixed_ns:
        accepted = f"at least {written_time(fixed_ns)}, the wired and the wireless delay there and back"
        raise refusal("rtt", rtt, accepted)
    ends = [(written_time((nanoseconds(rtt, "rtt") - fixed_ns) // 2), delay)]
    for field, given, count in zip(
        ("cross_rtt", "reverse_rtt"), (cross_rtt, reverse_rtt), counts, strict=True
    ):
        times = spread(count, written_time(wired_ns), rtt) if given is None else per_pair(field, given, count)
        ends += [access_delays(time, wired_ns, f"{field}[{index}]") for index, time in enumerate(times)]
    sender, receiver = zip(*ends, strict=True)
    shape = chain(
        hops=[_both_ways(wired_rate, wired_delay, wired_queue, wired_impairments, wired_changes)],
        pairs=[(1, 2)] * (1 + counts[0]) + [(2, 1)] * counts[1],
        sender_delay=sender,
        receiver_delay=receiver,
        aqt=aqt,
        **access,
    )
    wireless = _both_ways(rate, delay, queue, impairments, changes)
    last_hop = {link.name: link for link in wireless.links("r2", "d1")}
    return dataclasses.replace(shape, links=tuple(last_hop.get(link.name, link) for link in shape.links))


@builder
def satellite(
    *,
    pairs: int = 20,
    reverse_pairs: int = 10,
    rate: str = "10 Mbit/s",
    delay: str = "275 ms",
    queue: Discipline = SATELLITE_QUEUE,
    impairments: Impairments | None = None,
    changes: Changes | None = None,
    aqt: Stamping = False,
    **access: Unpack[Access],
) -> Topology:
    """Return a dumbbell whose bottleneck goes over a geostationary satellite.

    Parameters
    ----------
    pairs, reverse_pairs
        Numbers of pairs from left to right, at least one, and from right to left, as in `dumbbell`.
    rate, delay, queue
        The bottleneck's, in either direction. 275 ms is the slant path up to a geostationary orbit and down
        again; the default queue holds the bandwidth-delay product, 10 Mbit/s times 590 ms.
    impairments
        Impairments of the bottleneck, independent in each direction.
    changes
        Changes of rate and delay of the bottleneck while the simulation runs, in either direction.
    aqt
        Which nodes stamp queueing times, as in `chain`.
    **access
        The access links, as in `chain`, but with a delay of 10 ms unless stated, which makes every round
        trip 590 ms.

    Raises
    ------
    ScenarioError
        There is no pair, a per-pair value does not have one entry per pair, or a round-trip time is shorter than
        the bottleneck's.

    Notes
    -----
    The defaults are those of [grieco2004 figure 31].

    Examples
    --------
    >>> shape = satellite(pairs=1, reverse_pairs=1)
    >>> shape.path("s2", "d2"), shape.propagation_rtt_s("s1", "d1")
    (('s2-r2', 'r2-r1', 'r1-d2'), 0.59)
    """
    return dumbbell(
        pairs=pairs,
        reverse_pairs=reverse_pairs,
        rate=rate,
        delay=delay,
        queue=queue,
        impairments=impairments,
        reverse_impairments=impairments,
        changes=changes,
        reverse_changes=changes,
        aqt=aqt,
        **_usual_delay(access, "10 ms"),
    )


def spread(count: int, shortest: str, longest: str) -> list[str]:
    """Return round-trip times spread evenly: the i-th of n is ``shortest + i / n (longest - shortest)``.

    The last is the longest; the first exceeds the shortest by the distance between two neighbours.

    Parameters
    ----------
    count
        How many, zero or more.
    shortest, longest
        Times, as ``"20 ms"``.

    Raises
    ------
    ScenarioError
        The number is below zero, or a time is not accepted.

    Examples
    --------
    >>> spread(5, "20 ms", "250 ms")
    ['66 ms', '112 ms', '158 ms', '204 ms', '250 ms']
    """
    counted("count", count, 0)
    first, last = nanoseconds(shortest, "shortest"), nanoseconds(longest, "longest")
    if last < first:
        raise refusal("longest", longest, f"at least the shortest, {shortest}")
    return [written_time(first + (last - first) * i // count) for i in range(1, count + 1)]


def _both_ways(
    rate: str, delay: str, queue: Discipline, impairments: Impairments | None, changes: Changes | None
) -> Hop:
    """Return a hop that is the same in both directions."""
    return Hop(
        rate=rate,
        delay=delay,
        queue=queue,
        impairments=impairments,
        reverse_impairments=impairments,
        changes=changes,
        reverse_changes=changes,
    )


def _usual_delay(access: Access, delay: str) -> Access:
    """Return `access` with a default delay for links without one."""
    stated = access.get("access_delay") is not None or access.get("rtt") is not None
    return access if stated else Access(**{**access, "access_delay": delay})
