"""Vegas and RoVegas on a path with different capacities in the two directions.

Source
------
[chan2004 §5], Eqs. 5-20, with Eqs. 2-4 for what the sources measure.

Model
-----
One greedy source, first-in-first-out queues, an immediate acknowledgement for every packet, fluid steady state.
Data leave at the forward capacity $u_f$, acknowledgements at the backward capacity $u_b$; $k = u_f / u_b$ is the
asymmetric factor. At most one of the queues of a Vegas connection is not empty: the forward one, $l_f$, where
$k <= 1$, the backward one, $l_b$, where $k > 1$.

Departures: the printed Eq. 18 has RTT in its numerators; Eq. 17 gives $RTT - l_b / u_b$, and only then Eq. 19
follows, so that form is used. `persistent_queue` and `persistent_shares` are not in the paper: they are the
same fluid argument for connections that start one after another, and predict the order of its Figs. 15 and
17.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize

from dumbbell.errors import refusal
from dumbbell.models._checks import (
    Numbers,
    above,
    at_least,
    not_negative,
    one_positive,
    plain,
    positive,
    thresholds,
    whole,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

KEEP_UP_PACKETS = 3.0
"""Data packets per acknowledgement at which the window stops growing, before Eq. 20.

The window then exceeds the packets outstanding by 3 > 2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """A path with a capacity in each direction.

    Attributes
    ----------
    forward_rate : float
        u_f, data packets/s, greater than 0.
    backward_rate : float
        u_b, acknowledgements/s, greater than 0.
    base_rtt : float
        tau, round-trip time without queueing (Eq. 6), s, greater than 0.
    """

    forward_rate: float
    backward_rate: float
    base_rtt: float

    def __post_init__(self) -> None:
        for field, unit in (
            ("forward_rate", "packets/s"),
            ("backward_rate", "acknowledgements/s"),
            ("base_rtt", "seconds"),
        ):
            one_positive(field, getattr(self, field), unit)

    @property
    def asymmetry(self) -> float:
        """Asymmetric factor, $k = u_f / u_b$, without unit; asymmetric if above 1."""
        return self.forward_rate / self.backward_rate

    @property
    def is_asymmetric(self) -> bool:
        """Whether acknowledgements are the bottleneck, k > 1."""
        return self.asymmetry > 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """The minimum and maximum of a quantity in steady state, in its unit."""

    low: Numbers
    high: Numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class SteadyState:
    """Where a Vegas connection that is alone on a path settles.

    Attributes
    ----------
    forward_queue, backward_queue : Bounds
        $l_f$ in data packets and $l_b$ in acknowledgements (Eqs. 11 and 15).
    window : Bounds
        W, packets (Eqs. 10 and 14).
    rtt : Bounds
        Round-trip time, s (Eq. 7).
    throughput : float
        T, packets/s (Eqs. 12 and 16).
    """

    forward_queue: Bounds
    backward_queue: Bounds
    window: Bounds
    rtt: Bounds
    throughput: float


def base_rtt_from_queueing(
    *, rtt: ArrayLike, forward_queueing: ArrayLike, backward_queueing: ArrayLike
) -> Numbers:
    """BaseRTT of a probing packet, s: RTT - (AQT + AQT-Echo) (Eq. 3).

    Parameters
    ----------
    rtt : array_like
        Round-trip time of the probing packet, s, greater than 0.
    forward_queueing, backward_queueing : array_like
        Queueing times that the routers added to the packet and to its acknowledgement, s, at least 0; their
        sum is less than `rtt`.

    Examples
    --------
    >>> round(base_rtt_from_queueing(rtt=0.1, forward_queueing=0.02, backward_queueing=0.04), 9)
    0.04
    """
    total = positive("rtt", rtt, "seconds")
    forward = not_negative("forward_queueing", forward_queueing, "seconds")
    backward = not_negative("backward_queueing", backward_queueing, "seconds")
    base = total - (forward + backward)
    if (base <= 0.0).any():
        raise refusal("rtt", float(total.max()), "more seconds than both queueing times together")
    return plain(base)


