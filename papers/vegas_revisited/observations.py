"""What single runs and their traces show: scripted losses, Fig. 2, traced transfers, long flows.

Every function returns plain numbers and arrays by name; the claims of ``text_claims.py`` read them.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dumbbell
from dumbbell import Job, Run, Scenario, ScenarioError, statistics
from dumbbell.papers import Settings, Steps

from .scenarios import (
    FIGURE_2_STARTS_S,
    Assumptions,
    calibrated,
    experiment,
    network,
    stable_seed,
    tcp,
)

__all__ = ["observe"]

Values = NDArray[np.float64]

FLOW_QUANTITIES = ("cwnd", "ssthresh", "base_rtt", "vegas_diff", "seq_sent", "seq_acked", "rto")

BETA = 3.0
ALPHA = 1.0

# Fig. 2: averages are over the last ten of thirty seconds.
FIGURE_2_END_S = 30.0
FIGURE_2_SETTLED_S = 20.0
FIGURE_2_QUEUE = "25 packets"
FIGURE_2_JITTER_S = 0.05


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A traced quantity: values from their times on.

    Parameters
    ----------
    time
        Times of the changes, s, ascending.
    value
        Values from these times on.
    """

    time: Values
    value: Values

    def at(self, times: Values | float, *, before: bool = False) -> Values:
        """Return the values at some times, or just before them; NaN where nothing was recorded yet."""
        index = np.searchsorted(self.time, times, side="left" if before else "right") - 1
        known = np.append(self.value, np.nan)
        return np.asarray(known[np.where(index < 0, len(self.value), index)])

    def mean(self, start: float, end: float) -> float:
        """Return the average over a time."""
        inside = (self.time > start) & (self.time < end)
        edges = np.concatenate([[start], self.time[inside], [end]])
        values = self.at(edges[:-1])
        return float(np.average(values, weights=np.diff(edges)))

    def spread(self, start: float, end: float) -> float:
        """Return the standard deviation over a time."""
        inside = (self.time > start) & (self.time < end)
        edges = np.concatenate([[start], self.time[inside], [end]])
        values, weights = self.at(edges[:-1]), np.diff(edges)
        mean = np.average(values, weights=weights)
        return float(math.sqrt(np.average((values - mean) ** 2, weights=weights)))


def trace(run: Run, quantity: str, name: str) -> Curve:
    """Return a traced quantity of a flow or link."""
    frame = run.traces[quantity]
    rows = frame[frame["name"] == name]
    return Curve(
        time=rows["time_s"].to_numpy(dtype=np.float64), value=rows["value"].to_numpy(dtype=np.float64)
    )


def round_trips(sent: Curve, acked: Curve, mss: int) -> tuple[Values, Values]:
    """Return when segments that were sent once were acknowledged, and their round-trip times, s.

    Parameters
    ----------
    sent
        First bytes of the segments sent.
    acked
        Cumulative acknowledgements.
    mss
        Payload of a segment, bytes.
    """
    first, index, count = np.unique(sent.value, return_index=True, return_counts=True)
    once = count == 1
    first, start = first[once], sent.time[index[once]]
    position = np.searchsorted(acked.value, first + mss)
    known = position < len(acked.value)
    arrival = acked.time[position[known]]
    order = np.argsort(arrival, kind="stable")
    return arrival[order], (arrival - start[known])[order]


def bytes_of(text: str) -> int:
    """Return a size written in bytes as a number."""
    return int(text.split()[0])


