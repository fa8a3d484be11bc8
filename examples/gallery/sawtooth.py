"""The sawtooth of Reno.

Additive increase by one segment per round trip and a reduction to one half after each loss make the window a sawtooth
between half its maximum and its maximum. With a buffer of one bandwidth-delay product, the link never idles.

Source: RFC 5681 §3.1; [jacobson1988].
"""

import dumbbell
from dumbbell import DropTail, Flow, Probe, topologies

# 10 Mbit/s times 40 ms are 33 packets of 1500 bytes.
shape = topologies.dumbbell(
    pairs=1, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", queue=DropTail(limit="33 packets")
)
flow = Flow(name="reno", from_="s1", to="d1", tcp="newreno")
probe = Probe(flows=["reno"], quantities=["cwnd_base"])
run = dumbbell.run(
    shape.scenario(
        name="Reno", rules="classic", duration="60 s", measure_from="20 s", flows=[flow], probes=[probe]
    )
)

cwnd = run.traces["cwnd_base"].query("time_s > 20").value
print(f"window from {cwnd.min():.1f} to {cwnd.max():.1f} segments")
assert 0.45 < cwnd.min() / cwnd.max() < 0.55
assert run.link("r1-r2").utilization > 0.99
run.plot("cwnd_base").save("sawtooth.svg")
