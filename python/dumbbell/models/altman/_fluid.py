"""The fluid recursion: the same assumptions without the shortcuts of the closed forms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.models._checks import Numbers, at_least, one_of, one_positive, plain, thresholds, whole
from dumbbell.models.altman._bottleneck import ROUNDING, SLOTS, Bottleneck, Slot, refuse_beyond
from dumbbell.models.altman._closed import reno_peak
from dumbbell.models.altman._slots import burst_rates

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


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
        Mean window of the steady state, packets; a whole number if the window is constant.
    throughput : float
        Packets/s of the steady state.
    rtt : float
        Average round-trip time of its packets, s.
    steady : tuple of FluidSlot
        The mini-slots that recur: one if the window is constant, several if it oscillates.
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


def next_first_rtt(bottleneck: Bottleneck, window: ArrayLike, first_rtt: ArrayLike) -> Numbers:
    """Round-trip time of the next generation's first packet, s: $max(T, (W + lambda D) / mu)$.

    Exact for constant rates: during one round-trip time D the queue takes in the W packets of the generation
    and $lambda D$ of the other traffic, and serves mu a second.

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
    d = at_least("first_rtt", first_rtt, bottleneck.base_rtt * (1.0 - ROUNDING), "seconds")
    return plain(
        np.maximum(bottleneck.base_rtt, (w + bottleneck.exogenous_rate * d) / bottleneck.service_rate)
    )


def _next_first_rtt(bottleneck: Bottleneck, window: int, first_rtt: float) -> float:
    """As `next_first_rtt`, for one pair of checked numbers."""
    waiting = window + bottleneck.exogenous_rate * first_rtt
    return max(bottleneck.base_rtt, waiting / bottleneck.service_rate)


def fluid_vegas(
    bottleneck: Bottleneck, *, alpha: float = 1.0, beta: float = 3.0, start: int = 1
) -> FluidVegasResult:
    """Congestion avoidance of Vegas mini-slot by mini-slot, up to its steady state.

    Growth by a packet: $delta = D + 1 / nu$ and $rtt = D + min(1 / nu, mu / (nu^2 W))$. A window that is constant or
    falls: both D. The window grows where $W (1 - T / rtt)$ is below alpha, falls where it is above beta, to
    no less than a packet. With thresholds less than two packets apart it often hunts: what it adds is seen
    too late.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue; its buffer is taken as large enough.
    alpha, beta : float
        Thresholds, packets, 0 < alpha <= beta.
    start : int
        Window of the first generation, with an empty queue, packets, at least 1.

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
    low, high = thresholds(alpha, beta)
    window = whole("start", start, 1)
    nu, base_rtt = bottleneck.available_rate, bottleneck.base_rtt
    refuse_beyond("start", start, float(window))
    refuse_beyond("fixed_delay", bottleneck.fixed_delay, bottleneck.bdp + high + bottleneck.service_rate / nu)
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
        change = 1 if diff < low - ROUNDING * window else -1 if diff > high + ROUNDING * window else 0
        first_rtt = _next_first_rtt(bottleneck, window, first_rtt)
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

    From one packet, doubling and standing mini-slots alternate; $rtt = D + W (1 / out - 1 / in) / 2$ with
    the rates of `burst_rates`. It ends with the first mini-slot of those tested in which $W (1 - T / rtt)$ reaches
    gamma.

    Parameters
    ----------
    bottleneck, gamma, slot
        As of `slow_start_threshold`.

    Examples
    --------
    >>> fluid_slow_start_threshold(Bottleneck(service_rate=100.0, fixed_delay=0.1))
    8
    """
    g = one_positive("gamma", gamma, "packets")
    one_of("slot", slot, SLOTS)
    base_rtt = bottleneck.base_rtt
    window, first_rtt, doubles = 1, base_rtt, False
    while True:
        rates = burst_rates(bottleneck, "vegas-doubling" if doubles else "vegas-constant")
        rtt = first_rtt + 0.5 * window * (1.0 / rates.out_of - 1.0 / rates.into)
        if (slot == "doubling" or not doubles) and window * (1.0 - base_rtt / rtt) >= g - ROUNDING * window:
            return window
        refuse_beyond("fixed_delay", bottleneck.fixed_delay, float(window))
        first_rtt = _next_first_rtt(bottleneck, window, first_rtt)
        doubles = not doubles
        window = 2 * window if doubles else window


def fluid_reno(bottleneck: Bottleneck, buffer: float) -> FluidRenoResult:
    """Steady state of Reno by the fluid recursion, with the time in which a loss is detected.

    A cycle begins with half of the loss window, grows by a packet a generation, and ends with the generation
    whose extra packet would wait longer than $B / mu$. One more generation, of a packet less, is sent while
    duplicate acknowledgements are awaited, and one packet is retransmitted; its round-trip time is counted as
    that of the detection generation. Where the queue stays filled the loss window is
    $floor(nu (T + B / mu) + lambda / nu) + 1$.

    Parameters and errors are those of `reno_cycle`.

    Examples
    --------
    >>> steady = fluid_reno(Bottleneck(service_rate=100.0, fixed_delay=0.1), 40.0)
    >>> steady.loss_window, round(steady.duration, 9), round(steady.throughput, 5)
    (52.0, 11.03, 100.09066)
    """
    peak = reno_peak(bottleneck, buffer)
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
    mu, lam = bottleneck.service_rate, bottleneck.exogenous_rate
    longest = bottleneck.base_rtt + buffer / mu
    window = start
    first_rtt = _next_first_rtt(bottleneck, window, detection_rtt)
    slots = [FluidSlot(window=window, first_rtt=first_rtt, duration=first_rtt, rtt=first_rtt)]
    while True:
        first_rtt = _next_first_rtt(bottleneck, window, first_rtt)
        window += 1
        duration, rtt = _fluid_avoidance(bottleneck, window, first_rtt, grows=True)
        if duration > longest * (1.0 + ROUNDING):
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
