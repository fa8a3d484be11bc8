"""A connection that was captured at its receiver, as its sender would have seen it.

The receiver sees when data arrives and when it is acknowledged. The clock of the sender in its timestamps [RFC 7323 §3] says
when each segment left, up to a tick. The sender is placed so that its acknowledgements arrive when they leave the receiver,
and the whole round trip lies before the data. What was lost on its way was sent just before the data after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dumbbell.errors import refusal
from dumbbell.inference.connection import HEADERS, TIMESTAMPS, Facts, Floats, Numbers
from dumbbell.inference.estimate import LONG, SYN_BITS, mode

# Ticks of the clocks of hosts, s: Linux and BSD, old Linux with 250 and 300 Hz, Windows, old BSD.
TICKS = (0.001, 0.004, 1.0 / 300.0, 0.01, 0.1, 0.5)
# How far the clock may be off, as a fraction.
OFF = 0.1
# Kinds of segments that were sent the first time.
NEW = ("", "out of order")
# Fewer echoes may all be late, as those of a sender that waits.
LEAST_ECHOES = 20
WRAP = 1 << 32

Columns = dict[str, Any]


def turned(
    segments: Mapping[str, Any], acks: Mapping[str, Any], echoes: Floats, handshake_rtt_s: float | None
) -> tuple[Columns, Columns]:
    """Return data segments and acknowledgements as a capture at the sender has them.

    Parameters
    ----------
    segments
        ``time_s``, ``offset``, ``bytes``, ``kind``, ``spurious`` and ``clock`` of data that arrived, as
        `dumbbell.Captured.segments` has them.
    acks
        ``time_s`` and others, as `dumbbell.Captured.acks` has them.
    echoes
        Round-trip times from an acknowledgement to the data that echoes its clock, s.
    handshake_rtt_s
        Round-trip time of the handshake; ``None`` without one.

    Returns
    -------
    segments, acks
        The same columns, in the order of the sender's time; ``rtt_s`` of acknowledgements is that of the newest segment.

    Raises
    ------
    ScenarioError
        The segments have no timestamps, or nothing tells the round-trip time.
    """
    clock = np.asarray(segments["clock"], np.float64)
    if not len(clock) or np.isnan(clock).any():
        raise refusal(
            "capture", "receiver", "a capture at the sender, or one at the receiver with timestamps"
        )
    arrived = np.asarray(segments["time_s"], np.float64)
    offset, size = (np.asarray(segments[name], np.int64) for name in ("offset", "bytes"))
    is_new = np.isin(np.asarray(segments["kind"], object), NEW)
    least = _round_trip(arrived, size, echoes, handshake_rtt_s)
    sent = _sent(arrived, clock, least)
    lost = _lost(offset, is_new, np.asarray(segments["spurious"], np.bool_))
    made: Columns = {
        "time_s": np.concatenate([sent[lost.after], sent]),
        "offset": np.concatenate([offset[lost.again], offset]),
        "bytes": np.concatenate([size[lost.again], size]),
        "kind": np.concatenate([np.full(len(lost.again), "", object), np.asarray(segments["kind"], object)]),
        "spurious": np.concatenate([np.zeros(len(lost.again), np.bool_), np.asarray(segments["spurious"], np.bool_)]),
    }  # fmt: skip
    order = np.lexsort((made["offset"], made["time_s"]))
    heard = np.asarray(acks["time_s"], np.float64)
    newest = np.searchsorted(arrived, heard, side="right") - 1
    known = (newest >= 0) & is_new[np.maximum(newest, 0)]
    rtt = np.where(known, heard - sent[np.maximum(newest, 0)], np.nan)
    return {name: values[order] for name, values in made.items()}, {**acks, "rtt_s": rtt}


def _round_trip(arrived: Floats, size: Numbers, echoes: Floats, handshake_rtt_s: float | None) -> float:
    """Return the round-trip time of a full segment that met no queue, s: the fastest echo, or the handshake's."""
    if len(echoes) >= LEAST_ECHOES or (handshake_rtt_s is None and len(echoes)):
        return float(echoes.min())
    if handshake_rtt_s is None:
        raise refusal(
            "capture", "receiver", "one with the handshake, or with acknowledgements of its timestamps"
        )
    wire = size + HEADERS + TIMESTAMPS
    gap, passed = arrived[LONG:] - arrived[:-LONG], np.cumsum(wire)[LONG:] - np.cumsum(wire)[:-LONG]
    rates = 8.0 * passed[gap > 0.0] / gap[gap > 0.0]
    return (
        handshake_rtt_s + (8.0 * float(wire.max()) - SYN_BITS) / mode(rates)[0]
        if len(rates)
        else handshake_rtt_s
    )


def _sent(arrived: Floats, clock: Floats, least: float) -> Floats:
    """Return when each segment left: the middle of its tick, or earlier if its round trip would be less than the least."""
    ticks = _unwrapped(clock)
    passed = ticks[-1] - ticks[0]
    slope = (arrived[-1] - arrived[0]) / passed if passed > 0.0 else TICKS[0]
    near = [tick for tick in TICKS if abs(tick / slope - 1.0) <= OFF]
    tick = near[0] if near else slope
    at = ticks * tick
    at += float(np.min(arrived - at)) - least
    return np.minimum(at + tick / 2.0, arrived - least)


def _unwrapped(clock: Floats) -> Floats:
    """Return a clock of 32 bits without its wraps; a segment that was overtaken has an older one."""
    change = np.diff(clock, prepend=clock[0])
    change -= WRAP * np.round(change / WRAP)
    return np.cumsum(change)


class _Lost(NamedTuple):
    """What was lost: the retransmission of each, and the segment that was sent after it."""

    again: Numbers
    after: Numbers


def _lost(offset: Numbers, is_new: Facts, is_spurious: Facts) -> _Lost:
    """Return the first transmissions that never arrived: what was retransmitted, once, and was missing."""
    firsts = np.flatnonzero(is_new)
    firsts = firsts[np.argsort(offset[firsts], kind="stable")]
    again = np.flatnonzero(~is_new & ~is_spurious)
    _, place = np.unique(offset[again], return_index=True)
    again = again[np.sort(place)]
    if not len(firsts):
        return _Lost(again, again)
    higher = np.searchsorted(offset[firsts], offset[again], side="right")
    return _Lost(again, firsts[np.minimum(higher, len(firsts) - 1)])
