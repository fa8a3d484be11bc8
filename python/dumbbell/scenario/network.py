"""Nodes and links of a scenario, their queues and impairments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, Part, each, one_of, table

__all__ = [
    "Bernoulli",
    "CoDel",
    "DropTail",
    "Forced",
    "FqCoDel",
    "Impairment",
    "Link",
    "LinkChange",
    "Node",
    "Opportunities",
    "Policer",
    "Queue",
    "Red",
    "TwoState",
]


@dataclass(frozen=True, kw_only=True)
class Node(Part):
    """A host or router.

    Parameters
    ----------
    name
        The node's name, unique among nodes.
    tick_phase
        Phase of the node's coarse clock: ``"random"`` (uniform over one tick, drawn per run) or a time.
    aqt
        Whether packets that the node sends learn how long they waited in its queues.
    """

    name: str
    tick_phase: str | None = None
    aqt: bool | None = None


class Queue(Part):
    """A queue discipline: `DropTail`, `Red` and `Policer` decide at arrival, `CoDel` and `FqCoDel` at departure.

    Any registered discipline may also be given by its name, or as a table with its name as ``kind``.
    """


@dataclass(frozen=True, kw_only=True)
class DropTail(Queue):
    """First in, first out; an arrival that does not fit is dropped.

    Parameters
    ----------
    limit
        How much may wait, in ``packets`` or in ``bytes`` (``KiB`` and so on), or ``"unlimited"``.
    counts_service
        Whether the packet in transmission counts towards `limit`.
    """

    tag: ClassVar = ("kind", "droptail")
    limit: str | None = None
    counts_service: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Red(Queue):
    """Random early detection (Floyd and Jacobson 1993), gentle and adaptive (Floyd, Gummadi and Shenker 2001).

    Parameters
    ----------
    limit
        How much may wait, in ``packets`` or in ``bytes``, or ``"unlimited"``.
    minimum, maximum
        Thresholds of the average queue, in ``packets``. If not given, the lower one is half of the packets that the link sends
        in `target_delay`, at least 5, and the upper one three times that.
    weight
        Weight of a packet in the average, above 0 and at most 1. If not given, an average over the packets of a second.
    max_p
        Probability of a mark or drop at the upper threshold, above 0 and at most 1; where it begins if `adaptive`.
    gentle
        Whether the probability rises to 1 at twice the upper threshold instead of immediately.
    adaptive
        Whether `max_p` is adapted so that the average stays between the thresholds.
    interval
        Time between two such moves.
    target_delay
        Target queueing delay; the default lower threshold corresponds to half of it.
    mean_packet
        Mean packet, in bytes, in which defaults and the decay of the average through idle time count.
    ecn
        Whether packets of ECN-capable transports are marked instead of dropped.
    """

    tag: ClassVar = ("kind", "red")
    limit: str | None = None
    minimum: str | None = None
    maximum: str | None = None
    weight: float | None = None
    max_p: float | None = None
    gentle: bool | None = None
    adaptive: bool | None = None
    interval: str | None = None
    target_delay: str | None = None
    mean_packet: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Policer(Queue):
    """A token bucket (RFC 2697) that drops packets beyond its rate and burst and queues none.

    Parameters
    ----------
    rate
        Rate at which tokens arrive, at most that of the link, which it is if not given.
    burst
        Size of the bucket, which is full at the start, in bytes; at least the largest packet that crosses the link.
    """

    tag: ClassVar = ("kind", "policer")
    rate: str | None = None
    burst: str | None = None


@dataclass(frozen=True, kw_only=True)
class CoDel(Queue):
    """Controlled delay (RFC 8289): one queue, drops or marks at departure while packets wait longer than a target.

    Parameters
    ----------
    target
        Acceptable time in the queue, at most `interval`.
    interval
        Time for which packets must have waited longer before the first is dropped.
    limit
        How much may wait, in ``packets`` or in ``bytes``, or ``"unlimited"``.
    mtu
        Nothing is dropped while no more than this waits, in bytes.
    ecn
        Whether packets of ECN-capable transports are marked instead of dropped.
    """

    tag: ClassVar = ("kind", "codel")
    target: str | None = None
    interval: str | None = None
    limit: str | None = None
    mtu: str | None = None
    ecn: bool | None = None


@dataclass(frozen=True, kw_only=True)
class FqCoDel(Queue):
    """Flow queue CoDel (RFC 8290): queues of flows, each with CoDel, served by deficit round robin.

    Parameters
    ----------
    queues
        Number of queues onto which flows are hashed, from 1 to 65536.
    quantum
        Bytes that a queue may send in its turn.
    limit
        Packets that may wait in all queues together; beyond it the queue with the most bytes drops from its head.
    drop_batch
        Maximum number of packets dropped at once in this case; at most half of that queue.
    target, interval, mtu, ecn
        As for `CoDel`, for each queue.
    """

    tag: ClassVar = ("kind", "fqcodel")
    queues: int | None = None
    quantum: str | None = None
    limit: int | None = None
    drop_batch: int | None = None
    target: str | None = None
    interval: str | None = None
    mtu: str | None = None
    ecn: bool | None = None


class Impairment(Part):
    """Something that loses packets on purpose; `Forced`, `Bernoulli` and `TwoState` are three."""


@dataclass(frozen=True, kw_only=True)
class Forced(Impairment):
    """Drop stated data packets.

    Parameters
    ----------
    packets
        Which data packets to drop, counted from 1 as they enter the link; a SYN is none.
    """

    tag: ClassVar = ("kind", "forced")
    packets: Sequence[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Bernoulli(Impairment):
    """Drop each packet independently with one probability.

    Parameters
    ----------
    probability
        Probability of a drop, from 0 to 1.
    """

    tag: ClassVar = ("kind", "bernoulli")
    probability: float | None = None


@dataclass(frozen=True, kw_only=True)
class TwoState(Impairment):
    """Lose packets in bad periods: two states with fixed dwell times, the next state drawn at the end of each.

    Parameters
    ----------
    good, bad
        Dwell times in the two states, times of at least 1 us; the link starts in the good one.
    loss, good_loss
        Probability of losing a packet in the bad and in the good state, from 0 to 1.
    change
        Probability that the bad state follows a dwell, whichever state that was.
    clock
        What advances the model: ``"time"``, or packets after a dwell: with ``"poll"`` the first packet draws the
        next state; with ``"packet"``, as in ns-2, each packet does until the state has changed.
    """

    tag: ClassVar = ("kind", "twostate")
    good: str | None = None
    bad: str | None = None
    loss: float | None = None
    good_loss: float | None = None
    change: float | None = None
    clock: str | None = None


@dataclass(frozen=True, kw_only=True)
class LinkChange(Part):
    """A change of a link while the simulation runs.

    Parameters
    ----------
    at
        Time of the change; a packet in transmission continues at the new rate.
    rate, delay
        Rate and propagation delay from then on; unchanged if not given. Packets stay in order when the delay falls.
    """

    at: str
    rate: str | None = None
    delay: str | None = None


@dataclass(frozen=True, kw_only=True)
class Opportunities(Part):
    """Delivery opportunities of a link in place of its rate, repeated for as long as the run lasts.

    `dumbbell.traffic.opportunities_from_file` reads them from a trace of Mahimahi.

    Parameters
    ----------
    times
        Times of the opportunities in milliseconds, ascending; the last one is the length of the trace.
    size
        Bytes that an opportunity carries. Those that find no packet are lost.
    overhead
        Bytes that every packet takes besides its own.
    """

    times: Sequence[int]
    size: str | None = None
    overhead: str | None = None


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """A unidirectional link with a queue before it.

    Parameters
    ----------
    name
        The link's name, unique among links.
    from_, to
        Names of the nodes it joins.
    rate
        Transmission rate, above zero, as ``"1.6 Mbit/s"``. With `opportunities`, the nominal rate for queue
        disciplines and the utilization.
    delay
        Propagation delay, zero or more, as ``"50 ms"``.
    queue
        Queue discipline, as a builder, a name or a table.
    impairments
        Impairments of this link, applied in order.
    opportunities
        Delivery opportunities in place of the rate.
    changes
        Changes of rate and delay at ascending times.
    """

    readers: ClassVar = {
        "queue": one_of([DropTail, Red, Policer, CoDel, FqCoDel]),
        "impairments": each(one_of([Forced, Bernoulli, TwoState])),
        "opportunities": table(Opportunities),
        "changes": each(table(LinkChange)),
    }
    name: str
    from_: str
    to: str
    rate: str
    delay: str
    queue: str | Queue | Data | None = None
    impairments: Sequence[str | Impairment | Data] | None = None
    opportunities: Opportunities | Data | None = None
    changes: Sequence[LinkChange | Data] | None = None
