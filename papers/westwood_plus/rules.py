"""The rules of Westwood+ worked by hand, and reconstructed from the traces of a connection [grieco2004 §2].

Traces are compared with the rules here, which share no code with the engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.report.page import Row

from .evidence import recorded
from .scenarios import SEGMENT_BITS

Values = NDArray[np.float64]

LEAST_SEGMENTS = 2.0
ALPHA = 0.9

DUPLICATE_SEGMENTS = 3.0
"""Segments that three duplicate acknowledgements add to the window as recorded, beside the window itself."""


def counted(acks: Iterable[int]) -> list[int]:
    """Return for each acknowledgement how many segments it is counted for.

    A duplicate ACK counts for one delivered segment, a delayed ACK for two, and a cumulative ACK for the segments
    it acknowledges minus those reported by duplicates, at least one.

    Parameters
    ----------
    acks
        Segments that each acknowledgement newly acknowledges: 0 for a duplicate.
    """
    counts: list[int] = []
    by_duplicates = 0
    for segments in acks:
        if segments == 0:
            by_duplicates += 1
            counts.append(1)
        elif segments == 1:
            counts.append(1)
        elif by_duplicates >= segments:
            by_duplicates -= segments
            counts.append(1)
        else:
            counts.append(segments - by_duplicates)
            by_duplicates = 0
    return counts


@dataclass(frozen=True, kw_only=True)
class Case:
    """A sequence of acknowledgements whose counting is worked by hand.

    Parameters
    ----------
    words
        What happened.
    acks
        Segments that each acknowledgement newly acknowledges.
    by_hand
        What each counts for.
    delivered
        Segments that reached the receiver in this time.
    """

    words: str
    acks: tuple[int, ...]
    by_hand: tuple[int, ...]
    delivered: int


CASES = (
    Case(
        words="an acknowledgement for each of three segments", acks=(1, 1, 1), by_hand=(1, 1, 1), delivered=3
    ),
    Case(words="delayed acknowledgements", acks=(2, 2, 1), by_hand=(2, 2, 1), delivered=5),
    Case(
        words="segment 1 of 5 lost: four duplicates, then all five at once",
        acks=(0, 0, 0, 0, 5, 2),
        by_hand=(1, 1, 1, 1, 1, 2),
        delivered=7,
    ),
    Case(
        words="the same with one duplicate lost on its way",
        acks=(0, 0, 0, 5, 2),
        by_hand=(1, 1, 1, 2, 2),
        delivered=7,
    ),
    Case(
        words="segments 1 and 4 of 8 lost: six duplicates, a partial acknowledgement of 3, then 5",
        acks=(0, 0, 0, 0, 0, 0, 3, 5),
        by_hand=(1, 1, 1, 1, 1, 1, 1, 2),
        delivered=8,
    ),
    Case(
        words="a retransmission acknowledged alone leaves what is accounted for until later",
        acks=(0, 0, 1, 4),
        by_hand=(1, 1, 1, 2),
        delivered=5,
    ),
)
"""Cases of the counting rule; only the partial acknowledgement makes it count one segment twice."""


def worked_cases() -> Iterator[Row]:
    """Yield each case: events, acknowledgements, counts by hand and by the rule, their total, and what was delivered."""
    for case in CASES:
        counts = (case.acks, case.by_hand, counted(case.acks))
        yield [
            case.words,
            *(" ".join(map(str, each)) for each in counts),
            f"{sum(case.by_hand)}",
            f"{case.delivered}",
        ]


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A reaction to a loss, in segments.

    Parameters
    ----------
    time_s
        When, s.
    cwnd
        The window right after, with what duplicates added to it.
    ssthresh
        The threshold it set.
    by_rule
        The estimate times the minimum round-trip time, at least two segments.
    is_timeout
        Whether a timeout was the reason.
    """

    time_s: float
    cwnd: float
    ssthresh: float
    by_rule: float
    is_timeout: bool


def _at(row: pd.Series, quantity: str, time_s: float) -> float:
    return float(recorded(row, quantity).at(time_s))


