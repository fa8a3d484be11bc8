"""Why a sender did what it did: its journal around a time, in the numbers it had.

The engine is deterministic, so a run is explained by repeating it with a journal of one flow: see `Run.why`. A journal
has an entry for each acknowledgement, decision of the congestion control, transmission, timer and recovery, with the
state of the sender before and after. It is the same for every congestion control; quantities that one exposes as probes
are columns. A flow over another transport has entries for what its stack shows.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from dumbbell import _engine, control, external
from dumbbell.arguments import file_path
from dumbbell.errors import ControlError, EngineError, refusal
from dumbbell.files import replacing
from dumbbell.frames import frame
from dumbbell.identified import Identified
from dumbbell.quantities import nanoseconds, size_bytes, written_time

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


DEFAULT_WINDOW = "200 ms"
"""Width of the part of a run around a time, unless another is given."""

CAUSES = {
    "handshake": "the connection request was not answered in time",
    "duplicate_acks": "fast retransmit after three duplicate ACKs",
    "fine_timeout": "the fine timeout of Vegas",
    "partial_ack": "a partial acknowledgement",
    "sack": "a hole between SACK blocks",
    "rack": "RACK: data sent later was delivered",
    "tail_probe": "tail loss probe",
    "timeout": "retransmission timeout",
}

OCCASIONS = {
    "ack": "acknowledgement",
    "duplicate_ack": "duplicate ACK",
    "timer": "timer",
    "sent": "transmission",
    "application": "action of the application",
}

ENDS = {
    "completed": "everything that was written is acknowledged",
    "given_up": "the stack has given the connection up",
}

NOTHING = "no entries: the sender learned and did nothing"

NEVER_SHOWN = ("SACK and duplicate ACKs", "timers", "why something was sent again")
"""What no stack of others shows."""

LIMITS = {
    "application_limited": "nothing to send: only the application limits the sender",
    "application_unlimited": "the application no longer limits the sender",
}


class Explained(Identified, Protocol):
    """The run that is explained: see `dumbbell.Run`."""

    @property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of all that happened."""

    @property
    def simulated_s(self) -> float:
        """Simulated time, in seconds."""


