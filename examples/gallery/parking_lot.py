"""The parking lot: several bottlenecks cost more than one.

A flow over k congested links loses packets at each and has the longest round trip. It gets less than the half that
max-min fairness would give it, and less the more links it crosses.

Source: [floyd1991b].
"""

import dumbbell
from dumbbell import Flow, Uniform, topologies

jobs = []
for hops in (1, 2, 4, 6):
    shape = topologies.parking_lot(hops=hops, rate="10 Mbit/s", delay="10 ms", queue="red")
    start = Uniform(uniform=("0 s", "1 s"))
    pairs = range(1, hops + 2)
    flows = [Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp="sack", start=start) for n in pairs]
    scenario = shape.scenario(rules="classic", duration="90 s", measure_from="20 s", flows=flows)
    jobs += [dumbbell.Job(scenario, run=run, parameters={"hops": hops}) for run in range(3)]
runs = dumbbell.run_many(jobs, progress=False)

long = runs.flows.query("name == 'f1'").groupby("hops").goodput_bps.mean() / 1e6
print(long)
assert long.is_monotonic_decreasing
assert long[1] > 4
assert long[4] < 2.5
runs.plot(x="hops", names=["f1"]).save("parking_lot.svg")