def vegas_diff(*, window: ArrayLike, base_rtt: ArrayLike, rtt: ArrayLike) -> Numbers:
    """Extra data of Vegas, packets: $(W / BaseRTT - W / RTT) BaseRTT$.

    Parameters
    ----------
    window, base_rtt, rtt
        As of `rovegas_diff`.

    Examples
    --------
    >>> round(vegas_diff(window=13.0, base_rtt=0.04, rtt=0.052), 9)
    3.0
    """
    return rovegas_diff(window=window, base_rtt=base_rtt, rtt=rtt, backward_queueing=0.0)


def rovegas_diff(
    *, window: ArrayLike, base_rtt: ArrayLike, rtt: ArrayLike, backward_queueing: ArrayLike
) -> Numbers:
    """Extra data of RoVegas, packets: $(W / BaseRTT - W / (RTT - QT_b)) BaseRTT$ (Eqs. 2 and 4).

    Parameters
    ----------
    window : array_like
        W, packets, at least 0.
    base_rtt : array_like
        s, greater than 0.
    rtt : array_like
        s, at least `base_rtt` + `backward_queueing`.
    backward_queueing : array_like
        $QT_b$, queueing time of the acknowledgement, s, at least 0.

    Examples
    --------
    >>> round(rovegas_diff(window=33.0, base_rtt=0.0567, rtt=0.1667, backward_queueing=0.1), 2)
    4.95
    """
    w = not_negative("window", window, "packets")
    base = positive("base_rtt", base_rtt, "seconds")
    total = positive("rtt", rtt, "seconds")
    backward = not_negative("backward_queueing", backward_queueing, "seconds")
    seen = total - backward
    # A few parts in 10^12 are forgiven: sums of times that should agree may differ in their last digits.
    if (seen < base * (1.0 - 1e-12)).any():
        raise refusal("rtt", float(total.min()), "at least base_rtt and the backward queueing time")
    return plain(w * (1.0 - base / np.maximum(seen, base)))


def round_trip_time(path: Path, *, forward_queue: ArrayLike, backward_queue: ArrayLike) -> Numbers:
    """Round-trip time, s: $tau + l_f / u_f + l_b / u_b$ (Eq. 7).

    Parameters
    ----------
    path : Path
        Its capacities and base round-trip time.
    forward_queue, backward_queue : array_like
        $l_f$ in data packets and $l_b$ in acknowledgements, at least 0.

    Examples
    --------
    >>> path = Path(forward_rate=200.0, backward_rate=100.0, base_rtt=0.04)
    >>> round(round_trip_time(path, forward_queue=2.0, backward_queue=10.0), 9)
    0.15
    """
    forward, backward = _queues(forward_queue, backward_queue)
    return plain(path.base_rtt + forward / path.forward_rate + backward / path.backward_rate)


def vegas_window(
    path: Path, *, forward_queue: ArrayLike, backward_queue: ArrayLike, alpha: float = 1.0, beta: float = 3.0
) -> Bounds:
    """Windows between which Vegas does not change its window with these queues, packets (Eqs. 5 and 8).

    $$RTT / (RTT - BaseRTT) alpha <= W <= RTT / (RTT - BaseRTT) beta$$

    With $l_b = 0$ it is Eq. 9, with $l_f = 0$ Eq. 13.

    Parameters
    ----------
    path : Path
        Its capacities and base round-trip time.
    forward_queue, backward_queue : array_like
        $l_f$ in data packets and $l_b$ in acknowledgements, at least 0. Without any queue both bounds are
        infinite: the window grows.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta.

    Examples
    --------
    >>> path = Path(forward_rate=200.0, backward_rate=400.0, base_rtt=0.04)
    >>> bounds = vegas_window(path, forward_queue=2.0, backward_queue=0.0)
    >>> round(bounds.low, 9), round(bounds.high, 9)
    (5.0, 15.0)
    """
    low, high = thresholds(alpha, beta)
    forward, backward = _queues(forward_queue, backward_queue)
    excess = forward / path.forward_rate + backward / path.backward_rate
    return _window_bounds(path.base_rtt, excess, low, high)


