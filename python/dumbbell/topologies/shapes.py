"""Named network shapes, each a `chain` with a rule for its pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from dumbbell.errors import refusal
from dumbbell.quantities import nanoseconds, written_time
from dumbbell.topologies.network import (
    Access,
    AccessLinks,
    Changes,
    Discipline,
    Impairments,
    Stamping,
    Topology,
    builder,
    built,
    counted,
)


@builder
def dumbbell(
    *,
    pairs: int,
    reverse_pairs: int | None = None,
    rate: str,
    delay: str,
    queue: Discipline | None = None,
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

    As all shapes of this module, it is the one of the same name under ``topology`` in a scenario file, whose defaults
    ``dumbbell list topologies`` shows.

    Parameters
    ----------
    pairs
        Number of sender-receiver pairs, at least one: ``s1`` to ``d1`` and so on, from left to right.
    reverse_pairs
        Number of pairs that send from right to left. They are numbered after the others: of 2 and 1, the
        last is ``s3`` at ``r2`` to ``d3`` at ``r1``. None by default.
    rate, delay, queue, impairments
        The bottleneck's, ``r1-r2``; the default queue holds 100 packets.
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
    return built("dumbbell", locals())


@builder
def parking_lot(
    *,
    hops: int,
    rate: str,
    delay: str,
    queue: Discipline | None = None,
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
        Each bottleneck's, in either direction; the default queue holds 100 packets.
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
    return built("parking_lot", locals())


@builder
def multi_bottleneck(
    *,
    hops: int,
    rate: str | None = None,
    delay: str | None = None,
    queue: Discipline | None = None,
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
        Each bottleneck's, in either direction; 10 Mbit/s and 10 ms by default. The default queue holds 150 ms of
        1500-byte packets at the default rate; state it with any other rate.
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
    return built("multi_bottleneck", locals())


@builder
def last_hop_wireless(
    *,
    cross_pairs: int | None = None,
    reverse_pairs: int | None = None,
    rate: str | None = None,
    delay: str | None = None,
    queue: Discipline | None = None,
    impairments: Impairments | None = None,
    changes: Changes | None = None,
    wired_rate: str | None = None,
    wired_delay: str | None = None,
    wired_queue: Discipline | None = None,
    wired_impairments: Impairments | None = None,
    wired_changes: Changes | None = None,
    rtt: str | None = None,
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
        Numbers of additional pairs on the wired bottleneck, zero or more; 5 and 10 by default.
    rate, delay, queue
        The wireless link's, in either direction; 2 Mbit/s and 20 ms by default. The default queue holds the
        bandwidth-delay product of the first pair.
    impairments
        Impairments of the wireless link, independent in each direction.
    changes
        Changes of rate and delay of the wireless link while the simulation runs, in either direction.
    wired_rate, wired_delay, wired_queue, wired_impairments, wired_changes
        Those of ``r1-r2`` and ``r2-r1``; 10 Mbit/s and 10 ms by default, with a queue that holds 250 ms.
    rtt
        Round-trip propagation delay of the first pair, 250 ms by default; the access delay of its sender provides
        what the wired and the wireless link leave.
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
    return built("last_hop_wireless", locals())


@builder
def satellite(
    *,
    pairs: int | None = None,
    reverse_pairs: int | None = None,
    rate: str | None = None,
    delay: str | None = None,
    queue: Discipline | None = None,
    impairments: Impairments | None = None,
    changes: Changes | None = None,
    aqt: Stamping = False,
    **access: Unpack[Access],
) -> Topology:
    """Return a dumbbell whose bottleneck goes over a geostationary satellite.

    Parameters
    ----------
    pairs, reverse_pairs
        Numbers of pairs from left to right, at least one, and from right to left, as in `dumbbell`; 20 and 10 by
        default.
    rate, delay, queue
        The bottleneck's, in either direction; 10 Mbit/s and 275 ms by default. 275 ms is the slant path up to a
        geostationary orbit and down again; the default queue holds the bandwidth-delay product, 10 Mbit/s times
        590 ms.
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
    return built("satellite", locals())


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
