"""Why CODE TCP multiplies its thresholds by 0.68 after a loss.

Source
------
[chan2010 §3.3], Eqs. 3-19.

Model
-----
Fluid, one CODE and one Reno flow of equal round-trip time at one bottleneck, both always sending, both losing
at the end of every cycle, no recovery phase. Time is in rounds (round-trip times), windows in packets; every
result scales with the peak of CODE's window, W. After a loss CODE has m W packets (m = 3/4, Eq. 4). It falls
by one packet a round to epsilon W (Eq. 5), because its thresholds were multiplied by epsilon, then climbs by
s packets a round (s = 2/3) to W. Reno goes from half of its peak to its peak by one packet a round. Equal
throughput over the cycle (Eq. 3) gives a quadratic in epsilon (Eq. 18).

Departures: the loss factor m and the climb s are parameters, and for epsilon above m, which the paper
rejects, `throughput_ratio` lets the window climb by one packet a round from m W to epsilon W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import refusal
from dumbbell.models._checks import Numbers, between, one_between, one_positive, plain, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LOSS_FACTOR = 3.0 / 4.0
"""Share of its window that CODE, as Vegas, keeps after a loss, without unit (Eq. 4)."""

CLIMB = 2.0 / 3.0
"""Packets a round by which CODE's window grows when round-trip times rise, see `climb_per_round`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EpsilonRoots:
    """Roots of the quadratic for epsilon, without unit.

    Attributes
    ----------
    smaller, larger : float
        The roots (Eq. 19), `smaller` <= `larger`.
    admissible : tuple of float
        Those for which CODE's window falls after a loss and Reno has a window at all: the rounds of the
        decrease (Eq. 14) and Reno's peak (Eq. 17) are not negative.
    """

    smaller: float
    larger: float
    admissible: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cycle:
    """One cycle from loss to loss of a CODE and a Reno flow.

    Attributes
    ----------
    decrease_rounds : float
        t, rounds in which CODE's window falls (Eq. 14).
    climb_rounds : float
        Rounds in which it climbs from epsilon W to W.
    rounds : float
        Both, W_R / 2 (Eq. 17).
    reno_peak : float
        W_R, Reno's window at the loss, packets.
    code_packets, reno_packets : float
        Packets sent in the cycle (Eqs. 15 and 12).
    ratio : float
        CODE's throughput over Reno's, without unit.
    """

    decrease_rounds: float
    climb_rounds: float
    rounds: float
    reno_peak: float
    code_packets: float
    reno_packets: float
    ratio: float


def climb_per_round(raise_by: int) -> float:
    """Packets a round by which a window grows when thresholds rise by `raise_by` at a time.

    Round-trip times rise all the while. With Delta one larger for every packet more, a raise of both
    thresholds by r lets the window grow in the next r rounds; in the round after them it stands, and the
    thresholds rise. That is r packets in r + 1 rounds: 1/2 for NewVegas (r = 1), 2/3 for CODE (r = 2), as in
    the paper's Table 1.

    Parameters
    ----------
    raise_by : int
        r, packets, at least 1.

    Examples
    --------
    >>> climb_per_round(1), round(climb_per_round(2), 4)
    (0.5, 0.6667)
    """
    r = whole("raise_by", raise_by, 1)
    return r / (r + 1)


def quadratic(*, loss_factor: float = LOSS_FACTOR, climb: float = CLIMB) -> tuple[float, float, float]:
    """Coefficients of $epsilon^2$, $epsilon$ and 1 in the condition of equal throughput, without unit (Eq. 18).

    Setting Eq. 15 equal to Eq. 16 and replacing Reno's peak by Eq. 17 gives, with $c = 1 + 1/s$ and
    $a = m + 1/s$,

    $$(3 c^2 + c) epsilon^2 - 6 a c epsilon + 3 a^2 - m^2 - 1/s = 0.$$

    It is scaled so that the paper's m and s give 34, -54 and 21 as printed.

    Parameters
    ----------
    loss_factor : float
        m, between 0 and 1.
    climb : float
        s, packets a round, greater than 0.

    Examples
    --------
    >>> [round(coefficient, 9) for coefficient in quadratic()]
    [34.0, -54.0, 21.0]
    """
    m, s = _constants(loss_factor, climb)
    c, a = 1.0 + 1.0 / s, m + 1.0 / s
    scale = 34.0 / 21.25
    return (scale * (3.0 * c * c + c), -scale * 6.0 * a * c, scale * (3.0 * a * a - m * m - 1.0 / s))


