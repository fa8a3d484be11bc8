"""The reduction of a run: a row of lists, one item per connection, and requested traces."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Runs
from dumbbell.tcp_events import mean_by_flow, window_kept

from .network import BOTTLENECK

FLOWS = {
    "goodput": "goodput_bps",
    "rtt_mean": "rtt_mean_s",
    "rtt_min": "rtt_min_s",
    "timeouts": "timeouts",
    "fast_retransmits": "fast_retransmits",
    "retransmitted": "segments_retransmitted",
    "lost": "segments_lost",
    "completion": "completion_s",
    "start": "start_s",
}
"""Columns with one number for each TCP connection, in the order of the scenario, and their names in the engine."""

LINKS = {
    "queue_mean": "backlog_mean_packets",
    "queue_max": "backlog_max_packets",
    "drops": "drops_queue",
    "utilization": "utilization",
}
"""Columns with one number for the bottleneck."""

TRACES = ("trace_of", "trace_length", "trace_time", "trace_value")
"""Traces one after the other: whose and what (``variant cwnd``), how many samples, times in s, values."""

EVENTS = "tcp_events"

KEPT = "kept"
"""Mean share of the window that fast recoveries left of each TCP connection, where a probe records its events; NaN otherwise."""

COLUMNS = ("names", *FLOWS, KEPT, *LINKS, *TRACES)

# Datagrams are no connections.
DATAGRAMS = ("cross", "noise")


def _rows(jobs: NDArray[Any], count: int) -> list[slice]:
    """Return where the rows of each job are in columns ordered by job."""
    ends = np.searchsorted(jobs, np.arange(count), side="right")
    return [slice(begin, end) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def _traces(runs: Runs, count: int) -> list[dict[str, list[object]]]:
    found: list[dict[str, list[object]]] = [{name: [] for name in TRACES} for _ in range(count)]
    for quantity, frame in sorted(runs.traces.items()):
        if quantity == EVENTS:
            continue
        for group, rows in frame.groupby(["job", "name"], sort=True):
            job, name = cast(tuple[int, str], group)
            row = found[int(job)]
            row["trace_of"].append(f"{name} {quantity}")
            row["trace_length"].append(float(len(rows)))
            row["trace_time"].extend(rows["time_s"].tolist())
            row["trace_value"].extend(rows["value"].tolist())
    return found


def reduce(runs: Runs) -> pd.DataFrame:
    """Return one row of `COLUMNS` for each job."""
    count = len(runs.jobs)
    is_datagram = runs.flows["name"].str.startswith(DATAGRAMS)
    flows = runs.flows[~is_datagram]
    links = runs.links[runs.links["name"] == BOTTLENECK].set_index("job")
    frame = pd.DataFrame(index=range(count))
    slices = _rows(flows["job"].to_numpy(), count)
    names = flows["name"].to_numpy()
    frame["names"] = [names[rows].tolist() for rows in slices]
    for column, source in FLOWS.items():
        values = flows[source].to_numpy(dtype=np.float64)
        frame[column] = [values[rows].tolist() for rows in slices]
    events = runs.traces.get(EVENTS)
    kept = np.full(len(flows), np.nan)
    if events is not None:
        kept = mean_by_flow(events, window_kept(events), flows)
    frame[KEPT] = [kept[rows].tolist() for rows in slices]
    for column, source in LINKS.items():
        frame[column] = links[source].reindex(range(count)).to_numpy(dtype=np.float64)
    traces = _traces(runs, count)
    for column in TRACES:
        frame[column] = pd.Series([row[column] for row in traces], dtype=object)
    return frame[list(COLUMNS)]
