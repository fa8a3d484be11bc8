"""TCP Vegas and TCP Reno beside constant-rate traffic at one bottleneck.

Source
------
E. Ait-Hellal, E. Altman: "Analysis of TCP Vegas and TCP Reno", Telecommunication Systems 15, 2000: Theorem 1
(one mini-slot), Corollary 1 (windows), Corollary 2 (averages), Theorem 2 (where Vegas behaves like Reno). The
paper does not number the formulas used here; docstrings name the theorem or corollary, and say where a
formula follows from its argument without being printed in a legible copy.

Model
-----
One window-controlled source shares a first-in-first-out bottleneck with constant-rate traffic. Generation n
is the W packets that the acknowledgements of generation n - 1 release, and mini-slot n lasts from the last
acknowledgement of generation n - 1 to the last of generation n. Infinite data, an acknowledgement for every
packet and none lost, no limit by the receiver. While the window stands every acknowledgement releases one
packet; in congestion avoidance the last one of a generation releases two; in slow start each releases two, in
every other mini-slot for Vegas. With mu the service rate, lambda the constant rate, nu = mu - lambda, T the
smallest round-trip time and B the buffer, the largest excess delay is B / mu.

Two forms of it are here. The closed forms take the round-trip time as if it followed the window at once:
`mini_slot`, `stable_window`, `slow_start_threshold`, `reno_cycle`, `reno_averages`, `critical_buffer`. The
fluid recursion drops that shortcut: `next_first_rtt`, `fluid_vegas`, `fluid_slow_start_threshold`,
`fluid_reno`. Against packets the recursion is the better one everywhere except for `critical_buffer`, which
it has no part in.

Units and range
---------------
Packets, seconds, packets per second. Windows are real numbers of at least 1 where one mini-slot is asked for,
and whole numbers where a window grows by one packet at a time. The closed forms are good for loads lambda /
mu up to about 1/2 and windows of some ten packets; at higher loads the round-trip time lags behind the window
by mu / nu packets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from dumbbell.errors import refusal
from dumbbell.models._checks import (
    Numbers,
    at_least,
    not_negative,
    number,
    one_of,
    plain,
    positive,
    whole,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MAX_WINDOW",
    "Bottleneck",
    "BurstRates",
    "FluidRenoCycle",
    "FluidRenoResult",
    "FluidSlot",
    "FluidVegasResult",
    "MiniSlot",
    "RenoAverages",
    "RenoCycle",
    "SlowStartThreshold",
    "StableWindow",
    "VegasAverages",
    "behaves_like_reno",
    "burst_rates",
    "critical_buffer",
    "excess_rtt",
    "fifo_share",
    "fluid_reno",
    "fluid_slow_start_threshold",
    "fluid_vegas",
    "loss_window",
    "mini_slot",
    "next_first_rtt",
    "reno_averages",
    "reno_cycle",
    "slow_start_excess",
    "slow_start_threshold",
    "smallest_stable_buffer",
    "stable_window",
    "stable_window_reached",
    "vegas_averages",
]

Phase: TypeAlias = Literal["constant", "growth", "reno-slow-start", "vegas-doubling", "vegas-constant"]
Slot: TypeAlias = Literal["doubling", "constant"]

_PHASES = ("constant", "growth", "reno-slow-start", "vegas-doubling", "vegas-constant")
_SLOTS = ("doubling", "constant")

MAX_WINDOW = 1_000_000
"""Largest window that is followed packet by packet, packets; a larger one is refused."""

# Windows and round-trip times that should be equal may differ in their last digits.
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class Bottleneck:
    """The shared bottleneck and the delay around it.

    Attributes
    ----------
    service_rate : float
        mu, packets/s, greater than 0.
    exogenous_rate : float
        lambda, constant rate of the other traffic, packets/s, at least 0 and less than mu.
    fixed_delay : float
        d, round-trip time without queueing and service, s, at least 0.
    service : {"mu", "nu"}
        How a packet's own service counts in the smallest round-trip time: 1 / mu, which is what a packet
        meets in an empty system, or 1 / nu, the other reading of the paper. Windows of the two differ by
        lambda / mu, less than a packet.

    Raises
    ------
    ScenarioError
        If a value lies outside its range.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, exogenous_rate=20.0, fixed_delay=0.5)
    >>> link.available_rate, link.base_rtt, round(link.bdp, 9)
    (80.0, 0.51, 40.8)
    """

    service_rate: float
    exogenous_rate: float = 0.0
    fixed_delay: float = 0.0
    service: Literal["mu", "nu"] = field(default="mu")

    def __post_init__(self) -> None:
        mu = positive("service_rate", self.service_rate, "packets/s")
        number("service_rate", self.service_rate, mu, "one number of packets/s greater than 0")
        accepted = f"one number of packets/s of at least 0 and less than service_rate, {self.service_rate:g}"
        rate = number(
            "exogenous_rate",
            self.exogenous_rate,
            not_negative("exogenous_rate", self.exogenous_rate, "packets/s"),
            accepted,
        )
        if rate >= self.service_rate:
            raise refusal("exogenous_rate", self.exogenous_rate, accepted)
        delay = not_negative("fixed_delay", self.fixed_delay, "seconds")
        number("fixed_delay", self.fixed_delay, delay, "one number of seconds of at least 0")
        one_of("service", self.service, ("mu", "nu"))

    @property
    def available_rate(self) -> float:
        """Rate left to the source, nu = mu - lambda, packets/s."""
        return self.service_rate - self.exogenous_rate

    @property
    def load(self) -> float:
        """Load by the exogenous traffic, lambda / mu, without unit, at least 0 and less than 1."""
        return self.exogenous_rate / self.service_rate

    @property
    def base_rtt(self) -> float:
        """T, smallest round-trip time, s: d + 1 / mu, or d + 1 / nu with `service` "nu"."""
        return self.fixed_delay + 1.0 / (self.service_rate if self.service == "mu" else self.available_rate)

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product that the source sees, x = nu T, packets."""
        return self.available_rate * self.base_rtt


