"""The square-root law.

The goodput of Reno with random losses of probability p falls with the square root of p: MSS / RTT sqrt(3 / (2 p)) for
periodic losses, and with a factor that depends on how losses are distributed.

Source: [mathis1997 equation (3)].
"""

import numpy as np

import dumbbell
from dumbbell import Bernoulli, Flow, plots, topologies
from dumbbell.models.throughput import mathis

losses = np.geomspace(3e-4, 1e-2, 5)
tcp = dumbbell.Tcp(variant="sack", delayed_ack="off")
flow = Flow(name="flow", from_="s1", to="d1", tcp=tcp)
jobs = []
for loss in losses:
    impairments = [Bernoulli(probability=loss)]
    shape = topologies.dumbbell(
        pairs=1, rate="100 Mbit/s", delay="40 ms", rtt="100 ms", impairments=impairments
    )
    scenario = shape.scenario(rules="classic", duration="200 s", measure_from="20 s", flows=[flow])
    jobs += [dumbbell.Job(scenario, run=run, parameters={"loss": loss}) for run in range(4)]
runs = dumbbell.run_many(jobs, progress=False)

measured = runs.flows.groupby("loss").goodput_bps.mean().to_numpy() / 1e6
law = mathis(loss_rate=losses, rtt=0.1, losses="random") * 1460 * 8 / 1e6
slope = np.polyfit(np.log(losses), np.log(measured), 1)[0]
print(f"exponent {slope:.3f}; measured over law {measured / law}")
assert -0.58 < slope < -0.45
assert np.all(np.abs(measured / law - 1) < 0.25)
series = {"measured": (losses, measured), "square-root law": (losses, law)}
ax = plots.lines(series, x_label="loss probability", y_label="goodput", y_unit="Mbit/s", markers=True)
ax.set_xscale("log")
ax.set_yscale("log")
ax.figure.savefig("mathis_law.svg")
