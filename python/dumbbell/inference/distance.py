"""How far a simulated flow is from a captured one. `docs/fit.md` states the formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dumbbell.inference.connection import Connection, Floats

# Times at which both are compared.
POINTS = 400
# The part of the distance that compares distributions; the rest compares trajectories.
DISTRIBUTION = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Shape:
    """A flow at `POINTS` times from its first data to the end of what is compared.

    Parameters
    ----------
    flight
        Bytes sent beyond the cumulative acknowledgement.
    rtt_s
        The latest round-trip time.
    acked
        Cumulative acknowledgement, bytes.
    repeated
        Share of bytes sent that were retransmissions.
    end_s
        Time of the last acknowledgement of new data.
    """

    flight: Floats
    rtt_s: Floats
    acked: Floats
    repeated: float
    end_s: float


def held(at: Floats, times: Floats, values: Any, before: float) -> Floats:
    """Return the latest value at each of some times; `before` until the first."""
    place = np.searchsorted(times, at, side="right") - 1
    return np.where(place < 0, before, np.asarray(values, np.float64)[np.maximum(place, 0)])


def shape(
    at: Floats, sent: tuple[Floats, Any], acked: tuple[Floats, Any], rtt: tuple[Floats, Any], repeated: float
) -> Shape:
    """Return the shape of a flow from series of times and values.

    Parameters
    ----------
    at
        Times of comparison.
    sent, acked, rtt
        Times and values: the byte after the highest sent, the cumulative acknowledgement, round-trip times.
    repeated
        See `Shape`.
    """
    acknowledged = held(at, *acked, 0.0)
    first_rtt = float(rtt[1][0]) if len(rtt[1]) else 0.0
    new = np.flatnonzero(np.diff(acked[1], prepend=0) > 0)
    return Shape(
        flight=np.maximum(held(at, *sent, 0.0) - acknowledged, 0.0),
        rtt_s=held(at, *rtt, first_rtt),
        acked=acknowledged,
        repeated=repeated,
        end_s=float(acked[0][new[-1]]) if len(new) else 0.0,
    )


def shape_of_capture(seen: Connection) -> Shape:
    """Return the shape of a captured flow, with the round-trip times of cumulative acknowledgements.

    The engine's probe has those alone; reports by SACK tell the estimators what they saw.
    """
    known = np.isfinite(seen.rtt_s) & (np.diff(seen.acked, prepend=0) > 0)
    repeated = float(np.sum(seen.sent_bytes[seen.is_repeated]) / np.sum(seen.sent_bytes))
    return shape(
        times(seen.end_s), (seen.sent_s, seen.highest), (seen.ack_s, seen.acked),
        (seen.ack_s[known], seen.rtt_s[known]), repeated,
    )  # fmt: skip


def shape_of_series(series: dict[str, tuple[Floats, Floats]], mss: int, end_s: float) -> Shape | None:
    """Return the shape of a simulated flow; ``None`` if it has sent nothing.

    Parameters
    ----------
    series
        Times and values of the probes ``seq_sent``, ``seq_acked`` and ``rtt``.
    mss
        Payload of a segment.
    end_s
        Time from the first data to the end of what is compared.
    """
    time, offset = series["seq_sent"]
    if not len(time) or not len(series["rtt"][0]):
        return None
    start = float(time[0])
    highest = np.maximum.accumulate(offset + mss)
    repeated = float(np.mean(np.diff(highest, prepend=0.0) <= 0.0))
    moved = {name: (when - start, values) for name, (when, values) in series.items()}
    return shape(times(end_s), (time - start, highest), moved["seq_acked"], moved["rtt"], repeated)


def times(end_s: float) -> Floats:
    """Return the times of comparison, s: a half of them in the first quarter, before small differences add up."""
    return ((np.arange(POINTS) + 1.0) / POINTS) ** 2 * end_s


def distance(seen: Shape, simulated: Shape | None, base_rtt_s: float) -> float:
    """Return the distance of a simulated flow from a captured one, from 0 to about 1.

    The mean of six terms, each at most 1: differences of flight, of queueing time, of acknowledged bytes, of the share of
    retransmissions and of the time of the last acknowledgement; flight and queueing time count with the mean of two
    differences, that of trajectories and that of sorted values (the Wasserstein distance of their distributions).
    """
    if simulated is None:
        return 1.0
    queueing = np.maximum(seen.rtt_s - base_rtt_s, 0.0), np.maximum(simulated.rtt_s - base_rtt_s, 0.0)
    least = 0.02 * base_rtt_s
    terms = [
        _relative(seen.flight, simulated.flight, 0.0),
        _relative(*queueing, least),
        min(1.0, float(np.sum(np.abs(seen.acked - simulated.acked)) / np.sum(seen.acked)) * 2.0),
        min(
            1.0,
            abs(seen.repeated - simulated.repeated) / (0.5 * (seen.repeated + simulated.repeated) + 0.005),
        ),
        min(1.0, 4.0 * abs(np.log((simulated.end_s + 1e-3) / (seen.end_s + 1e-3)))),
    ]
    weights = [2.0, 2.0, 2.0, 1.0, 1.0]
    return float(np.average(terms, weights=weights))


def _relative(seen: Floats, simulated: Floats, least: float) -> float:
    """Return the mean of the relative differences of trajectories and of distributions."""
    scale = float(np.sum(np.maximum(seen, simulated))) + least * len(seen)
    trajectory = float(np.sum(np.abs(seen - simulated))) / scale
    sorted_ = float(np.sum(np.abs(np.sort(seen) - np.sort(simulated)))) / scale
    return (1.0 - DISTRIBUTION) * trajectory + DISTRIBUTION * sorted_