@dataclass(frozen=True, kw_only=True, slots=True)
class BurstRates:
    """Rates of a generation inside its burst, packets/s: `into` and `out_of` the queue."""

    into: float
    out_of: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MiniSlot:
    """One mini-slot of a window.

    Attributes
    ----------
    duration : float or ndarray
        delta, s: round-trip time of the last packet.
    rtt : float or ndarray
        Average round-trip time of the window's packets, s.
    excess : float or ndarray
        epsilon = `rtt` - T, s.
    """

    duration: Numbers
    rtt: Numbers
    excess: Numbers


@dataclass(frozen=True, kw_only=True, slots=True)
class StableWindow:
    """Where the window of Vegas settles, packets.

    Attributes
    ----------
    low, high : float
        nu T + alpha and nu T + beta: the window stands anywhere between.
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
class RenoCycle:
    """One cycle of Reno from loss to loss, summed over whole windows.

    Attributes
    ----------
    queue_empties : bool
        Whether the cycle begins below the bandwidth-delay product (case 2), so that throughput is lost.
    loss_window : float
        W_max = nu (T + B / mu), packets; the cycle ends at its integer part.
    first_window, last_window : int
        Windows the cycle runs through, packets.
    duration : float
        Delta, s.
    sent, delivered : int
        Packets; one is lost.
    throughput : float
        Delivered packets/s.
    rtt : float
        Average round-trip time over the packets sent, s.
    """

    queue_empties: bool
    loss_window: float
    first_window: int
    last_window: int
    duration: float
    sent: int
    delivered: int
    throughput: float
    rtt: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RenoAverages:
    """Averages of Reno in closed form.

    Attributes
    ----------
    queue_empties : bool
        Whether case 2 applies, half of the loss window below the bandwidth-delay product.
    loss_window : float
        W_max, packets.
    sent : float
        N, packets of a cycle, the lost one included.
    duration : float
        Delta, s.
    throughput : float
        Packets/s.
    rtt : float
        s.
    """

    queue_empties: bool
    loss_window: float
    sent: float
    duration: float
    throughput: float
    rtt: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FluidSlot:
    """One mini-slot of the fluid recursion.

    Attributes
    ----------
    window : int
        W, packets.
    first_rtt : float
        D, round-trip time of its first packet, s.
    duration : float
        delta, s.
    rtt : float
        Average over its packets, s.
    """

    window: int
    first_rtt: float
    duration: float
    rtt: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FluidVegasResult:
    """Congestion avoidance of Vegas by the fluid recursion.

    Attributes
    ----------
    window : float
        Mean window of the steady state, packets; a whole number where the window stands.
    throughput : float
        Packets/s of the steady state.
    rtt : float
        Average round-trip time of its packets, s.
    steady : tuple of FluidSlot
        The mini-slots that recur: one where the window stands, several where it hunts.
    slots : tuple of FluidSlot
        The way there from the start, with the steady state once at its end.
    """

    window: float
    throughput: float
    rtt: float
    steady: tuple[FluidSlot, ...]
    slots: tuple[FluidSlot, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FluidRenoCycle:
    """One cycle of Reno by the fluid recursion, from recovery to recovery.

    Attributes
    ----------
    slots : tuple of FluidSlot
        Generations from half of the previous loss window to the one that loses a packet.
    detection_rtt : float
        Round-trip time of the packets sent while duplicate acknowledgements are awaited, s.
    loss_window : int
        Window of the last generation, packets.
    duration : float
        s.
    delivered : int
        Packets, retransmission included.
    throughput : float
        Delivered packets/s.
    rtt : float
        Average over the delivered packets, s.
    """

    slots: tuple[FluidSlot, ...]
    detection_rtt: float
    loss_window: int
    duration: float
    delivered: int
    throughput: float
    rtt: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FluidRenoResult:
    """Steady state of Reno by the fluid recursion.

    Attributes
    ----------
    cycles : tuple of FluidRenoCycle
        The cycles that recur: mostly one, at high loads two that alternate.
    loss_window : float
        Mean over the cycles, packets.
    duration : float
        Mean of a cycle, s.
    throughput : float
        Packets/s over all of them.
    rtt : float
        Average over all their delivered packets, s.
    """

    cycles: tuple[FluidRenoCycle, ...]
    loss_window: float
    duration: float
    throughput: float
    rtt: float


# Theorem 1: rates inside a burst and one mini-slot.


def fifo_share(bottleneck: Bottleneck, rate: ArrayLike) -> Numbers:
    """Rate at which a burst leaves the queue, packets/s: mu r / (r + lambda) while the queue is not empty.

    First in, first out shares the service in proportion to what arrives. A burst with r + lambda <= mu passes
    as it is.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    rate : array_like
        r, rate of the burst into the queue, packets/s, greater than 0.

    Examples
    --------
    >>> fifo_share(Bottleneck(service_rate=100.0, exogenous_rate=50.0), 150.0)
    75.0
    """
    r = positive("rate", rate, "packets/s")
    mu, lam = bottleneck.service_rate, bottleneck.exogenous_rate
    return plain(r * np.minimum(1.0, mu / (r + lam)))


def burst_rates(bottleneck: Bottleneck, phase: Phase) -> BurstRates:
    """Rates inside a burst after many mini-slots of a phase, packets/s (section on rates before Theorem 1).

    The fixed point of: acknowledgements return at the rate at which packets left the queue, each releases g
    packets, and the queue shares as in `fifo_share`. Convergence is geometric, by lambda / mu a mini-slot in
    congestion avoidance and faster in slow start.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    phase : {"constant", "growth", "reno-slow-start", "vegas-doubling", "vegas-constant"}
        Congestion avoidance with a standing or a growing window, slow start of Reno, and the two mini-slots
        that alternate in that of Vegas.

    Examples
    --------
    >>> burst_rates(Bottleneck(service_rate=100.0, exogenous_rate=50.0), "reno-slow-start")
    BurstRates(into=150.0, out_of=75.0)
    """
    one_of("phase", phase, _PHASES)
    mu, lam = bottleneck.service_rate, bottleneck.exogenous_rate
    c = 2.0 * mu * mu - lam * lam
    if phase == "reno-slow-start":
        return BurstRates(into=2.0 * mu - lam, out_of=mu - lam / 2.0)
    if phase == "vegas-doubling":
        return BurstRates(into=c / (mu + lam), out_of=c / (2.0 * mu + lam))
    if phase == "vegas-constant":
        return BurstRates(into=c / (2.0 * mu + lam), out_of=c / (2.0 * (mu + lam)))
    return BurstRates(into=mu - lam, out_of=mu - lam)


def excess_rtt(bottleneck: Bottleneck, window: ArrayLike) -> Numbers:
    """Excess time of a standing window, epsilon, s: max(0, W / nu - T) (Theorem 1 (i)).

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    window : array_like
        W, packets, at least 1.

    Examples
    --------
    >>> round(excess_rtt(Bottleneck(service_rate=100.0, fixed_delay=0.1), 13.0), 9)
    0.02
    """
    w = at_least("window", window, 1.0, "packets")
    return plain(np.maximum(0.0, w / bottleneck.available_rate - bottleneck.base_rtt))


def mini_slot(bottleneck: Bottleneck, window: ArrayLike, phase: Phase = "constant") -> MiniSlot:
    """Duration and average round-trip time of one mini-slot (Theorem 1).

    Constant window (i): both max(T, W / nu). Growth: packets 1 to W - 1 meet the round-trip time of the
    window before, the extra one 1 / nu more. Slow start of Reno (ii) and of Vegas (iii): packet j of a burst
    that finds the queue empty waits (j - 1) (1 / out - 1 / in); of one that does not, the wait of the burst
    before comes on top.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    window : array_like
        W, packets, at least 1.
    phase : {"constant", "growth", "reno-slow-start", "vegas-doubling", "vegas-constant"}
        See `burst_rates`.

    Returns
    -------
    MiniSlot
        With the shape of `window`. The branches join up to a packet's time. Best for loads up to 1/2 and away
        from the window at which the queue begins to stay filled.

    Raises
    ------
    ScenarioError
        If `window` is below 1 or `phase` is unknown.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, fixed_delay=0.1)
    >>> slot = mini_slot(link, 16.0, "growth")
    >>> slot.duration, round(slot.rtt, 6)
    (0.16, 0.150625)
    """
    one_of("phase", phase, _PHASES)
    w = at_least("window", window, 1.0, "packets")
    duration, rtt = _mini_slot(bottleneck, w, phase)
    return MiniSlot(duration=plain(duration), rtt=plain(rtt), excess=plain(rtt - bottleneck.base_rtt))


def slow_start_excess(bottleneck: Bottleneck, window: ArrayLike) -> Numbers:
    """Time by which Vegas takes longer than Reno for one doubling, s (after Theorem 1 (iii)).

    T + (W - 1) lambda mu / (C (2 mu - lambda)) with C = 2 mu^2 - lambda^2: the doubling and the constant
    mini-slot of Vegas less the one of Reno. It is greater than 0.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    window : array_like
        W, packets, at least 1, and small enough that its burst finds the queue empty: at most C T / (2 mu +
        lambda).

    Examples
    --------
    >>> slow_start_excess(Bottleneck(service_rate=100.0, exogenous_rate=50.0, fixed_delay=0.99), 1.0)
    1.0
    """
    w = at_least("window", window, 1.0, "packets")
    mu, lam = bottleneck.service_rate, bottleneck.exogenous_rate
    c = 2.0 * mu * mu - lam * lam
    limit = c * bottleneck.base_rtt / (2.0 * mu + lam)
    if (w > limit).any():
        raise refusal("window", float(w.max()), f"at most {limit:g} packets, so that the queue is empty")
    return plain(bottleneck.base_rtt + (w - 1.0) * lam * mu / (c * (2.0 * mu - lam)))


# Corollary 1: windows of Vegas.


def stable_window(bottleneck: Bottleneck, *, alpha: float = 1.0, beta: float = 3.0) -> StableWindow:
    """Interval in which the window of Vegas stands (Corollary 1 (i)).

    From alpha T / (W - alpha) <= epsilon <= beta T / (W - beta) with epsilon = W / nu - T:
    nu T + alpha <= W <= nu T + beta.

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
    low, high = _thresholds(alpha, beta)
    x = bottleneck.bdp
    return StableWindow(low=x + low, high=x + high, grown_high=x + low + 1.0)


