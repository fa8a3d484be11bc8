"""Rate and bucket of a policer, from which packets were lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dumbbell.inference.connection import Connection, Facts, Floats

# Fewer losses tell nothing of a bucket.
LEAST_LOSSES = 4
# Rates that are tried, as multiples of the mean rate of what passed, on the first part of the losses, and how many of
# the best are tried on all.
RATES, COUNT, FIRST, BEST = (0.985, 4.0), 240, 0.3, 5
# Steps around these, as fractions.
WIDTHS = (0.004, 0.0008, 0.0002)
# How far from the best one rates may explain the losses as well, as fractions, and how many more mistakes that is.
REACH, ALIKE = 0.6, 0.01
# At most this share of the losses may be told wrongly, counting those that would have been lost and were not.
MOST_WRONG = 0.4
# Rates within this factor are one; otherwise so many of them are simulated, beside the middle.
ALIKE_RATES, OTHERS = 1.0004, 6
# A queue delays a packet by what is ahead over its rate. A policer delays none: at most this share of that.
DELAYED = 0.3
# Transmissions that are judged.
MOST_SENT = 20_000


@dataclass(frozen=True)
class Bucket:
    """A token bucket: its rate, bit/s, its size, bytes, and the share of losses that it tells wrongly."""

    rate_bps: float
    burst_bytes: float
    wrong: float


def buckets(seen: Connection) -> tuple[Bucket, ...]:
    """Return the policers that the losses may be those of, the likeliest first; none if they are not.

    A token bucket loses a packet if and only if the tokens that were taken and not refilled, and the packet, are more than
    its size (RFC 2697 §3). So its rate and its size are those that tell lost packets from others with the fewest
    mistakes. A queue would do the same, but delay packets by what is ahead of them.

    Returns
    -------
    tuple of Bucket
        The one in the middle of the rates that tell losses about as well, and others over these, if they are not alike.
    """
    lost = seen.is_lost[:MOST_SENT]
    if np.count_nonzero(lost) < LEAST_LOSSES:
        return ()
    time, size = seen.sent_s[:MOST_SENT], (seen.sent_bytes + seen.headers)[:MOST_SENT].astype(np.float64)
    # What nobody has acknowledged at the end may be lost, too.
    is_known = (seen.sent_offset[:MOST_SENT] + seen.sent_bytes[:MOST_SENT] <= seen.acked[-1]) | lost
    time, size, lost = time[is_known], size[is_known], lost[is_known]
    mean = 8.0 * float(np.sum(size[~lost])) / float(time[-1])
    if _is_delayed(seen, mean):
        return ()
    places = np.flatnonzero(lost)
    first = int(places[min(len(places) - 1, max(LEAST_LOSSES, int(FIRST * len(places))))]) + 1

    def on_all(rate: float) -> Bucket:
        return _best(time, size, lost, rate)

    rates = [float(mean * factor) for factor in np.geomspace(*RATES, COUNT)]
    of_first = sorted((_best(time[:first], size[:first], lost[:first], rate) for rate in rates), key=_order)
    of_all = sorted((on_all(rate) for rate in rates), key=_order)
    best = Bucket(mean, 0.0, np.inf)
    for start in (mean, *(one.rate_bps for one in (*of_first[:BEST], *of_all[:BEST]))):
        nearest = on_all(start)
        for width in WIDTHS:
            near = nearest.rate_bps * np.linspace(1.0 - width, 1.0 + width, 11)
            nearest = min((nearest, *(on_all(float(rate)) for rate in near)), key=_order)
        best = min(best, nearest, key=_order)
    if best.wrong > MOST_WRONG or _is_delayed(seen, best.rate_bps):
        return ()
    low, high = (_furthest(on_all, best, sign).rate_bps for sign in (-1.0, 1.0))
    middle = on_all(float(np.sqrt(low * high)))
    if high < ALIKE_RATES * low:
        return (middle,)
    return middle, *(on_all(float(rate)) for rate in np.geomspace(low, high, OTHERS))


def _furthest(on_all: Callable[[float], Bucket], best: Bucket, sign: float) -> Bucket:
    """Return the bucket furthest from the best one on one side that tells losses about as well."""
    found, step = best, 1e-5
    while step < REACH:
        one = on_all(best.rate_bps * float(np.exp(sign * step)))
        if one.wrong > best.wrong + ALIKE:
            break
        found, step = one, 1.5 * step
    return found


def _order(one: Bucket) -> float:
    return one.wrong


def levels(time: Floats, size: Floats, lost: Facts, rate: float) -> Floats:
    """Return the tokens that each packet found taken and not refilled, bytes; lost ones take none."""
    taken = np.where(lost, 0.0, size)
    before = np.cumsum(taken) - taken - rate / 8.0 * time
    # Reflection at a full bucket.
    return before - np.minimum.accumulate(before)


def _best(time: Floats, size: Floats, lost: Facts, rate: float) -> Bucket:
    """Return the bucket of this rate that tells lost packets from others with the fewest mistakes."""
    needed = levels(time, size, lost, rate) + size
    order = np.argsort(needed, kind="stable")
    is_lost = lost[order]
    # A limit after the packet at each place: losses up to it are not told, and others beyond it would be lost.
    mistakes: Floats = np.cumsum(is_lost) + np.sum(~is_lost) - np.cumsum(~is_lost)
    place = int(np.argmin(mistakes))
    low = float(needed[order[place]])
    high = float(needed[order[min(place + 1, len(order) - 1)]])
    return Bucket(rate, 0.5 * (low + high), float(mistakes[place]) / float(np.sum(lost)))


def _is_delayed(seen: Connection, rate: float) -> bool:
    """Return whether packets were delayed by what a queue of this rate would have had ahead of them."""
    known = np.isfinite(seen.rtt_s)
    delay = seen.rtt_s[known] - np.min(seen.rtt_s[known])
    size = (seen.sent_bytes + seen.headers).astype(np.float64)
    ahead = levels(seen.sent_s, size, seen.is_lost, rate)
    place = np.searchsorted(seen.sent_s, (seen.ack_s - seen.rtt_s)[known] + 1e-9, side="right") - 1
    expected = 8.0 * ahead[np.maximum(place, 0)] / rate
    return bool(np.sum(np.maximum(delay, 0.0)) > DELAYED * np.sum(expected))
