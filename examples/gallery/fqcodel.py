"""FQ-CoDel protects sparse flows.

A call of 64 kbit/s shares a link with four greedy flows. In one queue, its packets wait behind theirs. With a queue per
flow, they wait for at most a packet of each.

Source: RFC 8290 §1.
"""

import dumbbell
from dumbbell import Cbr, Flow, topologies

shape = topologies.dumbbell(pairs=5, rate="10 Mbit/s", delay="10 ms", rtt="40 ms")
call = Flow(name="call", from_="s5", to="d5", source=Cbr(rate="64 kbit/s", packet="160 bytes"), start="1 s")
greedy = [
    Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp="sack", start=f"{n * 0.1:.1f} s") for n in range(1, 5)
]
base = shape.scenario(
    rules="classic", duration="40 s", measure_from="10 s", delay_percentiles=True, flows=[call, *greedy]
)
runs = dumbbell.sweep(base, {"links.r1-r2.queue": ["droptail", "codel", "fqcodel"]}, progress=False)

delay = runs.flows.query("name == 'call'").set_index("links.r1-r2.queue").delay_p99_s
print(delay * 1e3)
assert delay["fqcodel"] < 0.030  # the path itself takes 20 ms
assert delay["droptail"] > 3 * delay["fqcodel"]
runs.plot(y="delay_p99_s", names=["call"]).save("fqcodel.svg")
