"""The columns of all tables of results: one list, from which ``help()``, ``dumbbell list columns`` and the pages come."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

WINDOW = "measurement window"
RUN = "whole run"
MESSAGES = "messages written in the measurement window, until their end"
SINCE_START = "start of the run to end of the window"
TRANSFERS = "transfers that begin in the measurement window, until their end"


class Column(NamedTuple):
    """A column of a table of results.

    Attributes
    ----------
    name
        The column.
    unit
        Its unit; ``-`` for names and numbers without one.
    window
        The part of the run that it covers; ``-`` if it has none.
    meaning
        What it is.
    """

    name: str
    unit: str
    window: str
    meaning: str


def _percentiles(stem: str, unit: str, window: str, of: str, *, maximum: bool = True) -> list[Column]:
    """Return the columns of a distribution."""
    end = f"_{unit}" if unit != "-" else ""
    words = {"p50": "Median", "p95": "95th percentile", "p99": "99th percentile"}
    if maximum:
        words["max"] = "Maximum"
    return [Column(f"{stem}_{part}{end}", unit, window, f"{word} of {of}.") for part, word in words.items()]


_JOB = Column("job", "-", "-", "Index of the job in `Runs.jobs`.")
_HEAD = [
    _JOB,
    Column("seed", "-", "-", "Seed of the random streams."),
    Column("run", "-", "-", "Number of the replication."),
]
_RTT = "round-trip times, with `delay_percentiles`"
_OF_SEGMENTS = "round-trip time of segments sent once"
_DELAY = "one-way delays of arriving data packets, with `delay_percentiles`"
_FCT = "completion times of transfers, web pages or requests"
_SLOWDOWN = "completion times divided by those of an empty path without slow start"
_WAIT = "queueing times of packets, with `wait_percentiles`"
_LOW, _CLASSIC = "packets of the low-latency queue of `dualpi2`", "packets of the classic queue of `dualpi2`"

_FLOWS = [
    *_HEAD,
    Column("fingerprint", "-", RUN, "Hash of all events of the run and their times."),
    Column("simulated_s", "s", RUN, "Simulated time."),
    Column("events", "events", RUN, "Events that the engine handled."),
    Column("name", "-", "-", "Name of the flow."),
    Column("goodput_bps", "bit/s", WINDOW, "New bytes delivered in order, over the active time of the flow."),
    Column("throughput_bps", "bit/s", WINDOW, "All bytes sent, including headers, over the same time."),
    Column("bytes_delivered", "bytes", WINDOW, "New bytes delivered in order."),
    Column("segments_sent", "segments", WINDOW, "Data segments sent, including retransmissions."),
    Column("segments_retransmitted", "segments", WINDOW, "Data segments retransmitted."),
    Column("bytes_retransmitted", "bytes", WINDOW, "Payload retransmitted."),
    Column("timeouts", "timeouts", WINDOW, "Expirations of the retransmission timer, including those of a SYN."),
    Column("fast_retransmits", "fast retransmits", WINDOW, "Fast retransmissions."),
    Column("completion_s", "s", RUN, "Time until the last byte is acknowledged, or a workload has ended; missing otherwise."),
    Column("start_s", "s", RUN, "Time at which the flow starts."),
    Column("rtt_mean_s", "s", WINDOW, f"Mean {_OF_SEGMENTS} and not selectively acknowledged before, or of answers to pings."),
    Column("rtt_min_s", "s", SINCE_START, f"Minimum {_OF_SEGMENTS}, or of answers to pings."),
    Column("segments_lost", "segments", WINDOW, "Data segments dropped; of a ping, also answers."),
    Column("connections", "connections", WINDOW, "TCP connections opened."),
    Column("connections_given_up", "connections", WINDOW, "Of these, given up after too many retransmissions of one segment."),
    Column("receive_window_limited", "times", WINDOW, "Times that the receive window stopped the sender."),
    *_percentiles("rtt", "s", WINDOW, _RTT),
    Column("delay_mean_s", "s", WINDOW, f"Mean of {_DELAY}."),
    *_percentiles("delay", "s", WINDOW, _DELAY),
    Column("transfers", "transfers", WINDOW, "Transfers, web pages or requests begun, of a workload."),
    Column("transfers_completed", "transfers", TRANSFERS, "Of these, completed."),
    Column("transfers_refused", "transfers", WINDOW, "Arrivals refused because too many transfers were in progress."),
    Column("fct_mean_s", "s", TRANSFERS, f"Mean of {_FCT}."),
    *_percentiles("fct", "s", TRANSFERS, _FCT),
    Column("slowdown_mean", "-", TRANSFERS, f"Mean of {_SLOWDOWN}."),
    *_percentiles("slowdown", "-", TRANSFERS, _SLOWDOWN, maximum=False),
    Column("bitrate_mean_bps", "bit/s", WINDOW, "Mean bitrate of the video shown; of adaptive video."),
    Column("bitrate_switches", "switches", WINDOW, "Changes of the bitrate; of adaptive video."),
    Column("rebuffering_s", "s", WINDOW, "Time that the video stalled after it had begun."),
    Column("startup_s", "s", WINDOW, "Time until the video began."),
    Column("messages", "messages", WINDOW, "Messages that a source of datagrams wrote over TCP or another transport."),
    Column("messages_late", "messages", MESSAGES, "Of these, delivered after their deadline, or not although it has passed."),
    Column("messages_skipped", "messages", WINDOW, "Messages not written, because too much waited."),
]  # fmt: skip

_LINKS = [
    *_HEAD,
    Column("name", "-", "-", "Name of the link."),
    Column(
        "utilization",
        "fraction",
        WINDOW,
        "Share of the time spent transmitting, from 0 to 1; with delivery opportunities, of their bytes used.",
    ),
    Column("drops_queue", "packets", WINDOW, "Packets dropped because the queue was full."),
    Column("drops_early", "packets", WINDOW, "Packets dropped early by active queue management."),
    Column("drops_policer", "packets", WINDOW, "Packets dropped by a policer."),
    Column("drops_impairment", "packets", WINDOW, "Packets lost by impairments and in outages."),
    Column("duplicates", "packets", WINDOW, "Copies made by impairments that arrive besides their packets."),
    Column("marks", "packets", WINDOW, "Packets marked *congestion experienced*."),
    Column("packets", "packets", WINDOW, "Packets offered."),
    Column("backlog_mean_packets", "packets", WINDOW, "Mean number of packets waiting behind the one in service."),
    Column("backlog_max_packets", "packets", WINDOW, "Maximum number of packets waiting behind the one in service."),
    Column("wait_mean_s", "s", WINDOW, "Mean queueing time, by Little's law: mean backlog divided by packet rate."),
    *_percentiles("wait", "s", WINDOW, _WAIT),
    Column("wait_l_mean_s", "s", WINDOW, f"Mean queueing time of {_LOW}."),
    Column("wait_l_p99_s", "s", WINDOW, f"99th percentile of the queueing times of {_LOW}."),
    Column("wait_c_mean_s", "s", WINDOW, f"Mean queueing time of {_CLASSIC}."),
    Column("wait_c_p99_s", "s", WINDOW, f"99th percentile of the queueing times of {_CLASSIC}."),
]  # fmt: skip

_TRACE_HEAD = [
    _JOB,
    Column("time_s", "s", RUN, "Time from the start of the run."),
    Column("name", "-", "-", "Name of the flow or link."),
]

COLUMNS: Mapping[str, Sequence[Column]] = {
    "flows": _FLOWS,
    "links": _LINKS,
    "traces": [
        *_TRACE_HEAD,
        Column("value", "of the quantity", RUN, "The probed quantity; `dumbbell list probes` states its unit."),
    ],
    "tcp_events": [
        *_TRACE_HEAD,
        Column("connection", "-", RUN, "Connection of the flow, counted from 1."),
        Column("kind", "-", RUN, "Kind of event, see `dumbbell list tcp_events`."),
        Column("seq", "byte", RUN, "First byte of a segment that was lost, or is the first new one after a fast retransmit."),
        Column("snd_una", "byte", RUN, "First byte not acknowledged. The sender does not know of a `loss` yet."),
        Column("snd_max", "byte", RUN, "Byte after the last one sent."),
        Column("cwnd_before_bytes", "bytes", RUN, "Window without inflation before the event."),
        Column("cwnd_bytes", "bytes", RUN, "Window without inflation after the event."),
        Column("rtt_mean_s", "s", RUN, "Mean round-trip time so far."),
    ],
    "transfers": [
        *_TRACE_HEAD,
        Column("kind", "-", RUN, "Kind of transfer, web page or request; `time_s` is its beginning."),
        Column("connection", "-", RUN, "Connection of the flow, counted from 1; missing for pages and requests."),
        Column("size_bytes", "bytes", RUN, "Payload."),
        Column("completion_s", "s", RUN, "Time until its last byte was acknowledged; missing if it was not."),
        Column("slowdown", "-", RUN, "Completion time divided by that of an empty path without slow start."),
        Column("segments_retransmitted", "segments", RUN, "Segments retransmitted."),
        Column("timeouts", "timeouts", RUN, "Expirations of the retransmission timer."),
    ],
}  # fmt: skip
"""The columns by table: ``flows``, ``links``, and the traces of probes, with the two that have columns of their own.

``job`` is in the tables of `Runs`; in those of a `Run` it is 0, and their traces do not have it."""


def described(table: str, head: str) -> str:
    """Return the docstring of a table: a head, and what its columns are.

    Parameters
    ----------
    table
        A key of `COLUMNS`.
    head
        The first sentences.
    """
    lines = [head, "", "Columns, with unit and window:", ""]
    for column in COLUMNS[table]:
        facts = ", ".join(fact for fact in (column.unit, column.window) if fact != "-")
        text = f"``{column.name}``" + (f" ({facts})" if facts else "") + f": {column.meaning}"
        lines += textwrap.wrap(text, 110, initial_indent="* ", subsequent_indent="  ")
    return "\n".join(lines)


def markdown(table: str) -> str:
    """Return the columns of a table as a table in Markdown.

    Parameters
    ----------
    table
        A key of `COLUMNS`.
    """
    rows = [
        f"| `{column.name}` | {column.unit} | {column.window} | {column.meaning} |"
        for column in COLUMNS[table]
    ]
    return "\n".join(["| column | unit | window | meaning |", "|---|---|---|---|", *rows])