def stable_window_reached(
    bottleneck: Bottleneck, *, alpha: float = 1.0, beta: float = 3.0, start: int = 1
) -> int:
    """Whole window, in packets, at which Vegas arrives from `start` (follows from Corollary 1 (i)).

    From below it is the smallest whole W with W (1 - T / rtt) >= alpha, rtt being that of the growing window;
    it is less than nu T + alpha + 2. From above nu T + beta the window falls by one a mini-slot to the first
    value not above that. From between it stays.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta. If beta < alpha + 2 the value from below may exceed nu T +
        beta; a real source then hunts by a packet.
    start : int
        Window at the end of slow start, packets, at least 1.

    Raises
    ------
    ScenarioError
        If an argument lies outside its range, or nu T + beta is above `MAX_WINDOW`.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, fixed_delay=0.1)
    >>> stable_window_reached(link), stable_window_reached(link, start=20)
    (13, 14)
    """
    low, high = _thresholds(alpha, beta)
    window = whole("start", start, 1)
    x = bottleneck.bdp
    _bounded("fixed_delay", bottleneck.fixed_delay, x + high)
    if window > x + high:
        return max(1, window - math.ceil(window - x - high - _ROUNDING * window))
    # No window below nu T + alpha can pass: the extra packet's delay aside, its difference is W - nu T at
    # most.
    candidates = np.arange(max(window, 1), max(window, math.ceil(x + low + 2.0)) + 1, dtype=np.float64)
    _, growth = _mini_slot(bottleneck, candidates, "growth")
    _, standing = _mini_slot(bottleneck, candidates, "constant")
    # With alpha below 1 the extra packet's own delay may stop the growth for one mini-slot, in which the
    # window stands and sees less than alpha: it has to pass as both.
    rtt = np.where(candidates > window, np.minimum(growth, standing), standing)
    passed = candidates * (1.0 - bottleneck.base_rtt / rtt) >= low - _ROUNDING * candidates
    return int(candidates[np.argmax(passed)])


