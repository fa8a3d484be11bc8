"""Observations from traces of transfers against traffic and of long flows at a bottleneck: Fig. 2 and fairness."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dumbbell import Scenario, statistics
from dumbbell.papers import Settings
from dumbbell.traces import StepFunction

from .assumptions import calibrated
from .episodes import EVENTS
from .looks import Look, Part, Seen, scenario_name
from .scenarios import FIGURE_2_STARTS_S, LOADS, access_links, experiment, network, stable_seed, tcp
from .traces import TracedRun, Values, bytes_of, round_trips

BETA = 3.0
ALPHA = 1.0

# Fig. 2: averages are over the last ten of thirty seconds.
FIGURE_2_END_S = 30.0
FIGURE_2_SETTLED_S = 20.0
FIGURE_2_QUEUE = "25 packets"
FIGURE_2_JITTER_S = 0.05

CONNECTIONS = tuple(f"c{number}" for number in range(1, 6))


# Released and corrected Vegas at high load against Reno, pairs of runs with the same seeds


def _traced(settings: Settings) -> Iterator[Part]:
    for variant in ("vegas", "vegasfix"):
        data = experiment(variant, "reno", "high", calibrated()).to_dict() | {
            "name": scenario_name("traced"),
            "probes": [
                {"flows": ["fg"], "quantities": ["cwnd", "ssthresh", "base_rtt", "vegas_diff", EVENTS]}
            ],
        }
        yield Part(
            label=variant,
            scenario=Scenario.from_dict(data),
            seed=stable_seed(settings.seed, "traced"),
            runs=range(5 if settings.quick else 25),
        )


def _transfer(run: TracedRun) -> dict[str, float]:
    base, diff = run.curve("base_rtt", "fg"), run.curve("vegas_diff", "fg")
    window, limit = run.curve("cwnd", "fg"), run.curve("ssthresh", "fg")
    # A check, one per round trip, lets the window grow if the difference is below alpha. [hengartner2000 §VII.D, Eq. 6]
    avoidance = window.at(diff.time) >= limit.at(diff.time)
    return {
        "base_rtt_raised": int((np.diff(base.value) > 1e-12).sum()),
        "invariant_broken": int((diff.value < -1e-9).sum()),
        "checks": len(diff.value),
        "least_window": float(window.value.min()),
        "increases_per_rtt": float((diff.value[avoidance] < ALPHA).mean()) if avoidance.any() else 0.0,
    }


def _transfers(seen: Mapping[str, Sequence[Seen]]) -> dict[str, Any]:
    def of(label: str, name: str) -> Values:
        return np.array([float(run[name][0]) for run in seen[label]])

    return {
        label: {
            "runs": len(runs),
            "least_window": float(of(label, "least_window").min()),
            "increases_per_rtt": of(label, "increases_per_rtt"),
        }
        | {name: int(of(label, name).sum()) for name in ("base_rtt_raised", "invariant_broken", "checks")}
        for label, runs in seen.items()
    }


# Fig. 2: five connections that start one second apart


def five_connections(
    look: str, variant: str, *, traced: bool, duration_s: float = FIGURE_2_END_S, measure_from_s: float = 0.0
) -> Scenario:
    """Return five connections that start one second apart and share the bottleneck.

    Parameters
    ----------
    look, variant
        As of `scripted.single`.
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
        "name": scenario_name(look),
        "duration": f"{duration_s:g} s",
        "rules": "classic",
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


def _figure_2(settings: Settings) -> list[Part]:
    return [
        Part(
            label="five",
            scenario=five_connections("figure_2", "vegasfix", traced=True),
            seed=stable_seed(settings.seed, "figure 2"),
            runs=range(10 if settings.quick else 50),
        )
    ]


