"""Twelve figures for a paper, each made by one call: ``python examples/figures.py [STYLE] [FOLDER] [ENDING]``.

The sweeps take about half a minute. `docs/plots.md` describes the calls, and the site shows the figures.
"""

import functools
import sys
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell import (
    Bernoulli,
    CoDel,
    DropTail,
    Flow,
    Pie,
    Poisson,
    Probe,
    Runs,
    Scenario,
    Transfers,
    Uniform,
    topologies,
)
from dumbbell.control import Ack, Congestion

START = Uniform(uniform=("0 s", "1 s"))
# A few random packets, so that replications differ.
NOISE = Flow(name="noise", from_="s2", to="d2", source=Poisson(rate="200 kbit/s", packet="500 bytes"))
LIMIT = "links.r1-r2.queue.limit"


class Gentle(dumbbell.Control):
    """Additive increase, and a smaller decrease than Reno's: an algorithm of one's own."""

    decrease: float = 0.8  # fraction of the window that is kept

    def on_ack(self, ack: Ack) -> None:
        """Grow by a segment per round trip, or double below the threshold."""
        if not ack.in_recovery:
            growth = ack.mss if self.cwnd < self.ssthresh else ack.mss * ack.mss / self.cwnd
            self.cwnd = ack.grown(self.cwnd, growth)

    def on_congestion(self, congestion: Congestion) -> None:
        """Keep a fraction of what is in flight."""
        self.ssthresh = max(self.decrease * congestion.flight_size, 2.0 * congestion.mss)
        self.cwnd = congestion.loss_window if congestion.restarts else self.ssthresh


