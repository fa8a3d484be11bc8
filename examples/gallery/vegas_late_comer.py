"""The late-comer's advantage with Vegas.

A Vegas flow that starts while others keep packets in the queue includes their delay in its base round-trip time. It keeps
its own packets in addition, and gets more than the flows before it.

Source: [mo1999].
"""

import dumbbell
from dumbbell import Flow, Vegas, topologies

shape = topologies.dumbbell(pairs=3, rate="10 Mbit/s", delay="10 ms", rtt="40 ms")
tcp = dumbbell.Tcp(congestion=Vegas(alpha=2, beta=4))
flows = [
    Flow(name=f"flow {n}", from_=f"s{n}", to=f"d{n}", tcp=tcp, start=f"{20 * (n - 1)} s") for n in (1, 2, 3)
]
run = dumbbell.run(
    shape.scenario(
        name="Two Vegas flows", rules="classic", duration="120 s", measure_from="70 s", flows=flows
    )
)

goodput = run.flows.set_index("name").goodput_bps / 1e6
print(goodput)
assert goodput["flow 3"] > 1.3 * goodput["flow 1"]
assert goodput.sum() > 9
run.plot().save("vegas_late_comer.svg")
