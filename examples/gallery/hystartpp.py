"""HyStart++ loses less at the end of slow start.

Slow start ends with the loss of about a window. HyStart++ grows more slowly as soon as the round-trip time of a round has
risen, so that it exceeds the queue by less. How much that saves depends on the window at which the queue begins to grow,
hence a range of rates.

Source: RFC 9406 §4.
"""

import dumbbell
from dumbbell import DropTail, Flow, Tcp, WindowRules, topologies

jobs = []
for rate in range(30, 61, 2):
    # The path holds 60 ms at this rate, and the buffer twice as much.
    queue = DropTail(limit=f"{10 * rate} packets")
    shape = topologies.dumbbell(pairs=1, rate=f"{rate} Mbit/s", delay="20 ms", rtt="60 ms", queue=queue)
    for name in ("standard", "hystartpp"):
        tcp = Tcp(variant="sack", window=WindowRules(slow_start=name))
        scenario = shape.scenario(
            rules="classic", duration="8 s", flows=[Flow(name="reno", from_="s1", to="d1", tcp=tcp)]
        )
        jobs.append(dumbbell.Job(scenario, parameters={"rate_mbps": rate, "slow_start": name}))
runs = dumbbell.run_many(jobs, progress=False)

lost = runs.flows.pivot(index="rate_mbps", columns="slow_start", values="segments_lost")
goodput = runs.flows.pivot(index="rate_mbps", columns="slow_start", values="goodput_bps")
print(lost)
assert (lost.hystartpp < 0.75 * lost.standard).all()
assert (lost.hystartpp / lost.standard).mean() < 0.4
assert (goodput.hystartpp >= goodput.standard).all()
runs.plot(x="rate_mbps", y="segments_lost", hue="slow_start").save("hystartpp.svg")
