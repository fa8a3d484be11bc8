"""The shrew attack.

Bursts that are longer than a round trip and come once per minimum timeout make a TCP flow lose its window again whenever
its retransmission timer has expired. A steady stream with the same mean rate leaves the flow most of the rest of the link.

Source: [kuzmanovic2003].
"""

import dumbbell
from dumbbell import Cbr, DropTail, Flow, Frames, Tcp, topologies

shape = topologies.dumbbell(
    pairs=2,
    rate="1.5 Mbit/s",
    delay="6 ms",
    rtt="40 ms",
    access_rate="5 Mbit/s",
    queue=DropTail(limit="10 packets"),
)
tcp = Tcp(variant="sack", timer={"kind": "rfc6298", "minimum": "1 s"})
victim = Flow(name="victim", from_="s1", to="d1", tcp=tcp)
# 94 packets take 150 ms at 5 Mbit/s: 0.68 Mbit/s in the mean.
sources = {
    "steady": Cbr(rate="680 kbit/s", packet="1000 bytes"),
    "bursts": Frames(frame_rate=1 / 1.1, sizes=["94 kB"], packet="1000 bytes"),
}
goodput = {}
for name, source in sources.items():
    other = Flow(name=name, from_="s2", to="d2", source=source, start="5 s")
    run = dumbbell.run(
        shape.scenario(
            name="Reno and bursts",
            rules="classic",
            duration="60 s",
            measure_from="10 s",
            flows=[victim, other],
        )
    )
    goodput[name] = run.flow("victim").goodput_bps / 1e6
    print(f"{name}: {goodput[name]:.2f} Mbit/s, {run.flow('victim').timeouts} timeouts")
assert goodput["steady"] > 0.6
assert goodput["bursts"] < 0.1
run.plot().save("shrew.svg")
