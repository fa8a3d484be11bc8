"""The output of the program for ns-3 as the tables of a run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from dumbbell.crossvalidation import PeerRun, sampled
from dumbbell.crossvalidation.peer import LINK_COLUMNS

from .description import Described, FlowTimes

FLOW_COLUMNS = (
    "name",
    "goodput_bps",
    "bytes_delivered",
    "segments_sent",
    "segments_retransmitted",
    "timeouts",
    "completion_s",
    "start_s",
)


def read(text: str, program_input: Described) -> PeerRun:
    """Return the observations of a run.

    Parameters
    ----------
    text
        The output of the program.
    program_input
        What it was given.
    """
    lines = iter(text.splitlines())
    flows, links, traces = [], [], []
    end, cpu_s = 0, 0.0
    for line in lines:
        kind, *words = line.split()
        if kind == "flow":
            flows.append([int(word) for word in words])
        elif kind == "link":
            links.append([float(word) for word in words])
        elif kind == "trace":
            traces.append((words[0], int(words[1]), _values(lines, int(words[2]))))
        elif kind == "end":
            end, cpu_s = int(words[0]), float(words[1])
    flow_rows = [
        _flow(name, times, counted, program_input.window, end)
        for name, times, counted in zip(program_input.flows, program_input.times, flows, strict=True)
    ]
    span = max(1, min(program_input.window[1], end) - program_input.window[0])
    link_rows = [_link(name, counted, span) for name, counted in zip(program_input.links, links, strict=True)]
    by_quantity: dict[str, list[pd.DataFrame]] = {}
    for quantity, index, values in traces:
        by_quantity.setdefault(quantity, []).append(_trace(program_input, quantity, index, values, end))
    return PeerRun(
        flows=pd.DataFrame(flow_rows, columns=list(FLOW_COLUMNS)),
        links=pd.DataFrame(link_rows, columns=list(LINK_COLUMNS)),
        traces={
            quantity: pd.concat(parts).sort_values("time_s", kind="stable", ignore_index=True)
            for quantity, parts in by_quantity.items()
        },
        cpu_s=cpu_s,
    )


def _values(lines: Iterator[str], count: int) -> np.ndarray:
    pairs = [next(lines).split() for _ in range(count)]
    return np.array(pairs, dtype=np.float64).reshape(count, 2)


def _flow(name: str, times: FlowTimes, counted: list[int], window: tuple[int, int], end: int) -> list[object]:
    """Return the row of a flow; it is active as in our runs, from its start to its end in the window."""
    payload, sent, resent, timeouts, completed, last_delivery = counted
    bytes_delivered = round(payload * times.mss / times.segment)
    ends = [window[1], end]
    if completed >= 0:
        ends.append(completed)
    if times.stop is not None:
        ends.append(max(times.stop, last_delivery))
    active = min(ends) - max(window[0], times.start)
    goodput = bytes_delivered * 8e9 / active if active > 0 else 0.0
    completion = (completed - times.start) / 1e9 if completed >= 0 else float("nan")
    return [name, goodput, bytes_delivered, sent, resent, timeouts, completion, times.start / 1e9]


def _link(name: str, counted: list[float], span: int) -> list[object]:
    busy, dropped, lost, offered, waited, most = counted
    return [name, busy / span, int(dropped), int(lost), int(offered), waited / span, int(most)]


def _trace(program_input: Described, quantity: str, index: int, values: np.ndarray, end: int) -> pd.DataFrame:
    """Return a trace in our units: windows in segments, sequence numbers in bytes of the scenario."""
    of_flow = quantity not in ("backlog", "drops")
    name = (program_input.flows if of_flow else program_input.links)[index]
    value = values[:, 1]
    if of_flow:
        times = program_input.times[index]
        value = value / times.segment
        if quantity not in ("cwnd", "ssthresh"):
            value = np.rint(value * times.mss)
    trace = pd.DataFrame({"time_s": values[:, 0] / 1e9, "name": name, "value": value})
    period = program_input.periods[quantity][name]
    if period is None:
        return trace
    at = np.arange(0, end + 1, period) / 1e9
    regular = pd.DataFrame({"time_s": at, "name": name, "value": sampled(trace, at)})
    return regular.dropna(subset=["value"])
