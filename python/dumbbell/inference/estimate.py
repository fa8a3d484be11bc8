"""Estimates from a capture alone: base round-trip time, rate, buffer, and which losses a full queue caused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.inference.connection import Connection, Facts, Floats
from dumbbell.inference.policer import Bucket, buckets

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
# Acknowledgements of simulated hosts are this near the spacing of the bottleneck, s.
STILL_S = 1e-6
# The same width for pairs of real hosts is at most this; a rate with a larger share of windows has no packets of others
# between; and from this share of spaces on that have room for whole packets, others are there.
MOST_WIDTH, CLEAR_SHARE, OTHERS = 0.03, 0.5, 0.04
# Packets that delays outside of the bottleneck add to the longest queue.
ELSEWHERE = 0.1
# A share of the window in flight that shows that the receiver limits; and the share of time at which that is said.
AT_WINDOW, LIMITED = 0.95, 0.2
# The rate of the link before a policer is more than this much of its rate, or taken for this much.
POLICED, FASTER = 1.3, 10.0
# A policer that tells at most this share of the losses wrongly is certain.
CERTAIN_WRONG = 0.1
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
    policers
        What a policer may be, if losses may be those of one, the likeliest first.
    receiver_share
        Share of acknowledgements at which the receive window was in flight.
    competes
        Whether packets of others were between those of the flow.
    standing_s
        Delay that the smallest round-trip time of data has beyond that of the handshake.
    noise_s
        How far acknowledgements are from the spacing of the bottleneck, in the median: the hosts' delays vary so much.
    """

    rate_bps: float
    rate_share: float
    base_rtt_s: float
    buffer_packets: int
    longest_packets: int
    has_overflowed: bool
    is_early: Facts
    queue_at_loss: Floats
    policers: tuple[Bucket, ...]
    receiver_share: float
    competes: bool
    standing_s: float
    noise_s: float

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
        """Whether losses are so surely those of a policer that nothing else need be tried."""
        return bool(self.policers) and self.policers[0].wrong <= CERTAIN_WRONG


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
    noise = _noise(seen, serialization)
    if noise > STILL_S:
        # The noise of hosts widens the mode of pairs, and long windows average over packets of others.
        rate, share, competes = _rate(seen, min(MOST_WIDTH, max(WIDTH, 2.0 * noise / serialization)))
        serialization = seen.packet_bits / rate
        competes = competes or (share < CLEAR_SHARE and _others(seen, serialization) > OTHERS)
    base, standing = _base_rtt(seen, serialization)
    policers = buckets(seen)
    if policers and rate < POLICED * policers[0].rate_bps:
        # Acknowledgements show the pace of the sender: packets are so short on the link that its rate does not matter.
        rate = FASTER * policers[0].rate_bps
        serialization = seen.packet_bits / rate
        base, standing = _base_rtt(seen, serialization)
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
        policers=policers,
        receiver_share=_receiver_share(seen),
        competes=competes,
        standing_s=standing if standing > STANDING * base else 0.0,
        noise_s=_noise(seen, serialization),
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

    A full queue is equally long at each of its losses: of the lengths at which many losses are, the largest, and the median
    of those near it, because a delayed acknowledgement is above the others. If there are fewer than two, it is the only
    loss, at the longest queue seen.
    """
    none = np.zeros(len(ahead), np.bool_)
    if not len(ahead):
        return longest, none
    values = np.sort(ahead)
    counts = np.arange(len(values)) + 1 - np.searchsorted(values, values - np.maximum(FULL, 0.02 * values))
    enough = np.flatnonzero(counts >= max(1.0, 0.5 * counts.max()))
    last, count = int(enough[-1]), int(counts[enough[-1]])
    length = float(np.median(values[last + 1 - count : last + 1]))
    if count >= 2 or (len(ahead) == 1 and length >= longest - FULL):
        return length, ahead >= length - max(FULL, 0.02 * length)
    return max(longest, length), none


def _rate(seen: Connection, width: float = WIDTH) -> tuple[float, float, bool]:
    """Return the rate, bit/s, the share of windows that show it, and whether packets of others are in between.

    The bottleneck spaces packets that queue by their serialization [keshav1991]: the rate is the mode of what windows of
    acknowledgements deliver over their time, in windows in which packets waited throughout. Modes of pairs of
    acknowledgements have this `width`.
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
        some = rates[chosen] if np.count_nonzero(chosen) >= LEAST_WINDOWS else rates
        found[span] = mode(some, width if span == PAIRS else WIDTH)
    if LONG not in found:
        return *found.get(PAIRS, (float(bits * delivered[-1] / time[-1]), 0.0)), False
    (rate, share), (pairs, pair_share) = found[LONG], found[PAIRS]
    competes = pairs > (1.0 + COMPETING) * rate and pair_share >= LEAST_SHARE
    if competes or share < LEAST_SHARE <= pair_share:
        return pairs, pair_share, bool(competes)
    return rate, share, False


def _noise(seen: Connection, serialization: float) -> float:
    """Return the median difference of spaces between acknowledgements from whole numbers of serializations, s.

    A busy bottleneck sends a packet, of the flow or of others, every serialization. Hosts add to that what their
    interrupts, timers and schedulers take.
    """
    fresh = np.flatnonzero(np.diff(seen.delivered, prepend=0) > 0)
    packets = np.diff(seen.delivered[fresh]) / seen.mss
    places = np.diff(seen.ack_s[fresh]) / serialization - packets
    return float(np.median(np.abs(places - np.round(places)))) * serialization


def _others(seen: Connection, serialization: float) -> float:
    """Return the share of spaces between acknowledgements, while packets waited, with room for whole packets of others."""
    fresh = np.flatnonzero(np.diff(seen.delivered, prepend=0) > 0)
    rtt = _filled(seen.rtt_s)[fresh]
    waiting = rtt > np.min(rtt) + 0.5 * serialization
    room = np.diff(seen.ack_s[fresh]) / serialization - np.diff(seen.delivered[fresh]) / seen.mss
    room = room[waiting[1:] & waiting[:-1]]
    whole = np.round(room)
    return float(np.mean((whole >= 1.0) & (np.abs(room - whole) < 0.2))) if len(room) else 0.0


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


def _receiver_share(seen: Connection) -> float:
    """Return the share of acknowledgements at which the receive window had no room for another segment [jaiswal2004]."""
    room = seen.window - seen.flight
    return float(np.mean(room < max(seen.mss, (1.0 - AT_WINDOW) * float(np.median(seen.window)))))
