"""Parking lot with bursts against the acknowledgements: what Vegas loses on the reverse path, and RoVegas keeps.

Each cell, from one ``# %%`` to the next, can be run alone in an editor that knows them.
"""

# %% The network: one connection over three bottlenecks, and a source of bursts against it on each of them.
from pathlib import Path

from dumbbell import DropTail, Flow, Probe, plots, run_many, topologies, traffic
from dumbbell.statistics import mean_interval
from dumbbell.topologies import Hop

hop = Hop(rate="1.6 Mbit/s", delay="10 ms", queue=DropTail(limit="50 packets"))
shape = topologies.chain(
    hops=[hop] * 3,
    pairs=[(1, 4), (2, 1), (3, 2), (4, 3)],
    access_rate="10 Mbit/s",
    access_delay="1 ms",
    aqt=True,
)
sends = {"s1": "the connection"} | {f"s{n}": "bursts" for n in (2, 3, 4)}
drawing = topologies.draw(shape, labels=sends)

# %% Every 30 s one source more begins. They load their link with 0.8 of its rate in bursts at twice the rate.
RUNS = 10
bursts = traffic.vbr(load=0.8, capacity="1.6 Mbit/s", peak="3.2 Mbit/s", packet="1000 bytes", on="10 ms")
against = [
    Flow(name=f"bursts {n}", from_=f"s{n}", to=f"d{n}", source=bursts, start=f"{30 * (n - 1)} s")
    for n in (2, 3, 4)
]
variants = ["newreno", "vegas", "rovegas"]
scenarios = [
    shape.scenario(
        name=variant,
        rules="classic",
        duration="120 s",
        flows=[Flow(name="tcp", from_="s1", to="d1", tcp=variant), *against],
        probes=[Probe(flows=["tcp"], quantities=["delivered"], period="5 s")],
    )
    for variant in variants
]
runs = run_many(scenarios, runs=RUNS, seed=1, progress=False)

# %% Goodput between the entries: what was delivered in 20 s, from 5 s after each entry on.
trace = runs.traces["delivered"]
delivered = trace.assign(time_s=trace.time_s.round(3)).pivot(index="job", columns="time_s", values="value")
curves = {}
for place, variant in enumerate(variants):
    own = delivered.loc[place * RUNS : (place + 1) * RUNS - 1]
    spans = [(own[30.0 * n + 25.0] - own[30.0 * n + 5.0]) * 8 / 20 / 1e6 for n in range(4)]
    means = [mean_interval(span.to_numpy()) for span in spans]
    curves[variant] = (
        [0, 1, 2, 3],
        [mean.estimate for mean in means],
        [mean.low for mean in means],
        [mean.high for mean in means],
    )
    print(
        f"{variant:8}", " ".join(f"{mean.estimate:5.2f}" for mean in means), "Mbit/s with 0, 1, 2, 3 sources"
    )

# %% The same as a figure, with 90 % intervals.
ax = plots.sweep(curves, x_label="sources against it", y_label="goodput", y_unit="Mbit/s")
Path("parking-lot.svg").write_text(plots.to_svg(ax.figure), encoding="utf-8")
