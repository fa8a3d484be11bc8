"""Estimates from a capture alone: base round-trip time, rate, buffer, and which losses a full queue caused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.inference.connection import Connection, Facts, Floats

# Acknowledgements that a window of dispersion spans: long ones average over jitter, pairs see through competitors.
LONG, PAIRS = 24, 1
# Half the width of a mode, as a fraction.
WIDTH = 0.001
# A mode with a smaller share of the windows is uncertain.
LEAST_SHARE = 0.03
# From this share on, a rate is certain.
CERTAIN_SHARE = 0.15
# Windows that a mode needs.
LEAST_WINDOWS = 8
# A pair of packets needs this much more rate than long windows show to tell of competitors, as a fraction.
COMPETING = 0.03
# A queue within this many packets of the longest one is full.
FULL = 1.6
# Packets that delays outside of the bottleneck add to the longest queue.
ELSEWHERE = 0.1
# A share of the window in flight that shows that the receiver limits; and the share of time at which that is said.
AT_WINDOW, LIMITED = 0.95, 0.2
# A policer passes less than this share of what acknowledgements show as the rate of the link.
POLICED = 0.7
# Tokens at its losses vary by at most this many packets; and what it counts that tokens are as many without a loss.
MOST_SPREAD, ALIKE = 2.5, 3.0
# Minimum round-trip times beyond that of the handshake by this share are those of a standing queue.
STANDING = 0.03
# A request for a connection and its answer, bits on the wire.
SYN_BITS = 8 * 60


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """What a capture tells without a simulation.

    Parameters
    ----------
    rate_bps, rate_share
        Rate of the bottleneck, and the share of windows that show it.
    base_rtt_s
        Round-trip time without queueing and without the serialization of the packet.
    buffer_packets
        Packets that wait when the queue is full; a lower bound unless `has_overflowed`.
    longest_packets
        Packets that waited when the queue was longest.
    has_overflowed
        Whether losses follow full queues.
    is_early
        One entry per transmission: lost although the queue was not full.
    queue_at_loss
        Packets ahead of each lost transmission, as its delivered neighbours saw them.
    policed_bps, burst_bytes
        Rate and bucket of a policer, if losses may be those of one, else NaN.
    receiver_share
        Share of acknowledgements at which the receive window was in flight.
    competes
        Whether packets of others were between those of the flow.
    standing_s
        Delay that the smallest round-trip time of data has beyond that of the handshake.
    """

    rate_bps: float
    rate_share: float
    base_rtt_s: float
    buffer_packets: int
    longest_packets: int
    has_overflowed: bool
    is_early: Facts
    queue_at_loss: Floats
    policed_bps: float
    burst_bytes: float
    receiver_share: float
    competes: bool
    standing_s: float

    @property
    def is_exceeded(self) -> bool:
        """Whether the queue was much longer, without a loss, than at its losses: active queue management, or others."""
        return self.longest_packets > 1.15 * self.buffer_packets + 3.0

    @property
    def is_rate_certain(self) -> bool:
        """Whether enough of the windows show the rate, and no packets of others were in between."""
        return self.rate_share >= CERTAIN_SHARE and not self.competes

    @property
    def is_policed(self) -> bool:
        """Whether losses are those of a policer."""
        return bool(np.isfinite(self.policed_bps))


def mode(values: Floats, width: float = WIDTH) -> tuple[float, float]:
    """Return the densest value of positive numbers and the share of them within `width`, as a fraction, of it.

    The half-sample idea of [bickel2006] with a fixed relative width: of all intervals that begin at a value, the one with
    the most values; its median.
    """
    logs = np.sort(np.log(values[values > 0.0]))
    if not len(logs):
        return np.nan, 0.0
    ends = np.searchsorted(logs, logs + 2.0 * width, side="right")
    counts = ends - np.arange(len(logs))
    place = int(np.argmax(counts))
    return float(np.exp(np.median(logs[place : ends[place]]))), float(counts[place] / len(logs))


def estimate(seen: Connection) -> Estimate:
    """Return what a capture tells without a simulation."""
    rate, share, competes = _rate(seen)
    serialization = seen.packet_bits / rate
    base, standing = _base_rtt(seen, serialization)
    policed, burst = _policer(seen, rate)
    ahead = _queue_at_losses(seen, base, serialization)
    longest = _longest(seen, base, serialization)
    length, full = _full(ahead, longest)
    lost = np.flatnonzero(seen.is_lost)
    overflowed = bool(full.any())
    is_early = np.zeros(len(seen.sent_s), np.bool_)
    is_early[lost[~full]] = True
    return Estimate(
        rate_bps=rate,
        rate_share=share,
        base_rtt_s=base,
        buffer_packets=max(1, int(np.ceil(length - ELSEWHERE)) - 1),
        longest_packets=max(1, int(np.ceil(longest - ELSEWHERE)) - 1),
        has_overflowed=overflowed,
        is_early=is_early,
        queue_at_loss=ahead,
        policed_bps=policed,
        burst_bytes=burst,
        receiver_share=_receiver_share(seen),
        competes=competes,
        standing_s=standing if standing > STANDING * base else 0.0,
    )


def _longest(seen: Connection, base: float, serialization: float) -> float:
    """Return the most packets ahead that three successive samples saw: a delayed acknowledgement is alone."""
    known = seen.rtt_s[np.isfinite(seen.rtt_s)]
    if len(known) < 3:
        return max(0.0, float(known.max() - base) / serialization)
    return max(
        0.0,
        float(np.lib.stride_tricks.sliding_window_view(known, 3).min(axis=1).max() - base) / serialization,
    )


def _full(ahead: Floats, longest: float) -> tuple[float, Facts]:
    """Return the packets ahead in a full queue, or in the longest one seen, and which losses were at a full queue.

    A full queue is equally long at each of its losses: of the lengths at which many losses are, the largest. If there are
    fewer than two, it is the only loss, at the longest queue seen.
    """
    none = np.zeros(len(ahead), np.bool_)
    if not len(ahead):
        return longest, none
    values = np.sort(ahead)
    counts = np.arange(len(values)) + 1 - np.searchsorted(values, values - np.maximum(FULL, 0.02 * values))
    enough = np.flatnonzero(counts >= max(1.0, 0.5 * counts.max()))
    length, count = float(values[enough[-1]]), int(counts[enough[-1]])
    if count >= 2 or (len(ahead) == 1 and length >= longest - FULL):
        return length, ahead >= length - max(FULL, 0.02 * length)
    return max(longest, length), none


def _rate(seen: Connection) -> tuple[float, float, bool]:
    """Return the rate, bit/s, the share of windows that show it, and whether packets of others are in between.

    The bottleneck spaces packets that queue by their serialization [keshav1991]: the rate is the mode of what windows of
    acknowledgements deliver over their time, in windows in which packets waited throughout.
    """
    fresh = np.flatnonzero(np.diff(seen.delivered, prepend=0) > 0)
    time, delivered = seen.ack_s[fresh], seen.delivered[fresh].astype(np.float64)
    rtt = _filled(seen.rtt_s)[fresh]
    bits = 8.0 * (seen.mss + seen.headers) / seen.mss
    found = {}
    for span in (LONG, PAIRS):
        if len(time) <= span + LEAST_WINDOWS:
            continue
        gap = time[span:] - time[:-span]
        rates = np.divide(
            bits * (delivered[span:] - delivered[:-span]), gap, out=np.zeros_like(gap), where=gap > 0.0
        )
        first = mode(rates)[0]
        waiting = rtt > np.min(rtt) + 0.5 * seen.packet_bits / first
        busy = np.lib.stride_tricks.sliding_window_view(waiting, span + 1).all(axis=1)
        grown = rtt[span:] - rtt[:-span] > 0.1 * gap
        chosen = busy if np.count_nonzero(busy) >= LEAST_WINDOWS else grown
        found[span] = mode(rates[chosen] if np.count_nonzero(chosen) >= LEAST_WINDOWS else rates)
    if LONG not in found:
        return *found.get(PAIRS, (float(bits * delivered[-1] / time[-1]), 0.0)), False
    (rate, share), (pairs, pair_share) = found[LONG], found[PAIRS]
    competes = pairs > (1.0 + COMPETING) * rate and pair_share >= LEAST_SHARE
    if competes or share < LEAST_SHARE <= pair_share:
        return pairs, pair_share, bool(competes)
    return rate, share, False


def _base_rtt(seen: Connection, serialization: float) -> tuple[float, float]:
    """Return the base round-trip time and what the smallest of data has beyond that of the handshake, s.

    The smallest sample of a full segment is propagation and its own serialization if the queue was ever empty
    [jain1989]; the handshake, whose packets are short, was before the flow made its own queue.
    """
    of_data = float(np.nanmin(seen.rtt_s)) - serialization
    of_handshake = seen.handshake_rtt_s - serialization * SYN_BITS / seen.packet_bits
    if np.isfinite(of_handshake) and 0.0 < of_handshake < of_data:
        return of_handshake, of_data - of_handshake
    return max(of_data, 1e-5), 0.0


def _filled(values: Floats) -> Floats:
    """Return values with gaps filled by the last one before, or the first one."""
    places = np.where(np.isfinite(values), np.arange(len(values)), -1)
    places = np.maximum.accumulate(places)
    first = int(np.argmax(np.isfinite(values)))
    return values[np.where(places < 0, first, places)]


def _queue_at_losses(seen: Connection, base: float, serialization: float) -> Floats:
    """Return the packets ahead of each lost transmission: the most that its two delivered neighbours on each side saw."""
    known = np.isfinite(seen.rtt_s)
    sent, rtt = (seen.ack_s - seen.rtt_s)[known], seen.rtt_s[known]
    order = np.argsort(sent, kind="stable")
    sent, ahead = sent[order], (rtt[order] - base) / serialization
    place = np.searchsorted(sent, seen.sent_s[seen.is_lost])
    near = np.clip(place[:, None] + np.arange(-2, 2)[None, :], 0, len(sent) - 1)
    # Neighbours that were sent a round trip away tell nothing.
    close = np.abs(sent[near] - seen.sent_s[seen.is_lost][:, None]) < base
    found: Floats = np.where(close, ahead[near], 0.0).max(axis=1, initial=0.0)
    return found


def _policer(seen: Connection, rate: float) -> tuple[float, float]:
    """Return rate, bit/s, and bucket, bytes, of a policer; NaN if losses are not those of one.

    A token bucket is empty at each of its losses (RFC 2697 §3). With the right rate, the tokens taken and not yet
    refilled are equal at all losses, within a packet: the size of the bucket. The rate is searched where the tokens at
    losses vary least. A queue would be served at the rate that acknowledgements show, which is larger.
    """
    lost = np.flatnonzero(seen.is_lost)
    if len(lost) < 4:
        return np.nan, np.nan
    size = np.where(seen.is_lost, 0, seen.sent_bytes + seen.headers).astype(np.float64)
    packet = seen.packet_bits / 8
    firsts = lost[np.diff(seen.sent_s[lost], prepend=-np.inf) > float(np.nanmin(seen.rtt_s))]

    def judged(tried: float) -> tuple[float, float, float]:
        levels = _levels(seen.sent_s, size, tried)
        low, level, high = np.quantile(levels[lost], [0.1, 0.5, 0.9])
        others = float(np.mean(levels > level - 0.5 * packet))
        # Most losses may be of one burst.
        of_first = float(np.quantile(levels[firsts], 0.9) - np.quantile(levels[firsts], 0.1))
        return max(float(high - low), of_first) / packet + ALIKE * others, tried, float(level)

    mean, most = 8.0 * float(np.sum(size)) / seen.end_s, POLICED * rate
    if mean > most:
        return np.nan, np.nan
    slopes = _slopes(seen.sent_s[lost], np.cumsum(size)[lost], most)
    coarse = sorted(judged(float(tried)) for tried in np.geomspace(0.9 * mean, min(most, 8.0 * mean), 200))
    best = (np.inf, 0.0, 0.0)
    for start in (*slopes, *(tried for _, tried, _ in coarse[:3])):
        found = (np.inf, start, 0.0)
        for width in (0.02, 0.002, 0.0003):
            found = min(
                found, *(judged(float(found[1] * factor)) for factor in np.linspace(1 - width, 1 + width, 17))
            )
        best = min(best, found)
    if best[0] > MOST_SPREAD + ALIKE * 0.5 or best[1] > POLICED * rate:
        return np.nan, np.nan
    return best[1], max(best[2] + 0.5 * packet, packet)


def _slopes(time: Floats, passed: Floats, most: float) -> list[float]:
    """Return rates, bit/s, at which bytes may have passed between losses, as their modes over near and far pairs."""
    found = []
    for share in (0.02, 0.06, 0.12, 0.25, 0.5):
        span = max(1, int(share * len(time)))
        gap, taken = time[span:] - time[:-span], passed[span:] - passed[:-span]
        rates = 8.0 * taken[gap > 0.0] / gap[gap > 0.0]
        value = mode(rates[rates < most], 0.01)[0] if len(rates) else np.nan
        if np.isfinite(value):
            found.append(value)
    return found


def _levels(time: Floats, size: Floats, rate: float) -> Floats:
    """Return the tokens that are taken and not refilled after each packet: the queue of a server of this rate, bytes."""
    free = np.cumsum(size) - rate / 8.0 * time
    # Reflection at an empty queue, before the packet.
    floor = np.minimum.accumulate(free - size)
    return free - floor


def _receiver_share(seen: Connection) -> float:
    """Return the share of acknowledgements at which the receive window had no room for another segment [jaiswal2004]."""
    room = seen.window - seen.flight
    return float(np.mean(room < max(seen.mss, (1.0 - AT_WINDOW) * float(np.median(seen.window)))))
