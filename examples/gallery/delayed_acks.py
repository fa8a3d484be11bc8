"""Delayed acknowledgements slow the growth.

A sender that adds to its window per acknowledgement grows half as fast in congestion avoidance if the receiver acknowledges
every second segment.

Source: RFC 5681 §4.2; RFC 3465 §2.
"""

import numpy as np

import dumbbell
from dumbbell import DelayedAck, Flow, Probe, Tcp, plots, topologies

shape = topologies.dumbbell(pairs=1, rate="100 Mbit/s", delay="40 ms", rtt="100 ms", queue="droptail")
growth, series = {}, {}
for name, delayed in (("every segment", "off"), ("every second segment", DelayedAck(segments=2))):
    tcp = Tcp(variant="sack", delayed_ack=delayed, initial_ssthresh="20 segments")
    flow = Flow(name="reno", from_="s1", to="d1", tcp=tcp)
    probe = Probe(flows=["reno"], quantities=["cwnd"], period="500 ms")
    trace = dumbbell.run(
        shape.scenario(rules="classic", duration="30 s", flows=[flow], probes=[probe])
    ).traces["cwnd"]
    late = trace.query("time_s > 5")
    growth[name] = 0.1 * np.polyfit(late.time_s, late.value, 1)[0]  # segments per round trip
    series[name] = (trace.time_s, trace.value)
print(growth)
assert abs(growth["every segment"] - 1) < 0.05
assert abs(growth["every second segment"] - 0.5) < 0.05
ax = plots.lines(series, x_label="time", x_unit="s", y_label="window", y_unit="segments")
ax.figure.savefig("delayed_acks.svg")
