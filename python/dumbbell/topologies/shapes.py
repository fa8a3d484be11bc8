"""Named shapes of networks, each a `chain` with a rule for who sends where."""

from __future__ import annotations

from typing import Unpack

from dumbbell.topologies.network import (
    BOTTLENECK_QUEUE,
    Access,
    Discipline,
    Hop,
    Impairments,
    Topology,
    chain,
    counted,
)

__all__ = ["dumbbell", "parking_lot"]


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
        What loses packets on ``r2-r1``; nothing when not given.
    **access
        The access links, as in `chain`; what is per pair includes the reverse pairs.

    Raises
    ------
    ScenarioError
        There is no pair, what is given per pair is not one per pair, or a round-trip time is shorter than
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
    )
    forward = [(1, 2)] * counted("pairs", pairs, 1)
    backward = [(2, 1)] * counted("reverse_pairs", reverse_pairs, 0)
    return chain(hops=[hop], pairs=forward + backward, **access)


def parking_lot(
    *, hops: int, rate: str, delay: str, queue: Discipline = BOTTLENECK_QUEUE, **access: Unpack[Access]
) -> Topology:
    """Return a row of equal bottlenecks: the pair ``s1``-``d1`` crosses all, each further pair one.

    Parameters
    ----------
    hops
        Number of bottlenecks, at least one. The pair ``s2``-``d2`` crosses the first, and so on.
    rate, delay, queue
        Each bottleneck's, in either direction.
    **access
        The access links, as in `chain`; there are ``hops + 1`` pairs.

    Raises
    ------
    ScenarioError
        There is no hop, what is given per pair is not one per pair, or a round-trip time is shorter than
        the hops it crosses.
    """
    spans = [(1, counted("hops", hops, 1) + 1)] + [(index, index + 1) for index in range(1, hops + 1)]
    return chain(hops=[Hop(rate=rate, delay=delay, queue=queue)] * hops, pairs=spans, **access)
