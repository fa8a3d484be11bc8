"""LEDBAT yields.

LEDBAT uses a link that is idle and keeps its queueing delay at a target. When a loss-based flow fills the queue beyond the
target, LEDBAT gives way.

Source: RFC 6817 §1.
"""

import dumbbell
from dumbbell import DropTail, Flow, topologies

shape = topologies.dumbbell(
    pairs=2, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", queue=DropTail(limit="300 packets")
)
flows = [
    Flow(name="ledbat", from_="s1", to="d1", tcp="ledbat"),
    Flow(name="reno", from_="s2", to="d2", tcp="sack", start="30 s", stop="60 s"),
]
goodput = {}
for name, start, end in (
    ("alone", "10 s", "30 s"),
    ("beside Reno", "40 s", "60 s"),
    ("again", "80 s", "120 s"),
):
    scenario = shape.scenario(
        name="LEDBAT and Reno",
        rules="classic",
        duration="120 s",
        measure_from=start,
        measure_until=end,
        flows=flows,
    )
    run = dumbbell.run(scenario)
    goodput[name] = run.flow("ledbat").goodput_bps / 1e6
    print(f"{name}: {goodput[name]:.2f} Mbit/s")
assert goodput["alone"] > 9
assert goodput["beside Reno"] < 1
assert goodput["again"] > 9
run.plot().save("ledbat.svg")
