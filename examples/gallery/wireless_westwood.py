"""Westwood+ on a wireless link.

After a loss, Westwood+ sets its threshold to the bandwidth that it has measured times the minimum round-trip time instead
of halving. A random loss on a wireless link costs it less than it costs Reno.

Source: [mascolo2001]; [grieco2004].
"""

import dumbbell
from dumbbell import Bernoulli, Flow, topologies

jobs = []
for loss in (1e-4, 1e-3, 5e-3, 2e-2):
    shape = topologies.last_hop_wireless(
        cross_pairs=0, reverse_pairs=0, rtt="150 ms", impairments=[Bernoulli(probability=loss)]
    )
    for name in ("newreno", "westwoodp"):
        flow = Flow(name="flow", from_="s1", to="d1", tcp=name)
        scenario = shape.scenario(rules="classic", duration="120 s", measure_from="10 s", flows=[flow])
        jobs += [dumbbell.Job(scenario, run=run, parameters={"loss": loss, "tcp": name}) for run in range(4)]
runs = dumbbell.run_many(jobs, progress=False)

goodput = runs.flows.pivot_table(index="loss", columns="tcp", values="goodput_bps") / 1e6
print(goodput)
assert goodput.westwoodp[5e-3] > 1.2 * goodput.newreno[5e-3]
assert goodput.westwoodp[1e-4] > 0.95 * goodput.newreno[1e-4]
runs.plot(x="loss", hue="tcp").save("wireless_westwood.svg")
