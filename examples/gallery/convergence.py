"""Additive increase, multiplicative decrease converges to fairness.

Two flows that begin with unequal windows add the same per round trip and lose in proportion to what they have: with every
loss, their difference becomes smaller.

Source: [chiu1989].
"""

import dumbbell
from dumbbell import Flow, Red, topologies

shape = topologies.dumbbell(
    pairs=2, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", queue=Red(limit="100 packets")
)
flows = [
    Flow(name="early", from_="s1", to="d1", tcp="sack"),
    Flow(name="late", from_="s2", to="d2", tcp="sack", start="20 s"),
]
run = dumbbell.run(
    shape.scenario(name="Two Reno flows", rules="classic", duration="120 s", measure_from="40 s", flows=flows)
)

goodput = run.flows.set_index("name").goodput_bps / 1e6
print(goodput)
assert abs(goodput["late"] / goodput["early"] - 1) < 0.15
run.plot("cwnd_base").save("convergence.svg")