def rovegas_window(path: Path, *, forward_queue: ArrayLike, alpha: float = 1.0, beta: float = 3.0) -> Bounds:
    """Windows between which RoVegas does not change its window, packets (Eqs. 17-19, Eq. 18 as corrected).

    $$(tau u_f + l_f) / l_f alpha <= W <= (tau u_f + l_f) / l_f beta$$

    The backward queue does not enter. Where acknowledgements are dropped the keep-up rule may stop the window first,
    see `throughput_ratio_bounds`.

    Parameters
    ----------
    path : Path
        Its capacities and base round-trip time.
    forward_queue : array_like
        $l_f$, mean waiting data packets, at least 0; infinite bounds without a queue.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta.

    Examples
    --------
    >>> path = Path(forward_rate=200.0, backward_rate=100.0, base_rtt=0.04)
    >>> bounds = rovegas_window(path, forward_queue=0.5)
    >>> round(bounds.low, 9), round(bounds.high, 9)
    (17.0, 51.0)
    """
    low, high = thresholds(alpha, beta)
    forward, _ = _queues(forward_queue, 0.0)
    return _window_bounds(path.base_rtt, forward / path.forward_rate, low, high)


def vegas_steady_state(path: Path, *, alpha: float = 1.0, beta: float = 3.0) -> SteadyState:
    """Queues, window, round-trip time and throughput of one Vegas connection (Eqs. 9-16).

    Where $k <= 1$ the forward queue holds alpha to beta packets and the throughput is $u_f$; where $k > 1$ the
    backward queue holds alpha to beta acknowledgements and the throughput is $u_b = u_f / k$.

    Parameters
    ----------
    path : Path
        Its capacities and base round-trip time. Valid if the queues have room for beta packets.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta.

    Examples
    --------
    >>> state = vegas_steady_state(Path(forward_rate=200.0, backward_rate=50.0, base_rtt=0.04))
    >>> state.throughput, state.backward_queue.low, state.forward_queue.high
    (50.0, 1.0, 0.0)
    """
    low, high = thresholds(alpha, beta)
    bottleneck = min(path.forward_rate, path.backward_rate)
    queue, empty = Bounds(low=low, high=high), Bounds(low=0.0, high=0.0)
    rtt = Bounds(low=path.base_rtt + low / bottleneck, high=path.base_rtt + high / bottleneck)
    return SteadyState(
        forward_queue=empty if path.is_asymmetric else queue,
        backward_queue=queue if path.is_asymmetric else empty,
        window=Bounds(low=bottleneck * rtt.low, high=bottleneck * rtt.high),
        rtt=rtt,
        throughput=bottleneck,
    )


def throughput_ratio_bounds(asymmetry: ArrayLike) -> Bounds:
    """Throughput of RoVegas over that of Vegas, without unit, for k > 1 (Eq. 20).

    $1 < F <= 3$. Acknowledgements are dropped until each acknowledges F data packets, and at three the keep-up
    rule stops the window. `high` is also kept to k, because no more than $u_f = k T_Vegas$ gets through; that
    half is not printed. `low` is exclusive. F counts packets: the bytes of the option come off by
    `goodput_share`.

    Parameters
    ----------
    asymmetry : array_like
        k, greater than 1.

    Examples
    --------
    >>> throughput_ratio_bounds([2.0, 3.0, 16.0]).high.tolist()
    [2.0, 3.0, 3.0]
    """
    k = above("asymmetry", asymmetry, 1.0)
    return Bounds(low=plain(np.ones_like(k)), high=plain(np.minimum(k, KEEP_UP_PACKETS)))