def slow_start_threshold(
    bottleneck: Bottleneck, *, gamma: float = 1.0, slot: Slot = "doubling"
) -> SlowStartThreshold:
    """Window at which the slow start of Vegas ends (Corollary 1 (ii)).

    The smallest power of two whose average round-trip time gives rtt - T >= gamma T / (W - gamma). A burst
    that finds the queue empty has rtt = T + (W - 1) / K, one that does not rtt = k W, and the smallest real
    window is

        (gamma + 1 + sqrt((gamma - 1)^2 + 4 gamma K T)) / 2    if that is at most We,
        max(We, gamma + T / k)                                 else.

    With C = 2 mu^2 - lambda^2 the doubling slot has K = 2 C / mu, We = C T / (mu + lambda) and
    k = (3 mu + 2 lambda) / (2 C); the constant slot K = 2 C / lambda, We = C T / (2 mu + lambda) and
    k = (4 mu + 3 lambda) / (2 C).

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    gamma : float
        Threshold, packets, greater than 0.
    slot : {"doubling", "constant"}
        Whether every mini-slot is tested, in which case the doubling one decides, or only the one in which
        the window stands. The paper leaves it open.

    Examples
    --------
    >>> end = slow_start_threshold(Bottleneck(service_rate=100.0, fixed_delay=0.1), gamma=1.0)
    >>> round(end.minimum, 5), end.window
    (7.63325, 8.0)
    """
    g = number("gamma", gamma, positive("gamma", gamma, "packets"), "one number of packets greater than 0")
    one_of("slot", slot, _SLOTS)
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
    window = 2.0 ** max(0, math.ceil(math.log2(minimum) - _ROUNDING))
    return SlowStartThreshold(minimum=minimum, window=window)


