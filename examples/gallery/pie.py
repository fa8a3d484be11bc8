"""PIE holds its target for any number of flows.

PIE controls the drop probability so that the queueing delay is 15 ms, whether the link is shared by 5 flows or by 40.

Source: RFC 8033 §4.
"""

import dumbbell
from dumbbell import Flow, Pie, Uniform, topologies

jobs = []
for count in (5, 10, 20, 40):
    shape = topologies.dumbbell(pairs=count, rate="10 Mbit/s", delay="10 ms", rtt="50 ms", queue=Pie())
    start = Uniform(uniform=("0 s", "5 s"))
    flows = [
        Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp="sack", start=start) for n in range(1, count + 1)
    ]
    scenario = shape.scenario(rules="classic", duration="60 s", measure_from="20 s", flows=flows)
    jobs += [dumbbell.Job(scenario, run=run, parameters={"flows": count}) for run in range(3)]
runs = dumbbell.run_many(jobs, progress=False)

links = runs.links.query("name == 'r1-r2'").groupby("flows")[["wait_mean_s", "utilization"]].mean()
print(links)
assert links.wait_mean_s.between(0.010, 0.020).all()
assert (links.utilization > 0.95).all()
runs.plot(x="flows", y="wait_mean_s", names=["r1-r2"]).save("pie.svg")
