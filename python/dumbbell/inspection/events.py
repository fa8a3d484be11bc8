"""What the sender of a captured connection learned and did around a time: `Captured.why`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dumbbell.inspection.shown import Shown
from dumbbell.inspection.told import LIMITS, rate
from dumbbell.why import Line, part, written

CAUSES = {
    "fast": "fast retransmission",
    "probe": "tail loss probe",
    "timeout": "after a timeout",
    "other": "of an unknown cause",
    "out of order": "sent before, or reordered on its way to the capture",
}
"""Kinds of segments that are no new data."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CapturedEvents:
    """What the capture shows of the sender in a part of a connection.

    ``print`` shows it as a table. A capture has segments and acknowledgements; the window, timers and decisions of the
    sender are not in it, but what limited it is derived from both.

    Parameters
    ----------
    connection
        The connection.
    at_s
        The time asked for, s since the first packet of the capture; ``None`` for all of it.
    window_s
        First and last time of the entries, s.
    """

    connection: Shown
    at_s: float | None
    window_s: tuple[float, float]

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The entries in words. New segments that leave without an acknowledgement in between are one entry."""
        found = [*self._phases(), *self._acks(), *self._sent()]
        return tuple(_joined(sorted(found, key=lambda one: one.line.time_s)))

    @property
    def title(self) -> str:
        """The capture, the connection and the time, in a line."""
        first, last = self.window_s
        shown = self.connection
        return f"{shown.path.name}, connection {shown.number}: {shown.name} from {first:g} s to {last:g} s"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain objects."""
        return {
            "capture": str(self.connection.path),
            "connection": self.connection.number,
            "at_s": self.at_s,
            "window_s": list(self.window_s),
            "events": [vars(line) for line in self.lines],
        }

    def __len__(self) -> int:
        return len(self.lines)

    def __str__(self) -> str:
        return "\n".join([self.title, *written(self.lines)])

    def __repr__(self) -> str:
        return f"<Events of connection {self.connection.number}: {len(self)} entries, print() it>"

    def _within(self, table: Any, column: str = "time_s") -> list[dict[str, Any]]:
        # In whole nanoseconds, as the capture has them.
        first, last = (round(end * 1e9) for end in self.window_s)
        time = (table[column] * 1e9).round()
        found: list[dict[str, Any]] = table[(time >= first) & (time <= last)].to_dict("records")
        return found

    def _phases(self) -> Iterator[_Entry]:
        for row in self._within(self.connection.arrow_phases.to_pandas(), "start_s"):
            limit = row["limit"]
            meaning = LIMITS[limit][1] if limit in LIMITS else limit
            text = f"{meaning}, until {row['end_s']:.6f} s"
            yield _Entry(Line(row["start_s"], "phase", text))

    def _acks(self) -> Iterator[_Entry]:
        acked = self.connection.acks["acked"].cummax()
        before = dict(zip(self.connection.acks.index, acked.shift(fill_value=0), strict=True))
        table = self.connection.acks.assign(before=list(before.values()))
        for row in self._within(table):
            kind = "duplicate ACK" if row["duplicate"] else "ACK"
            yield _Entry(Line(row["time_s"], kind, ", ".join(_of_ack(row))))

    def _sent(self) -> Iterator[_Entry]:
        for row in self._within(self.connection.segments):
            end = row["offset"] + row["bytes"]
            place = f"bytes {row['offset']}–{end}"
            if not row["kind"]:
                yield _Entry(Line(row["time_s"], "sent", f"1 segment, {place}"), (1, row["offset"], end))
                continue
            parts = [CAUSES.get(row["kind"], row["kind"]), place]
            if row["spurious"]:
                parts.append("not needed: the receiver had it")
            kind = "out of order" if row["kind"] == "out of order" else "retransmission"
            yield _Entry(Line(row["time_s"], kind, ", ".join(parts)))


@dataclass(frozen=True)
class _Entry:
    """An entry, and of new data the number of segments, the first byte and the one after the last."""

    line: Line
    sent: tuple[int, int, int] | None = None


def _joined(entries: list[_Entry]) -> Iterator[Line]:
    """Yield entries, of which successive ones of new data are one."""
    held: _Entry | None = None
    for entry in entries:
        if held and held.sent and entry.sent and held.sent[2] == entry.sent[1]:
            count, first, end = held.sent[0] + 1, held.sent[1], entry.sent[2]
            until = f", until {entry.line.time_s:.6f} s" if entry.line.time_s > held.line.time_s else ""
            text = f"{count} segments, bytes {first}–{end}{until}"
            held = _Entry(Line(held.line.time_s, "sent", text), (count, first, end))
            continue
        if held:
            yield held.line
        held = entry
    if held:
        yield held.line


def _of_ack(row: Mapping[str, Any]) -> Iterator[str]:
    yield f"up to byte {row['acked']}"
    if row["acked"] > row["before"]:
        yield f"{row['acked'] - row['before']} bytes acknowledged"
    if row["sacked"]:
        yield f"{row['sacked']} bytes reported above"
    if row["dsack"]:
        yield "something arrived twice"
    if row["ece"]:
        yield "ECN echo"
    if row["rtt_s"] == row["rtt_s"]:
        yield f"RTT {row['rtt_s'] * 1e3:.3f} ms"
    if row["rate_bps"] == row["rate_bps"]:
        yield f"delivery rate {rate(row['rate_bps'])}"
    yield f"{row['flight']} bytes in flight"
    if row["window"] == 0:
        yield "the receive window is closed"


def why(connection: Shown, end_s: float, at: str | None, window: str | None) -> CapturedEvents:
    """Return what a capture shows around a time; see `Captured.why`."""
    first, last, at_ns = part(end_s, at, window, "the connection")
    return CapturedEvents(
        connection=connection,
        at_s=None if at_ns is None else at_ns / 1e9,
        window_s=(first / 1e9, last / 1e9),
    )
