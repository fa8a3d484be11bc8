"""Analysis of traces: whole cycles of Reno, generations of packets, and the steady window.

Arrays only; nothing here knows how they were recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

CUT = 0.75
"""A window that falls below this share of itself was cut by a loss: Vegas alone takes one packet at a time."""

# Windows are sums of fractions of a packet.
ROUNDING = 1e-9


def without_inflation(
    times: Values, window: Values, sent_times: Values, sent: Values, acked_times: Values, acked: Values
) -> Values:
    """Return a window without its inflation by duplicate ACKs in fast recovery.

    From a cut until everything sent before it is acknowledged, the window is shown as it is afterwards.

    Parameters
    ----------
    times, window
        The window and when it changed.
    sent_times, sent, acked_times, acked
        When segments were sent and the cumulative acknowledgement moved, with their bytes.
    """
    shown = window.copy()
    recovered = -np.inf
    for index in np.flatnonzero(window[1:] < CUT * window[:-1]) + 1:
        if times[index] <= recovered:
            continue
        newest = sent[sent_times <= times[index]].max()
        later = np.flatnonzero(acked > newest)
        recovered = acked_times[later[0]] if len(later) else np.inf
        inside = (times >= times[index]) & (times < recovered)
        after = np.flatnonzero(times >= recovered)
        shown[inside] = window[after[0]] if len(after) else window[index]
    return shown


def is_cut_after(times: Values, window: Values, begin: float) -> bool:
    """Return whether a loss cut the window after some time."""
    return bool(((window[1:] < CUT * window[:-1]) & (times[1:] > begin)).any())


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Averages over whole cycles, from one detection of a loss to another.

    Parameters
    ----------
    count
        Number of cycles.
    loss_window
        Mean whole window when the loss was detected, packets.
    duration
        Mean of a cycle, s.
    packets
        Mean packets acknowledged in a cycle.
    throughput
        Packets/s acknowledged.
    rtt
        Mean round-trip time of a packet, s: by Little's law, the mean number of packets and acknowledgements under way
        over the throughput. Packets that arrive after a lost one count with their own round-trip time, which no
        cumulative acknowledgement shows.
    low
        Mean smallest window of a cycle outside recovery, packets.
    """

    count: int
    loss_window: float
    duration: float
    packets: float
    throughput: float
    rtt: float
    low: float


def cycles(
    window: Values, flight: Values, acked: Values, ssthresh: Values, period: float, skip: int = 3
) -> Cycles | None:
    """Return the averages over whole cycles of a source that repairs losses by fast recovery.

    When a loss is detected, the window falls below the outstanding data; recovery ends with the acknowledgement of
    the lost packet. In between, the window is the threshold plus one packet per duplicate ACK, each of which
    represents a packet that has left the network.

    Parameters
    ----------
    window, flight, acked, ssthresh
        Samples: the window with its inflation, the data outstanding, and the cumulative acknowledgement, packets; the
        threshold, packets.
    period
        Time between two samples, s.
    skip
        Cycles to leave out at the beginning.
    """
    begins: list[int] = []
    recovering = np.zeros(len(window), dtype=np.bool_)
    end = -1
    for sample in np.flatnonzero(flight > window + 0.5):
        if sample <= end:
            continue
        end = int(np.searchsorted(acked, acked[sample], side="right")) - 1
        recovering[sample : end + 1] = True
        begins.append(int(sample))
    measured = begins[skip:]
    if len(measured) < 2:
        return None
    first, last = measured[0], measured[-1]
    count = len(measured) - 1
    under_way = np.where(recovering, flight - (window - ssthresh), flight)
    packets = acked[last] - acked[first]
    time = (last - first) * period
    quiet = np.where(recovering, np.inf, window)
    lows = [quiet[one:two].min() for one, two in pairwise(measured)]
    peaks = np.floor(window[np.array(measured) - 1] + ROUNDING)
    return Cycles(
        count=count,
        loss_window=float(peaks.mean()),
        duration=time / count,
        packets=packets / count,
        throughput=packets / time,
        rtt=float(under_way[first:last].sum() * period / packets),
        low=float(np.mean(lows)),
    )


@dataclass(frozen=True, kw_only=True)
class Generations:
    """Generations of packets: the acknowledgements of one generation release the next.

    Parameters
    ----------
    ends
        Time of the last acknowledgement of each, s.
    windows
        Packets of each.
    durations
        From the last acknowledgement of the previous generation to its own, s; for the first, from its first packet.
    rtts
        Mean round-trip time of each, over the packets whose acknowledgement shows one, s.
    """

    ends: Values
    windows: Values
    durations: Values
    rtts: Values


def generations(
    sent_times: Values, sent: Values, acked_times: Values, acked: Values, packet: float
) -> Generations:
    """Return the generations of a source, those that were completely acknowledged.

    Parameters
    ----------
    sent_times, sent
        When segments were sent, and their first bytes.
    acked_times, acked
        When the cumulative acknowledgement moved, and its values, bytes.
    packet
        Payload of a packet, bytes.
    """
    number = np.round(sent / packet).astype(np.int64)
    count = int(np.floor(acked[-1] / packet + ROUNDING)) if len(acked) else 0
    first_sent = np.full(int(number.max()) + 1, np.inf)
    np.minimum.at(first_sent, number, sent_times)
    first_sent = first_sent[:count]
    again = np.bincount(number, minlength=count)[:count] > 1
    ends = np.round(acked / packet)
    # Each packet is acknowledged by the first acknowledgement that reaches beyond it.
    by = np.searchsorted(ends, np.arange(count) + 0.5)
    received = acked_times[by]
    # A cumulative acknowledgement gives the round-trip time of its newest packet only, and none after a loss.
    is_alone = np.append(by[1:] != by[:-1], True) & np.append(True, by[1:] != by[:-1])
    releasing = np.searchsorted(received, first_sent, side="right") - 1
    generation = np.zeros(count, dtype=np.int64)
    for index in range(count):
        if releasing[index] >= 0:
            generation[index] = generation[releasing[index]] + 1
    # The last generations may be truncated by the end of the run: the packets they release are not acknowledged.
    whole = max(int(generation[-1]) - 1, 0) if count else 0
    measures = is_alone & ~again
    windows = np.bincount(generation, minlength=whole)[:whole].astype(np.float64)
    last = np.array([received[generation == index].max() for index in range(whole)])
    before = np.concatenate((sent_times[:1], last[:-1])) if whole else last
    sums = np.bincount(generation[measures], weights=(received - first_sent)[measures], minlength=whole)
    counts = np.bincount(generation[measures], minlength=whole)
    with np.errstate(invalid="ignore", divide="ignore"):
        rtts = sums[:whole] / counts[:whole]
    return Generations(ends=last, windows=windows, durations=last - before, rtts=rtts)