def single(
    variant: str | Mapping[str, Any],
    *,
    lost: Sequence[int] = (),
    assumptions: Assumptions | None = None,
    queue: str = "1000 packets",
    duration_s: float = 30.0,
    changes: Mapping[str, Any] | None = None,
    reverse_loss: float = 0.0,
    size: str | None = None,
) -> Scenario:
    """Return the scenario of one traced connection over the network of Fig. 1 with stated losses.

    Parameters
    ----------
    variant
        See `scenarios.tcp`.
    lost
        Which data packets the bottleneck loses, counted from 1.
    assumptions
        What the paper leaves open; ours by default.
    queue
        Limit of the routers' queues; long by default, so that the stated losses are the only ones.
    duration_s
        Simulated time, s.
    changes
        Fields of the ``tcp`` table to change.
    reverse_loss
        Probability that an acknowledgement is lost.
    size
        Size of the transfer; endless by default.
    """
    # A handshake would only add a segment without data to the traces.
    place = assumptions or replace(calibrated(), handshake=False, tick_phase="0 s")
    table = tcp(variant, place) if isinstance(variant, str) else dict(variant)
    impairments: dict[str, Any] = {}
    if lost:
        impairments["r1-r2"] = [{"kind": "forced", "packets": list(lost)}]
    if reverse_loss:
        impairments["r2-r1"] = [{"kind": "bernoulli", "probability": reverse_loss}]
    flows: list[dict[str, Any]] = [
        {
            "name": "fg",
            "from": "h1",
            "to": "h3",
            "tcp": table | dict(changes or {}),
            "source": {"kind": "transfer", "size": size} if size else {"kind": "greedy"},
        }
    ]
    return Scenario.from_dict(
        {
            "name": "scripted",
            "duration": f"{duration_s:g} s",
            **network(place, queue=queue, hosts=[("h1", "h3"), ("h2", "h4")], impairments=impairments),
            "flows": flows,
            "probes": [{"flows": ["fg"], "quantities": list(FLOW_QUANTITIES)}],
        }
    )


def run_all(scenarios: Iterable[tuple[Scenario, int, int]], settings: Settings) -> list[Run]:
    """Run scenarios with their seeds and run numbers on the settings' threads; return the runs in order."""
    with ThreadPoolExecutor(settings.threads) as pool:
        return list(pool.map(lambda job: dumbbell.run(job[0], seed=job[1], run=job[2]), scenarios))


def _runs(scenarios: Sequence[Scenario], settings: Settings) -> list[Run]:
    return run_all(((scenario, 1, 0) for scenario in scenarios), settings)


def _segments(run: Run) -> int:
    """Return the payload of a segment of the foreground, bytes."""
    return bytes_of(run.scenario.to_dict()["flows"][0]["tcp"]["mss"])


# Scripted connections, one for each algorithm