def epsilon_roots(*, loss_factor: float = LOSS_FACTOR, climb: float = CLIMB) -> EpsilonRoots:
    """Both values of epsilon for which CODE and Reno have equal throughput (Eq. 19).

    For the paper's constants they are $(27 - sqrt(15)) / 34 = 0.6802$ and $(27 + sqrt(15)) / 34 = 0.9080$. The
    larger one is not admissible: the window would have to fall for a negative time, and Reno's peak be
    negative.

    Parameters
    ----------
    loss_factor, climb
        As of `quadratic`.

    Raises
    ------
    ScenarioError
        If an argument lies outside its range, or no real root exists.

    Examples
    --------
    >>> roots = epsilon_roots()
    >>> round(roots.smaller, 4), round(roots.larger, 4), len(roots.admissible)
    (0.6802, 0.908, 1)
    """
    m, s = _constants(loss_factor, climb)
    square, linear, constant = quadratic(loss_factor=m, climb=s)
    discriminant = linear * linear - 4.0 * square * constant
    if discriminant < 0.0:
        raise refusal("climb", climb, f"a climb for which equal throughput is possible at loss_factor {m:g}")
    # The linear coefficient is negative, so that the sum loses no digits; the product of the roots gives the
    # other.
    larger = (-linear + math.sqrt(discriminant)) / (2.0 * square)
    smaller = constant / (square * larger)
    admissible = tuple(
        root for root in (smaller, larger) if 0.0 < root <= m and (m - root) + (1.0 - root) / s > 0.0
    )
    return EpsilonRoots(smaller=smaller, larger=larger, admissible=admissible)


def epsilon(*, loss_factor: float = LOSS_FACTOR, climb: float = CLIMB) -> float:
    """Epsilon that gives CODE and Reno equal throughput, without unit: the one admissible root.

    Parameters
    ----------
    loss_factor, climb
        As of `quadratic`.

    Raises
    ------
    ScenarioError
        If no root is admissible, as after halving: m = 1/2 has the root 0.580 > m.

    Examples
    --------
    >>> round(epsilon(), 4)
    0.6802
    """
    roots = epsilon_roots(loss_factor=loss_factor, climb=climb)
    if not roots.admissible:
        raise refusal(
            "loss_factor", loss_factor, f"a loss factor of at least the smaller root, {roots.smaller:.4f}"
        )
    return roots.admissible[0]


def throughput_ratio(
    epsilon: ArrayLike, *, loss_factor: float = LOSS_FACTOR, climb: float = CLIMB
) -> Numbers:
    """Throughput of CODE over that of Reno, without unit (Eq. 15 over Eq. 16, with Eq. 17).

    With the paper's constants, it is up to $epsilon = 3/4$

    $$(33 - 40 epsilon^2) / (3 (9 - 10 epsilon)^2).$$

    It is steep: at the root a change of epsilon by 0.01 moves the ratio by 0.05. Above `loss_factor` the window climbs by
    one packet a round to epsilon W, and by `climb` from there; that part is not the paper's.

    Parameters
    ----------
    epsilon : array_like
        Between 0 and 1. Fluid; sums over whole packets agree from W of about 100 packets on.
    loss_factor, climb
        As of `quadratic`.

    Examples
    --------
    >>> throughput_ratio([0.5, 0.68, 0.75]).round(3).tolist()
    [0.479, 0.999, 1.556]
    """
    e = between("epsilon", epsilon, 0.0, 1.0)
    m, s = _constants(loss_factor, climb)
    first, climbing = np.abs(m - e), (1.0 - e) / s
    packets = (m + e) / 2.0 * first + (1.0 + e) / 2.0 * climbing
    return plain(packets / (1.5 * (first + climbing) ** 2))


def cycle(
    epsilon: float, peak: float = 1.0, *, loss_factor: float = LOSS_FACTOR, climb: float = CLIMB
) -> Cycle:
    """Durations, windows and packets of one cycle (Eqs. 10-17).

    Parameters
    ----------
    epsilon : float
        Greater than 0 and at most `loss_factor`.
    peak : float
        W, CODE's window at the loss, packets, greater than 0.
    loss_factor, climb
        As of `quadratic`.

    Examples
    --------
    >>> one = cycle(0.68, 100.0)
    >>> round(one.decrease_rounds, 6), round(one.climb_rounds, 6), round(one.reno_peak, 6)
    (7.0, 48.0, 110.0)
    """
    m, s = _constants(loss_factor, climb)
    accepted = f"one number greater than 0 and at most loss_factor, {m:g}"
    e = one_between("epsilon", epsilon, 0.0, 1.0)
    if e > m:
        raise refusal("epsilon", epsilon, accepted)
    w = one_positive("peak", peak, "packets")
    decrease, climbing = (m - e) * w, (1.0 - e) / s * w
    reno_peak = 2.0 * (decrease + climbing)
    packets = (m + e) / 2.0 * w * decrease + (1.0 + e) / 2.0 * w * climbing
    reno_packets = 3.0 / 8.0 * reno_peak**2
    return Cycle(
        decrease_rounds=decrease,
        climb_rounds=climbing,
        rounds=decrease + climbing,
        reno_peak=reno_peak,
        code_packets=packets,
        reno_packets=reno_packets,
        ratio=packets / reno_packets,
    )


def _constants(loss_factor: float, climb: float) -> tuple[float, float]:
    return one_between("loss_factor", loss_factor, 0.0, 1.0), one_positive("climb", climb, "packets a round")
