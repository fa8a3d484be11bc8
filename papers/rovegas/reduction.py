"""The reduction of a run: one row of plain lists, the only input of claims and figures.

Lists that belong to several connections have them one after another, in the order of the scenario.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Runs, Scenario
from dumbbell.quantities import nanoseconds
from dumbbell.traces import StepFunction

from .assumptions import payload_bytes

Values = NDArray[np.float64]

COLUMNS = (
    "throughput",
    "cross_rate",
    "timeouts",
    "lost",
    "simulated_s",
    "bins",
    "window",
    "base_rtt",
    "base_curve",
    "least_rtt",
    "forward_queue",
    "backward_queue",
    "backlogs",
    "queue_bins",
    "sampled_window",
    "sampled_forward",
    "sampled_backward",
    "steady",
    "wire",
    "rule",
    "guard",
    "opening",
)
"""Names of the columns; described in `reduce`."""

SAMPLE_S = 0.02
ROUNDING_S = 1e-6
FORWARD, BACKWARD = "r1-r2", "r2-r1"

# Figs. 3 to 5 and the analysis: the second half counts.
ALONE = ("fig-3", "fig-4", "fig-5", "ana")


@dataclass(frozen=True)
class Traced:
    """One finished run with its traces.

    Parameters
    ----------
    scenario
        The scenario.
    flows, links
        Its rows of the results, by name.
    traces
        Its traces, by quantity and name.
    """

    scenario: Scenario
    flows: pd.DataFrame
    links: pd.DataFrame
    traces: Mapping[tuple[str, str], StepFunction] = field(default_factory=dict)

    @cached_property
    def plain(self) -> dict[str, Any]:
        """The scenario as plain data."""
        return self.scenario.to_dict()

    @cached_property
    def duration(self) -> float:
        """Simulated time, s."""
        return float(self.flows["simulated_s"].iloc[0])

    @cached_property
    def connections(self) -> list[str]:
        """Names of the TCP flows."""
        return [flow["name"] for flow in self.plain["flows"] if "tcp" in flow]

    @cached_property
    def cross(self) -> list[str]:
        """Names of the variable-rate sources."""
        return [flow["name"] for flow in self.plain["flows"] if "tcp" not in flow]

    @cached_property
    def payload(self) -> int:
        """Payload of a packet of the first connection, bytes."""
        return payload_bytes(self.plain["flows"][0]["tcp"]["variant"])

    def trace(self, quantity: str, name: str) -> StepFunction:
        """Return a traced quantity; an empty one if it was not probed."""
        return self.traces.get((quantity, name), StepFunction.empty())

    def column(self, name: str, flows: list[str]) -> list[float]:
        """Return a column of the results for some flows."""
        return [float(value) for value in self.flows[name].loc[flows]]


def _groups(frame: pd.DataFrame) -> list[tuple[int, pd.DataFrame]]:
    """Return the rows of each job."""
    return [(int(str(job)), rows) for job, rows in frame.groupby("job", sort=True)]


def _each(runs: Runs) -> Iterator[Traced]:
    """Yield the completed runs in the order of the jobs."""
    links = dict(_groups(runs.links))
    traces: dict[int, dict[tuple[str, str], StepFunction]] = {}
    for quantity, frame in runs.traces.items():
        for job, of_job in _groups(frame):
            for name, rows in of_job.groupby("name", sort=False, observed=True):
                traces.setdefault(job, {})[quantity, str(name)] = StepFunction.of(rows)
    for job, rows in _groups(runs.flows):
        yield Traced(
            scenario=runs.jobs[job].scenario,
            flows=rows.set_index("name"),
            links=links[job].set_index("name"),
            traces=traces.get(job, {}),
        )


def _listed(values: Values) -> list[float]:
    return [float(value) for value in values]


def _bins(run: Traced) -> list[float]:
    """Return the throughput of every connection in each second but the last, which ends with the run, kbit/s."""
    # A sample taken at a second may be recorded a rounding error after it.
    seconds = np.arange(0.0, run.duration - 0.5) + ROUNDING_S
    found: list[float] = []
    for name in run.connections:
        delivered = run.trace("delivered", name)
        if delivered.time.size:
            bytes_so_far = np.nan_to_num(delivered.at(seconds))
            found += _listed(8 * np.diff(bytes_so_far) / 1000)
    return found


def _settled(run: Traced) -> tuple[float, float]:
    """Return the time that counts as steady: the measurement window, s."""
    start = nanoseconds(str(run.plain.get("measure_from", "0 s")), "measure_from")
    return start / 1e9, run.duration


def _windows(run: Traced) -> list[float]:
    """Return mean and standard deviation of every connection's window in the steady part, packets."""
    start, end = _settled(run)
    found: list[float] = []
    for name in run.connections:
        window = run.trace("cwnd", name)
        if window.time.size:
            found += [window.mean(start, end), window.deviation(start, end)]
    return found