@dataclass(frozen=True)
class Line:
    """An entry in words.

    Parameters
    ----------
    time_s
        Time, s.
    kind
        What it tells.
    text
        Its numbers.
    """

    time_s: float
    kind: str
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Explanation:
    """What the sender of a flow learned and did in a part of a run.

    ``print`` shows it as a table, a notebook too; `save` writes a page on which a click on the window's curve shows the
    entries around that time.

    Parameters
    ----------
    run
        The run.
    flow
        Name of the flow.
    at_s
        The time asked for, s; ``None`` for all of the run.
    window_s
        First and last time of the entries, s.
    quantities
        Units of the quantities that the congestion control exposes, by name: columns of `events`.
    arrow_events
        The entries as an Arrow table.
    mss
        Payload of a full segment, bytes; of a full packet for a flow over another transport.
    unknown
        What the stack of a flow over another transport does not show, in words.
    """

    run: Explained
    flow: str
    at_s: float | None
    window_s: tuple[float, float]
    quantities: Mapping[str, str]
    arrow_events: pa.Table
    mss: int
    unknown: tuple[str, ...] = ()

    @cached_property
    def events(self) -> pd.DataFrame:
        """One row per entry, in order; what an entry does not have is missing.

        ``time_s``; ``connection`` of the flow, counted from 1; ``kind``: ``ack``, ``decision``, ``sent``,
        ``retransmission``, ``timer_armed``, ``timer_stopped``, ``timer_fired``, ``application_limited``,
        ``application_unlimited``, or a kind of `Run.traces`' ``tcp_events``; ``cause`` of a retransmission, occasion of a
        decision, or name of a timer; ``seq`` and ``end`` of what was acknowledged or sent, and its ``segments``.

        Of acknowledgements: ``sack`` and ``duplicate_sack`` (ranges of bytes), ``ecn_echo``, the samples ``rtt_s`` and
        ``delivery_rate_bps`` (only for a congestion control that uses delivery rates), ``newly_delivered_bytes``,
        ``newly_lost_bytes``. ``deadline_s`` is that of the timer, and of the retransmission timer after an acknowledgement.

        State of the sender after the entry: ``duplicate_acks``, ``in_recovery``, ``in_flight_bytes``, ``srtt_s``, the
        window ``cwnd_bytes`` without its ``inflation_bytes``, ``ssthresh_bytes`` (missing if unlimited),
        ``pacing_rate_bps``, and the quantities of the congestion control. The last four and the quantities have their
        value before in ``*_before_bytes``, ``*_before_bps`` and ``*_before``.

        Of a flow over another transport, ``kind`` is ``ack``, ``loss``, ``timeout``, ``decision``, ``sent``,
        ``retransmission``, ``completed`` or ``given_up``, and ``cause`` what happened to its stack at this instant:
        ``ack``, ``timer`` or ``application``. The state is that at the end of the instant. ``seq`` and ``end`` are the
        bytes acknowledged in order before and after; ``segments`` counts packets with data, ``packets`` all that were
        sent, with ``wire_bytes``, and those of a retransmission are among those sent; ``newly_lost_packets`` were
        declared lost.
        """
        return frame(self.arrow_events)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The entries in words. Windows are in segments."""
        rows = self.arrow_events.to_pylist()
        several = len({row["connection"] for row in rows}) > 1
        return tuple(self._line(row, several) for row in rows)

    @property
    def title(self) -> str:
        """The run, the flow and the time, in a line."""
        name = self.run.scenario.name or "unnamed scenario"
        first, last = self.window_s
        return f"{name}, seed {self.run.seed}, run {self.run.run}: {self.flow} from {first:g} s to {last:g} s"

    @property
    def not_shown(self) -> str:
        """What the stack of a flow over another transport does not show, in a line; empty for the engine's TCP."""
        return f"its stack does not show: {', '.join(self.unknown)}" if self.unknown else ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain objects; what an entry does not have is left out."""
        rows = self.arrow_events.to_pylist()
        return {
            "scenario": self.run.scenario.name,
            "seed": self.run.seed,
            "run": self.run.run,
            "fingerprint": self.run.fingerprint,
            "flow": self.flow,
            "at_s": self.at_s,
            "window_s": list(self.window_s),
            "quantities": dict(self.quantities),
            **({"unknown": list(self.unknown)} if self.unknown else {}),
            "events": [{key: value for key, value in row.items() if value is not None} for row in rows],
        }

    def to_html(self) -> str:
        """Return a page with the window's curve; a click shows the entries around that time. It needs no network.

        Raises
        ------
        ScenarioError
            The package ``bokeh`` is missing, or the entries are too many for a page.
        """
        from dumbbell.plots.why import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path
            A name that ends in ``.html``.

        Raises
        ------
        ScenarioError
            Another ending, or see `to_html`.
        ResultsError
            The file cannot be written.
        """
        file = file_path("page", path)
        if file.suffix.lower() != ".html":
            raise refusal("page", str(path), "a name that ends in .html")
        content = self.to_html().encode()
        with replacing(file) as opened:
            opened.write(content)

    def __len__(self) -> int:
        return int(self.arrow_events.num_rows)

    def __str__(self) -> str:
        """Return the entries as a table of text."""
        head = [self.title, self.not_shown] if self.unknown else [self.title]
        return "\n".join([*head, *written(self.lines)])

    def __repr__(self) -> str:
        return f"<Explanation of {self.flow!r}: {len(self)} entries, print() or save() it>"

    def _repr_html_(self) -> str:
        from dumbbell.plots.why import table

        return table(self)

    def _line(self, row: Mapping[str, Any], several: bool) -> Line:
        kind, cause = row["kind"], row["cause"]
        if kind == "ack":
            parts = self._of_ack(row)
            kind = "duplicate ACK" if row["seq"] == row["end"] and row["duplicate_acks"] else "ACK"
        elif kind == "sent" and row["seq"] is None:
            parts = [*_of_packets(row), f"on {OCCASIONS[cause]}"]
        elif kind == "loss":
            parts = [
                _counted(row["newly_lost_packets"], "packet") + " declared lost",
                f"on {OCCASIONS[cause]}",
            ]
        elif kind in ENDS:
            parts = [ENDS[kind]]
        elif kind == "sent":
            parts = [_counted(row["segments"], "segment"), f"bytes {row['seq']}–{row['end']}"]
            if row["seq"] == row["end"]:
                parts = ["connection request"]
        elif kind == "retransmission" and row["seq"] is None:
            parts = [f"{row['segments']} of them with data that was sent before"]
        elif kind == "retransmission":
            parts = [CAUSES.get(cause, cause), f"bytes {row['seq']}–{row['end']}"]
        elif kind == "decision":
            parts = [f"on {OCCASIONS.get(cause, cause)}", *self._changes(row)]
        elif kind.startswith("timer_"):
            until = "" if row["deadline_s"] is None else f", until {row['deadline_s']:.6f} s"
            parts = [cause.replace("_", " ") + until]
        elif kind in LIMITS:
            parts = [LIMITS[kind]]
        else:
            parts = [self._change(row, "cwnd", "cwnd_before_bytes", "cwnd_bytes", 1 / self.mss, "segments")]
        if several:
            parts.append(f"connection {row['connection']}")
        return Line(row["time_s"], kind.replace("_", " "), ", ".join(part for part in parts if part))

    def _of_ack(self, row: Mapping[str, Any]) -> list[str]:
        acked, parts = row["end"] - row["seq"], [f"up to byte {row['end']}"]
        if acked:
            parts.append(f"{acked} bytes acknowledged")
        elif row["duplicate_acks"]:
            parts.append(f"number {row['duplicate_acks']}")
        if row["sack"]:
            parts.append(f"SACK {row['sack'].replace('-', '–')}")
        if row["duplicate_sack"]:
            parts.append(f"arrived twice {row['duplicate_sack'].replace('-', '–')}")
        if row["ecn_echo"]:
            parts.append("ECN echo")
        if row["rtt_s"] is not None:
            parts.append(f"RTT {row['rtt_s'] * 1e3:.3f} ms")
        if row["delivery_rate_bps"] is not None:
            parts.append(f"delivery rate {row['delivery_rate_bps'] * 1e-6:.4g} Mbit/s")
        if row["newly_lost_bytes"]:
            parts.append(f"{row['newly_lost_bytes']} bytes considered lost")
        if row["in_flight_bytes"] is not None:
            parts.append(f"{row['in_flight_bytes']} bytes in flight")
        if row["deadline_s"] is not None:
            parts.append(f"RTO at {row['deadline_s']:.3f} s")
        return parts

    def _changes(self, row: Mapping[str, Any]) -> list[str]:
        segments = 1 / self.mss
        changes = [
            self._change(row, "cwnd", "cwnd_before_bytes", "cwnd_bytes", segments, "segments"),
            self._change(row, "inflation", "inflation_before_bytes", "inflation_bytes", segments, "segments"),
            self._change(row, "ssthresh", "ssthresh_before_bytes", "ssthresh_bytes", segments, "segments"),
            self._change(row, "pacing rate", "pacing_rate_before_bps", "pacing_rate_bps", 1e-6, "Mbit/s"),
        ]
        for name, unit in self.quantities.items():
            changes.append(self._change(row, name, f"{name}_before", name, 1.0, "" if unit == "-" else unit))
        return changes

    def _change(
        self, row: Mapping[str, Any], name: str, before: str, after: str, scale: float, unit: str
    ) -> str:
        was, now = row[before], row[after]
        if was == now:
            return ""
        # Only a threshold is missing while it is unlimited.
        nothing = "unlimited" if name == "ssthresh" else "none"
        texts = [nothing if value is None else f"{value * scale:.6g}" for value in (was, now)]
        return f"{name} {texts[0]} → {texts[1]} {unit}".rstrip()