def _five_windows(run: TracedRun) -> dict[str, Any]:
    mss = bytes_of(calibrated().mss)
    rule = {"cuts": 0, "cuts_good": 0, "growths": 0, "growths_good": 0}
    windows = {name: run.curve("cwnd", name) for name in CONNECTIONS}
    settled = [windows[name].mean(FIGURE_2_SETTLED_S, FIGURE_2_END_S) for name in CONNECTIONS]
    rates, rtts, ratios, bases = [], [], [], []
    shortest = math.inf
    for name in CONNECTIONS:
        sent, acked = run.curve("seq_sent", name), run.curve("seq_acked", name)
        base = run.curve("base_rtt", name)
        rates.append(float(acked.at(FIGURE_2_END_S) - acked.at(FIGURE_2_SETTLED_S)))
        arrival, rtt = round_trips(sent, acked, mss)
        shortest = min(shortest, float(rtt.min()))
        rtts.append(float(rtt[arrival > FIGURE_2_SETTLED_S].mean()))
        ratios.append(float(np.nanmin(base.at(arrival) / rtt)))
        bases.append(float(base.value[-1]))
        _thresholds(run, name, windows[name], sent, acked, arrival, rtt, mss, rule)
    last, limit = windows["c5"], run.curve("ssthresh", "c5")
    # With slow-start detection the threshold falls to two segments when slow start ends.
    ended = limit.time[np.argmax(limit.value <= 2.0)] if (limit.value <= 2.0).any() else FIGURE_2_END_S
    drops = run.curve("drops", "r1-r2")
    at_3 = float(windows["c1"].at(3.0))
    late = np.append(drops.value, 0.0)[-2] if len(drops.value) else 0.0
    early = float(np.nan_to_num(drops.at(FIGURE_2_SETTLED_S)))
    found: dict[str, Any] = {
        "window": settled,
        "share": [rate / sum(rates) for rate in rates],
        "rate": rates,
        "rtt": rtts,
        "base_rtt": bases,
        "least_ratio": min(ratios),
        "first_at_3_and_last": [at_3, settled[4]],
        "first_at_3_and_end": [at_3, settled[0]],
        "last_after_slow_start": [float(last.at(float(ended))), settled[4]],
        "window_spread": [
            windows[name].deviation(FIGURE_2_SETTLED_S, FIGURE_2_END_S) for name in CONNECTIONS
        ],
        "late_losses": float(late) - early,
        "shortest": shortest,
        "rule": list(rule.values()),
    }
    if run.number == 0:
        # The run that is drawn.
        for name, window in windows.items():
            found |= {f"{name}_s": window.time, f"{name}_window": window.value}
    return found


ROWS = (
    "window", "share", "base_rtt", "least_ratio", "first_at_3_and_last", "first_at_3_and_end",
    "last_after_slow_start", "window_spread", "rate", "rtt",
)  # fmt: skip


def _five(seen: Mapping[str, Sequence[Seen]]) -> dict[str, Any]:
    """Return the measurements of Fig. 2, and whether its windows respect the thresholds of section IX-A."""
    runs = seen["five"]
    measured: dict[str, Any] = {name: np.array([run[name] for run in runs]) for name in ROWS}
    measured["late_losses"] = np.array([float(run["late_losses"][0]) for run in runs])
    shortest = min(float(run["shortest"][0]) for run in runs)
    # Little's law: packets queued are the rate times the delay beyond the shortest round trip.
    seconds = FIGURE_2_END_S - FIGURE_2_SETTLED_S
    delays = measured["rtt"] - shortest
    measured["queued"] = measured["rate"] / bytes_of(calibrated().mss) / seconds * delays
    measured["curves"] = {name: (runs[0][f"{name}_s"], runs[0][f"{name}_window"]) for name in CONNECTIONS}
    cuts, cuts_good, growths, growths_good = (
        int(count) for count in np.sum([run["rule"] for run in runs], axis=0)
    )
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
    measured["thresholds"] = {
        "cuts": cuts,
        "cuts_agree": cuts_good / cuts if cuts and same else math.nan,
        "growths": growths,
        "growths_agree": growths_good / growths if growths and same else math.nan,
        "grid": len(grid),
    }
    return measured