def _base_rtts(run: Traced) -> list[float]:
    """Return the first, smallest, largest and last base round-trip time of every connection, ms."""
    found: list[float] = []
    for name in run.connections:
        base = run.trace("base_rtt", name).value
        if base.size:
            found += [1000 * float(value) for value in (base[0], base.min(), base.max(), base[-1])]
    return found


def _base_curve(run: Traced) -> list[float]:
    """Return the first connection's base round-trip time at every whole second, ms."""
    base = run.trace("base_rtt", "c1")
    if not base.time.size:
        return []
    return _listed(1000 * base.at(np.arange(1.0, run.duration - 0.5) + ROUNDING_S))


def _queue(run: Traced, link: str) -> list[float]:
    """Return mean and greatest number of waiting packets in the steady part."""
    backlog = run.trace("backlog", link)
    if not backlog.time.size:
        return []
    start, end = _settled(run)
    return [backlog.mean(start, end), backlog.maximum(start, end)]


def _queue_bins(run: Traced) -> list[float]:
    """Return the mean number of packets that wait for the last forward link in each second."""
    name = next((link for quantity, link in run.traces if quantity == "backlog" and link != BACKWARD), "")
    backlog = run.trace("backlog", name)
    if not backlog.time.size:
        return []
    # The area under the curve at every whole second; one pass however many changes there are.
    seconds = np.arange(0.0, run.duration + 0.5)
    edges = np.union1d(backlog.time, seconds)
    values = np.nan_to_num(backlog.at(edges[:-1]))
    area = np.concatenate([[0.0], np.cumsum(values * np.diff(edges))])
    return _listed(np.diff(area[np.searchsorted(edges, seconds)]))


def _sampled(run: Traced, quantity: str, name: str) -> list[float]:
    """Return a quantity every `SAMPLE_S` seconds."""
    curve = run.trace(quantity, name)
    if not curve.time.size:
        return []
    return _listed(np.nan_to_num(curve.at(np.arange(0.0, run.duration, SAMPLE_S))))


def _steady(run: Traced) -> list[float]:
    """Return the steady-state properties of a single connection.

    The share of acknowledgements that are dropped, packets acknowledged by each that arrives, packets that leave at once, and the
    mean Diff.
    """
    start, end = _settled(run)
    acked, sent = run.trace("seq_acked", "c1"), run.trace("seq_sent", "c1")
    dropped = run.trace("drops", BACKWARD)
    packets = float(acked.at(end) - acked.at(start)) / run.payload
    lost = (
        float(np.nan_to_num(dropped.at(end)) - np.nan_to_num(dropped.at(start))) if dropped.time.size else 0.0
    )
    arrived = acked.between(start, end)
    advanced = np.diff(np.concatenate([acked.at(arrived.time[:1], before=True), arrived.value])) / run.payload
    _, together = np.unique(sent.between(start, end).time, return_counts=True)
    return [
        lost / packets,
        float(advanced.mean()),
        float(together.mean()),
        run.trace("vegas_diff", "c1").mean(start, end),
    ]


def _guard(run: Traced) -> list[float]:
    """Return the effect of the keep-up rule on a window that grows with every acknowledgement.

    The greatest excess of the window over what is outstanding at which it grew, and the least at which it did not although Diff
    was below alpha, packets. The packet just acknowledged counts as outstanding.
    """
    acked, sent = run.trace("seq_acked", "c1"), run.trace("seq_sent", "c1")
    window, diff = run.trace("cwnd", "c1"), run.trace("vegas_diff", "c1")
    # At an acknowledgement: the window before it, and the data outstanding after it, before new data is sent.
    before, after = window.at(acked.time, before=True), window.at(acked.time)
    newest = sent.at(acked.time, before=True) + run.payload
    excess = before - (newest - acked.value) / run.payload - 1.0
    avoiding = before >= run.trace("ssthresh", "c1").at(acked.time, before=True)
    granted = avoiding & (diff.at(acked.time) < float(run.plain["flows"][0]["tcp"]["congestion"]["alpha"]))
    grew, held = after > before, granted & (after == before)
    return [
        float(excess[grew].max()) if grew.any() else math.nan,
        float(excess[held].min()) if held.any() else math.nan,
    ]


def _wire(run: Traced) -> list[float]:
    """Return the mean packet size on the sender's and the receiver's access link, bytes, and the maximum backward queue."""
    utilization, packets, waited = (
        run.links[name] for name in ("utilization", "packets", "backlog_max_packets")
    )
    # Access links carry 10 Mbit/s and only this connection.
    sizes = [
        float(utilization[link]) * 10e6 * _measured(run) / 8 / max(float(packets[link]), 1.0)
        for link in ("s1-r1", "d1-r2")
    ]
    return [*sizes, float(waited[BACKWARD])]


def _measured(run: Traced) -> float:
    start, end = _settled(run)
    return end - start