def written(lines: Sequence[Line]) -> list[str]:
    """Return entries as lines of text, or that there are none."""
    width = max((len(line.kind) for line in lines), default=0)
    rows = [f"{line.time_s:.6f} s  {line.kind:<{width}}  {line.text}".rstrip() for line in lines]
    return rows or [NOTHING]


def explain(run: Explained, flow: str, at: str | None, window: str | None) -> Explanation:
    """Return what the sender of a flow learned and did around a time; see `Run.why`."""
    import pyarrow as pa

    place = _found(run, flow)
    first, last, at_ns = part(run.simulated_s, at, window, "the run")
    external.prepare([run.scenario])
    repeated = _engine.run(
        run.scenario.stated, run.seed, run.run, control.factory, journal=(place, first, last)
    )
    fingerprint = json.loads(repeated.summary())["fingerprint"]
    if fingerprint != run.fingerprint:
        text = f"the run was repeated to explain it, and differs: fingerprint {fingerprint} instead of {run.fingerprint}"
        if any((known.get("tcp") or {}).get("external") for known in _flows(run)):
            raise ControlError(
                f"{text}; expected a congestion control that depends on nothing but its events"
            )
        raise EngineError(text)
    journal = repeated.journal()
    if journal is None:
        raise EngineError("the repeated run kept no journal")
    entries, quantities, omitted, stack = journal
    table = pa.table(entries)
    if omitted:
        raise refusal(
            "window",
            f"{table.num_rows + omitted} entries",
            f"a shorter one: at most {table.num_rows} entries",
            problem="are too many",
            quoted=False,
        )
    return Explanation(
        run=run,
        flow=flow,
        at_s=None if at_ns is None else at_ns * 1e-9,
        window_s=(first * 1e-9, last * 1e-9),
        quantities=dict(quantities),
        arrow_events=table,
        mss=_mss(run, flow) if stack is None else stack[0],
        unknown=() if stack is None else (*stack[1], *NEVER_SHOWN),
    )