def doubling(settings: Settings) -> dict[str, float]:
    """Return in how many round trips the window doubles in slow start, with A on and off."""
    place = replace(calibrated(), handshake=False, rate="8 Mbit/s", tick_phase="0 s")
    periods = {}
    runs = _runs(
        [single(f"fix:{letters}", assumptions=place, duration_s=8) for letters in ("A", "")], settings
    )
    for label, run in zip(("on", "off"), runs, strict=True):
        window = trace(run, "cwnd", "fg")
        _, rtt = round_trips(trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg"), _segments(run))
        reach = [window.time[np.argmax(window.value >= size)] for size in (8, 16, 32)]
        periods[label] = float((reach[2] - reach[0]) / 2 / np.median(rtt))
    return periods


def recovery_window(settings: Settings) -> dict[str, list[float]]:
    """F: the share of the window that a recovery from one loss leaves, at whole windows of a multiple of four."""
    windows = range(8, 44, 4)
    shares: dict[str, list[float]] = {}
    for label, letters in (("on", "F"), ("off", "")):
        # The receive buffer holds the window at a whole number of segments; the loss comes when it is reached.
        scenarios = [
            single(
                f"fix:{letters}",
                lost=[400],
                changes={
                    "receive_buffer": f"{window * 1400} bytes",
                    "initial_ssthresh": f"{window} segments",
                },
            )
            for window in windows
        ]
        runs = _runs(scenarios, settings)
        shares[label] = [float(run.flow("fg").cwnd_after_recovery) for run in runs]
    return shares


def recovery_wait(settings: Settings) -> dict[str, Any]:
    """F: round trips from the fast retransmit to the next new segment, after one loss from a full pipe."""
    waits: dict[str, Any] = {}
    sizes: list[float] = []
    positions = range(120, 420, 12)
    for label, letters in (("on", "F"), ("off", "")):
        # Slow start ends below the size of the pipe and the buffer; linear growth takes the window from there.
        scenarios = [
            single(
                f"fix:{letters}",
                lost=[position],
                queue="20 packets",
                changes={"initial_ssthresh": "15 segments"},
            )
            for position in positions
        ]
        waits[label] = []
        for run in _runs(scenarios, settings):
            row = run.flow("fg")
            sent, acked = trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg")
            highest = np.maximum.accumulate(sent.value)
            again = np.flatnonzero(sent.value[1:] <= highest[:-1])
            if len(again) == 0:
                continue
            first = int(again[0]) + 1
            later = np.flatnonzero(sent.value[first:] > highest[first - 1])
            when = sent.time[first]
            arrival, rtt = round_trips(sent, acked, _segments(run))
            if len(later) == 0 or row.fast_retransmits < 1:
                continue
            waits[label].append(float((sent.time[first + later[0]] - when) / rtt[arrival < when][-1]))
            sizes.append(float(trace(run, "cwnd", "fg").at(when, before=True)))
    waits["windows"] = (min(sizes), max(sizes))
    return waits


def start_window(settings: Settings) -> dict[str, float]:
    """G: the window at the start and after a timeout, segments."""
    found: dict[str, float] = {}
    runs = _runs([single(f"fix:{letters}", lost=range(40, 120)) for letters in ("G", "")], settings)
    for label, run in zip(("on", "off"), runs, strict=True):
        window = trace(run, "cwnd", "fg")
        found[f"{label}_start"] = float(window.value[0])
        after = window.time > 1.0
        found[f"{label}_timeout"] = float(window.value[after].min()) if run.flow("fg").timeouts else math.nan
    return found


def burst(settings: Settings) -> dict[str, int]:
    """H: the most segments sent at one instant, with acknowledgements being lost."""
    found = {}
    runs = _runs([single(f"fix:ABCDEFG{extra}", reverse_loss=0.4) for extra in ("H", "")], settings)
    for label, run in zip(("on", "off"), runs, strict=True):
        _, counts = np.unique(trace(run, "seq_sent", "fg").time, return_counts=True)
        found[label] = int(counts.max())
    return found


def guard(settings: Settings) -> dict[str, float]:
    """I: the largest excess of the window over the outstanding data at which it grew, segments."""
    found = {}
    changes = {"initial_ssthresh": "4 segments"}
    runs = _runs(
        [single(f"fix:{letters}", reverse_loss=0.4, changes=changes) for letters in ("I", "")], settings
    )
    for label, run in zip(("on", "off"), runs, strict=True):
        mss = _segments(run)
        window, limit = trace(run, "cwnd", "fg"), trace(run, "ssthresh", "fg")
        sent, acked = trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg")
        grown = np.flatnonzero(np.diff(window.value) > 1e-9) + 1
        # Growth in congestion avoidance: less than a segment at a time, on a new acknowledgement.
        times = window.time[grown]
        step = window.value[grown] - window.value[grown - 1]
        next_byte = np.maximum.accumulate(sent.value + mss)
        outstanding = (Curve(time=sent.time, value=next_byte).at(times, before=True) - acked.at(times)) / mss
        # The segment just acknowledged still counts, as in the released code.
        excess = window.value[grown - 1] - outstanding - 1
        linear = (step < 0.9) & (
            window.value[grown - 1] >= np.nan_to_num(limit.at(times, before=True), nan=np.inf)
        )
        found[label] = float(excess[linear].max())
    return found


def spike(settings: Settings) -> dict[str, float]:
    """J: the largest ratio of the rate between two new segments to the rate of the round before."""
    found = {}
    runs = _runs([single(f"fix:ABCDEFG{extra}", reverse_loss=0.2) for extra in ("J", "")], settings)
    for label, run in zip(("on", "off"), runs, strict=True):
        mss = _segments(run)
        sent, acked = trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg")
        highest = Curve(time=sent.time, value=np.maximum.accumulate(sent.value + mss))
        again = np.flatnonzero(np.diff(highest.value) <= 0)
        # Up to the first retransmission the next byte to send is the highest one.
        last = float(sent.time[again[0] + 1]) if len(again) else math.inf
        # Rounds: each ends when what was sent at its start is acknowledged.
        ends, rates = [], []
        begin, edge = 0.0, 0.0
        arrival, rtt = round_trips(sent, acked, mss)
        latest = Curve(time=arrival, value=rtt)
        for now, byte in zip(acked.time, acked.value, strict=True):
            if byte < edge or byte == 0 or now >= last:
                continue
            top = float(highest.at(now, before=True))
            if top > edge:
                # What was sent in the round, over the time of a round trip.
                ends.append(now)
                rates.append((top - edge) / min(now - begin, float(latest.at(now))))
            begin, edge = now, top
        current = Curve(time=np.array(ends), value=np.array(rates))
        # New segments that follow a new one: a retransmission does not wait for its turn.
        new = np.diff(highest.value) > 0
        fresh = np.flatnonzero(new[1:] & new[:-1] & (sent.time[2:] < last)) + 2
        gaps = sent.time[fresh] - sent.time[fresh - 1]
        rate = current.at(sent.time[fresh - 1])
        known = ~np.isnan(rate)
        with np.errstate(divide="ignore"):
            ratio = mss / gaps[known] / rate[known]
        found[label] = float(min(ratio.max(), 1e6))
    return found


def after_timeout(settings: Settings) -> dict[str, float]:
    """Corrections: the window after a whole window was lost in congestion avoidance."""
    positions = range(600, 640)
    outcome: dict[str, list[tuple[float, float, float]]] = {}
    for label, variant in (("released", "released:ABCDEFG"), ("fixed", "fix:ABCDEFG")):
        # All of the window behind the first lost segment is lost too: nothing but the timer can tell.
        (twin,) = _runs([single(variant)], settings)
        sent, window = trace(twin, "seq_sent", "fg"), trace(twin, "cwnd", "fg")
        widths = [math.floor(float(window.at(float(sent.time[first - 1])))) for first in positions]
        scenarios = [
            single(variant, lost=range(first, first + width))
            for first, width in zip(positions, widths, strict=True)
        ]
        outcome[label] = []
        for run in _runs(scenarios, settings):
            mss = _segments(run)
            window = trace(run, "cwnd", "fg")
            sent, acked = trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg")
            highest = np.maximum.accumulate(sent.value + mss)
            back = int(np.flatnonzero(sent.value[1:] < highest[:-1])[0]) + 1
            when, top = float(sent.time[back]), float(highest[back - 1])
            old = float(window.at(when, before=True))
            healed = float(acked.time[np.searchsorted(acked.value, top)])
            rtt = 0.11
            rounds = np.arange(when, healed, rtt)
            growth = np.diff(window.at(rounds)).max() if len(rounds) > 1 else 0.0
            later = (window.time > when) & (window.value >= old / 2)
            half = float(window.time[later][0] - when) if later.any() else math.inf
            outcome[label].append((float(window.at(healed)), float(growth), half))
    released, fixed = (np.array(outcome[label]) for label in ("released", "fixed"))
    # The worst case of the released code: its last check before the loss was at the newest data.
    worst = int(np.argmin(released[:, 0]))
    return {
        "released_window": float(released[worst, 0]),
        "fixed_window": float(fixed[worst, 0]),
        "released_growth": float(released[worst, 1]),
        "fixed_growth": float(fixed[worst, 1]),
        "released_half_s": float(released[:, 2].mean()),
        "fixed_half_s": float(fixed[:, 2].mean()),
    }


def timers(settings: Settings) -> dict[str, Any]:
    """Fine timeouts of Vegas and the coarse timer of Reno, each against its definition."""
    agree: list[bool] = []
    telling = 0
    positions = range(60, 400, 8)
    # Linear growth from below the pipe: the round-trip time rises slowly, so that the variation is small and not nothing.
    growing = {"queue": "20 packets", "changes": {"initial_ssthresh": "14 segments"}}
    pairs = [
        scenario
        for position in positions
        for scenario in (single("fix:C", lost=[position], **growing), single("fix:C", **growing))
    ]
    runs = _runs(pairs, settings)
    for position, run, twin in zip(positions, runs[::2], runs[1::2], strict=True):
        mss = _segments(run)
        sent, acked = trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg")
        highest = np.maximum.accumulate(sent.value)
        again = np.flatnonzero(sent.value[1:] <= highest[:-1])
        if len(again) == 0:
            agree.append(False)
            continue
        when, first = float(sent.time[again[0] + 1]), float(sent.value[again[0] + 1])
        start = float(sent.time[np.searchsorted(sent.value[: again[0] + 1], first)])
        # The acknowledgements of the segments behind the lost one arrive when they do without the loss.
        twin_acked = trace(twin, "seq_acked", "fg")
        duplicates = [
            float(twin_acked.time[np.searchsorted(twin_acked.value, first + (k + 1) * mss)])
            for k in (1, 2, 3)
        ]
        arrival, rtt = round_trips(sent, acked, mss)
        known = rtt[arrival < duplicates[0]]
        expected = {}
        for factor in (2, 4):
            limit = _fine_timeout(known, factor)
            expected[factor] = next((time for time in duplicates if time - start >= limit), duplicates[-1])
        agree.append(first == (position - 1) * mss and abs(when - expected[2]) < 1e-6)
        telling += expected[2] != expected[4]
    far = replace(calibrated(), handshake=False, delay="400 ms", tick_phase="0 s")
    coarse = 0
    losses = range(60, 100, 4)
    for run in _runs(
        [single("reno", lost=range(first, first + 300), assumptions=far) for first in losses], settings
    ):
        mss = _segments(run)
        sent, acked = trace(run, "seq_sent", "fg"), trace(run, "seq_acked", "fg")
        highest = np.maximum.accumulate(sent.value)
        again = np.flatnonzero(sent.value[1:] <= highest[:-1])
        if len(again) == 0:
            agree.append(False)
            continue
        when, first_byte = float(sent.time[again[0] + 1]), float(sent.value[again[0] + 1])
        start = float(sent.time[np.searchsorted(sent.value[: again[0] + 1], first_byte)])
        preceding = float(acked.time[acked.time < when][-1])
        timeout = float(trace(run, "rto", "fg").at(preceding))
        tick = 0.5
        agree.append(preceding + timeout - tick < when <= preceding + timeout + 1e-6)
        coarse += when > start + timeout + 1e-6
    note = (
        f"{len(positions)} fine timeouts, {telling} of which four times the variation would put elsewhere; "
        f"{len(losses)} coarse timeouts, {coarse} of them later than if the timer had started with the segment"
    )
    return {"agree": agree, "note": note}


def _fine_timeout(samples: Values, factor: int) -> float:
    """Return the fine timeout after some round-trip times, s: srtt and `factor` mean deviations, and a sixteenth."""
    mean, deviation = 8 * samples[0], samples[0]
    for sample in samples[1:]:
        error = sample - mean / 8
        mean += error
        deviation += abs(error) - deviation / 4
    # `deviation` holds four mean deviations.
    timeout = mean / 8 + factor * deviation / 4
    return float(timeout * 17 / 16)


def switches() -> list[str]:
    """Return the letters the engine takes as switches of single algorithms."""
    accepted = []
    for letter in string.ascii_uppercase:
        try:
            single(f"fix:{letter}")
        except ScenarioError:
            continue
        accepted.append(letter)
    return accepted


def defaults() -> dict[str, float]:
    """Return the engine's defaults of Vegas's parameters."""
    for algorithm in dumbbell.catalogue()["algorithms"]:
        if algorithm["name"] == "vegas":
            return {
                parameter["name"]: float(parameter["default"])
                for parameter in algorithm["parameters"]
                if parameter["name"] in ("alpha", "beta", "gamma")
            }
    raise LookupError("the engine knows no algorithm named vegas")


# Traced transfers against traffic


def traced(settings: Settings) -> dict[str, Any]:
    """Trace released and corrected Vegas at high load against Reno, pairs of runs with the same seeds."""
    count = 5 if settings.quick else 25
    seed = stable_seed(settings.seed, "traced")
    found: dict[str, Any] = {}
    for variant in ("vegas", "vegasfix"):
        scenario = experiment(variant, "reno", "high", calibrated())
        scenario = Scenario.from_dict(
            scenario.to_dict()
            | {"probes": [{"flows": ["fg"], "quantities": ["cwnd", "ssthresh", "base_rtt", "vegas_diff"]}]}
        )
        raised = broken = checks = 0
        least = math.inf
        growth = []
        for run in run_all(((scenario, seed, number) for number in range(count)), settings):
            base, diff = trace(run, "base_rtt", "fg"), trace(run, "vegas_diff", "fg")
            window, limit = trace(run, "cwnd", "fg"), trace(run, "ssthresh", "fg")
            raised += int((np.diff(base.value) > 1e-12).sum())
            broken += int((diff.value < -1e-9).sum())
            checks += len(diff.value)
            least = min(least, float(window.value.min()))
            avoidance = diff.at(diff.time)  # one entry per check
            level = limit.at(diff.time)
            rounds = int((window.at(diff.time) >= level).sum()) if len(avoidance) else 0
            step = np.diff(window.value)
            above = window.value[:-1] >= np.nan_to_num(limit.at(window.time[1:], before=True), nan=np.inf)
            linear = (step > 0) & (step < 0.6) & above
            growth.append(float(step[linear].sum()) / max(rounds, 1))
        found[variant] = {
            "runs": count,
            "base_rtt_raised": raised,
            "invariant_broken": broken,
            "checks": checks,
            "least_window": least,
            "growth_per_rtt": np.array(growth),
        }
    return found


def tables_one_and_four(settings: Settings) -> tuple[float, float]:
    """Return the largest difference between Tables I and IV in Reno's runs: Reno columns, and Vegas columns, KB/s."""
    gaps = []
    for one, four in (("reno", "reno"), ("vegas", "vegasfix")):
        differences = []
        for load in ("low", "high"):
            seed = stable_seed(settings.seed, f"tables/{load}")
            jobs = [
                (experiment("reno", background, load, calibrated()), seed, number)
                for number in range(3)
                for background in (one, four)
            ]
            times = [float(run.flow("fg").completion_s) for run in run_all(jobs, settings)]
            differences += [
                abs(1024 / first - 1024 / second)
                for first, second in zip(times[::2], times[1::2], strict=True)
            ]
        gaps.append(max(differences))
    return gaps[0], gaps[1]


# Long flows


def figure_2_scenario(
    variant: str, *, traced: bool, duration_s: float = FIGURE_2_END_S, measure_from_s: float = 0.0
) -> Scenario:
    """Return five connections that start one second apart and share the bottleneck.

    Parameters
    ----------
    variant
        See `scenarios.tcp`.
    traced
        Whether windows, sequence numbers and drops are recorded.
    duration_s, measure_from_s
        Simulated time, and the start of the measurement window, s.
    """
    place = calibrated()
    hosts = [(f"s{number}", f"d{number}") for number in range(1, 6)]
    flows = []
    for number, start in enumerate(FIGURE_2_STARTS_S, start=1):
        flows.append(
            {
                "name": f"c{number}",
                "from": f"s{number}",
                "to": f"d{number}",
                # The jitter moves each start by up to 50 ms to both sides.
                "start": {"uniform": [f"{start:g} s", f"{start + 2 * FIGURE_2_JITTER_S:g} s"]},
                "tcp": tcp(variant, place),
                "source": {"kind": "greedy"},
            }
        )
    data: dict[str, Any] = {
        "name": f"vegas-revisited figure 2 {variant}",
        "duration": f"{duration_s:g} s",
        "measure_from": f"{measure_from_s:g} s",
        **network(place, queue=FIGURE_2_QUEUE, hosts=hosts),
        "flows": flows,
    }
    if traced:
        names = [flow["name"] for flow in flows]
        data["probes"] = [
            {
                "flows": names,
                "quantities": ["cwnd", "ssthresh", "base_rtt", "vegas_diff", "seq_sent", "seq_acked"],
            },
            {"links": ["r1-r2"], "quantities": ["drops"]},
        ]
    return Scenario.from_dict(data)


def figure_2(settings: Settings, done: Callable[[], None]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run Fig. 2; return its measured quantities, and how its windows keep to the thresholds of section IX-A."""
    count = 10 if settings.quick else 50
    scenario = figure_2_scenario("vegasfix", traced=True)
    seed = stable_seed(settings.seed, "figure 2")
    mss = bytes_of(calibrated().mss)
    names = [f"c{number}" for number in range(1, 6)]
    rows: dict[str, list[Any]] = {
        name: []
        for name in (
            "window", "share", "base_rtt", "least_ratio", "first_at_3_and_last", "first_at_3_and_end",
            "last_after_slow_start", "window_spread", "late_losses", "rate", "rtt",
        )
    }  # fmt: skip
    rule = {"cuts": 0, "cuts_good": 0, "growths": 0, "growths_good": 0}
    curves: dict[str, tuple[Values, Values]] = {}
    shortest = math.inf
    numbers = range(count)
    for number, run in zip(
        numbers, run_all(((scenario, seed, number) for number in numbers), settings), strict=True
    ):
        windows = {name: trace(run, "cwnd", name) for name in names}
        settled = [windows[name].mean(FIGURE_2_SETTLED_S, FIGURE_2_END_S) for name in names]
        rates, rtts, ratios, bases = [], [], [], []
        for name in names:
            sent, acked = trace(run, "seq_sent", name), trace(run, "seq_acked", name)
            base = trace(run, "base_rtt", name)
            rates.append(float(acked.at(FIGURE_2_END_S) - acked.at(FIGURE_2_SETTLED_S)))
            arrival, rtt = round_trips(sent, acked, mss)
            shortest = min(shortest, float(rtt.min()))
            rtts.append(float(rtt[arrival > FIGURE_2_SETTLED_S].mean()))
            ratios.append(float(np.nanmin(base.at(arrival) / rtt)))
            bases.append(float(base.value[-1]))
            _thresholds(run, name, windows[name], sent, acked, arrival, rtt, mss, rule)
        last, limit = windows["c5"], trace(run, "ssthresh", "c5")
        # With slow-start detection the threshold falls to two segments when slow start ends.
        ended = limit.time[np.argmax(limit.value <= 2.0)] if (limit.value <= 2.0).any() else FIGURE_2_END_S
        drops = trace(run, "drops", "r1-r2")
        rows["window"].append(settled)
        rows["share"].append([rate / sum(rates) for rate in rates])
        rows["rate"].append(rates)
        rows["rtt"].append(rtts)
        rows["base_rtt"].append(bases)
        rows["least_ratio"].append([min(ratios)])
        at_3 = float(windows["c1"].at(3.0))
        rows["first_at_3_and_last"].append([at_3, settled[4]])
        rows["first_at_3_and_end"].append([at_3, settled[0]])
        rows["last_after_slow_start"].append([float(last.at(float(ended))), settled[4]])
        rows["window_spread"].append(
            [windows[name].spread(FIGURE_2_SETTLED_S, FIGURE_2_END_S) for name in names]
        )
        late = np.append(drops.value, 0.0)[-2] if len(drops.value) else 0.0
        early = float(np.nan_to_num(drops.at(FIGURE_2_SETTLED_S)))
        rows["late_losses"].append(float(late) - early)
        if number == 0:
            curves = {name: (window.time, window.value) for name, window in windows.items()}
        done()
    measured = {name: np.array(values, dtype=np.float64) for name, values in rows.items()}
    delays = measured["rtt"] - shortest
    # Little's law: packets queued are the rate times the delay beyond the shortest round trip.
    seconds = FIGURE_2_END_S - FIGURE_2_SETTLED_S
    measured["queued"] = measured["rate"] / mss / seconds * delays
    measured["curves"] = curves
    grid = [
        (base, rtt, window)
        for base in (0.1, 0.15, 0.2)
        for rtt in (0.21, 0.25, 0.3)
        for window in (1.0, 4.0, 9.0, 30.0)
    ]
    same = all(
        ((window / base - window / rtt) * base > BETA) == (window > BETA / (1 - base / rtt))
        for base, rtt, window in grid
    )
    thresholds = {
        "cuts": rule["cuts"],
        "cuts_agree": rule["cuts_good"] / rule["cuts"] if rule["cuts"] and same else math.nan,
        "growths": rule["growths"],
        "growths_agree": rule["growths_good"] / rule["growths"] if rule["growths"] and same else math.nan,
        "grid": len(grid),
    }
    return measured, thresholds


def _thresholds(
    run: Run,
    name: str,
    window: Curve,
    sent: Curve,
    acked: Curve,
    arrival: Values,
    rtt: Values,
    mss: int,
    rule: dict[str, int],
) -> None:
    """Count the cuts and growths of a connection that agree with the thresholds of section IX-A."""
    checks = trace(run, "vegas_diff", name)
    base, limit = trace(run, "base_rtt", name), trace(run, "ssthresh", name)
    highest = Curve(time=sent.time, value=np.maximum.accumulate(sent.value + mss))
    for before, now in itertools.pairwise(checks.time):
        if not float(window.at(now, before=True)) >= float(limit.at(now, before=True)):
            continue  # slow start has a rule of its own
        # The samples of a round: of the acknowledgements from the last check to the one before this.
        samples = rtt[(arrival >= before) & (arrival < now)]
        if len(samples) == 0:
            continue
        mean = float(samples.mean())
        outstanding = float(highest.at(now, before=True) - acked.at(now, before=True)) / mss
        ratio = min(float(base.at(now, before=True)), mean) / mean
        step = float(window.at(now) - window.at(now, before=True))
        # A check with the same difference as the last leaves no record: skip what spans two rounds.
        if ratio >= 1 or now - before > 1.5 * mean:
            continue
        if step < -0.5:
            rule["cuts"] += 1
            rule["cuts_good"] += outstanding > BETA / (1 - ratio) - 1e-6
        elif step > 1e-9:
            rule["growths"] += 1
            rule["growths_good"] += outstanding < ALPHA / (1 - ratio) + 1e-6


def long_flows(settings: Settings) -> dict[str, Any]:
    """Return shares of long flows: the five of Fig. 2 as Reno and Vegas, one Reno and one Vegas, near and far."""
    count = 5 if settings.quick else 20
    seed = stable_seed(settings.seed, "long flows")
    place = calibrated()

    def pair(first: str, second: str, *, far: bool) -> Scenario:
        data = {
            "name": f"vegas-revisited {first} and {second}",
            "duration": "120 s",
            "measure_from": "20 s",
            **network(place, queue="10 packets", hosts=[("h1", "h3"), ("h2", "h4")]),
            "flows": [
                {
                    "name": name,
                    "from": source,
                    "to": target,
                    "start": {"uniform": ["0 s", "1 s"]},
                    "tcp": tcp(variant, place),
                    "source": {"kind": "greedy"},
                }
                for name, source, target, variant in (("one", "h1", "h3", first), ("two", "h2", "h4", second))
            ],
        }
        # Without any random arrivals two periodic flows lock into a phase at a drop-tail queue, and one starves.
        data["flows"].append(
            {
                "name": "noise",
                "from": "h1",
                "to": "h3",
                "source": {"kind": "poisson", "rate": "80 kbit/s", "packet": "500 bytes"},
            }
        )
        scenario = Scenario.from_dict(data)
        # The far connection's round trip is three times the near one's.
        return (
            scenario.with_values({"links.h2-r1.delay": "100 ms", "links.r1-h2.delay": "100 ms"})
            if far
            else scenario
        )

    scenarios = {
        "five reno": figure_2_scenario("reno", traced=False, duration_s=120.0, measure_from_s=20.0),
        "five vegasfix": figure_2_scenario("vegasfix", traced=False, duration_s=120.0, measure_from_s=20.0),
        "reno and vegas": pair("reno", "vegasfix", far=False),
        "far reno": pair("reno", "reno", far=True),
        "far vegasfix": pair("vegasfix", "vegasfix", far=True),
    }
    jobs = [Job(scenario, seed, number) for scenario in scenarios.values() for number in range(count)]
    flows = dumbbell.run_many(jobs, threads=settings.threads, progress=False).flows
    goodput = {
        label: flows[flows["job"].between(index * count, (index + 1) * count - 1)]["goodput_bps"]
        .to_numpy(dtype=np.float64)
        .reshape(count, -1)
        for index, label in enumerate(scenarios)
    }
    both = goodput["reno and vegas"][:, :2]
    return {
        "fairness": {
            variant: np.asarray(statistics.jain_index(goodput[f"five {variant}"], axis=1))
            for variant in ("reno", "vegasfix")
        },
        "reno_lead": (both[:, 0] - both[:, 1]) / both.sum(axis=1),
        "far_share": {
            variant: goodput[f"far {variant}"][:, 1] / goodput[f"far {variant}"][:, :2].sum(axis=1)
            for variant in ("reno", "vegasfix")
        },
    }


def observe(settings: Settings, steps: Steps) -> dict[str, Any]:
    """Return everything that is read from traces and single runs."""
    scripted: dict[str, Callable[[], Any]] = {
        "doubling": lambda: doubling(settings),
        "recovery_window": lambda: recovery_window(settings),
        "recovery_wait": lambda: recovery_wait(settings),
        "start_window": lambda: start_window(settings),
        "burst": lambda: burst(settings),
        "guard": lambda: guard(settings),
        "spike": lambda: spike(settings),
        "after_timeout": lambda: after_timeout(settings),
        "timers": lambda: timers(settings),
        "switches": switches,
        "defaults": defaults,
        "traced": lambda: traced(settings),
        "tables_one_and_four": lambda: tables_one_and_four(settings),
    }
    done = steps("scripted and traced runs", len(scripted) + 1)
    found: dict[str, Any] = {}
    for name, look in scripted.items():
        found[name] = look()
        done()
    found |= long_flows(settings)
    done()
    found["figure_2"], found["thresholds"] = figure_2(
        settings, steps("figure 2", 10 if settings.quick else 50)
    )
    return found
