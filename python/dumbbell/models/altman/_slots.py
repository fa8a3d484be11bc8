"""Theorem 1: rates inside a burst, and one mini-slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import refusal
from dumbbell.models._checks import Numbers, at_least, one_of, plain, positive
from dumbbell.models.altman._bottleneck import PHASES, ROUNDING, Bottleneck, Phase

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
        $epsilon = rtt - T$, s.
    """

    duration: Numbers
    rtt: Numbers
    excess: Numbers


def fifo_share(bottleneck: Bottleneck, rate: ArrayLike) -> Numbers:
    """Rate at which a burst leaves the queue, packets/s: $mu r / (r + lambda)$ while the queue is not empty.

    First in, first out shares the service in proportion to what arrives. A burst with $r + lambda <= mu$ passes
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
    one_of("phase", phase, PHASES)
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
    """Excess time of a standing window, epsilon, s: $max(0, W / nu - T)$ (Theorem 1 (i)).

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

    Constant window (i): both $max(T, W / nu)$. Growth: packets 1 to $W - 1$ meet the round-trip time of the
    window before, the extra one $1 / nu$ more. Slow start of Reno (ii) and of Vegas (iii): packet j of a burst
    that finds the queue empty waits $(j - 1) (1 / out - 1 / in)$; of one that does not, the wait of the burst
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
    one_of("phase", phase, PHASES)
    w = at_least("window", window, 1.0, "packets")
    duration, rtt = slot_times(bottleneck, w, phase)
    return MiniSlot(duration=plain(duration), rtt=plain(rtt), excess=plain(rtt - bottleneck.base_rtt))


def slow_start_excess(bottleneck: Bottleneck, window: ArrayLike) -> Numbers:
    """Time by which Vegas takes longer than Reno for one doubling, s (after Theorem 1 (iii)).

    $$T + (W - 1) lambda mu / (C (2 mu - lambda)),   C = 2 mu^2 - lambda^2$$

    The doubling and the constant mini-slot of Vegas less the one of Reno. It is greater than 0.

    Parameters
    ----------
    bottleneck : Bottleneck
        The shared queue.
    window : array_like
        W, packets, at least 1, and small enough that its burst finds the queue empty: at most
        $C T / (2 mu + lambda)$.

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


def slot_times(
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
        empties = w - 1.0 <= x * (1.0 + ROUNDING)
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
    empty = w <= empty_below * (1.0 + ROUNDING)
    return (
        np.where(empty, base_rtt + (w - 1.0) * wait, duration * w),
        np.where(empty, base_rtt + 0.5 * (w - 1.0) * wait, rtt * w),
    )
