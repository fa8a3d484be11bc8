"""Nodes and links of a scenario, their queues and impairments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, Part, each, one_of, table

__all__ = [
    "Bernoulli",
    "CoDel",
    "Cobalt",
    "CorrelatedLoss",
    "DropTail",
    "Drr",
    "DualPi2",
    "Duplicate",
    "Forced",
    "Fq",
    "FqCoDel",
    "FqPie",
    "Geo",
    "Gilbert",
    "Impairment",
    "Jitter",
    "Link",
    "LinkChange",
    "Lte",
    "Markov",
    "MmWave",
    "Node",
    "Opportunities",
    "Outage",
    "Pie",
    "Policer",
    "Queue",
    "Red",
    "Reorder",
    "Sfq",
    "Starlink",
    "SyntheticLink",
    "TokenBucket",
    "TwoState",
    "Wifi",
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
class CorrelatedLoss(Impairment):
    """Drop packets at random with correlated draws, as netem does. Correlation lowers the fraction lost.

    Parameters
    ----------
    probability
        Nominal probability of a drop, from 0 to 1.
    correlation
        Weight of the previous number in each random number, from 0, below 1.
    """

    tag: ClassVar = ("kind", "corrloss")
    probability: float | None = None
    correlation: float | None = None


@dataclass(frozen=True, kw_only=True)
class Gilbert(Impairment):
    """Lose packets by the model of Gilbert and Elliott, as netem does: a fraction (p loss + r good_loss)/(p + r).

    Parameters
    ----------
    p, r
        Probabilities that a packet is the last one of the good and of the bad state.
    loss, good_loss
        Probability of losing a packet in the bad and in the good state: 1-h and 1-k of the model.
    """

    tag: ClassVar = ("kind", "gilbert")
    p: float | None = None
    r: float | None = None
    loss: float | None = None
    good_loss: float | None = None


@dataclass(frozen=True, kw_only=True)
class Markov(Impairment):
    """Lose packets by a Markov chain of four states, as netem does.

    The states are a gap period (1), packets that arrive within a burst (2), losses of a burst (3) and isolated losses
    in a gap period (4).

    Parameters
    ----------
    p13, p31
        Probabilities that a burst begins and ends.
    p32, p23
        Probabilities that packets arrive within a burst, and that its losses continue.
    p14
        Probability of an isolated loss.
    """

    tag: ClassVar = ("kind", "markov")
    p13: float | None = None
    p31: float | None = None
    p32: float | None = None
    p23: float | None = None
    p14: float | None = None


@dataclass(frozen=True, kw_only=True)
class Jitter(Impairment):
    """Delay each packet by a random time, as netem does. Packets overtake each other unless a rate is given.

    Parameters
    ----------
    delay
        Mean delay, in addition to the propagation delay of the link.
    jitter
        Half of the range of a uniform delay, otherwise its standard deviation.
    distribution
        ``"uniform"``, ``"normal"``, ``"pareto"`` or ``"paretonormal"``.
    correlation
        Weight of the previous number in each random number, of which hardly any is left in the delays.
    rate
        Rate at which delayed packets leave, in order.
    limit
        Maximum number of packets that are delayed at a time; further ones are lost.
    """

    tag: ClassVar = ("kind", "jitter")
    delay: str | None = None
    jitter: str | None = None
    distribution: str | None = None
    correlation: float | None = None
    rate: str | None = None
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reorder(Impairment):
    """Delay all packets except for some, which overtake those before them, as netem does.

    Parameters
    ----------
    delay
        Delay of the others, in addition to the propagation delay of the link.
    probability
        Probability that a packet is sent at once.
    correlation
        Weight of the previous number in each random number.
    gap
        Minimum distance of two packets sent at once, counted in packets.
    """

    tag: ClassVar = ("kind", "reorder")
    delay: str | None = None
    probability: float | None = None
    correlation: float | None = None
    gap: int | None = None


@dataclass(frozen=True, kw_only=True)
class Duplicate(Impairment):
    """Deliver some packets twice. At most one impairment of a link may do so.

    Parameters
    ----------
    probability
        Probability that a packet is copied.
    correlation
        Weight of the previous number in each random number.
    """

    tag: ClassVar = ("kind", "duplicate")
    probability: float | None = None
    correlation: float | None = None


class SyntheticLink(Part):
    """A synthetic link that changes by itself: `Lte`, `MmWave`, `Starlink` or `Geo`.

    It determines rate, delay and losses; its delay is in addition to that of the link. With a ``seed``, it is the same
    in every run.
    """


@dataclass(frozen=True, kw_only=True)
class Lte(SyntheticLink):
    """A cellular link of the fourth generation: a rate that fades, bursts of delivery opportunities, and gaps.

    Parameters
    ----------
    rate
        Mean rate outside of gaps.
    variation, correlation
        Coefficient of variation of the rate per second, and correlation of its logarithm with the second before.
    peak
        Maximum rate of a second, as a multiple of the mean.
    burst
        Mean number of opportunities in a burst.
    gap_every, gap_median, gap_spread
        Mean time between gaps, median of their lengths, and standard deviation of the logarithm of the length.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "lte")
    rate: str | None = None
    variation: float | None = None
    correlation: float | None = None
    peak: float | None = None
    burst: float | None = None
    gap_every: str | None = None
    gap_median: str | None = None
    gap_spread: float | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class MmWave(SyntheticLink):
    """A cellular link at millimetre waves, with and without line of sight.

    Parameters
    ----------
    line_of_sight, blocked
        Lowest and highest rate in both states.
    stay
        Shortest and longest stay in a state.
    variation
        Largest deviation of a slot from the level of its stay, as a fraction.
    slot
        Length of a slot with one rate.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "mmwave")
    line_of_sight: Sequence[str] | None = None
    blocked: Sequence[str] | None = None
    stay: Sequence[str] | None = None
    variation: float | None = None
    slot: str | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Starlink(SyntheticLink):
    """A link over satellites in low orbit that are reassigned periodically.

    Parameters
    ----------
    rate, rate_step
        Mean rate, and its largest step up or down, as a fraction.
    rtt
        Smallest and largest round-trip time; half of it is the delay of a link.
    period, first
        Time between reassignments, and time of the first.
    burst_probability, burst
        Probability of losses after a reassignment, and their shortest and longest time.
    loss
        Probability of losing a packet at any other time.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "starlink")
    rate: str | None = None
    rate_step: float | None = None
    rtt: Sequence[str] | None = None
    period: str | None = None
    first: str | None = None
    burst_probability: float | None = None
    burst: Sequence[str] | None = None
    loss: float | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Geo(SyntheticLink):
    """A link over a geostationary satellite.

    Parameters
    ----------
    rate, delay
        Mean rate, and delay to the satellite and down again.
    variation, correlation
        Coefficient of variation of the rate per second, and correlation of its logarithm with the second before.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "geo")
    rate: str | None = None
    delay: str | None = None
    variation: float | None = None
    correlation: float | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Outage(Part):
    """A time in which a link is down.

    Parameters
    ----------
    from_, until
        Its beginning and end.
    packets
        ``"drop"``: packets whose transmission ends in the meantime are lost; ``"hold"``: the transmitter stops, and
        the queue fills.
    """

    from_: str
    until: str
    packets: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wifi(Part):
    """Aggregation of packets and half-duplex medium access, as on Wi-Fi. The rate is that of the physical layer.

    Parameters
    ----------
    aggregate
        Maximum number of packets in an aggregate, and of packets waiting for an earlier one.
    longest
        Air time after which no further packet joins an aggregate.
    difs, slot, contention
        Time that the medium must be idle, length of a slot, and largest number of slots to wait.
    overhead
        Preamble, gap and block acknowledgement of an aggregate.
    header
        Bytes that every packet takes besides its own.
    loss, retries
        Probability of losing a packet on the air, and number of times that it is sent again.
    reply
        Bytes that the other direction sends on the same medium per packet delivered.
    """

    aggregate: int | None = None
    longest: str | None = None
    difs: str | None = None
    slot: str | None = None
    contention: int | None = None
    overhead: str | None = None
    header: str | None = None
    loss: float | None = None
    retries: int | None = None
    reply: str | None = None


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
        Transmission rate, above zero, as ``"1.6 Mbit/s"``. With `opportunities` or `trace`, the nominal rate
        for queue disciplines and the utilization.
    delay
        Propagation delay, zero or more, as ``"50 ms"``.
    queue
        Queue discipline, as a builder, a name or a table.
    impairments
        Impairments of this link, applied in order.
    opportunities
        Delivery opportunities in place of the rate.
    wait_percentiles
        Whether results have percentiles of the queueing time (``wait_p50_s`` and so on).
    changes
        Changes of rate and delay at ascending times.
    outages
        Times in which the link is down, in order.
    trace
        A synthetic link in place of rate, opportunities, changes and outages.
    wifi
        Aggregation of packets as on Wi-Fi; the rate is that of the physical layer.
    """

    readers: ClassVar = {
        "queue": one_of(
            [DropTail, Red, Policer, CoDel, FqCoDel, Pie, FqPie, DualPi2, Cobalt, Drr, Sfq, Fq, TokenBucket]
        ),
        "impairments": each(
            one_of([Forced, Bernoulli, TwoState, CorrelatedLoss, Gilbert, Markov, Jitter, Reorder, Duplicate])
        ),
        "opportunities": table(Opportunities),
        "changes": each(table(LinkChange)),
        "outages": each(table(Outage)),
        "trace": one_of([Lte, MmWave, Starlink, Geo]),
        "wifi": table(Wifi),
    }
    name: str
    from_: str
    to: str
    rate: str
    delay: str
    queue: str | Queue | Data | None = None
    impairments: Sequence[str | Impairment | Data] | None = None
    opportunities: Opportunities | Data | None = None
    wait_percentiles: bool | None = None
    changes: Sequence[LinkChange | Data] | None = None
    outages: Sequence[Outage | Data] | None = None
    trace: str | SyntheticLink | Data | None = None
    wifi: Wifi | Data | None = None