def ack_drop_ratio(packets_per_ack: ArrayLike) -> Numbers:
    """Share of acknowledgements that is dropped, without unit: $1 - 1 / F$ (before Eq. 20).

    Parameters
    ----------
    packets_per_ack : array_like
        F, data packets per acknowledgement that arrives, at least 1, with one sent for
        every packet. At the keep-up limit $F = 3$ it is 2/3.

    Examples
    --------
    >>> round(ack_drop_ratio(KEEP_UP_PACKETS), 4)
    0.6667
    """
    return plain(1.0 - 1.0 / at_least("packets_per_ack", packets_per_ack, 1.0, "packets"))


def goodput_share(*, packet_size: ArrayLike = 1000.0, option_size: ArrayLike = 8.0) -> Numbers:
    """Fraction of a packet that remains in addition to the AQT option, without unit.

    Parameters
    ----------
    packet_size : array_like
        Bytes on the link, option included, greater than 0.
    option_size : array_like
        Bytes of the option, at least 0 and less than `packet_size`.

    Examples
    --------
    The rate of 1.6 Mbit/s on the link, in kbit/s without the option:

    >>> round(1600.0 * goodput_share(), 9)
    1587.2
    """
    size = positive("packet_size", packet_size, "bytes")
    option = not_negative("option_size", option_size, "bytes")
    if (option >= size).any():
        raise refusal("option_size", float(option.max()), "fewer bytes than packet_size")
    return plain(1.0 - option / size)


def persistent_queue(flows: int, *, backlog: float = 1.0) -> NDArray[np.float64]:
    """Bottleneck queue after each of n Vegas connections has joined, packets, shape (n,).

    Connection i takes the existing queue $Q(i - 1)$ for propagation delay, and keeps `backlog` packets beyond it.
    Its share of the rate is then $backlog / (Q(n) - Q(i - 1))$, and the shares add to 1, which is an equation for
    $Q(n)$. RoVegas, whose base round-trip time contains no queue, has n times `backlog`.

    Parameters
    ----------
    flows : int
        n, number of connections, at least 1.
    backlog : float
        Target backlog of each connection, packets, greater than 0; between alpha and beta.

    Examples
    --------
    >>> persistent_queue(5).round(3).tolist()
    [1.0, 2.618, 4.599, 6.842, 9.289]
    """
    n = whole("flows", flows, 1)
    scale = one_positive("backlog", backlog, "packets")
    found = np.zeros(n + 1)
    for joined in range(1, n + 1):
        before = found[:joined]

        # The newest share is at most 1 and at least 1 / n: the queue grows by 1 to n packets.
        def excess(queue: float, before: NDArray[np.float64] = before) -> float:
            return float(np.sum(1.0 / (queue - before))) - 1.0

        newest = float(before[-1])
        found[joined] = (
            1.0
            if joined == 1
            else optimize.brentq(excess, newest + 1.0, newest + joined, xtol=1e-12, rtol=1e-14)
        )
    return np.asarray(scale * found[1:], dtype=np.float64)


def persistent_shares(flows: int) -> NDArray[np.float64]:
    """Shares of the rate of n Vegas connections with alpha = beta by their order of start, shape (n,), sum 1.

    The last connection to start mistakes most of the queue for propagation delay and gets the largest share. With
    RoVegas, each gets $1 / n$.

    Parameters
    ----------
    flows : int
        n, number of connections, at least 1.

    Examples
    --------
    >>> persistent_shares(5).round(3).tolist()
    [0.108, 0.121, 0.15, 0.213, 0.409]
    """
    queues = np.concatenate(([0.0], persistent_queue(flows)))
    return np.asarray(1.0 / (queues[-1] - queues[:-1]), dtype=np.float64)


def _window_bounds(base_rtt: float, excess: NDArray[np.float64], alpha: float, beta: float) -> Bounds:
    """W between alpha and beta times (BaseRTT + excess) / excess."""
    with np.errstate(divide="ignore"):
        factor = 1.0 + base_rtt / excess
    return Bounds(low=plain(alpha * factor), high=plain(beta * factor))


def _queues(
    forward_queue: ArrayLike, backward_queue: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    forward = not_negative("forward_queue", forward_queue, "packets")
    return forward, not_negative("backward_queue", backward_queue, "acknowledgements")
