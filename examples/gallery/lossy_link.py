"""Losses that are no congestion.

Reno takes every loss for congestion. At a random loss of 1 %, it uses a small part of a long path; BBR, which does not
react to single losses, uses nearly all of it.

Source: [cardwell2017]; [mathis1997].
"""

import dumbbell
from dumbbell import Bernoulli, Flow, topologies

jobs = []
for loss in (1e-5, 1e-4, 1e-3, 1e-2):
    shape = topologies.dumbbell(
        pairs=1,
        rate="20 Mbit/s",
        delay="40 ms",
        rtt="100 ms",
        impairments=[Bernoulli(probability=loss)],
    )
    for name in ("reno", "cubic", "bbr"):
        tcp = dumbbell.Tcp(rules="linux", congestion=name)
        flow = Flow(name="flow", from_="s1", to="d1", tcp=tcp)
        scenario = shape.scenario(rules="classic", duration="60 s", measure_from="10 s", flows=[flow])
        jobs += [dumbbell.Job(scenario, run=run, parameters={"loss": loss, "tcp": name}) for run in range(3)]
runs = dumbbell.run_many(jobs, progress=False)

goodput = runs.flows.pivot_table(index="loss", columns="tcp", values="goodput_bps") / 1e6
print(goodput)
assert goodput.bbr[1e-2] > 16
assert goodput.reno[1e-2] < 3
assert goodput.reno.is_monotonic_decreasing
runs.plot(x="loss", hue="tcp").save("lossy_link.svg")
