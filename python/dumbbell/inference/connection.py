"""One connection of a capture, as arrays: what the estimators and the distance use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dumbbell.errors import refusal

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Facts = NDArray[np.bool_]

# Headers of a data packet by IPv4 and TCP; a timestamp option of 12 bytes comes on top.
HEADERS, TIMESTAMPS = 40, 12

# The largest receive window [RFC 7323 §2.3].
LARGEST_WINDOW = 1 << 30

# Fewer acknowledgements tell nothing about a path.
LEAST_ACKS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Connection:
    """The data direction of one connection, as its sender sees it.

    Times are seconds since the first data segment; offsets are bytes from the first data byte.

    Parameters
    ----------
    sent_s, sent_offset, sent_bytes
        One entry per data segment seen, in order of time: when, its first byte, its payload.
    is_repeated, is_spurious
        Of the same segments: whether it is a retransmission, and one that was unnecessary.
    ack_s, acked, delivered, window, rtt_s
        One entry per acknowledgement: when, the cumulative offset, bytes acknowledged or reported by SACK so far, the
        receive window in bytes, and the round-trip time of the newest segment that it reports (NaN without one).
    handshake_rtt_s
        Round-trip time of the handshake; NaN if the capture has none.
    has_timestamps
        Whether segments carry timestamps.
    application_share, receiver_share
        Shares of the time in which the application or the receive window limited the sender, as the reader says.
    is_turned
        Whether it was captured at the receiver, so that the times of segments follow from the clock of the sender.
    """

    sent_s: Floats
    sent_offset: Numbers
    sent_bytes: Numbers
    is_repeated: Facts
    is_spurious: Facts
    ack_s: Floats
    acked: Numbers
    delivered: Numbers
    window: Numbers
    rtt_s: Floats
    handshake_rtt_s: float
    has_timestamps: bool
    application_share: float = 0.0
    receiver_share: float = 0.0
    is_turned: bool = False

    @classmethod
    def of_tables(
        cls,
        segments: Mapping[str, Any],
        acks: Mapping[str, Any],
        *,
        handshake_rtt_s: float | None,
        has_timestamps: bool,
        application_share: float = 0.0,
        receiver_share: float = 0.0,
        is_turned: bool = False,
    ) -> Connection:
        """Return a connection from the columns that a reader of captures gives.

        Parameters
        ----------
        segments
            ``time_s``, ``offset``, ``bytes``, ``kind`` (empty for a first transmission) and ``spurious``.
        acks
            ``time_s``, ``acked``, ``delivered``, ``window`` and ``rtt_s``.
        handshake_rtt_s, has_timestamps, application_share, receiver_share, is_turned
            See the class.

        Raises
        ------
        ScenarioError
            There are too few acknowledgements of data.
        """
        acked = np.asarray(acks["acked"], np.int64)
        if np.count_nonzero(np.diff(acked)) < LEAST_ACKS:
            count = f"{np.count_nonzero(np.diff(acked))} acknowledgements of data"
            raise refusal("capture", count, f"a connection with at least {LEAST_ACKS}", quoted=False)
        sent = np.asarray(segments["time_s"], np.float64)
        start = float(sent[0])
        return cls(
            sent_s=sent - start,
            sent_offset=np.asarray(segments["offset"], np.int64),
            sent_bytes=np.asarray(segments["bytes"], np.int64),
            is_repeated=np.asarray([kind not in ("", "out of order") for kind in segments["kind"]], np.bool_),
            is_spurious=np.asarray(segments["spurious"], np.bool_),
            ack_s=np.asarray(acks["time_s"], np.float64) - start,
            acked=acked,
            delivered=np.asarray(acks["delivered"], np.int64),
            window=_windows(acks["window"]),
            rtt_s=np.asarray(acks["rtt_s"], np.float64),
            handshake_rtt_s=np.nan if handshake_rtt_s is None else float(handshake_rtt_s),
            has_timestamps=has_timestamps,
            application_share=application_share,
            receiver_share=receiver_share,
            is_turned=is_turned,
        )

    @cached_property
    def mss(self) -> int:
        """Payload of a full segment, bytes: the largest seen."""
        return int(self.sent_bytes.max())

    @property
    def headers(self) -> int:
        """Headers of a data packet, bytes."""
        return HEADERS + TIMESTAMPS * self.has_timestamps

    @property
    def packet_bits(self) -> int:
        """Size of a full packet with its IP header, bits."""
        return 8 * (self.mss + self.headers)

    @cached_property
    def end_s(self) -> float:
        """Time of the last segment or acknowledgement."""
        return float(max(self.sent_s[-1], self.ack_s[-1]))

    @cached_property
    def highest(self) -> Numbers:
        """The byte after the highest one sent so far, one entry per segment."""
        return np.maximum.accumulate(self.sent_offset + self.sent_bytes)

    @cached_property
    def flight(self) -> Numbers:
        """Bytes sent beyond the cumulative acknowledgement, one entry per acknowledgement."""
        place = np.searchsorted(self.sent_s, self.ack_s, side="right") - 1
        highest = np.where(place < 0, 0, self.highest[np.maximum(place, 0)])
        return np.maximum(highest - self.acked, 0)

    @cached_property
    def is_lost(self) -> Facts:
        """Whether a transmission was lost: a later one of the same bytes was not spurious."""
        order = np.lexsort((np.arange(len(self.sent_offset)), self.sent_offset))
        offset = self.sent_offset[order]
        lost = np.zeros(len(order), np.bool_)
        again = (offset[1:] == offset[:-1]) & ~self.is_spurious[order][1:]
        lost[order[:-1][again]] = True
        return lost

    @cached_property
    def is_complete(self) -> bool:
        """Whether all data was acknowledged at the end, so that the sender had no more to send."""
        return bool(self.acked[-1] >= self.highest[-1])

    def before(self, end_s: float) -> Connection:
        """Return what was seen until a time."""
        sent, acks = self.sent_s <= end_s, self.ack_s <= end_s
        of_segments = ("sent_s", "sent_offset", "sent_bytes", "is_repeated", "is_spurious")
        of_acks = ("ack_s", "acked", "delivered", "window", "rtt_s")
        cut = {name: getattr(self, name)[sent] for name in of_segments}
        cut |= {name: getattr(self, name)[acks] for name in of_acks}
        kept = ("handshake_rtt_s", "has_timestamps", "application_share", "receiver_share", "is_turned")
        made = Connection(**cut, **{name: getattr(self, name) for name in kept})
        # What was lost shows only later.
        made.__dict__["is_lost"] = self.is_lost[sent]
        made.__dict__["mss"] = self.mss
        return made


def _windows(values: Any) -> Numbers:
    """Return receive windows; where the scale is unknown, as large as they can be."""
    windows = np.asarray(values, np.float64)
    return np.where(np.isfinite(windows), windows, float(LARGEST_WINDOW)).astype(np.int64)
