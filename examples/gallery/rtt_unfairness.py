"""Flows with short round trips win.

A Reno window grows by a segment per round trip. At a shared drop-tail queue, the goodput of a flow goes with a power of
its round-trip time between -1 and -2: the flow with the shorter one gets more than in proportion.

Source: [lakshman1997].
"""

import numpy as np

import dumbbell
from dumbbell import DropTail, Flow, Poisson, Uniform, topologies

jobs = []
for ratio in (1, 2, 3, 4, 6, 8):
    rtt = ["20 ms", f"{20 * ratio} ms", "20 ms"]
    shape = topologies.dumbbell(
        pairs=3, rate="10 Mbit/s", delay="5 ms", rtt=rtt, queue=DropTail(limit="20 packets")
    )
    start = Uniform(uniform=("0 s", "2 s"))
    flows = [
        Flow(name="short", from_="s1", to="d1", tcp="sack", start=start),
        Flow(name="long", from_="s2", to="d2", tcp="sack", start=start),
        # Some random packets, without which phase effects decide.
        Flow(name="noise", from_="s3", to="d3", source=Poisson(rate="500 kbit/s", packet="500 bytes")),
    ]
    scenario = shape.scenario(rules="classic", duration="120 s", measure_from="20 s", flows=flows)
    jobs += [dumbbell.Job(scenario, run=run, parameters={"ratio": ratio}) for run in range(4)]
runs = dumbbell.run_many(jobs, progress=False)

means = runs.flows.pivot_table(index="ratio", columns="name", values=["goodput_bps", "rtt_mean_s"])
gain = means.goodput_bps.short / means.goodput_bps.long
# With the queueing delay, the round-trip times differ by less.
power = np.log(gain.loc[2:]) / np.log((means.rtt_mean_s.long / means.rtt_mean_s.short).loc[2:])
print(gain, power, sep="\n")
assert 0.8 < gain[1] < 1.25
assert power.between(1, 2).all()
runs.plot(x="ratio", y="goodput_bps", hue="name", names=["short", "long"]).save("rtt_unfairness.svg")
