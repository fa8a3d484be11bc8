"""Global synchronisation.

A drop-tail queue that overflows hits many flows at once: they halve their windows together, and the sum of all windows
oscillates. RED spreads its drops over time.

Source: [floyd1993 §1].
"""

import dumbbell
from dumbbell import DropTail, Flow, Probe, Red, plots, topologies

names = [f"f{n}" for n in range(1, 9)]
flows = [
    Flow(name=name, from_=f"s{n}", to=f"d{n}", tcp="sack", start=f"{n * 0.13:.2f} s")
    for n, name in enumerate(names, 1)
]
probe = Probe(flows=names, quantities=["cwnd_base"], period="50 ms")
variation, series = {}, {}
for name, queue in (("drop-tail", DropTail(limit="100 packets")), ("RED", Red(limit="200 packets"))):
    shape = topologies.dumbbell(pairs=8, rate="20 Mbit/s", delay="20 ms", rtt="60 ms", queue=queue)
    run = dumbbell.run(shape.scenario(rules="classic", duration="60 s", flows=flows, probes=[probe]))
    total = run.traces["cwnd_base"].groupby("time_s").value.sum()
    variation[name] = total[20.0:].std() / total[20.0:].mean()
    series[name] = (total[20.0:].index, total[20.0:])
print(variation)
assert variation["drop-tail"] > 1.5 * variation["RED"]
ax = plots.lines(series, x_label="time", x_unit="s", y_label="sum of the windows", y_unit="segments")
ax.figure.savefig("global_synchronisation.svg")
