"""BBR and CUBIC share by the size of the buffer.

BBR keeps up to two bandwidth-delay products in flight whatever CUBIC does. In a shallow buffer it takes most of the link;
in a deep one, CUBIC fills the buffer and gets the larger share.

Source: [ware2019].
"""

import dumbbell
from dumbbell import Flow, Tcp, Uniform, topologies

# 20 Mbit/s times 40 ms are 67 packets.
shape = topologies.dumbbell(pairs=2, rate="20 Mbit/s", delay="10 ms", rtt="40 ms")
start = Uniform(uniform=("0 s", "1 s"))
flows = [
    Flow(name=name, from_=f"s{n}", to=f"d{n}", tcp=Tcp(rules="linux", congestion=name), start=start)
    for n, name in ((1, "bbr"), (2, "cubic"))
]
base = shape.scenario(rules="classic", duration="120 s", measure_from="30 s", flows=flows)
limits = [f"{packets} packets" for packets in (34, 67, 134, 536, 1072)]
runs = dumbbell.sweep(base, {"links.r1-r2.queue.limit": limits}, runs=3, progress=False)

goodput = runs.flows.pivot_table(
    index="links.r1-r2.queue.limit", columns="name", values="goodput_bps", sort=False
)
share = goodput.bbr / goodput.sum(axis="columns")
print(share)
assert share["34 packets"] > 0.7
assert share["1072 packets"] < 0.45
runs.plot(hue="name").save("bbr_and_cubic.svg")
