"""Long paths fill slowly.

A Reno window grows by a segment per round trip, whose length is 600 ms over a geostationary satellite. Hybla grows as a
flow with a round trip of 25 ms would, and fills the link much earlier.

Source: [caini2004].
"""

import dumbbell
from dumbbell import Flow, Probe, Tcp, plots, topologies

shape = topologies.satellite(pairs=1, reverse_pairs=0)
series, when = {}, {}
for name in ("reno", "hybla"):
    tcp = Tcp(variant="sack", congestion=name, initial_ssthresh="32 segments", receive_buffer="16 MiB")
    flow = Flow(name=name, from_="s1", to="d1", tcp=tcp)
    probe = Probe(flows=[name], quantities=["delivered"], period="2 s")
    run = dumbbell.run(shape.scenario(rules="classic", duration="240 s", flows=[flow], probes=[probe]))
    trace = run.traces["delivered"]
    rate = trace.value.diff() * 8 / 2e6
    series[name] = (trace.time_s, rate)
    when[name] = trace.time_s[rate > 0.8 * 10].min()
print(when)
assert when["hybla"] < 60
assert not when["reno"] < 2 * when["hybla"]
ax = plots.lines(series, x_label="time", x_unit="s", y_label="goodput", y_unit="Mbit/s")
ax.figure.savefig("satellite.svg")