def _thresholds(
    run: TracedRun,
    name: str,
    window: StepFunction,
    sent: StepFunction,
    acked: StepFunction,
    arrival: Values,
    rtt: Values,
    mss: int,
    rule: dict[str, int],
) -> None:
    """Count the cuts and growths of a connection that agree with the thresholds of section IX-A."""
    checks = run.curve("vegas_diff", name)
    base, limit = run.curve("base_rtt", name), run.curve("ssthresh", name)
    highest = StepFunction(time=sent.time, value=np.maximum.accumulate(sent.value + mss))
    for before, now in itertools.pairwise(checks.time):
        if not float(window.at(now, before=True)) >= float(limit.at(now, before=True)):
            continue  # slow start has a rule of its own
        # The samples of a round: of the acknowledgements from the last check to the one before this.
        within = (arrival >= before) & (arrival < now)
        samples = rtt[within]
        # After a loss, one acknowledgement covers several segments, and the trace does not tell which of them was timed.
        if len(samples) == 0 or len(np.unique(arrival[within])) < len(samples):
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


# Long flows: the five of Fig. 2 as Reno and Vegas, one Reno and one Vegas, near and far


def _pair(look: str, first: str, second: str, *, far: bool = False, queue: str = FIGURE_2_QUEUE) -> Scenario:
    place = calibrated()
    data: dict[str, Any] = {
        "name": scenario_name(look),
        "duration": "120 s",
        "rules": "classic",
        "measure_from": "20 s",
        **network(place, queue=queue, hosts=[("h1", "h3"), ("h2", "h4")]),
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
        scenario.with_values({f"links.{name}.delay": "100 ms" for name in access_links("h2", place)})
        if far
        else scenario
    )


def _long_flows(settings: Settings) -> Iterator[Part]:
    look = "long_flows"
    long: dict[str, Any] = {"traced": False, "duration_s": 120.0, "measure_from_s": 20.0}
    scenarios = {
        "five reno": five_connections(look, "reno", **long),
        "five vegasfix": five_connections(look, "vegasfix", **long),
        "reno and vegas": _pair(look, "reno", "vegasfix"),
        # Reno does not keep a queue of ten packets busy, as the fluid model of the cited work presumes.
        "reno and vegas, short queue": _pair(look, "reno", "vegasfix", queue=LOADS["high"].queue),
        "far reno": _pair(look, "reno", "reno", far=True),
        "far vegasfix": _pair(look, "vegasfix", "vegasfix", far=True),
    }
    for label, scenario in scenarios.items():
        yield Part(
            label=label,
            scenario=scenario,
            seed=stable_seed(settings.seed, "long flows"),
            runs=range(5 if settings.quick else 20),
        )


def _goodput(run: TracedRun) -> dict[str, Values]:
    return {"goodput": run.flows("goodput_bps")}


def _shares(seen: Mapping[str, Sequence[Seen]]) -> dict[str, Any]:
    goodput = {label: np.array([run["goodput"] for run in runs]) for label, runs in seen.items()}

    def lead(label: str) -> Values:
        first, second = goodput[label][:, 0], goodput[label][:, 1]
        relative: Values = (first - second) / (first + second)
        return relative

    return {
        "fairness": {
            variant: np.asarray(statistics.jain_index(goodput[f"five {variant}"], axis=1))
            for variant in ("reno", "vegasfix")
        },
        "reno_lead": lead("reno and vegas"),
        "reno_lead_short_queue": lead("reno and vegas, short queue"),
        "far_share": {
            variant: goodput[f"far {variant}"][:, 1] / goodput[f"far {variant}"][:, :2].sum(axis=1)
            for variant in ("reno", "vegasfix")
        },
    }


LOOKS = (
    Look(name="traced", parts=_traced, read=_transfer, conclude=_transfers, stage="traced runs"),
    Look(name="figure_2", parts=_figure_2, read=_five_windows, conclude=_five, stage="figure 2"),
    Look(name="long_flows", parts=_long_flows, read=_goodput, conclude=_shares, stage="long flows"),
)
"""What is looked for in transfers against traffic and in long flows."""