def _flows(run: Explained) -> list[dict[str, Any]]:
    return list(run.scenario.resolved()["flows"])


def _found(run: Explained, name: str) -> int:
    """Return the position of a flow with a sender of TCP or of another transport in its scenario."""
    names = [flow["name"] for flow in _flows(run)]
    if not isinstance(name, str) or name not in names:
        raise refusal("flow", name, ", ".join(names), names=names)
    place = names.index(name)
    stated = _flows(run)[place]
    if stated.get("tcp") is None and stated.get("transport") is None:
        raise refusal(
            "flow", name, "a flow over TCP or another transport", problem="sends datagrams and has no window"
        )
    return place


def part(end_s: float, at: str | None, window: str | None, whole: str) -> tuple[int, int, int | None]:
    """Return the first and the last nanosecond of the part of a whole around a time, and that time.

    Parameters
    ----------
    end_s
        When the whole ends, s; it begins at 0.
    at, window
        The time and the width of the part, as text; without a time all of it.
    whole
        What the part is of, such as ``the run``.

    Raises
    ------
    ScenarioError
        A text is no time, or the time is not within the whole.
    """
    end = round(end_s * 1e9)
    if at is None:
        if window is not None:
            raise refusal("window", window, "`at` to be given as well")
        return 0, end, None
    at_ns = nanoseconds(at, "at")
    if at_ns > end:
        raise refusal("at", at, f"a time within {whole}, which ends after {written_time(end)}")
    width = nanoseconds(DEFAULT_WINDOW if window is None else window, "window")
    if width == 0:
        raise refusal("window", window, "a time above 0")
    half = math.ceil(width / 2)
    return max(0, at_ns - half), min(end, at_ns + half), at_ns


def _mss(run: Explained, flow: str) -> int:
    (tcp,) = (known["tcp"] for known in _flows(run) if known["name"] == flow)
    return size_bytes(tcp["mss"], "mss")


def _of_packets(row: Mapping[str, Any]) -> list[str]:
    """Return what left a stack of others at one instant."""
    without = row["packets"] - row["segments"]
    counts = [f"{_counted(row['segments'], 'packet')} with data"] if row["segments"] else []
    if without:
        counts.append(f"{_counted(without, 'packet')} without data")
    return [*counts, f"{row['wire_bytes']} bytes"]


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