def _rule(run: Traced) -> list[float]:
    """Return the window changes by checks in congestion avoidance.

    For Diff below alpha, above beta, between them, and equal to either: how many checks, and the least and the greatest change
    of the window, packets.
    """
    congestion = run.plain["flows"][0]["tcp"]["congestion"]
    alpha, beta = float(congestion["alpha"]), float(congestion["beta"])
    diffs, steps = [], []
    for name in run.connections:
        checks, window = run.trace("vegas_diff", name), run.trace("cwnd", name)
        avoiding = window.at(checks.time, before=True) >= run.trace("ssthresh", name).at(
            checks.time, before=True
        )
        diffs.append(checks.value[avoiding])
        steps.append((window.at(checks.time) - window.at(checks.time, before=True))[avoiding])
    diff, step = np.concatenate(diffs), np.concatenate(steps)
    found: list[float] = []
    for case in (
        diff < alpha,
        diff > beta,
        (diff >= alpha) & (diff <= beta),
        (diff == alpha) | (diff == beta),
    ):
        some = step[case]
        found += [
            float(case.sum()),
            *((float(some.min()), float(some.max())) if some.size else (math.nan,) * 2),
        ]
    return found


def _opening(run: Traced) -> list[float]:
    """Return round trips per doubling of the window in slow start, and the share of the window that its end cuts."""
    window, threshold = run.trace("cwnd", "c1"), run.trace("ssthresh", "c1")
    acked, sent = run.trace("seq_acked", "c1"), run.trace("seq_sent", "c1")
    left = float(threshold.time[np.argmax(threshold.value <= 2.0)])
    # A round ends with the first acknowledgement beyond what was sent when it began.
    rounds, first = [], 0.0
    for time, value in zip(acked.time, acked.value, strict=True):
        if time < left and value > first:
            rounds.append(time)
            first = float(sent.at(time, before=True)) + run.payload
    sizes = window.at(np.array(rounds), before=True)
    grown = np.flatnonzero(sizes > sizes[0])
    begin, end = int(grown[0]), int(grown[-1]) - int(grown[-1] - grown[0]) % 2
    doublings = math.log2(sizes[end] / sizes[begin])
    cut = 1 - float(window.at(left)) / float(window.at(left, before=True))
    return [(end - begin) / doublings, cut]


def _backlogs(run: Traced) -> list[float]:
    return [float(run.links["backlog_mean_packets"][link]) for link in (FORWARD, BACKWARD)]


def reduce(runs: Runs) -> pd.DataFrame:
    """Return one row for each completed run, indexed by job.

    Columns
    -------
    throughput
        Of each connection in the measurement window without the option's bytes, kbit/s.
    cross_rate
        Mean rate of each variable-rate source, kbit/s.
    timeouts, lost
        Timeouts of each connection, and data packets it lost.
    simulated_s
        Simulated time, s.
    bins
        Throughput of each connection in each second but the last, kbit/s.
    least_rtt
        Least round-trip time of the first connection, ms.
    window, base_rtt, base_curve, queue_bins, steady, wire, rule, guard, opening
        As the functions of this module say.
    forward_queue, backward_queue
        Mean and greatest number of packets that wait for the bottleneck.
    backlogs
        Mean number of packets that wait for the bottleneck, forward and backward, from the counters of the links.
    sampled_window, sampled_forward, sampled_backward
        The window and both queues every 20 ms (Figs. 3 to 5).
    """
    rows: list[dict[str, Any]] = []
    jobs: list[int] = []
    for run in _each(runs):
        name = str(run.plain.get("name", ""))
        is_alone, is_drawn = name in ALONE, name in ALONE[:3]
        jobs.append(int(run.flows["job"].iloc[0]))
        rows.append(
            {
                "throughput": [value / 1000 for value in run.column("goodput_bps", run.connections)],
                "cross_rate": [value / 1000 for value in run.column("throughput_bps", run.cross)],
                "timeouts": run.column("timeouts", run.connections),
                "lost": run.column("segments_lost", run.connections),
                "simulated_s": run.duration,
                "bins": _bins(run),
                "window": _windows(run),
                "base_rtt": _base_rtts(run),
                "base_curve": _base_curve(run) if name.startswith("ext") else [],
                "least_rtt": 1000 * run.column("rtt_min_s", run.connections)[0],
                "forward_queue": _queue(run, FORWARD),
                "backward_queue": _queue(run, BACKWARD),
                "backlogs": _backlogs(run) if name == "linux-k" else [],
                "queue_bins": _queue_bins(run) if name == "fig-15" else [],
                "sampled_window": _sampled(run, "cwnd", "c1") if is_drawn else [],
                "sampled_forward": _sampled(run, "backlog", FORWARD) if is_drawn else [],
                "sampled_backward": _sampled(run, "backlog", BACKWARD) if is_drawn else [],
                "steady": _steady(run) if is_alone else [],
                "wire": _wire(run) if name in ("ana", "fig-10") else [],
                "rule": _rule(run) if name == "unit-rule" else [],
                "guard": _guard(run) if name == "unit-keepup" else [],
                "opening": _opening(run) if name == "unit-ss" else [],
            }
        )
    return pd.DataFrame(rows, index=pd.Index(jobs, name="job"), columns=list(COLUMNS))
