"""The reduction of a run: goodputs by role, the bottleneck, and windows and estimates from traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Runs
from dumbbell.traces import StepFunction

from .scenarios import EDGES_S, SEGMENT_BITS

Values = NDArray[np.float64]

TRACED = ("cwnd", "srtt", "ssthresh", "bandwidth", "base_rtt", "seq_acked", "backlog")
"""Quantities kept as they were recorded, of ``f1`` or of the bottleneck: a column of times, s, and one of values."""

COLUMNS = (
    "goodput",
    "cross",
    "backward",
    "segments",
    "sent",
    "lost",
    "timeouts",
    "rtt",
    "rtt_min",
    "retransmitted",
    "utilization",
    "backlogs",
    "intervals",
    "lines",
    "event_flow",
    "event_s",
    "event_ssthresh",
    "event_cwnd",
    "event_estimate",
    *(column for quantity in TRACED for column in (f"{quantity}_s", quantity)),
)
"""Columns of a reduced run, all of them lists.

``goodput``, ``cross``, ``backward``: Mbit/s of the flows of each role. ``segments``, ``sent``, ``lost``, ``timeouts``, ``rtt``
(mean, s), ``rtt_min`` (s), ``retransmitted`` (segments): of the measured flows. ``utilization``, ``backlogs`` (mean, packets): of
``r1-r2`` and ``r2-r1``. ``intervals``: goodput in the intervals of Table I, Mbit/s. ``lines``: segments delivered at the probe's
times, flow by flow. ``event_*``: the congestion episodes of measured flows: the threshold after, the window before, segments,
and the bandwidth estimate, Mbit/s.
"""

BOTTLENECKS = ("r1-r2", "r2-r1")
NOTHING: Values = np.empty(0)


def reduce(runs: Runs) -> pd.DataFrame:
    """Return one row of `COLUMNS` for each job."""
    flows = dict(iter(runs.flows.groupby("job")))
    links = {job: rows.set_index("name") for job, rows in runs.links.groupby("job")}
    traces = {quantity: dict(iter(frame.groupby("job"))) for quantity, frame in runs.traces.items()}
    rows = []
    for job in range(len(runs.jobs)):
        traced = {quantity: by_job[job] for quantity, by_job in traces.items() if job in by_job}
        rows.append(_reduced(flows[job], links[job], traced))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    # Some jobs leave a column empty; it is still one of lists of numbers.
    return frame.map(lambda value: np.asarray(value, dtype=np.float64))


def _reduced(
    flows: pd.DataFrame, links: pd.DataFrame, traces: dict[str, pd.DataFrame]
) -> dict[str, Sequence[float] | Values]:
    role = flows["name"].str[0]
    measured = flows[role == "f"]
    row: dict[str, Sequence[float] | Values] = dict.fromkeys(COLUMNS, NOTHING)
    for column, letter in (("goodput", "f"), ("cross", "x"), ("backward", "b")):
        row[column] = flows.loc[role == letter, "goodput_bps"].to_numpy(dtype=np.float64) / 1e6
    delivered = measured["bytes_delivered"].to_numpy(dtype=np.float64) * 8 / SEGMENT_BITS
    row["segments"] = delivered
    for column, source in (
        ("sent", "segments_sent"),
        ("lost", "segments_lost"),
        ("timeouts", "timeouts"),
        ("rtt", "rtt_mean_s"),
        ("rtt_min", "rtt_min_s"),
        ("retransmitted", "segments_retransmitted"),
    ):
        row[column] = measured[source].to_numpy(dtype=np.float64)
    ways = links.loc[list(BOTTLENECKS)]
    row["utilization"] = ways["utilization"].to_numpy(dtype=np.float64)
    row["backlogs"] = ways["backlog_mean_packets"].to_numpy(dtype=np.float64)
    for quantity in TRACED:
        if quantity in traces:
            rows = traces[quantity]
            own = rows[rows["name"].isin(["f1", BOTTLENECKS[0]])]
            if quantity == "seq_acked" and "seq_sent" in traces:
                continue
            row[f"{quantity}_s"] = own["time_s"].to_numpy(dtype=np.float64)
            row[quantity] = own["value"].to_numpy(dtype=np.float64)
    if "delivered" in traces:
        rows = traces["delivered"]
        if len(measured) > 1:
            row["lines"] = _lines(rows)
        else:
            row["intervals"] = _intervals(rows, delivered[0])
    if "ssthresh" in traces:
        row |= _events(traces)
    return row


def _intervals(delivered: pd.DataFrame, total: float) -> Values:
    """Return the goodput in the intervals of Table I, Mbit/s; `total` is what was delivered in the end, segments."""
    inner = np.interp(EDGES_S[1:-1], delivered["time_s"], delivered["value"] * 8 / SEGMENT_BITS)
    segments = np.diff(np.concatenate([[0.0], inner, [total]]))
    result: Values = segments * SEGMENT_BITS / 1e6 / np.diff(EDGES_S)
    return result


def _lines(delivered: pd.DataFrame) -> Values:
    """Return the segments delivered at each time of the probe, flow by flow in the order of their numbers."""
    wide = delivered.pivot_table(index="name", columns="time_s", values="value", fill_value=0.0)
    wide = wide.loc[sorted(wide.index, key=lambda name: int(name[1:]))]
    result: Values = wide.to_numpy(dtype=np.float64).ravel() * 8 / SEGMENT_BITS
    return result


def _episodes(sent: pd.DataFrame, acked: pd.DataFrame) -> Values:
    """Return when episodes of loss begin, s.

    One begins when a segment is sent again, and ends when all that was sent by then is acknowledged.
    """
    sent_s, first_byte = (sent[column].to_numpy(dtype=np.float64) for column in ("time_s", "value"))
    acked_s, acknowledged = (acked[column].to_numpy(dtype=np.float64) for column in ("time_s", "value"))
    highest = np.maximum.accumulate(first_byte)
    begun: list[float] = []
    ended = -np.inf
    for index in np.flatnonzero(first_byte[1:] <= highest[:-1]) + 1:
        if sent_s[index] < ended:
            continue
        begun.append(float(sent_s[index]))
        covered = np.searchsorted(acknowledged, highest[index], side="right")
        ended = float(acked_s[covered]) if covered < acked_s.size else np.inf
    return np.asarray(begun, dtype=np.float64)


def _events(traces: dict[str, pd.DataFrame]) -> dict[str, Values]:
    """Return the congestion episodes with the windows before, the thresholds after and the estimates at them.

    Where it was not recorded what was sent, every change of a threshold is one.
    """
    parts: dict[str, list[Any]] = {
        name: [] for name in ("event_flow", "event_s", "event_ssthresh", "event_cwnd", "event_estimate")
    }
    groups = {
        quantity: {str(name): rows for name, rows in traces[quantity].groupby("name")}
        for quantity in ("ssthresh", "cwnd", "bandwidth", "seq_sent", "seq_acked")
        if quantity in traces
    }
    for name, rows in groups["ssthresh"].items():
        if not name.startswith("f"):
            continue
        times = rows["time_s"].to_numpy(dtype=np.float64)
        if "seq_sent" in groups:
            times = _episodes(groups["seq_sent"][name], groups["seq_acked"][name])
        parts["event_flow"].append(np.full(times.size, float(name[1:])))
        parts["event_s"].append(times)
        parts["event_ssthresh"].append(_last(rows, times))
        parts["event_cwnd"].append(_last(groups.get("cwnd", {}).get(name), times, before=True))
        parts["event_estimate"].append(_last(groups.get("bandwidth", {}).get(name), times) / 1e6)
    return {name: np.concatenate(values) if values else NOTHING for name, values in parts.items()}


def _last(trace: pd.DataFrame | None, times: Values, *, before: bool = False) -> Values:
    """Return the values a trace had at (or just before) some times; NaN where it had none yet."""
    if trace is None:
        return np.full(times.size, np.nan)
    return StepFunction.of(trace).at(times, before=before)
