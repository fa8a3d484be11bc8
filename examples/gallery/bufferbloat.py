"""Bufferbloat.

A loss-based sender fills whatever buffer there is. Beyond the bandwidth-delay product, more buffer adds delay and no
goodput.

Source: [gettys2012].
"""

import dumbbell
from dumbbell import Flow, topologies

# 10 Mbit/s times 40 ms are 33 packets.
shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="10 ms", rtt="40 ms")
flow = Flow(name="cubic", from_="s1", to="d1", tcp=dumbbell.Tcp(variant="cubic", rules="linux"))
base = shape.scenario(rules="classic", duration="120 s", measure_from="40 s", flows=[flow])
limits = [f"{packets} packets" for packets in (33, 100, 300, 900)]
runs = dumbbell.sweep(base, {"links.r1-r2.queue.limit": limits}, progress=False)

flows = runs.flows.set_index("links.r1-r2.queue.limit")
print(flows[["goodput_bps", "rtt_mean_s"]])
assert flows.goodput_bps["900 packets"] / flows.goodput_bps["33 packets"] < 1.05
assert flows.rtt_mean_s["900 packets"] / flows.rtt_mean_s["33 packets"] > 8
runs.plot(y="rtt_mean_s").save("bufferbloat.svg")