def alone(**path: Any) -> Scenario:
    """Return one flow and some noise over a bottleneck of 10 Mbit/s with a round-trip time of 40 ms."""
    shape = topologies.dumbbell(pairs=2, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", **path)
    flows = [Flow(name="flow", from_="s1", to="d1", tcp="cubic", start=START), NOISE]
    return shape.scenario(duration="30 s", measure_from="5 s", flows=flows)


@functools.cache
def buffers() -> Runs:
    """Sweep buffers from 3 to 300 packets, for three congestion controls."""
    axes = {
        LIMIT: [f"{packets} packets" for packets in (3, 10, 33, 100, 300)],
        "flows.flow.tcp": ["reno", "cubic", "bbr3"],
    }
    return dumbbell.sweep(alone(), axes, runs=5, progress=False)


@functools.cache
def losses() -> Runs:
    """Sweep random losses, for four congestion controls."""
    axes = {
        "links.r1-r2.impairments.0.probability": [1e-5, 1e-4, 1e-3, 1e-2],
        "flows.flow.tcp": ["reno", "cubic", "westwoodp", "bbr3"],
    }
    return dumbbell.sweep(alone(impairments=[Bernoulli(probability=1e-5)]), axes, runs=5, progress=False)


@functools.cache
def queues() -> Runs:
    """Run short transfers beside a long flow, for three queue disciplines."""
    jobs = []
    short = Transfers(
        arrivals={"kind": "poisson", "interval": "250 ms"}, sizes={"kind": "fixed", "size": "30 kB"}
    )
    for name, queue in (("drop-tail", DropTail(limit="150 packets")), ("CoDel", CoDel()), ("PIE", Pie())):
        shape = topologies.dumbbell(pairs=2, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", queue=queue)
        flows = [
            Flow(name="long", from_="s1", to="d1", tcp="cubic", start=START),
            Flow(name="short", from_="s2", to="d2", tcp="cubic", source=short),
        ]
        probes = [Probe(flows=["short"], quantities=["transfers"]), Probe(flows=["long"], quantities=["rtt"])]
        base = shape.scenario(
            duration="30 s", measure_from="5 s", delay_percentiles=True, flows=flows, probes=probes
        )
        jobs += [dumbbell.Job(base, run=run, parameters={"queue": name}) for run in range(8)]
    return dumbbell.run_many(jobs, progress=False)


@functools.cache
def paths() -> Runs:
    """Sweep rates and delays of the path, for two congestion controls."""
    axes = {
        "links.r1-r2.rate": ["2 Mbit/s", "5 Mbit/s", "20 Mbit/s"],
        "links.r1-r2.delay": ["5 ms", "20 ms", "80 ms"],
        LIMIT: ["10 packets", "50 packets", "250 packets"],
        "flows.flow.tcp": ["cubic", "vegas"],
    }
    return dumbbell.sweep(alone(), axes, runs=3, progress=False)


@functools.cache
def competition() -> Runs:
    """Run a flow that begins while another one is there."""
    shape = topologies.dumbbell(
        pairs=2, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", queue=DropTail(limit="66 packets")
    )
    late = Uniform(uniform=("10 s", "11 s"))
    flows = [
        Flow(name="first", from_="s1", to="d1", tcp="cubic", start=START),
        Flow(name="second", from_="s2", to="d2", tcp="cubic", start=late),
    ]
    probes = [
        Probe(flows=["first", "second"], quantities=["cwnd_base"], period="50 ms"),
        Probe(flows=["first", "second"], quantities=["delivered"], period="10 ms"),
    ]
    base = shape.scenario(duration="60 s", measure_from="15 s", flows=flows, probes=probes)
    algorithms = {"flows.*.tcp": ["reno", "cubic", "vegas"]}
    return dumbbell.sweep(base, algorithms, runs=8, progress=False)


@functools.cache
def own() -> Runs:
    """Run an algorithm of one's own beside Reno and CUBIC."""
    axes = {
        "flows.flow.tcp": ["reno", "cubic", Gentle(decrease=0.7), Gentle(decrease=0.9)],
        LIMIT: ["8 packets", "33 packets"],
    }
    return dumbbell.sweep(alone(), axes, runs=5, threads=1, progress=False)


FIGURES = {
    "buffer": lambda **style: buffers().plot(names=["flow"], **style),
    "loss": lambda **style: losses().plot(names=["flow"], logy=True, **style),
    "tradeoff": lambda **style: buffers().plot(x="rtt_mean_s", kind="scatter", hue="flows.flow.tcp", names=["flow"], **style),
    "rtt-cdf": lambda **style: queues().plot(x="rtt", kind="cdf", hue="queue", **style),
    "fct-cdf": lambda **style: queues().plot(x="transfers.completion_s", kind="cdf", hue="queue", logx=True, **style),
    "fct-box": lambda **style: queues().plot(x="queue", y="fct_p95_s", kind="box", names=["short"], **style),
    "shares": lambda **style: competition().plot(x="flows.*.tcp", hue="name", kind="bar", **style),
    "utilization": lambda **style: paths().plot(
        x="links.r1-r2.delay", y="links.r1-r2.rate", hue="utilization", kind="heat", col="flows.flow.tcp",
        names=["r1-r2"], where={LIMIT: "10 packets"}, **style
    ),
    "facets": lambda **style: paths().plot(
        x=LIMIT, y="wait_mean_s", hue="flows.flow.tcp", col="links.r1-r2.rate", names=["r1-r2"],
        where={"links.r1-r2.delay": "20 ms"}, logy=True, **style
    ),
    "windows": lambda **style: competition().plot(
        y="cwnd_base", kind="timeseries", hue="name", col="flows.*.tcp", **style
    ),
    "convergence": lambda **style: competition().plot(
        y="goodput", kind="timeseries", hue="name", where={"flows.*.tcp": "cubic"}, **style
    ),
    "own": lambda **style: own().plot(x="flows.flow.tcp", hue=LIMIT, names=["flow"], **style),
}  # fmt: skip
"""The figures by name: one call each."""


def main(style: str = "paper", folder: str = "results/figures", ending: str = "pdf") -> None:
    """Make all figures."""
    for name, plot in FIGURES.items():
        picture = plot(style=style)
        picture.save(Path(folder) / f"{name}.{ending}")
        print(f"{name}: {picture.title}. {picture.note}")


if __name__ == "__main__":
    main(*sys.argv[1:])
