"""Corollaries 1 and 2 and Theorem 2 in closed form: windows, averages, and where Vegas behaves like Reno."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import refusal
from dumbbell.models._checks import (
    Numbers,
    at_least,
    not_negative,
    one_not_negative,
    one_of,
    one_positive,
    plain,
    thresholds,
    whole,
)
from dumbbell.models.altman._bottleneck import ROUNDING, SLOTS, Bottleneck, Slot, at_most, refuse_beyond
from dumbbell.models.altman._slots import slot_times

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, kw_only=True, slots=True)
class StableWindow:
    """Where the window of Vegas settles, packets.

    Attributes
    ----------
    low, high : float
        nu T + alpha and nu T + beta: the window may settle anywhere between.
    grown_high : float
        nu T + alpha + 1: a window that grew from below stops between `low` and this, up to a packet more for
        the lag of its own last packet.
    """

    low: float
    high: float
    grown_high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowStartThreshold:
    """Where the slow start of Vegas ends.

    Attributes
    ----------
    minimum : float
        Smallest real window whose difference reaches gamma, packets.
    window : float
        The same among the powers of two, packets.
    """

    minimum: float
    window: float


@dataclass(frozen=True, kw_only=True, slots=True)
class VegasAverages:
    """Averages of a standing window: `throughput` in packets/s and `rtt` in s."""

    throughput: float
    rtt: Numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class RenoAverages:
    """Averages of Reno over a cycle from loss to loss.

    Attributes
    ----------
    queue_empties : bool
        Whether case 2 applies: the cycle begins below the bandwidth-delay product, so that throughput is lost.
    loss_window : float
        $W_max = nu (T + B / mu)$, packets.
    sent : float
        N, packets of a cycle, the lost one included.
    duration : float
        Delta, s.
    throughput : float
        Packets/s: delivered ones, but all in case 1 of `reno_averages`.
    rtt : float
        Average round-trip time over the packets sent, s.
    """

    queue_empties: bool
    loss_window: float
    sent: float
    duration: float
    throughput: float
    rtt: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RenoCycle(RenoAverages):
    """The averages of a cycle, summed over its whole windows.

    Attributes
    ----------
    first_window, last_window : int
        Windows the cycle runs through, packets; the last is the integer part of `loss_window`.
    delivered : int
        Packets sent less the lost one.
    """

    sent: int
    first_window: int
    last_window: int
    delivered: int


# Corollary 1: windows of Vegas.


def stable_window(bottleneck: Bottleneck, *, alpha: float = 1.0, beta: float = 3.0) -> StableWindow:
    """Interval in which the window of Vegas settles (Corollary 1 (i)).

    From $alpha T / (W - alpha) <= epsilon <= beta T / (W - beta)$ with $epsilon = W / nu - T$:

    $$nu T + alpha <= W <= nu T + beta$$

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer holds what the window leaves there, see `critical_buffer`.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta.

    Examples
    --------
    >>> window = stable_window(Bottleneck(service_rate=100.0, fixed_delay=0.1), alpha=1.0, beta=3.0)
    >>> window.low, window.high
    (12.0, 14.0)
    """
    low, high = thresholds(alpha, beta)
    x = bottleneck.bdp
    return StableWindow(low=x + low, high=x + high, grown_high=x + low + 1.0)


def stable_window_reached(
    bottleneck: Bottleneck, *, alpha: float = 1.0, beta: float = 3.0, start: int = 1
) -> int:
    """Whole window, in packets, at which Vegas arrives from `start` (follows from Corollary 1 (i)).

    From below it is the smallest whole W with $W (1 - T / rtt) >= alpha$, rtt being that of the growing window;
    it is less than $nu T + alpha + 2$. From above $nu T + beta$ the window falls by one a mini-slot to the first
    value not above that. From between it stays.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta. If $beta < alpha + 2$ the value from below may exceed
        $nu T + beta$; a real source then hunts by a packet.
    start : int
        Window at the end of slow start, packets, at least 1.

    Raises
    ------
    ScenarioError
        If an argument lies outside its range, or $nu T + beta$ is above `MAX_WINDOW`.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, fixed_delay=0.1)
    >>> stable_window_reached(link), stable_window_reached(link, start=20)
    (13, 14)
    """
    low, high = thresholds(alpha, beta)
    window = whole("start", start, 1)
    x = bottleneck.bdp
    refuse_beyond("fixed_delay", bottleneck.fixed_delay, x + high)
    if window > x + high:
        return max(1, window - math.ceil(window - x - high - ROUNDING * window))
    # No window below nu T + alpha can pass: the extra packet's delay aside, its difference is W - nu T at
    # most.
    candidates = np.arange(max(window, 1), max(window, math.ceil(x + low + 2.0)) + 1, dtype=np.float64)
    _, growth = slot_times(bottleneck, candidates, "growth")
    _, standing = slot_times(bottleneck, candidates, "constant")
    # With alpha below 1 the extra packet's own delay may stop the growth for one mini-slot, in which the
    # window is constant and the difference below alpha: both round-trip times have to pass the test.
    rtt = np.where(candidates > window, np.minimum(growth, standing), standing)
    passed = candidates * (1.0 - bottleneck.base_rtt / rtt) >= low - ROUNDING * candidates
    return int(candidates[np.argmax(passed)])


def slow_start_threshold(
    bottleneck: Bottleneck, *, gamma: float = 1.0, slot: Slot = "doubling"
) -> SlowStartThreshold:
    """Window at which the slow start of Vegas ends (Corollary 1 (ii)).

    The smallest power of two whose average round-trip time gives $rtt - T >= gamma T / (W - gamma)$. A burst
    that finds the queue empty has $rtt = T + (W - 1) / K$, one that does not $rtt = k W$. The smallest real window is

    $$(gamma + 1 + sqrt((gamma - 1)^2 + 4 gamma K T)) / 2$$

    if that is at most $W_e$, and $max(W_e, gamma + T / k)$ else.

    With $C = 2 mu^2 - lambda^2$ the doubling slot has $K = 2 C / mu$, $W_e = C T / (mu + lambda)$ and
    $k = (3 mu + 2 lambda) / (2 C)$; the constant slot $K = 2 C / lambda$, $W_e = C T / (2 mu + lambda)$ and
    $k = (4 mu + 3 lambda) / (2 C)$.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    gamma : float
        Threshold, packets, greater than 0.
    slot : {"doubling", "constant"}
        Whether every mini-slot is tested, in which case the doubling one decides, or only the one in which
        the window is constant. The paper leaves it open.

    Examples
    --------
    >>> end = slow_start_threshold(Bottleneck(service_rate=100.0, fixed_delay=0.1), gamma=1.0)
    >>> round(end.minimum, 5), end.window
    (7.63325, 8.0)
    """
    g = one_positive("gamma", gamma, "packets")
    one_of("slot", slot, SLOTS)
    mu, lam, base_rtt = bottleneck.service_rate, bottleneck.exogenous_rate, bottleneck.base_rtt
    c = 2.0 * mu * mu - lam * lam
    if slot == "doubling":
        rise, empty_below = 2.0 * c / mu, c * base_rtt / (mu + lam)
        slope = (3.0 * mu + 2.0 * lam) / (2.0 * c)
    else:
        rise, empty_below = (2.0 * c / lam if lam > 0.0 else math.inf), c * base_rtt / (2.0 * mu + lam)
        slope = (4.0 * mu + 3.0 * lam) / (2.0 * c)
    minimum = 0.5 * (g + 1.0 + math.sqrt((g - 1.0) ** 2 + 4.0 * g * rise * base_rtt))
    if minimum > empty_below:
        minimum = max(empty_below, g + base_rtt / slope)
    window = 2.0 ** max(0, math.ceil(math.log2(minimum) - ROUNDING))
    return SlowStartThreshold(minimum=minimum, window=window)


# Corollary 2: averages.


def vegas_averages(bottleneck: Bottleneck, window: ArrayLike) -> VegasAverages:
    """Throughput and round-trip time of a standing window of Vegas (Corollary 2): $nu$ and $W / nu$.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough, and slow start as short.
    window : array_like
        W, packets, at least nu T: from `stable_window`, `stable_window_reached` or a measurement.

    Examples
    --------
    >>> averages = vegas_averages(Bottleneck(service_rate=100.0, fixed_delay=0.1), 13.0)
    >>> averages.throughput, averages.rtt
    (100.0, 0.13)
    """
    w = at_least("window", window, bottleneck.bdp * (1.0 - ROUNDING), "packets")
    nu = bottleneck.available_rate
    return VegasAverages(throughput=nu, rtt=plain(w / nu))


def loss_window(bottleneck: Bottleneck, buffer: ArrayLike, *, flows: int = 1) -> Numbers:
    """$W_max$, window at which a packet is lost, packets: $nu (T + B / mu) / n$ (Corollary 2, section 5).

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    buffer : array_like
        B, packets that can wait, the one in service not counted, at least 0.
    flows : int
        n, connections with equal windows and T that lose together, at least 1.

    Examples
    --------
    >>> round(loss_window(Bottleneck(service_rate=100.0, fixed_delay=0.1), 40.0), 9)
    51.0
    """
    b = not_negative("buffer", buffer, "packets")
    n = whole("flows", flows, 1)
    mu, nu = bottleneck.service_rate, bottleneck.available_rate
    return plain(nu * (bottleneck.base_rtt + b / mu) / n)


def reno_cycle(bottleneck: Bottleneck, buffer: float) -> RenoCycle:
    """One cycle of Reno, by sums over its whole windows (Corollary 2, `mini_slot` in growth).

    The window runs from half of the integer part of W_max to it. Every loss is found by duplicate
    acknowledgements, one packet is lost in a cycle, and its recovery takes no time: against packets the
    round-trip time and the duration come out too low, by some percent at loads up to 1/2. The lost packet
    counts in the average round-trip time, which is an effect of one in `sent`.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    buffer : float
        B, packets that can wait, the one in service not counted, at least 0.

    Raises
    ------
    ScenarioError
        If the loss window is below 2 packets, where there is no cycle, or above `MAX_WINDOW`.

    Examples
    --------
    >>> cycle = reno_cycle(Bottleneck(service_rate=100.0, fixed_delay=0.1), 40.0)
    >>> cycle.sent, round(cycle.duration, 9), round(cycle.throughput, 4)
    (1026, 10.26, 99.9025)
    """
    peak = reno_peak(bottleneck, buffer)
    # The product nu (T + B / mu) is often meant to be a whole number and falls short of it in its last digit.
    last = math.floor(peak * (1.0 + ROUNDING))
    first = last // 2
    windows = np.arange(first, last + 1, dtype=np.float64)
    durations, rtts = slot_times(bottleneck, windows, "growth")
    sent = int(windows.sum())
    delivered = sent - 1
    duration = float(durations.sum())
    return RenoCycle(
        queue_empties=not at_most(bottleneck.bdp, float(first)),
        loss_window=peak,
        first_window=first,
        last_window=last,
        duration=duration,
        sent=sent,
        delivered=delivered,
        throughput=delivered / duration,
        rtt=float(windows @ rtts) / sent,
    )


def reno_averages(bottleneck: Bottleneck, buffer: float) -> RenoAverages:
    """Averages of Reno in closed form (Corollary 2, both cases).

    With $b = W_max$, $x = nu T$ and $N = 3 b (b + 2) / 8$ packets in a cycle. Case 1, $b / 2 >= x$, the queue never
    empties: throughput nu, $Delta = N / nu$, and

    $$rtt nu N = 7 b^3 / 24 + b^2 / 4 - b / 6 + 1,$$

    so that the round-trip time goes to 7/9 of $b / nu$. Case 2, $b / 2 < x$: throughput $(N - 1) / Delta$,

    $$2 nu Delta = b^2 + x^2 - x b + 3 x + 2,$$

    $$rtt nu N = b^3 / 3 - x b^2 / 8 + (x / 4 + 1 / 6) b + x^3 / 6 + x^2 / 2 + x / 3 + 1.$$

    For whole x and even b these are the sums of `reno_cycle`, but for the throughput of case 1, which leaves
    the lost packet in; for others they are interpolated, and `reno_cycle` is to be preferred. At
    $b = 2 x$ the cases meet but for terms of the order of $1 / b$.

    Parameters and errors are those of `reno_cycle`.

    Examples
    --------
    >>> averages = reno_averages(Bottleneck(service_rate=100.0, fixed_delay=0.09), 40.0)
    >>> averages.throughput, averages.sent, averages.duration
    (100.0, 975.0, 9.75)
    """
    b = reno_peak(bottleneck, buffer)
    x, nu = bottleneck.bdp, bottleneck.available_rate
    sent = 3.0 / 8.0 * b * (b + 2.0)
    queue_empties = not at_most(x, b / 2.0)
    if queue_empties:
        duration = (b**2 + x**2 - x * b + 3.0 * x + 2.0) / (2.0 * nu)
        throughput = (sent - 1.0) / duration
        delay = b**3 / 3.0 - x * b**2 / 8.0 + (x / 4.0 + 1.0 / 6.0) * b
        delay += x**3 / 6.0 + x**2 / 2.0 + x / 3.0 + 1.0
    else:
        duration, throughput = sent / nu, nu
        delay = 7.0 * b**3 / 24.0 + b**2 / 4.0 - b / 6.0 + 1.0
    return RenoAverages(
        queue_empties=queue_empties,
        loss_window=b,
        sent=sent,
        duration=duration,
        throughput=throughput,
        rtt=delay / (nu * sent),
    )


# Theorem 2: where Vegas behaves like Reno.


def critical_buffer(
    bottleneck: Bottleneck, *, alpha: float = 1.0, flows: int = 1, counts_service: bool = False
) -> float:
    """B*, largest buffer with which Vegas behaves like Reno, packets: $n alpha mu / (mu - lambda)$ (Theorem 2).

    With a buffer up to B* the window reaches $W_max$ while $W_max - nu T$ is still at most alpha: it grows until
    a packet is lost, and falls, as that of Reno does. B* does not depend on the delay, and grows beyond all
    bounds as lambda goes to mu. The form for n connections (section 5) takes losses as synchronous and T as
    equal.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    alpha : float
        Lower threshold, packets, greater than 0.
    flows : int
        n, number of Vegas connections, at least 1.
    counts_service : bool
        Whether the buffer counts the packet in service; if so it is one larger.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, exogenous_rate=50.0, fixed_delay=0.5)
    >>> critical_buffer(link, alpha=2.0), critical_buffer(link, alpha=2.0, flows=4)
    (4.0, 16.0)
    """
    a = one_positive("alpha", alpha, "packets")
    n = whole("flows", flows, 1)
    return n * a * bottleneck.service_rate / bottleneck.available_rate + (1.0 if counts_service else 0.0)


def smallest_stable_buffer(
    bottleneck: Bottleneck, *, alpha: float = 1.0, flows: int = 1, counts_service: bool = False
) -> int:
    """b_min, smallest whole buffer with which the window of Vegas is stable, packets: floor(B*) + 1 (Theorem 2).

    Parameters
    ----------
    bottleneck, alpha, flows, counts_service
        As for `critical_buffer`. Packets need more, one without other traffic and twice as much at a load of 0.8:
        a whole window that was reached from below keeps more than `alpha` queued, and the queue fluctuates.

    Examples
    --------
    >>> smallest_stable_buffer(Bottleneck(service_rate=100.0, exogenous_rate=20.0), alpha=2.0)
    3
    """
    critical = critical_buffer(bottleneck, alpha=alpha, flows=flows, counts_service=counts_service)
    return math.floor(critical * (1.0 + ROUNDING)) + 1


def behaves_like_reno(
    bottleneck: Bottleneck, buffer: float, *, alpha: float = 1.0, flows: int = 1, counts_service: bool = False
) -> bool:
    """Whether the window of Vegas grows until a packet is lost: B <= B* (Theorem 2).

    It is the definition $epsilon_max <= alpha T / (W_max - alpha)$, or $W_max <= alpha$, with
    $epsilon_max = B / mu$, solved for B.

    Parameters
    ----------
    bottleneck, alpha, flows, counts_service
        As for `critical_buffer`.
    buffer : float
        B, packets, at least 0.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, exogenous_rate=50.0, fixed_delay=0.5)
    >>> behaves_like_reno(link, 4.0, alpha=2.0), behaves_like_reno(link, 5.0, alpha=2.0)
    (True, False)
    """
    b = one_not_negative("buffer", buffer, "packets")
    critical = critical_buffer(bottleneck, alpha=alpha, flows=flows, counts_service=counts_service)
    return at_most(b, critical)


def reno_peak(bottleneck: Bottleneck, buffer: float) -> float:
    """W_max of one flow, with an error if there is no cycle or it is too long to compute."""
    peak = float(loss_window(bottleneck, one_not_negative("buffer", buffer, "packets")))
    if peak < 2.0:
        raise refusal(
            "buffer", buffer, f"a buffer with which the loss window, {peak:g} packets, is at least 2"
        )
    refuse_beyond("buffer", buffer, peak)
    return peak
