"""The output of a script as the columns of our own runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.crossvalidation import PeerRun
from dumbbell.crossvalidation.peer import LINK_COLUMNS
from dumbbell.quantities import bits_per_second, nanoseconds

from .script import Script, Trace, size_bytes

TRACE_COLUMNS = ["time_s", "name", "value"]


class _Reported:
    """The lines of the file of results."""

    def __init__(self, place: Path) -> None:
        self.clock: dict[str, float] = {}
        self.address: dict[tuple[int, int], str] = {}
        self.completed: dict[str, float] = {}
        self.last_delivery: dict[str, float] = {}
        self.counters: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
        for line in (place / "results").read_text(encoding="utf-8").splitlines():
            word, name, *rest = _split(line)
            if word == "clock":
                self.clock[name] = float(rest[0])
            elif word == "address":
                self.address[int(rest[0]), int(rest[1])] = name
            elif word == "completed":
                self.completed[name] = float(rest[0])
            elif word == "delivered":
                self.last_delivery[name] = float(rest[0])
            else:
                moment, *numbers = rest
                self.counters[word, name][moment] = [float(number) for number in numbers]
        self.until = "until" if "until" in self.clock else "end"

    def window(self, word: str, name: str) -> list[float]:
        """Return how far counters went within the measured window."""
        moments = self.counters[word, name]
        last = moments[self.until]
        # A run that ends before the window begins has nothing in it.
        return [now - before for now, before in zip(last, moments.get("from", last), strict=True)]


def _split(line: str) -> list[str]:
    """Return the words of a Tcl list without nested ones."""
    found: list[str] = []
    rest = line.strip()
    while rest:
        if rest.startswith("{"):
            word, _, rest = rest[1:].partition("}")
        else:
            word, _, rest = rest.partition(" ")
        found.append(word)
        rest = rest.lstrip()
    return found


def read(script: Script, place: Path, *, cpu_s: float) -> PeerRun:
    """Return the run that a script has left in a folder.

    Parameters
    ----------
    script
        The script.
    place
        The folder it ran in.
    cpu_s
        CPU time of the process, s.
    """
    reported = _Reported(place)
    traces = _traces(script, place, reported)
    scenario = script.scenario
    flows = [_flow(flow, reported) for flow in scenario["flows"]]
    links = [_link(link, reported, traces, script.counts_links) for link in scenario["links"]]
    probed = {quantity for probe in scenario["probes"] for quantity in probe["quantities"]}
    shown: dict[str, pd.DataFrame] = {}
    for quantity in dict.fromkeys(trace.quantity for trace in script.traces):
        if quantity in probed:
            parts = [frame for (kind, _), frame in traces.items() if kind == quantity]
            shown[quantity] = pd.concat(parts, ignore_index=True)
    return PeerRun(flows=pd.DataFrame(flows), links=pd.DataFrame(links), traces=shown, cpu_s=cpu_s)


def _flow(flow: Mapping[str, Any], reported: _Reported) -> dict[str, Any]:
    name = flow["name"]
    start = nanoseconds(flow["start"], "start") / 1e9
    ends = [reported.clock[reported.until], reported.completed.get(name, np.inf)]
    if flow.get("stop"):
        # As with us, what was sent before may arrive later.
        ends.append(max(nanoseconds(flow["stop"], "stop") / 1e9, reported.last_delivery.get(name, 0.0)))
    active = min(ends) - max(start, reported.clock.get("from", 0.0))
    wire = reported.window("flow", name)[0]
    row: dict[str, Any] = {"name": name}
    if flow.get("tcp") is None:
        delivered, sent = wire, [np.nan] * 3
    else:
        mss = size_bytes(flow["tcp"]["mss"])
        header = size_bytes(flow["tcp"]["headers"]["data"])
        delivered = wire / (mss + header) * mss
        sent = reported.window("flow", name)[1:]
    row["goodput_bps"] = 8.0 * delivered / active if active > 0 else 0.0
    row["bytes_delivered"] = delivered
    row["segments_sent"], row["segments_retransmitted"], row["timeouts"] = sent
    completed = reported.completed.get(name)
    row["completion_s"] = np.nan if completed is None else completed - start
    return row


def _link(
    link: Mapping[str, Any],
    reported: _Reported,
    traces: Mapping[tuple[str, str], pd.DataFrame],
    counted: bool,
) -> dict[str, Any]:
    name = link["name"]
    row: dict[str, Any] = dict.fromkeys(LINK_COLUMNS, np.nan)
    row["name"] = name
    lost = ("lost", name) in reported.counters
    row["drops_impairment"] = reported.window("lost", name)[0] if lost else 0.0
    if not counted:
        return row
    span = reported.clock[reported.until] - reported.clock.get("from", 0.0)
    waited, packets, drops, sent = reported.window("link", name)
    row["packets"] = packets
    row["drops_queue"] = drops
    row["utilization"] = 8.0 * sent / bits_per_second(link["rate"], "rate") / span if span > 0 else 0.0
    row["backlog_mean_packets"] = waited / span if span > 0 else 0.0
    backlog = traces.get(("backlog", name))
    if backlog is not None:
        row["backlog_max_packets"] = _largest(
            backlog, reported.clock.get("from", 0.0), reported.clock[reported.until]
        )
    return row


def _largest(backlog: pd.DataFrame, start: float, end: float) -> float:
    """Return the largest value of a step function within a span."""
    times = backlog["time_s"].to_numpy()
    values = backlog["value"].to_numpy()
    within = values[(times >= start) & (times < end)]
    before = values[times < start][-1:]
    return float(max(np.concatenate([before, within]), default=0.0))


def _traces(script: Script, place: Path, reported: _Reported) -> dict[tuple[str, str], pd.DataFrame]:
    found: dict[tuple[str, str], pd.DataFrame] = {}
    variables: pd.DataFrame | None = None
    starts = {flow["name"]: nanoseconds(flow["start"], "start") / 1e9 for flow in script.scenario["flows"]}
    for trace in script.traces:
        if trace.variable:
            if variables is None:
                variables = _variables(place / trace.file, reported)
            frame = _variable(trace, variables, starts[trace.name])
        elif trace.quantity == "backlog":
            frame = _backlog(place / trace.file)
        else:
            frame = _packets(trace, place / trace.file, reported)
        frame["name"] = trace.name
        found[trace.quantity, trace.name] = frame[TRACE_COLUMNS]
    return found


def _variables(file: Path, reported: _Reported) -> pd.DataFrame:
    """Return the changes of traced variables: ``time_s``, ``flow``, ``variable``, ``value``."""
    columns = ["time_s", "node", "port", "to", "to_port", "variable", "value"]
    if file.stat().st_size == 0:
        return pd.DataFrame({"time_s": [], "flow": [], "variable": [], "value": []})
    frame = pd.read_csv(file, sep=r"\s+", header=None, names=columns)
    flows = {f"{node}.{port}": name for (node, port), name in reported.address.items()}
    frame["flow"] = (frame["node"].astype(str) + "." + frame["port"].astype(str)).map(flows)
    return frame


def _variable(trace: Trace, variables: pd.DataFrame, start: float) -> pd.DataFrame:
    rows = variables[(variables["flow"] == trace.name) & (variables["variable"] == trace.variable)]
    rows = rows[rows["time_s"] >= start]
    times = np.concatenate([[start], rows["time_s"].to_numpy(dtype=np.float64)])
    values = np.concatenate([[trace.first], rows["value"].to_numpy(dtype=np.float64)])
    return pd.DataFrame({"time_s": times, "value": (values + trace.shift) * trace.factor})


def _backlog(file: Path) -> pd.DataFrame:
    """Return the packets waiting from a time on; what lasts no time is left out."""
    if file.stat().st_size == 0:
        return pd.DataFrame({"time_s": [], "value": []})
    frame = pd.read_csv(file, sep=" ", header=None, usecols=[2, 10], names=["time_s", "value"])
    times = frame["time_s"].to_numpy()
    lasts = np.append(times[1:] > times[:-1], True)
    kept = frame[lasts]
    values = kept["value"].to_numpy()
    changed = np.append(True, values[1:] != values[:-1])
    return kept[changed].astype(np.float64).reset_index(drop=True)


def _packets(trace: Trace, file: Path, reported: _Reported) -> pd.DataFrame:
    """Return the data packets that a flow has put on its first link: the first byte of each."""
    if file.stat().st_size == 0:
        return pd.DataFrame({"time_s": [], "value": []})
    frame = pd.read_csv(file, sep=" ", header=None, usecols=[1, 8, 10], names=["time_s", "source", "number"])
    source = next(f"{node}.{port}" for (node, port), name in reported.address.items() if name == trace.name)
    rows = frame[frame["source"].astype(str) == source]
    return pd.DataFrame(
        {
            "time_s": rows["time_s"].to_numpy(dtype=np.float64),
            "value": rows["number"].to_numpy() * trace.factor,
        }
    )
