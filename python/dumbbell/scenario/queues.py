"""Queue disciplines of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Part


class Queue(Part):
    """A queue discipline: `DropTail`, `Red` and `Policer` decide at arrival, the others at departure.

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
    strict
        Whether the first drop needs more than one interval above the target, as in Linux.
    ce_threshold
        Sojourn time above which every ECN-capable packet is marked; none if not given.
    """

    tag: ClassVar = ("kind", "codel")
    target: str | None = None
    interval: str | None = None
    limit: str | None = None
    mtu: str | None = None
    ecn: bool | None = None
    strict: bool | None = None
    ce_threshold: str | None = None


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
    target, interval, mtu, ecn, strict, ce_threshold
        As for `CoDel`, for each queue.
    counts_all
        Whether the backlog for `mtu` is that of all queues, as in Linux.
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
    strict: bool | None = None
    counts_all: bool | None = None
    ce_threshold: str | None = None


@dataclass(frozen=True, kw_only=True)
class Pie(Queue):
    """Proportional integral controller enhanced (RFC 8033): one queue, random drops or marks at arrival.

    Parameters
    ----------
    limit
        How much may wait, in ``packets`` or in ``bytes``, or ``"unlimited"``.
    target
        Target queueing delay.
    update, first_update
        Time between two updates of the drop probability, and time of the first one.
    alpha, beta
        Weights of the deviation of the delay and of its change, in Hz.
    max_burst
        Time after a quiet period during which nothing is dropped early.
    mean_packet
        Nothing is dropped early while at most two packets of this size wait, in bytes.
    decay
        Factor of the drop probability in an update after two delays of zero.
    steep_above
        Delay above which every update adds another 0.02, as in Linux; never if not given.
    delay
        Measure of the queueing delay: ``"head"``, ``"departed"`` (Linux) or ``"rate"``.
    derandomize
        Whether drops are spread instead of drawn independently.
    active_above
        Backlog in bytes above which PIE becomes active; always active if not given.
    ecn
        Whether packets of ECN-capable transports are marked instead of dropped.
    mark_below
        Drop probability from which they are dropped as well.
    """

    tag: ClassVar = ("kind", "pie")
    limit: str | None = None
    target: str | None = None
    update: str | None = None
    first_update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    max_burst: str | None = None
    mean_packet: str | None = None
    decay: float | None = None
    steep_above: str | None = None
    delay: str | None = None
    derandomize: bool | None = None
    active_above: str | None = None
    ecn: bool | None = None
    mark_below: float | None = None


@dataclass(frozen=True, kw_only=True)
class FqPie(Queue):
    """Flow queue PIE, as in Linux: queues of flows, each with PIE, served by deficit round robin.

    Parameters
    ----------
    queues
        Number of queues onto which flows are hashed, from 1 to 65536.
    quantum
        Bytes that a queue may send in its turn.
    limit
        Packets that may wait in all queues together.
    target, update, alpha, beta, max_burst, mean_packet, delay, ecn, mark_below
        As for `Pie`, for each queue.
    """

    tag: ClassVar = ("kind", "fqpie")
    queues: int | None = None
    quantum: str | None = None
    limit: int | None = None
    target: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    max_burst: str | None = None
    mean_packet: str | None = None
    delay: str | None = None
    ecn: bool | None = None
    mark_below: float | None = None


@dataclass(frozen=True, kw_only=True)
class DualPi2(Queue):
    """Coupled queues of L4S (RFC 9332): a low-latency queue L for ECT(1) and CE, a classic queue C for the rest.

    Parameters
    ----------
    limit
        How much may wait in both queues, in ``packets`` or in ``bytes``; 250 ms at the rate of the link if not given.
    target
        Target queueing delay of C.
    update
        Time between two updates of the base probability.
    alpha, beta
        Weights of the deviation of the delay and of its change, in Hz.
    coupling
        Coupling factor k between the probabilities of both queues.
    ramp_begin, ramp
        Sojourn time in L above which the native marking probability rises, and range in which it rises to 1; a range of
        zero is a step.
    l_spare
        No native marks while at most this waits in L, in bytes.
    spare
        No marks or drops by the base probability while less than this waits, in bytes.
    signals
        How packets are chosen: ``"accumulated"`` or ``"random"`` (Linux).
    scheduler
        Which queue sends next: ``"wrr"`` or ``"credit"`` (Linux).
    c_share
        Share of C while both queues have packets, above 0 and below 1.
    drop_overload
        Whether overload drops from L as well.
    """

    tag: ClassVar = ("kind", "dualpi2")
    limit: str | None = None
    target: str | None = None
    update: str | None = None
    alpha: float | None = None
    beta: float | None = None
    coupling: float | None = None
    ramp_begin: str | None = None
    ramp: str | None = None
    l_spare: str | None = None
    spare: str | None = None
    signals: str | None = None
    scheduler: str | None = None
    c_share: float | None = None
    drop_overload: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Cobalt(Queue):
    """CoDel and BLUE on one queue, as in CAKE.

    Parameters
    ----------
    target
        Target sojourn time, at most `interval`; more on slow links.
    interval
        Time for which packets must have waited longer before the first is dropped.
    limit
        How much may wait, in ``packets`` or in ``bytes``, or ``"unlimited"``; beyond it, the head is dropped.
    mtu
        Largest packet on the link, in bytes.
    increase, decrease
        Changes of the drop probability of BLUE when the queue overflows and when it is empty.
    ecn
        Whether CoDel marks packets of ECN-capable transports instead of dropping them.
    """

    tag: ClassVar = ("kind", "cobalt")
    target: str | None = None
    interval: str | None = None
    limit: str | None = None
    mtu: str | None = None
    increase: float | None = None
    decrease: float | None = None
    ecn: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Drr(Queue):
    """Deficit round robin (Shreedhar and Varghese 1996).

    Parameters
    ----------
    queues
        Number of queues onto which flows are hashed, from 1 to 65536.
    quantum
        Bytes that a queue receives per visit.
    limit
        Packets that may wait in all queues together; beyond it, the longest queue drops its last packet.
    """

    tag: ClassVar = ("kind", "drr")
    queues: int | None = None
    quantum: str | None = None
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sfq(Queue):
    """Stochastic fairness queueing (McKenney 1990), as in Linux.

    Parameters
    ----------
    buckets
        Number of buckets onto which flows are hashed, from 1 to 65536.
    flows
        Number of buckets that may have packets at a time.
    depth
        Packets that may wait in one queue.
    limit
        Packets that may wait in all queues together; beyond it, the longest queue drops its last packet.
    quantum
        Bytes that a queue may send in its turn.
    """

    tag: ClassVar = ("kind", "sfq")
    buckets: int | None = None
    flows: int | None = None
    depth: int | None = None
    limit: int | None = None
    quantum: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fq(Queue):
    """Fair queueing as in Linux, with limits per flow; senders pace themselves.

    Parameters
    ----------
    queues
        Number of queues onto which flows are hashed, from 1 to 65536.
    limit, flow_limit
        Packets that may wait in all queues together, and in one queue.
    quantum, initial_quantum
        Bytes that a flow may send in its turn, and when it is first seen.
    refill_delay
        Idle time after which a flow has at least a quantum again.
    """

    tag: ClassVar = ("kind", "fq")
    queues: int | None = None
    limit: int | None = None
    flow_limit: int | None = None
    quantum: str | None = None
    initial_quantum: str | None = None
    refill_delay: str | None = None


@dataclass(frozen=True, kw_only=True)
class TokenBucket(Queue):
    """A token-bucket shaper: packets beyond its rate and burst wait.

    Parameters
    ----------
    rate
        Rate at which tokens arrive, at most that of the link, which it is if not given.
    burst
        Size of the bucket, which is full at the start, in bytes; at least the largest packet that crosses the link.
    limit
        How much may wait, in ``packets`` or in ``bytes``, or ``"unlimited"``.
    peak_rate, peak_burst
        Rate and size of a second bucket that limits bursts; none if not given.
    """

    tag: ClassVar = ("kind", "tokenbucket")
    rate: str | None = None
    burst: str | None = None
    limit: str | None = None
    peak_rate: str | None = None
    peak_burst: str | None = None


QUEUES = (DropTail, Red, Policer, CoDel, FqCoDel, Pie, FqPie, DualPi2, Cobalt, Drr, Sfq, Fq, TokenBucket)
"""The disciplines that have a builder."""
