"""A Vegas and a Reno flow on one bottleneck, fifty runs, in ten lines."""

import dumbbell
from dumbbell import DropTail, Flow, Greedy, Uniform, topologies

shape = topologies.dumbbell(pairs=2, rate="1.6 Mbit/s", delay="50 ms", queue=DropTail(limit="25 packets"))
flows = [
    Flow(name="vegas", from_="s1", to="d1", tcp="vegas", source=Greedy()),
    Flow(
        name="reno", from_="s2", to="d2", tcp="reno", source=Greedy(), start=Uniform(uniform=("0 s", "5 s"))
    ),
]
scenario = shape.scenario(
    name="Vegas against Reno", rules="classic", duration="60 s", measure_from="10 s", flows=flows
)
runs = dumbbell.run_many(scenario, runs=50, seed=1)
print(runs.flows.groupby("name").goodput_bps.agg(["mean", "std"]))
