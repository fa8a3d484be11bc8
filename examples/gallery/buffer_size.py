"""The buffer that one flow needs.

One Reno flow keeps a link busy if the buffer holds a bandwidth-delay product: after a loss, the sender pauses while half
of its window drains from the buffer. With less, the link idles after each loss, and without a buffer it is used to 75 %.

Source: [appenzeller2004 §2].
"""

import dumbbell
from dumbbell import Flow, topologies

shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="10 ms", rtt="40 ms")
flow = Flow(name="reno", from_="s1", to="d1", tcp="sack")
base = shape.scenario(rules="classic", duration="120 s", measure_from="20 s", flows=[flow])
limits = [f"{packets} packets" for packets in (1, 3, 8, 16, 33, 66)]
runs = dumbbell.sweep(base, {"links.r1-r2.queue.limit": limits}, progress=False)

used = runs.links.query("name == 'r1-r2'").set_index("links.r1-r2.queue.limit").utilization
print(used)
assert used.is_monotonic_increasing
assert used["33 packets"] > 0.99  # the product: 10 Mbit/s times 40 ms
assert 0.70 < used["1 packets"] < 0.85
runs.plot(y="utilization", names=["r1-r2"]).save("buffer_size.svg")