def cuts(row: pd.Series) -> list[Cut]:
    """Return the reactions of a connection whose threshold, window, estimate and minimum round-trip time were recorded."""
    found = []
    times = np.asarray(row["cwnd_s"], dtype=np.float64)
    for time_s, ssthresh in zip(row["ssthresh_s"], row["ssthresh"], strict=True):
        after = float(row["cwnd"][int(np.searchsorted(times, time_s, side="left"))])
        pipe = _at(row, "bandwidth", time_s) * _at(row, "base_rtt", time_s) / SEGMENT_BITS
        found.append(
            Cut(
                time_s=float(time_s),
                cwnd=after,
                ssthresh=float(ssthresh),
                by_rule=max(LEAST_SEGMENTS, pipe),
                is_timeout=after <= LEAST_SEGMENTS,
            )
        )
    return found


def least_window(row: pd.Series) -> float:
    """Return the smallest window a connection had, segments."""
    return float(np.min(row["cwnd"]))


def _quiet(row: pd.Series, seconds: float) -> tuple[Values, Values]:
    """Return beginnings and ends of the spans after the second loss that no loss is nearer to than some seconds."""
    events = np.asarray(row["ssthresh_s"], dtype=np.float64)[1:]
    last = float(row["cwnd_s"][-1])
    begins = events + seconds
    ends = np.append(events[1:], last) - seconds / 4
    long_enough = ends - begins > seconds
    return begins[long_enough], ends[long_enough]


def growth_per_window(row: pd.Series) -> float:
    """Return by how many segments the window grows while one window of segments is acknowledged, between losses.

    A growth of g / cwnd for each segment means d(cwnd²)/2 = g for each.
    """
    squares, acknowledged = 0.0, 0.0
    for begin, end in zip(*_quiet(row, 4.0), strict=True):
        squares += (_at(row, "cwnd", end) ** 2 - _at(row, "cwnd", begin) ** 2) / 2
        acknowledged += (_at(row, "seq_acked", end) - _at(row, "seq_acked", begin)) * 8 / SEGMENT_BITS
    return squares / acknowledged


def _samples(row: pd.Series) -> tuple[Values, Values, Values, Values]:
    """Return the ends and lengths of the intervals, the estimates at their ends and the samples by sequence numbers."""
    times = np.asarray(row["bandwidth_s"], dtype=np.float64)
    acked = np.array([_at(row, "seq_acked", time_s) for time_s in times])
    lengths = np.diff(times)
    return times[1:], lengths, np.asarray(row["bandwidth"], dtype=np.float64), np.diff(acked) * 8 / lengths


def filter_rows(row: pd.Series) -> tuple[Values, Values]:
    """Return two columns whose quotient is the weight of the past, from spans without a loss.

    With b the sample that sequence numbers show, (new − b) = alpha (old − b).
    """
    ends, _, estimates, samples = _samples(row)
    begins, until = _quiet(row, 4.0)
    free = np.zeros(ends.size, dtype=np.bool_)
    for begin, end in zip(begins, until, strict=True):
        free |= (ends > begin) & (ends < end)
    return (estimates[1:] - samples)[free], (estimates[:-1] - samples)[free]


def counted_by_engine(row: pd.Series) -> tuple[float, float]:
    """Return how many segments a connection counted in its samples, and how many were acknowledged meanwhile.

    A sample follows from two estimates and the length of its interval.
    """
    _, lengths, estimates, _ = _samples(row)
    samples = (estimates[1:] - ALPHA * estimates[:-1]) / (1 - ALPHA)
    first, last = (float(row["bandwidth_s"][index]) for index in (0, -1))
    acknowledged = (_at(row, "seq_acked", last) - _at(row, "seq_acked", first)) * 8 / SEGMENT_BITS
    return float((samples * lengths).sum() / SEGMENT_BITS), acknowledged


def filtered(samples: Values, first: float) -> Values:
    """Return eq. 1's filter of some samples, filled with `first`."""
    result = np.empty(samples.size)
    held = first
    for index, sample in enumerate(samples):
        held = ALPHA * held + (1 - ALPHA) * sample
        result[index] = held
    return result
