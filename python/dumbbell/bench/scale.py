"""Growth of Dumbbell's cost per packet, memory and time with the size of the simulation."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from dumbbell.bench import networks, scale_page
from dumbbell.bench.children import Measured, measure_apart, measure_batch
from dumbbell.bench.contenders import measured
from dumbbell.bench.growth import FEWEST, FULL, MOST, Batches, Idle, Plan, Point, Sweep
from dumbbell.bench.outcome import Benched, load, written
from dumbbell.bench.turns import Spread, Turns, ratios
from dumbbell.campaign import Display
from dumbbell.files import make_folder
from dumbbell.judge.criterion import Criterion, at_least, at_most, not_measured
from dumbbell.runs import cores

# What was wanted: the cost of a packet among the most flows over that among the fewest, bytes of an idle flow, and how much
# faster two threads are than one.
MAX_COST_RATIO = 4.0
IDLE_BYTES = 4096
TWO_THREADS = 1.9


def bench_scale(*, plan: Plan = FULL, output: str | Path | None = None, quiet: bool = False) -> Benched:
    """Measure how Dumbbell's cost grows with the size of the simulation, and write a report.

    Parameters
    ----------
    plan
        How much is measured.
    output
        Folder for the report; ``results/`` of the working directory by default.
    quiet
        Show no progress.
    """
    place = Path(output) if output is not None else Path("results")
    # What cannot be written is found out now rather than after long measurements.
    make_folder(place)
    begin_load = load()
    with Display(sys.stderr, quiet=quiet) as display:
        sweeps = [_taken(sweep, plan.turns, display) for sweep in _sweeps(plan)]
        idle = _idle(plan, display)
        batches = _batches(plan, display) if cores() > 1 else []
    criteria = _criteria(sweeps[0], idle, batches)
    data = {
        "load": begin_load,
        "plan": asdict(plan),
        "sweeps": [_sweep_data(sweep) for sweep in sweeps],
        "idle": {
            **asdict(idle),
            "bytes_per_flow": idle.per_flow(idle.peaks),
            "bytes_per_flow_of_start_up": idle.per_flow(idle.peaks_of_start_up),
        },
        "run_many": [_batches_data(batch) for batch in batches],
    }
    return written(
        place=place / "bench-scale",
        page=scale_page.page(sweeps, idle, batches, plan, criteria=criteria, begin_load=begin_load),
        criteria=criteria,
        absent={},
        data=data,
    )


Place = tuple[str, str, float, Callable[[], networks.Text]]
"""A point of a sweep: series, label, number, and what writes its scenario."""


def _sweeps(plan: Plan) -> list[Sweep]:
    """Return the sweeps of a plan, without turns."""
    hour = f"{plan.hour_s:g} s"
    points: dict[str, list[Place]] = {
        "flows": [
            ("NewReno flows", f"{count:,}", count, partial(networks.many_flows, count, plan.flows_s))
            for count in plan.flows
        ],
        "windows": [
            (
                series,
                f"{window:,}",
                window,
                partial(networks.long_window, window, plan.window_packets, lossless=lossless),
            )
            for series, lossless in (("with losses", False), ("without losses", True))
            for window in plan.windows
        ],
        "hops": [
            (series, str(hops), hops, partial(networks.row, hops, plan.hops_s, joined=joined))
            for series, joined in (("no datagrams", False), ("datagrams at every link", True))
            for hops in plan.hops
        ],
        "traces": [
            ("one flow", density, place, partial(networks.one_flow, plan.traces_s, traces=density))
            for place, density in enumerate(plan.traces)
        ],
        "hour": [("one flow", hour, plan.hour_s, partial(networks.one_flow, plan.hour_s))],
    }
    return [
        Sweep(
            **about,
            points=[
                _point(plan, *place, ["f"] if about["key"] == "hops" else None)
                for place in points[about["key"]]
            ],
        )
        for about in _abouts(plan)
    ]


def _abouts(plan: Plan) -> list[dict[str, str]]:
    """Return what each sweep is, in words."""
    return [
        {
            "key": "flows",
            "title": "Number of flows",
            "swept": "flows",
            "unit": "",
            "about": "NewReno flows over one bottleneck of 0.1 Mbit/s per flow (10 Gbit/s for 100,000), with 100 ms of "
            "propagation delay and a buffer of 5 packets per flow. All flows share ten pairs of hosts. Starts are "
            f"spread over a tenth of {plan.flows_s:g} s.",
        },
        {
            "key": "windows",
            "title": "Size of the window",
            "swept": "bandwidth-delay product",
            "unit": "segments",
            "about": "One SACK flow over a link of 10 Gbit/s, with a delay such that the bandwidth-delay product is "
            "this number of segments, and a queue of the same size. Without a limit, the first slow start overflows "
            "the queue by about a window, which fills the scoreboard. With a receive buffer of one and a half times "
            "the bandwidth-delay product, nothing is lost.",
        },
        {
            "key": "hops",
            "title": "Number of hops",
            "swept": "links in a row",
            "unit": "",
            "about": "One NewReno flow over a chain of links of 10 Mbit/s with a total delay of 20 ms. Without other "
            "traffic, a link fed by one link needs no event. Datagrams at every link, at a thousandth of the rate, "
            "disable this optimization. Only the packets of the flow are counted.",
        },
        {
            "key": "traces",
            "title": "Density of traces",
            "swept": "recorded",
            "unit": "",
            "about": "One NewReno flow of 10 Mbit/s. Its cwnd, srtt and flight size and the backlog of the bottleneck "
            "are recorded: never, periodically, or at every change.",
        },
        {
            "key": "hour",
            "title": "A long run",
            "swept": "simulated time",
            "unit": "s",
            "about": "One NewReno flow of 10 Mbit/s for an hour.",
        },
    ]


def _point(
    plan: Plan,
    series: str,
    label: str,
    x: float,
    texts: Callable[[], networks.Text],
    flows: Sequence[str] | None,
) -> Point:
    """Return a point without turns; its scenario is written each time, because large ones would fill the memory."""

    def run(which: int, runs: int) -> Measured:
        return measured(texts()[which], runs, flows)

    turns = Turns(run=partial(run, 0), nothing=partial(run, 1), least_cpu_s=plan.least_cpu_s)
    return Point(series=series, label=label, x=x, turns=turns)


def _taken(sweep: Sweep, turns: int, display: Display) -> Sweep:
    """Measure a sweep: in each turn, every point once."""
    done = display.steps(sweep.title, turns * len(sweep.points))
    for _ in range(turns):
        for point in sweep.points:
            point.turns.take()
            done()
    costs = [Spread.of(point.turns.costs_ns).median for point in sweep.points]
    display.fold(f"{sweep.title}: {min(costs):,.0f} to {max(costs):,.0f} ns of CPU time per packet")
    return sweep


def _idle(plan: Plan, display: Display) -> Idle:
    done = display.steps("Memory", 2)
    peaks, of_start_up = [], []
    for flows in plan.idle:
        whole, nothing = networks.idle_flows(flows)
        peaks.append(measured(whole, 1).peak_bytes)
        of_start_up.append(measured(nothing, 1).peak_bytes)
        done()
    found = Idle(
        flows=plan.idle, peaks=(peaks[0], peaks[1]), peaks_of_start_up=(of_start_up[0], of_start_up[1])
    )
    display.fold(f"Memory: {found.per_flow(found.peaks):,.0f} bytes for each idle flow")
    return found


def _batches(plan: Plan, display: Display) -> list[Batches]:
    """Measure batches of each size: in each turn, every size in every way once."""
    done = display.steps("Two threads", 3 * len(plan.batches) * plan.batch_turns)
    text, _ = networks.one_flow(plan.batch_s)
    ways: dict[str, Callable[[int], float]] = {
        "one_s": lambda runs: measure_batch(text, runs=runs, threads=1).wall_s,
        "two_s": lambda runs: measure_batch(text, runs=runs, threads=2).wall_s,
        "apart_s": lambda runs: measure_apart(text, runs=runs // 2, processes=2),
    }
    times: dict[int, dict[str, list[float]]] = {runs: {way: [] for way in ways} for runs in plan.batches}
    for _ in range(plan.batch_turns):
        for runs, times_s in times.items():
            for way, measured_s in ways.items():
                times_s[way].append(measured_s(runs))
                done()
    found = [Batches(runs=runs, **times_s) for runs, times_s in times.items()]
    longest = found[-1]
    display.fold(
        f"Two threads: {longest.gain.median:.2f} times as fast as one, two processes {longest.granted.median:.2f}"
    )
    return found


def _batches_data(batches: Batches) -> dict[str, Any]:
    return {**asdict(batches), "gain": asdict(batches.gain), "granted": asdict(batches.granted)}


def _criteria(flows: Sweep, idle: Idle, batches: Sequence[Batches]) -> list[Criterion]:
    by_size = {int(point.x): point.turns for point in flows.points}
    found = []
    name = f"cost of a packet at {MOST:,} flows over that at {FEWEST}"
    if FEWEST in by_size and MOST in by_size:
        cost_ratio = ratios(by_size[MOST].costs_ns, by_size[FEWEST].costs_ns)
        found.append(at_most(name, cost_ratio.median, MAX_COST_RATIO))
    else:
        found.append(not_measured(name, f"at most {MAX_COST_RATIO:g}", "fewer flows were run"))
    name = f"memory of an idle flow, of {idle.flows[1]:,}"
    per_flow = idle.per_flow(idle.peaks)
    if idle.flows[1] < MOST:
        found.append(not_measured(name, f"below {IDLE_BYTES} bytes", f"{per_flow:,.0f} bytes at fewer flows"))
    elif math.isnan(per_flow):
        found.append(not_measured(name, f"below {IDLE_BYTES} bytes", "not available here"))
    else:
        found.append(
            Criterion(
                name=name,
                wanted=f"below {IDLE_BYTES} bytes",
                measured=f"{per_flow:,.0f} bytes",
                holds=per_flow < IDLE_BYTES,
            )
        )
    name = "run_many on two threads over one"
    if not batches:
        found.append(not_measured(name, f"at least {TWO_THREADS:g}", "there is only one core"))
    else:
        longest = batches[-1]
        beside = f"{longest.runs:,} runs; two processes {longest.granted.median:.2f}"
        found.append(at_least(name, longest.gain.median, TWO_THREADS, digits=2, beside=beside))
    return found


def _sweep_data(sweep: Sweep) -> dict[str, Any]:
    return {
        "sweep": sweep.key,
        "title": sweep.title,
        "points": [
            {
                "series": point.series,
                "label": point.label,
                "x": point.x,
                "runs_per_turn": point.turns.runs,
                "packets_per_run": point.turns.packets_per_run,
                "events_per_packet": point.turns.events_per_packet,
                "cpu_ns_per_packet": asdict(Spread.of(point.turns.costs_ns)),
                "start_up_s": point.turns.start_up_s,
                "cpu_s": point.turns.cpu_s,
                "peak_bytes": point.turns.peak_bytes,
            }
            for point in sweep.points
        ],
    }
