"""Reordering is no loss.

A sender that takes three duplicate acknowledgements for a loss reduces its window for packets that were only overtaken.
RACK waits for a part of the round-trip time, and adapts this time when it was wrong.

Source: RFC 8985 §3.
"""

import dumbbell
from dumbbell import Flow, Reorder, Tcp, topologies

# One packet in a thousand comes 5 ms later: eight others overtake it. The link loses none.
shape = topologies.dumbbell(
    pairs=1,
    rate="20 Mbit/s",
    delay="20 ms",
    rtt="60 ms",
    impairments=[Reorder(delay="5 ms", probability=0.999)],
)
jobs = []
for name in ("sack", "rack"):
    flow = Flow(name="flow", from_="s1", to="d1", tcp=Tcp(congestion="reno", recovery=name, timestamps=True))
    scenario = shape.scenario(rules="classic", duration="60 s", measure_from="10 s", flows=[flow])
    jobs += [dumbbell.Job(scenario, run=run, parameters={"recovery": name}) for run in range(3)]
runs = dumbbell.run_many(jobs, progress=False)

goodput = runs.flows.groupby("recovery").goodput_bps.mean() / 1e6
print(goodput)
assert goodput["rack"] > 18
assert goodput["sack"] < goodput["rack"] / 2
runs.plot(x="recovery").save("reordering.svg")
