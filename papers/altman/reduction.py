"""The reduction of a run: the columns that claims, tables and figures need, depending on the experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Runs, Scenario
from dumbbell.quantities import nanoseconds
from dumbbell.traces import StepFunction

from .scenarios import PAYLOAD
from .traces import cycles, generations, is_cut_after, without_inflation

Values = NDArray[np.float64]

NUMBERS = (
    "throughput",  # packets/s
    "rtt",  # s
    "window",  # packets
    "window_low",
    "window_high",
    "slow_start_window",
    "loss_window",
    "cycle_s",
    "cycle_packets",
    "cycles",
    "losses",  # packets of the source, whole run
    "detections",
    "retransmitted",
    "timeouts",
    "exogenous_loss",  # share of the exogenous packets
    "still_loses",  # 1 if a loss cut a window in the second half
    "loss_rate",  # detections and timeouts per packet
    "rto",  # s
)
"""Columns with one number, NaN where the experiment has none."""

LISTS = ("times", "windows", "durations", "rtts", "curve_times", "curve")
"""Columns with lists: mini-slots by their end, and a window over time."""

COLUMNS = (*NUMBERS, *LISTS)


@dataclass(frozen=True)
class Recorded:
    """One finished run.

    Parameters
    ----------
    flows
        Rows by name.
    traces
        Step functions by quantity and name.
    duration
        Simulated time, s.
    measured_from
        Beginning of the measured stretch, s.
    """

    flows: Mapping[str, Mapping[str, Any]]
    traces: Mapping[tuple[str, str], StepFunction]
    duration: float
    measured_from: float

    def trace(self, quantity: str, name: str = "s") -> StepFunction:
        """Return a quantity over time; an empty one if nothing was recorded."""
        return self.traces.get((quantity, name), StepFunction.empty())


def _packets(bits_per_second: float) -> float:
    return bits_per_second / 8.0 / PAYLOAD


def _steady(run: Recorded) -> dict[str, Any]:
    times, window = run.trace("cwnd")
    ended, _ = run.trace("ssthresh")
    late = times > run.measured_from
    standing = np.append(window[~late][-1:], window[late])
    before = times < ended[0] if len(ended) else np.zeros(len(times), dtype=np.bool_)
    sampled, srtt = run.trace("srtt")
    return {
        "throughput": _packets(run.flows["s"]["goodput_bps"]),
        "rtt": float(srtt[sampled > run.measured_from].mean()),
        "window": StepFunction(times, np.floor(window)).mean(run.measured_from, run.duration),
        "window_low": float(standing.min()),
        "window_high": float(standing.max()),
        "slow_start_window": float(window[before].max()) if before.any() else np.nan,
    }


def _cycles(run: Recorded) -> dict[str, Any]:
    times, window = run.trace("cwnd")
    _, flight = run.trace("flight_size")
    _, acked = run.trace("seq_acked")
    _, ssthresh = run.trace("ssthresh")
    # Periodic samples begin together; the last of one may be missing.
    size = min(map(len, (window, flight, acked, ssthresh)))
    if size < 2:
        return {}
    found = cycles(
        window[:size], flight[:size], acked[:size] / PAYLOAD, ssthresh[:size], float(times[1] - times[0])
    )
    if found is None:
        return {}
    return {
        "throughput": found.throughput,
        "rtt": found.rtt,
        "loss_window": found.loss_window,
        "cycle_s": found.duration,
        "cycle_packets": found.packets,
        "cycles": found.count,
        "window_low": found.low,
    }


def _slots(run: Recorded) -> dict[str, Any]:
    sent_times, sent = run.trace("seq_sent")
    acked_times, acked = run.trace("seq_acked")
    moved = acked > 0.0
    found = generations(sent_times, sent, acked_times[moved], acked[moved], PAYLOAD)
    return {
        "times": found.ends,
        "windows": found.windows,
        "durations": found.durations,
        "rtts": found.rtts,
    }


def _evolution(run: Recorded) -> dict[str, Any]:
    times, window = run.trace("cwnd")
    shown = without_inflation(times, window, *run.trace("seq_sent"), *run.trace("seq_acked"))
    return _slots(run) | {"curve_times": times, "curve": shown}


def _threshold(run: Recorded) -> dict[str, Any]:
    names = [name for name in run.flows if name != "x"]
    half = run.duration / 2.0
    windows = [run.trace("cwnd", name) for name in names]
    return {"still_loses": float(any(is_cut_after(window.time, window.value, half) for window in windows))}


def _video(run: Recorded) -> dict[str, Any]:
    times, window = run.trace("cwnd")
    return {
        "throughput": _packets(run.flows["s"]["goodput_bps"]),
        "window": float(window.mean()),
        "curve_times": times,
        "curve": window,
    }


def _law(run: Recorded) -> dict[str, Any]:
    row = run.flows["s"]
    _, rto = run.trace("rto")
    indications = row["fast_retransmits"] + row["timeouts"]
    return {
        "throughput": _packets(row["goodput_bps"]),
        "rtt": row["rtt_mean_s"],
        "loss_rate": indications / row["segments_sent"],
        "rto": float(np.median(rto)) if len(rto) else np.nan,
    }


READINGS: Mapping[str, Callable[[Recorded], dict[str, Any]]] = {
    "steady": _steady,
    "cycles": _cycles,
    "slots": _slots,
    "evolution": _evolution,
    "threshold": _threshold,
    "video": _video,
    "law": _law,
}
"""How a run is read, by the first word of its scenario's name."""


def _counted(run: Recorded) -> dict[str, Any]:
    """Return the counters of every run."""
    sources = [row for name, row in run.flows.items() if name != "x"]
    exogenous = run.flows.get("x")
    sent = exogenous["segments_sent"] if exogenous else 0
    return {
        "losses": sum(row["segments_lost"] for row in sources),
        "detections": sum(row["fast_retransmits"] for row in sources),
        "retransmitted": sum(row["segments_retransmitted"] for row in sources),
        "timeouts": sum(row["timeouts"] for row in sources),
        "exogenous_loss": exogenous["segments_lost"] / sent if exogenous and sent else np.nan,
    }


def reduce(runs: Runs) -> pd.DataFrame:
    """Return one row of `COLUMNS` for each completed run, in their order."""
    flows: list[dict[str, Any]] = [{} for _ in runs.jobs]
    for row in runs.flows.to_dict("records"):
        flows[int(row["job"])][str(row["name"])] = row
    traces: list[dict[tuple[str, str], StepFunction]] = [{} for _ in runs.jobs]
    for quantity, recorded in runs.traces.items():
        for (job, name), part in recorded.groupby(["job", "name"], sort=False, observed=True):
            traces[int(str(job))][quantity, str(name)] = StepFunction.of(part)
    rows = [
        _row(job.scenario, own_flows, own_traces)
        for job, own_flows, own_traces in zip(runs.jobs, flows, traces, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(dict.fromkeys(NUMBERS, np.float64))


def _row(
    scenario: Scenario,
    flows: Mapping[str, Mapping[str, Any]],
    traces: Mapping[tuple[str, str], StepFunction],
) -> dict[str, Any]:
    """Return the columns of one run."""
    run = Recorded(
        flows=flows,
        traces=traces,
        duration=float(next(iter(flows.values()))["simulated_s"]),
        measured_from=nanoseconds(scenario.measure_from or "0 s", "measure_from") / 1e9,
    )
    row: dict[str, Any] = dict.fromkeys(NUMBERS, np.nan) | {name: np.empty(0) for name in LISTS}
    reading = READINGS[str(scenario.name).split()[0]]
    return row | _counted(run) | reading(run)
