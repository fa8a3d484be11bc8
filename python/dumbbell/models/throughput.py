"""Throughput of a long-lived TCP flow from its loss rate and its round-trip time.

Sources
-------
* `reno` is Eq. 2 of [grieco2004], `westwood_plus` its Eq. 3.
* `mathis` is the law of [mathis1997].
* `padhye_fast_retransmit_only`, `padhye` and `padhye_approximate` are those of [padhye1998]. The numbers of its
  equations below are those of the text in the proceedings.

All rates are in segments per second. Multiply by the segment size for bits or bytes. A loss rate is a
probability per segment. `segments_per_ack` is 1 without delayed acknowledgements and 2 with them; it is
called b in the formulas. An argument outside its range raises a `dumbbell.ScenarioError`.

Validity
--------
Every formula is for a steady state in congestion avoidance whose loss rate and round-trip time do not depend
on the flow's own window. Formulas proportional to $1 / sqrt(p)$ ignore timeouts and hold for p up to about 0.02;
with the default of an unlimited window, they diverge for small p, as intended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from dumbbell.errors import refusal
from dumbbell.models._checks import Numbers, at_least, between, one_of, plain, positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# Constants of the 1/sqrt(p) law for one segment per acknowledgement, by how losses fall.
_MATHIS = {"periodic": float(np.sqrt(1.5)), "random": 1.31}


def reno(*, loss_rate: ArrayLike, rtt: ArrayLike, segments_per_ack: ArrayLike = 1.0) -> Numbers:
    """Throughput of Reno, in segments/s [grieco2004 equation 2].

    $$T = sqrt(2 (1 - p) / (b p)) / RTT$$

    It follows from zero mean drift of the window per acknowledgement, $(1 - p) / W = p W / 2$. Its constant,
    $sqrt(2)$, is that of random losses in a fluid model, above the $sqrt(3/2)$ of periodic losses.

    Parameters
    ----------
    loss_rate : array_like
        p, probability that a segment is lost, between 0 and 1; valid for small p, below about 0.02.
    rtt : array_like
        Mean round-trip time, s, greater than 0.
    segments_per_ack : array_like
        b, greater than 0: 1 is the printed form, 2 divides it by $sqrt(2)$ for delayed acknowledgements.

    Examples
    --------
    >>> round(reno(loss_rate=0.01, rtt=0.1), 2)
    140.71
    """
    p, round_trip, b = _path(loss_rate, rtt, segments_per_ack)
    return plain(np.sqrt(2.0 * (1.0 - p) / (b * p)) / round_trip)


def westwood_plus(
    *, loss_rate: ArrayLike, rtt: ArrayLike, queueing_time: ArrayLike, segments_per_ack: ArrayLike = 1.0
) -> Numbers:
    """Throughput of Westwood+, in segments/s [grieco2004 equation 3].

    $$T = sqrt((1 - p) / (b p)) / sqrt(RTT T_q),   T_q = RTT - RTT_min$$

    A loss reduces the window by $W T_q / RTT$, to $(W / RTT) RTT_min$; zero mean drift,
    $(1 - p) / W = p W T_q / RTT$, gives the formula.

    Parameters
    ----------
    loss_rate, rtt, segments_per_ack
        As of `reno`.
    queueing_time : array_like
        $T_q$, mean queueing time within `rtt`, s, greater than 0 and at most `rtt`. As it goes to 0, a loss no longer
        reduces the window and the formula diverges.

    Examples
    --------
    >>> round(westwood_plus(loss_rate=0.01, rtt=0.1, queueing_time=0.05), 2)
    140.71
    """
    p = between("loss_rate", loss_rate, 0.0, 1.0)
    round_trip, queueing = _round_trip_and_queueing(rtt, queueing_time)
    b = positive("segments_per_ack", segments_per_ack, "segments")
    return plain(np.sqrt((1.0 - p) / (b * p)) / np.sqrt(round_trip * queueing))


def westwood_plus_to_reno(*, rtt: ArrayLike, queueing_time: ArrayLike) -> Numbers:
    """Throughput of Westwood+ over that of Reno, without unit: $sqrt(RTT / (2 T_q))$, Eq. 3 over Eq. 2.

    Both go as $1 / sqrt(p)$, so the loss rate cancels. They are equal where $T_q = RTT / 2 = RTT_min$; below that
    Westwood+ gets more, above it less.

    Parameters
    ----------
    rtt : array_like
        Mean round-trip time, s, greater than 0; the same for both flows.
    queueing_time : array_like
        $T_q$, mean queueing time within `rtt`, s, greater than 0 and at most `rtt`.

    Examples
    --------
    >>> round(westwood_plus_to_reno(rtt=0.2, queueing_time=0.025), 12)
    2.0
    """
    round_trip, queueing = _round_trip_and_queueing(rtt, queueing_time)
    return plain(np.sqrt(round_trip / (2.0 * queueing)))


def mathis(
    *,
    loss_rate: ArrayLike,
    rtt: ArrayLike,
    segments_per_ack: ArrayLike = 1.0,
    losses: Literal["periodic", "random"] = "periodic",
) -> Numbers:
    """Throughput of congestion avoidance, in segments/s [mathis1997 §2].

    $$T = C / (RTT sqrt(p))$$

    Periodic losses give $C = sqrt(3/2) = 1.22$ with an acknowledgement for every segment and $sqrt(3/4) = 0.87$ with
    delayed ones; random losses give 1.31 and 0.93. Other b scale with $1 / sqrt(b)$.

    Parameters
    ----------
    loss_rate : array_like
        p, loss events per segment, between 0 and 1; valid for small p, below about 0.02, where timeouts are
        rare.
    rtt : array_like
        Mean round-trip time, s, greater than 0.
    segments_per_ack : array_like
        b, greater than 0.
    losses : {"periodic", "random"}
        How losses fall: every 1/p-th segment, or each segment alone.

    Examples
    --------
    >>> round(mathis(loss_rate=0.01, rtt=0.1), 2)
    122.47
    """
    one_of("losses", losses, tuple(_MATHIS))
    p, round_trip, b = _path(loss_rate, rtt, segments_per_ack)
    return plain(_MATHIS[losses] / np.sqrt(b * p) / round_trip)


def expected_window(*, loss_rate: ArrayLike, segments_per_ack: ArrayLike = 1.0) -> Numbers:
    """Mean window at the end of a period between two loss indications, in segments [padhye1998 equation 13].

    $$E[W] = c + sqrt(8 (1 - p) / (3 b p) + c^2),   c = (2 + b) / (3 b)$$

    Without timeouts and without a limit of the window.

    Parameters
    ----------
    loss_rate : array_like
        p, probability that the first segment of a loss indication is lost, between 0 and 1.
    segments_per_ack : array_like
        b, greater than 0.

    Examples
    --------
    >>> round(expected_window(loss_rate=0.01), 3)
    17.279
    """
    p = between("loss_rate", loss_rate, 0.0, 1.0)
    b = positive("segments_per_ack", segments_per_ack, "segments")
    return plain(_expected_window(p, b))


def timeout_probability(*, loss_rate: ArrayLike, window: ArrayLike) -> Numbers:
    """Probability that a loss indication in a window is a timeout, without unit [padhye1998 §2.2].

    $$Q(w) = min(1, (1 - (1 - p)^3) (1 + (1 - p)^3 (1 - (1 - p)^(w - 3))) / (1 - (1 - p)^w))$$

    It is 1 for windows of at most three segments, which cannot bring three duplicate acknowledgements, and goes to
    $3 / w$ as p goes to 0.

    Parameters
    ----------
    loss_rate : array_like
        p, between 0 and 1; after the first loss the rest of a round is taken as lost.
    window : array_like
        w, segments, greater than 0.

    Examples
    --------
    >>> timeout_probability(loss_rate=0.01, window=3.0)
    1.0
    >>> round(timeout_probability(loss_rate=1e-9, window=30.0), 6)
    0.1
    """
    p = between("loss_rate", loss_rate, 0.0, 1.0)
    w = positive("window", window, "segments")
    return plain(_timeout_probability(p, w))


def padhye_fast_retransmit_only(
    *, loss_rate: ArrayLike, rtt: ArrayLike, segments_per_ack: ArrayLike = 1.0
) -> Numbers:
    """Send rate when every loss is found by duplicate acknowledgements, in segments/s [padhye1998 §2.1].

    $$B = ((1 - p) / p + E[W]) / (RTT (E[X] + 1))$$

    This is the mean number of segments between two loss indications over the mean time. $E[W]$ is `expected_window`,
    and the rounds are $E[X] = b E[W] / 2$. It goes to $sqrt(3 / (2 b p)) / RTT$, which is `mathis`, as p goes to 0.

    Parameters
    ----------
    loss_rate, rtt, segments_per_ack
        As of `reno`; valid where timeouts are rare, p below about 0.01.

    Examples
    --------
    >>> round(padhye_fast_retransmit_only(loss_rate=0.01, rtt=0.1), 2)
    120.63
    """
    p, round_trip, b = _path(loss_rate, rtt, segments_per_ack)
    peak = _expected_window(p, b)
    return plain(((1.0 - p) / p + peak) / (round_trip * (b * peak / 2.0 + 1.0)))


def padhye(
    *,
    loss_rate: ArrayLike,
    rtt: ArrayLike,
    rto: ArrayLike,
    window_limit: ArrayLike = np.inf,
    segments_per_ack: ArrayLike = 1.0,
) -> Numbers:
    """Send rate of Reno with timeouts and a limited window, in segments/s [padhye1998 equation 31].

    With $w = min(E[W], W_m)$, $Q(w)$ of `timeout_probability`,
    $f(p) = 1 + p + 2 p^2 + 4 p^3 + 8 p^4 + 16 p^5 + 32 p^6$ (Eq. 28) for the doubling of the timer up to 64 times,
    and X the rounds between two loss indications:

    $$B = ((1 - p) / p + w + Q(w) / (1 - p)) / (RTT (X + 1) + Q(w) T_0 f(p) / (1 - p))$$

    $X = b E[W] / 2$ where $E[W] < W_m$, else $b W_m / 8 + (1 - p) / (p W_m) + 1$.

    Parameters
    ----------
    loss_rate : array_like
        p, probability that the first segment of a loss indication is lost, between 0 and 1. Losses within one
        round count as one indication.
    rtt : array_like
        Mean round-trip time, s, greater than 0, taken as independent of the window.
    rto : array_like
        $T_0$, mean duration of a first timeout, s, greater than 0; meant to be some round-trip times, and below
        one of them the rate may rise with losses.
    window_limit : array_like
        $W_m$, largest window of the receiver, segments, at least 1; infinity for none. Where $E[W]$ passes it the
        rate jumps a little, because the two forms of X do not join.
    segments_per_ack : array_like
        b, greater than 0.

    Examples
    --------
    >>> round(padhye(loss_rate=0.01, rtt=0.1, rto=1.0), 2)
    98.83
    >>> round(padhye(loss_rate=1e-6, rtt=0.1, rto=1.0, window_limit=20.0), 1)
    200.0
    """
    p = between("loss_rate", loss_rate, 0.0, 1.0)
    round_trip = positive("rtt", rtt, "seconds")
    timeout = positive("rto", rto, "seconds")
    limit = at_least("window_limit", window_limit, 1.0, "segments", infinite=True)
    b = positive("segments_per_ack", segments_per_ack, "segments")
    free_peak = _expected_window(p, b)
    peak = np.minimum(free_peak, limit)
    limited_rounds = b * peak / 8.0 + (1.0 - p) / (p * peak) + 1.0
    rounds = np.where(free_peak < limit, b * free_peak / 2.0, limited_rounds)
    by_timeout = _timeout_probability(p, peak) / (1.0 - p)
    backoff = 1.0 + sum(2.0 ** (doublings - 1) * p**doublings for doublings in range(1, 7))
    sent = (1.0 - p) / p + peak + by_timeout
    return plain(sent / (round_trip * (rounds + 1.0) + by_timeout * timeout * backoff))


def padhye_approximate(
    *,
    loss_rate: ArrayLike,
    rtt: ArrayLike,
    rto: ArrayLike,
    window_limit: ArrayLike = np.inf,
    segments_per_ack: ArrayLike = 1.0,
) -> Numbers:
    """Send rate of Reno, in segments/s, by the short form of `padhye` [padhye1998 §2.3].

    $$B = min(W_m / RTT, 1 / (RTT sqrt(2 b p / 3) + T_0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2)))$$

    Parameters
    ----------
    loss_rate, rtt, rto, window_limit, segments_per_ack
        As of `padhye`. Q is taken at its limit $3 / E[W]$, so that with a $T_0$ of several round-trip times the
        rate is some percent too high at p near 0.01.

    Examples
    --------
    >>> round(padhye_approximate(loss_rate=0.01, rtt=0.1, rto=1.0), 2)
    99.92
    """
    p = between("loss_rate", loss_rate, 0.0, 1.0)
    round_trip = positive("rtt", rtt, "seconds")
    timeout = positive("rto", rto, "seconds")
    limit = at_least("window_limit", window_limit, 1.0, "segments", infinite=True)
    b = positive("segments_per_ack", segments_per_ack, "segments")
    by_timeout = np.minimum(1.0, 3.0 * np.sqrt(3.0 * b * p / 8.0))
    seconds_per_segment = round_trip * np.sqrt(2.0 * b * p / 3.0) + timeout * by_timeout * p * (
        1.0 + 32.0 * p**2
    )
    return plain(np.minimum(limit / round_trip, 1.0 / seconds_per_segment))


def _path(
    loss_rate: ArrayLike, rtt: ArrayLike, segments_per_ack: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return p, RTT and b."""
    return (
        between("loss_rate", loss_rate, 0.0, 1.0),
        positive("rtt", rtt, "seconds"),
        positive("segments_per_ack", segments_per_ack, "segments"),
    )


def _round_trip_and_queueing(
    rtt: ArrayLike, queueing_time: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    round_trip = positive("rtt", rtt, "seconds")
    queueing = positive("queueing_time", queueing_time, "seconds")
    bad = queueing > round_trip
    if bad.any():
        found = float(np.broadcast_to(queueing, bad.shape)[bad].flat[0])
        raise refusal("queueing_time", found, "a number of seconds greater than 0 and at most rtt")
    return round_trip, queueing


def _expected_window(p: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    centre = (2.0 + b) / (3.0 * b)
    window: NDArray[np.float64] = centre + np.sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + centre**2)
    return window


def _timeout_probability(p: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    # The powers of 1 - p go through the logarithm: for p near 0 the differences would lose all digits.
    log_survival = np.log1p(-p)
    longer = np.maximum(w, 3.0)
    three_lost = -np.expm1(3.0 * log_survival)
    rest = 1.0 - np.exp(3.0 * log_survival) * np.expm1((longer - 3.0) * log_survival)
    probability = np.minimum(1.0, three_lost * rest / -np.expm1(longer * log_survival))
    return np.where(w <= 3.0, 1.0, probability)
