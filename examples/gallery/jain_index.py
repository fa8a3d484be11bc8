"""Fairness among equal flows.

Jain's index is 1 if all flows get the same and 1/n if one gets everything. Reno flows with equal round trips share a link
well, whatever their number: additive increase and multiplicative decrease converge to equal windows.

Source: [jain1984]; [chiu1989].
"""

import dumbbell
from dumbbell import Flow, Uniform, plots, topologies
from dumbbell.statistics import jain_index

jobs = []
for count in (2, 4, 8, 16):
    shape = topologies.dumbbell(
        pairs=count, rate=f"{2 * count} Mbit/s", delay="10 ms", rtt="40 ms", queue="red"
    )
    start = Uniform(uniform=("0 s", "5 s"))
    for name in ("sack", "cubic", "vegas"):
        flows = [
            Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp=name, start=start) for n in range(1, count + 1)
        ]
        scenario = shape.scenario(rules="classic", duration="90 s", measure_from="20 s", flows=flows)
        jobs += [
            dumbbell.Job(scenario, run=run, parameters={"flows": count, "tcp": name}) for run in range(2)
        ]
runs = dumbbell.run_many(jobs, progress=False)

index = (
    runs.flows.groupby(["tcp", "flows", "job"]).goodput_bps.agg(jain_index).groupby(["tcp", "flows"]).mean()
)
print(index.unstack())
assert (index["sack"] > 0.95).all()
series = {name: (index[name].index, index[name]) for name in ("sack", "cubic", "vegas")}
ax = plots.lines(series, x_label="flows", y_label="Jain's index", markers=True)
ax.set_ylim(0.5, 1.02)
ax.figure.savefig("jain_index.svg")