# Corollary 2: averages.


def vegas_averages(bottleneck: Bottleneck, window: ArrayLike) -> VegasAverages:
    """Throughput and round-trip time of a standing window of Vegas (Corollary 2): nu and W / nu.

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
    w = at_least("window", window, bottleneck.bdp * (1.0 - _ROUNDING), "packets")
    nu = bottleneck.available_rate
    return VegasAverages(throughput=nu, rtt=plain(w / nu))


def loss_window(bottleneck: Bottleneck, buffer: ArrayLike, *, flows: int = 1) -> Numbers:
    """W_max, window at which a packet is lost, packets: nu (T + B / mu) / n (Corollary 2, section 5).

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
    peak = _reno_peak(bottleneck, buffer)
    # The product nu (T + B / mu) is often meant to be a whole number and falls short of it in its last digit.
    last = math.floor(peak * (1.0 + _ROUNDING))
    first = last // 2
    windows = np.arange(first, last + 1, dtype=np.float64)
    durations, rtts = _mini_slot(bottleneck, windows, "growth")
    sent = int(windows.sum())
    delivered = sent - 1
    duration = float(durations.sum())
    return RenoCycle(
        queue_empties=not _at_most(bottleneck.bdp, float(first)),
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

    With b = W_max, x = nu T and N = 3 b (b + 2) / 8 packets in a cycle. Case 1, b / 2 >= x, the queue never
    empties: throughput nu, Delta = N / nu, and rtt nu N = 7 b^3 / 24 + b^2 / 4 - b / 6 + 1, so that the
    round-trip time goes to 7/9 of b / nu. Case 2, b / 2 < x:

        2 nu Delta = b^2 + x^2 - x b + 3 x + 2,    throughput (N - 1) / Delta,
        rtt nu N = b^3 / 3 - x b^2 / 8 + (x / 4 + 1 / 6) b + x^3 / 6 + x^2 / 2 + x / 3 + 1.

    For whole x and even b these are the sums of `reno_cycle`, but for the throughput of case 1, which leaves
    the lost packet in; for others they are interpolated, and `reno_cycle` is to be preferred. At
    b = 2 x the cases meet but for terms of the order of 1 / b.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    buffer : float
        B, packets that can wait, the one in service not counted, at least 0.

    Raises
    ------
    ScenarioError
        If the loss window is below 2 packets or above `MAX_WINDOW`.

    Examples
    --------
    >>> averages = reno_averages(Bottleneck(service_rate=100.0, fixed_delay=0.09), 40.0)
    >>> averages.throughput, averages.sent, averages.duration
    (100.0, 975.0, 9.75)
    """
    b = _reno_peak(bottleneck, buffer)
    x, nu = bottleneck.bdp, bottleneck.available_rate
    sent = 3.0 / 8.0 * b * (b + 2.0)
    queue_empties = not _at_most(x, b / 2.0)
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
    """B*, largest buffer with which Vegas behaves like Reno, packets: n alpha mu / (mu - lambda) (Theorem 2).

    With a buffer up to B* the window reaches W_max while W_max - nu T is still at most alpha: it grows until
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
    a = _alpha(alpha)
    n = whole("flows", flows, 1)
    return n * a * bottleneck.service_rate / bottleneck.available_rate + (1.0 if counts_service else 0.0)


def smallest_stable_buffer(
    bottleneck: Bottleneck, *, alpha: float = 1.0, flows: int = 1, counts_service: bool = False
) -> int:
    """b_min, smallest whole buffer with which Vegas stands still, packets: floor(B*) + 1 (Theorem 2).

    Parameters
    ----------
    bottleneck, alpha, flows, counts_service
        As for `critical_buffer`. Packets need up to four more than this, because of their jitter.

    Examples
    --------
    >>> smallest_stable_buffer(Bottleneck(service_rate=100.0, exogenous_rate=20.0), alpha=2.0)
    3
    """
    critical = critical_buffer(bottleneck, alpha=alpha, flows=flows, counts_service=counts_service)
    return math.floor(critical * (1.0 + _ROUNDING)) + 1


def behaves_like_reno(
    bottleneck: Bottleneck, buffer: float, *, alpha: float = 1.0, flows: int = 1, counts_service: bool = False
) -> bool:
    """Whether the window of Vegas grows until a packet is lost: B <= B* (Theorem 2).

    It is the definition epsilon_max <= alpha T / (W_max - alpha), or W_max <= alpha, with epsilon_max = B /
    mu, solved for B.

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
    b = number(
        "buffer", buffer, not_negative("buffer", buffer, "packets"), "one number of packets of at least 0"
    )
    critical = critical_buffer(bottleneck, alpha=alpha, flows=flows, counts_service=counts_service)
    return _at_most(b, critical)


# The fluid recursion: the same assumptions without the two shortcuts.


def next_first_rtt(bottleneck: Bottleneck, window: ArrayLike, first_rtt: ArrayLike) -> Numbers:
    """Round-trip time of the next generation's first packet, s: max(T, (W + lambda D) / mu).

    Exact for constant rates: during one round-trip time D the queue takes in the W packets of the generation
    and lambda D of the other traffic, and serves mu a second.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    window : array_like
        W, packets, at least 1.
    first_rtt : array_like
        D, round-trip time of the first packet of this generation, s, at least T.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, exogenous_rate=50.0, fixed_delay=0.1)
    >>> next_first_rtt(link, 20.0, 0.2)
    0.3
    """
    w = at_least("window", window, 1.0, "packets")
    d = at_least("first_rtt", first_rtt, bottleneck.base_rtt * (1.0 - _ROUNDING), "seconds")
    return plain(
        np.maximum(bottleneck.base_rtt, (w + bottleneck.exogenous_rate * d) / bottleneck.service_rate)
    )


def fluid_vegas(
    bottleneck: Bottleneck, *, alpha: float = 1.0, beta: float = 3.0, start: int = 1
) -> FluidVegasResult:
    """Congestion avoidance of Vegas mini-slot by mini-slot, up to its steady state.

    Growth by a packet: delta = D + 1 / nu and rtt = D + min(1 / nu, mu / (nu^2 W)). A window that stands or
    falls: both D. The window grows where W (1 - T / rtt) is below alpha, falls where it is above beta, to
    no less than a packet. With thresholds less than two packets apart it often hunts: what it adds is seen
    too late.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta.
    start : int
        Window of the first generation, which meets an empty queue, packets, at least 1.

    Raises
    ------
    ScenarioError
        If an argument lies outside its range, or a window is above `MAX_WINDOW`.

    Examples
    --------
    >>> steady = fluid_vegas(Bottleneck(service_rate=100.0, fixed_delay=0.1))
    >>> steady.window, steady.rtt, len(steady.steady)
    (13.0, 0.13, 1)
    """
    low, high = _thresholds(alpha, beta)
    window = whole("start", start, 1)
    nu, base_rtt = bottleneck.available_rate, bottleneck.base_rtt
    _bounded("start", start, float(window))
    _bounded("fixed_delay", bottleneck.fixed_delay, bottleneck.bdp + high + bottleneck.service_rate / nu)
    first_rtt, change = base_rtt, 0
    slots: list[FluidSlot] = []
    seen: dict[tuple[int, int, float], int] = {}
    while True:
        # D contracts by lambda / mu a mini-slot, so that a state recurs to this precision.
        state = (window, change, round(first_rtt / base_rtt, 11))
        if state in seen:
            return _fluid_vegas_result(tuple(slots), seen[state])
        seen[state] = len(slots)
        duration, rtt = _fluid_avoidance(bottleneck, window, first_rtt, grows=change > 0)
        slots.append(FluidSlot(window=window, first_rtt=first_rtt, duration=duration, rtt=rtt))
        diff = window * (1.0 - base_rtt / rtt)
        change = 1 if diff < low - _ROUNDING * window else -1 if diff > high + _ROUNDING * window else 0
        first_rtt = max(base_rtt, (window + bottleneck.exogenous_rate * first_rtt) / bottleneck.service_rate)
        window = max(1, window + change)


def _fluid_vegas_result(slots: tuple[FluidSlot, ...], recurs_from: int) -> FluidVegasResult:
    steady = slots[recurs_from:]
    packets = sum(slot.window for slot in steady)
    return FluidVegasResult(
        window=packets / len(steady),
        throughput=packets / math.fsum(slot.duration for slot in steady),
        rtt=math.fsum(slot.window * slot.rtt for slot in steady) / packets,
        steady=steady,
        slots=slots,
    )


def fluid_slow_start_threshold(bottleneck: Bottleneck, *, gamma: float = 1.0, slot: Slot = "doubling") -> int:
    """Window, in packets, at which the slow start of Vegas ends by the fluid recursion.

    From one packet, doubling and standing mini-slots alternate; rtt = D + W (1 / out - 1 / in) / 2 with the
    rates of `burst_rates`. It ends with the first mini-slot of those tested in which W (1 - T / rtt) reaches
    gamma.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    gamma : float
        Threshold, packets, greater than 0.
    slot : {"doubling", "constant"}
        Whether every mini-slot is tested, or only the one in which the window stands.

    Examples
    --------
    >>> fluid_slow_start_threshold(Bottleneck(service_rate=100.0, fixed_delay=0.1))
    8
    """
    g = number("gamma", gamma, positive("gamma", gamma, "packets"), "one number of packets greater than 0")
    one_of("slot", slot, _SLOTS)
    base_rtt, mu, lam = bottleneck.base_rtt, bottleneck.service_rate, bottleneck.exogenous_rate
    window, first_rtt, doubles = 1, base_rtt, False
    while True:
        rates = burst_rates(bottleneck, "vegas-doubling" if doubles else "vegas-constant")
        rtt = first_rtt + 0.5 * window * (1.0 / rates.out_of - 1.0 / rates.into)
        if (slot == "doubling" or not doubles) and window * (1.0 - base_rtt / rtt) >= g - _ROUNDING * window:
            return window
        _bounded("fixed_delay", bottleneck.fixed_delay, float(window))
        first_rtt = max(base_rtt, (window + lam * first_rtt) / mu)
        doubles = not doubles
        window = 2 * window if doubles else window


def fluid_reno(bottleneck: Bottleneck, buffer: float) -> FluidRenoResult:
    """Steady state of Reno by the fluid recursion, with the time in which a loss is detected.

    A cycle begins with half of the loss window, grows by a packet a generation, and ends with the generation
    whose extra packet would wait longer than B / mu. One more generation, of a packet less, is sent while
    duplicate acknowledgements are awaited, and one packet is retransmitted; its round-trip time is counted as
    that of the detection generation. Where the queue stays filled the loss window is floor(nu (T + B / mu) +
    lambda / nu) + 1.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    buffer : float
        B, packets that can wait, the one in service not counted, at least 0.

    Raises
    ------
    ScenarioError
        If the loss window is below 2 packets or above `MAX_WINDOW`.

    Examples
    --------
    >>> steady = fluid_reno(Bottleneck(service_rate=100.0, fixed_delay=0.1), 40.0)
    >>> steady.loss_window, round(steady.duration, 9), round(steady.throughput, 5)
    (52.0, 11.03, 100.09066)
    """
    peak = _reno_peak(bottleneck, buffer)
    detection_rtt = bottleneck.base_rtt + buffer / bottleneck.service_rate
    start = max(1, math.floor(peak / 2.0))
    cycles: list[FluidRenoCycle] = []
    # What a cycle hands on is its half window and a round-trip time, which contracts by lambda / mu a
    # generation.
    while True:
        cycle = _fluid_reno_cycle(bottleneck, buffer, start, detection_rtt)
        detection_rtt, start = cycle.detection_rtt, cycle.loss_window // 2
        cycles.append(cycle)
        for period in range(1, len(cycles)):
            earlier = cycles[-1 - period]
            if (
                earlier.loss_window == cycle.loss_window
                and len(earlier.slots) == len(cycle.slots)
                and abs(earlier.duration - cycle.duration) <= 1e-11 * cycle.duration
                and abs(earlier.detection_rtt - detection_rtt) <= 1e-11 * detection_rtt
            ):
                return _fluid_reno_result(tuple(cycles[-period:]))


def _fluid_reno_cycle(
    bottleneck: Bottleneck, buffer: float, start: int, detection_rtt: float
) -> FluidRenoCycle:
    """Run one cycle from the window `start` after a detection generation with the round-trip time given."""
    mu, lam, base_rtt = bottleneck.service_rate, bottleneck.exogenous_rate, bottleneck.base_rtt
    longest = base_rtt + buffer / mu
    window = start
    first_rtt = max(base_rtt, (window + lam * detection_rtt) / mu)
    duration, rtt = first_rtt, first_rtt
    slots = [FluidSlot(window=window, first_rtt=first_rtt, duration=duration, rtt=rtt)]
    while True:
        first_rtt = max(base_rtt, (window + lam * first_rtt) / mu)
        window += 1
        duration, rtt = _fluid_avoidance(bottleneck, window, first_rtt, grows=True)
        if duration > longest * (1.0 + _ROUNDING):
            break
        slots.append(FluidSlot(window=window, first_rtt=first_rtt, duration=duration, rtt=rtt))
    # The extra packet of the last generation is the one that is lost.
    slots.append(FluidSlot(window=window, first_rtt=first_rtt, duration=first_rtt, rtt=first_rtt))
    detection_rtt = min(longest, (window - 1 + lam * first_rtt) / mu)
    total = sum(slot.duration for slot in slots) + detection_rtt
    # The last generation delivers a packet less, the detection generation as many, and the retransmission
    # one.
    delivered = sum(slot.window for slot in slots[:-1]) + 2 * (window - 1) + 1
    delay = sum(slot.window * slot.rtt for slot in slots[:-1])
    delay += (window - 1) * first_rtt + window * detection_rtt
    return FluidRenoCycle(
        slots=tuple(slots),
        detection_rtt=detection_rtt,
        loss_window=window,
        duration=total,
        delivered=delivered,
        throughput=delivered / total,
        rtt=delay / delivered,
    )


def _fluid_reno_result(cycles: tuple[FluidRenoCycle, ...]) -> FluidRenoResult:
    duration = math.fsum(cycle.duration for cycle in cycles)
    delivered = sum(cycle.delivered for cycle in cycles)
    return FluidRenoResult(
        cycles=cycles,
        loss_window=sum(cycle.loss_window for cycle in cycles) / len(cycles),
        duration=duration / len(cycles),
        throughput=delivered / duration,
        rtt=math.fsum(cycle.rtt * cycle.delivered for cycle in cycles) / delivered,
    )


def _fluid_avoidance(
    bottleneck: Bottleneck, window: int, first_rtt: float, *, grows: bool
) -> tuple[float, float]:
    """Duration and average round-trip time of one generation of congestion avoidance."""
    if not grows:
        return first_rtt, first_rtt
    mu, nu = bottleneck.service_rate, bottleneck.available_rate
    return first_rtt + 1.0 / nu, first_rtt + min(1.0 / nu, mu / (nu * nu * window))


def _mini_slot(
    bottleneck: Bottleneck, w: NDArray[np.float64], phase: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Durations and average round-trip times of checked windows."""
    mu, lam, nu = bottleneck.service_rate, bottleneck.exogenous_rate, bottleneck.available_rate
    base_rtt, x = bottleneck.base_rtt, bottleneck.bdp
    c = 2.0 * mu * mu - lam * lam
    if phase == "constant":
        standing = np.maximum(base_rtt, w / nu)
        return standing, standing.copy()
    if phase == "growth":
        empties = w - 1.0 <= x * (1.0 + _ROUNDING)
        return (
            np.where(empties, base_rtt + 1.0 / nu, w / nu),
            np.where(empties, base_rtt, (w - 1.0) / nu) + 1.0 / (nu * w),
        )
    # In slow start: the window up to which the burst finds the queue empty, the last packet's wait per packet
    # before it, and the duration and the average round-trip time per packet of a burst that does not find it
    # empty.
    if phase == "reno-slow-start":
        r = 2.0 * mu - lam
        empty_below, wait, duration, rtt = r * base_rtt, 1.0 / r, 2.0 / r, 1.5 / r
    elif phase == "vegas-doubling":
        empty_below, wait = c * base_rtt / (mu + lam), mu / c
        duration, rtt = (2.0 * mu + lam) / c, (3.0 * mu + 2.0 * lam) / (2.0 * c)
    else:
        empty_below, wait = c * base_rtt / (2.0 * mu + lam), lam / c
        duration, rtt = 2.0 * (mu + lam) / c, (4.0 * mu + 3.0 * lam) / (2.0 * c)
    empty = w <= empty_below * (1.0 + _ROUNDING)
    return (
        np.where(empty, base_rtt + (w - 1.0) * wait, duration * w),
        np.where(empty, base_rtt + 0.5 * (w - 1.0) * wait, rtt * w),
    )


