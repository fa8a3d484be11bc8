"""ACK compression by two-way traffic.

Acknowledgements clock the sender: they arrive no closer than the bottleneck takes per data packet. Behind data packets of
a flow in the other direction, they bunch up in the queue and arrive almost back to back.

Source: [zhang1991].
"""

import dumbbell
from dumbbell import DropTail, Flow, Probe, plots, topologies

shape = topologies.dumbbell(
    pairs=1,
    reverse_pairs=1,
    rate="1 Mbit/s",
    delay="25 ms",
    queue=DropTail(limit="20 packets"),
)
tcp = dumbbell.Tcp(variant="sack", delayed_ack="off")
forward = Flow(name="forward", from_="s1", to="d1", tcp=tcp)
backward = Flow(name="backward", from_="s2", to="d2", tcp=tcp, start="0.5 s")
probe = Probe(flows=["forward"], quantities=["seq_acked"])
service_s = 1500 * 8 / 1e6

gaps = {}
for name, flows in (("one way", [forward]), ("two-way", [forward, backward])):
    run = dumbbell.run(shape.scenario(rules="classic", duration="60 s", flows=flows, probes=[probe]))
    gaps[name] = run.traces["seq_acked"].query("time_s > 20").time_s.diff().dropna()
compressed = {name: (values < service_s / 2).mean() for name, values in gaps.items()}
print(compressed)
assert compressed["one way"] < 0.01
assert compressed["two-way"] > 0.3
series = {
    name: (values.sort_values() * 1e3, [i / len(values) for i in range(len(values))])
    for name, values in gaps.items()
}
ax = plots.lines(series, x_label="time between ACKs", x_unit="ms", y_label="fraction of ACKs", steps=True)
ax.set_xlim(0, 60)
ax.figure.savefig("ack_compression.svg")
