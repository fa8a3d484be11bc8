"""One connection of a capture: its row, its traces, its phases."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import refusal
from dumbbell.exports import Exported
from dumbbell.files import plain
from dumbbell.frames import frame

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from dumbbell.inspection.compared import CapturedComparison
    from dumbbell.inspection.events import CapturedEvents
    from dumbbell.plots.picture import Picture

USUAL_SEGMENT = 1448
"""Bytes of data of a full segment on Ethernet with timestamps, where neither an option nor data tells."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Captured(Exported):
    """A TCP connection of a capture: the data of the end that sent more of it.

    Its tables have the names and units of those of a simulated run (`dumbbell.Run`), so that both are drawn and read alike.

    Parameters
    ----------
    path
        The capture.
    number
        Number of the connection, counted from 1.
    arrow_flows
        One row with the columns of `Inspection.connections`.
    arrow_phases
        What limited the sender, one row per phase: ``start_s``, ``end_s`` and ``limit``.
    arrow_segments
        Data segments in the order of the capture: ``time_s``, ``offset`` (the first is 0) and ``bytes``, ``kind`` (empty for
        new data, else why it was retransmitted), ``spurious`` (the receiver had it) and ``clock`` (ticks of the sender's clock
        in its timestamps; missing without them).
    arrow_acks
        Segments of the receiver: ``time_s``, ``acked``, ``sacked`` (bytes reported above), ``window`` (bytes), ``rtt_s``,
        ``flight`` and ``delivered`` (bytes), ``rate_bps``, ``duplicate``, ``dsack`` and ``ece``.
    arrow_rtts
        Round-trip times: ``time_s`` and ``value``, s.
    counts
        Packets of the capture by what they are, see `Inspection.counts`.
    damage
        What is wrong with the first packet that could not be read, if there is one.
    omitted
        Segments for which there was no room; the traces lack them, the counts do not.
    """

    path: Path
    number: int
    arrow_flows: pa.Table
    arrow_phases: pa.Table
    arrow_segments: pa.Table
    arrow_acks: pa.Table
    arrow_rtts: pa.Table
    counts: Mapping[str, int]
    damage: str | None = None
    omitted: int = 0

    @cached_property
    def row(self) -> dict[str, Any]:
        """The connection as a plain object, with the columns of `Inspection.connections`; ``None`` is missing."""
        found: dict[str, Any] = plain(self.arrow_flows.to_pylist()[0])
        return found

    @property
    def name(self) -> str:
        """Sender and receiver of the data: addresses and ports."""
        return str(self.row["name"])

    @property
    def segment_bytes(self) -> int:
        """Bytes of data of a full segment, the unit of ``flight_size`` and ``receive_window``."""
        known = [size for size in (self.row["mss_bytes"], self.row["largest_segment_bytes"]) if size]
        return min(known, default=USUAL_SEGMENT)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """One row, with the columns of `Inspection.connections`."""
        return frame(self.arrow_flows)

    @cached_property
    def phases(self) -> pd.DataFrame:
        """What limited the sender: ``start_s``, ``end_s``, ``limit``, one row per phase."""
        return frame(self.arrow_phases)

    @cached_property
    def segments(self) -> pd.DataFrame:
        """The data segments; see `arrow_segments`."""
        return frame(self.arrow_segments)

    @cached_property
    def acks(self) -> pd.DataFrame:
        """The segments of the receiver; see `arrow_acks`."""
        return frame(self.arrow_acks)

    @cached_property
    def arrow_traces(self) -> dict[str, pa.Table]:
        """Quantities over time, as Arrow tables with ``time_s`` (since the first packet of the capture), ``name``, ``value``.

        ``flight_size`` and ``receive_window`` in segments, ``rtt`` in s, ``seq_sent``, ``seq_acked`` and ``delivered`` in
        bytes, ``delivery_rate`` in bit/s, as `dumbbell list probes` describes them, and ``retransmissions``.
        """
        segments, acks = self.arrow_segments, self.arrow_acks
        sent_at, heard_at = _numbers(segments["time_s"]), _numbers(acks["time_s"])
        acked = np.maximum.accumulate(_numbers(acks["acked"])) if len(acks) else np.array([])
        window = _numbers(acks["window"]) / self.segment_bytes
        again = np.cumsum([kind not in ("", "out of order") for kind in segments["kind"].to_pylist()])
        return {
            "flight_size": self._table(*self._flight(sent_at, heard_at, acked)),
            "receive_window": self._table(heard_at, window),
            "rtt": self._table(_numbers(self.arrow_rtts["time_s"]), _numbers(self.arrow_rtts["value"])),
            "seq_sent": self._table(sent_at, _numbers(segments["offset"])),
            "seq_acked": self._table(heard_at, acked),
            "delivered": self._table(heard_at, acked),
            "delivery_rate": self._table(heard_at, _numbers(acks["rate_bps"])),
            "retransmissions": self._table(sent_at, np.asarray(again, dtype=float)),
        }

    @cached_property
    def traces(self) -> dict[str, pd.DataFrame]:
        """Quantities over time: ``time_s``, ``name``, ``value``; see `arrow_traces`."""
        return {quantity: frame(table) for quantity, table in self.arrow_traces.items()}

    def _flight(
        self, sent_at: NDArray[np.float64], heard_at: NDArray[np.float64], acked: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the bytes that are sent and not acknowledged after each segment of either side, in segments."""
        ends = _numbers(self.arrow_segments["offset"]) + _numbers(self.arrow_segments["bytes"])
        time = np.concatenate([heard_at, sent_at])
        order = np.argsort(time, kind="stable")
        sent = np.concatenate([np.full(len(heard_at), -np.inf), ends])[order]
        heard = np.concatenate([acked, np.full(len(sent_at), -np.inf)])[order]
        if not len(time):
            return time, time
        # Bytes that the capture lacks were sent, too, when they are acknowledged.
        una = np.maximum.accumulate(heard)
        flight = np.maximum.accumulate(np.maximum(sent, heard)) - una
        known = np.isfinite(flight)
        return time[order][known], flight[known] / self.segment_bytes

    def _table(self, time_s: NDArray[np.float64], value: NDArray[np.float64]) -> pa.Table:
        import pyarrow as pa

        known = np.isfinite(value)
        names = pa.DictionaryArray.from_arrays(
            pa.array(np.zeros(int(known.sum()), dtype=np.int32)), [self.name]
        )
        return pa.table({"time_s": time_s[known], "name": names.cast(pa.string()), "value": value[known]})

    def tables(self) -> dict[str, pa.Table]:
        """Return all Arrow tables by name: ``flows``, ``phases``, ``segments``, ``acks``, and each quantity over time."""
        return {
            "flows": self.arrow_flows,
            "phases": self.arrow_phases,
            "segments": self.arrow_segments,
            "acks": self.arrow_acks,
            **self.arrow_traces,
        }

    def plot(self, quantity: str | None = None, *, style: str | None = None) -> Picture:
        """Return a picture of the data in flight, round-trip times, goodput and retransmissions, or of one quantity.

        Parameters
        ----------
        quantity
            A key of `traces`; four panels by default.
        style
            As of `dumbbell.Run.plot`.

        Raises
        ------
        ScenarioError
            There is no such quantity or style.
        """
        from dumbbell.inspection.pictures import picture

        return picture(self, quantity, style)

    @property
    def sentence(self) -> str:
        """How much was delivered how fast, and what limited it, in words."""
        from dumbbell.inspection.told import sentence

        return sentence(self.row)

    @property
    def warnings(self) -> list[str]:
        """What the capture cannot tell, or tells wrongly, in sentences."""
        from dumbbell.inspection.told import warnings_of, warnings_of_capture

        listed = [*warnings_of(self.row), *warnings_of_capture(self.counts, self.damage)]
        if self.omitted:
            listed.append(f"{self.omitted} segments of the end are counted, and missing in the traces.")
        return listed

    def why(self, *, at: str | None = None, window: str | None = None) -> CapturedEvents:
        """Return what the sender learned and did around a time, as far as the capture shows it.

        Parameters
        ----------
        at
            Time since the first packet of the capture, such as ``"12.3 s"``; all of the connection by default.
        window
            Width of the part around it; 200 ms by default.

        Raises
        ------
        ScenarioError
            A text is no time, or the time is after the end of the connection.
        """
        from dumbbell.inspection.events import why

        return why(self, self.row["start_s"] + self.row["duration_s"], at, window)

    def compare(self, other: Captured) -> CapturedComparison:
        """Return this connection, A, beside another one, B: columns, their differences and curves over each other."""
        from dumbbell.inspection.compared import CapturedComparison

        if not isinstance(other, Captured):
            raise refusal(
                "other", type(other).__name__, "a connection, as inspect(path, flow) returns", quoted=False
            )
        return CapturedComparison(a=self, b=other)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a page: a file whose name ends in ``.html``, or a folder, which also gets ``inspection.json``.

        Raises
        ------
        ResultsError
            A file could not be written.
        """
        from dumbbell.inspection.page import save

        return save(path, self.to_dict(), self)

    def to_dict(self) -> dict[str, Any]:
        """Return the connection as plain data, as ``dumbbell inspect --flow --json`` prints it."""
        data = {
            "capture": str(self.path),
            "counts": dict(self.counts),
            "damage": self.damage,
            "connection": self.row,
            "sentence": self.sentence,
            "warnings": self.warnings,
            "phases": self.arrow_phases.to_pylist(),
        }
        found: dict[str, Any] = plain(data)
        return found

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Captured({str(self.path)!r}, connection {self.number}: {self.name})"

    def _repr_html_(self) -> str:
        from dumbbell.inspection.page import notebook

        return notebook(self)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return a column as numbers; NaN is missing."""
    import pyarrow as pa

    found: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    return found