def _reno_peak(bottleneck: Bottleneck, buffer: float) -> float:
    """W_max of one flow, refused where there is no cycle or one too long to follow."""
    accepted = "one number of packets of at least 0"
    b = number("buffer", buffer, not_negative("buffer", buffer, "packets"), accepted)
    peak = float(loss_window(bottleneck, b))
    if peak < 2.0:
        raise refusal(
            "buffer", buffer, f"a buffer with which the loss window, {peak:g} packets, is at least 2"
        )
    _bounded("buffer", buffer, peak)
    return peak


def _bounded(field: str, value: float, window: float) -> None:
    """Refuse what would have to be followed through too many windows."""
    if window > MAX_WINDOW:
        raise refusal(field, value, f"a value that keeps windows at or below {MAX_WINDOW} packets")


def _at_most(value: float, limit: float) -> bool:
    """Whether `value` <= `limit`, where both may differ in their last digits."""
    return value <= limit * (1.0 + _ROUNDING)


def _alpha(alpha: float) -> float:
    accepted = "one number of packets greater than 0"
    return number("alpha", alpha, positive("alpha", alpha, "packets"), accepted)


def _thresholds(alpha: float, beta: float) -> tuple[float, float]:
    low = _alpha(alpha)
    accepted = f"one number of packets of at least alpha, {low:g}"
    high = number("beta", beta, positive("beta", beta, "packets"), accepted)
    if high < low:
        raise refusal("beta", beta, accepted)
    return low, high
