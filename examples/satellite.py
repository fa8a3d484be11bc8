"""Satellite link that loses packets: how much each TCP keeps of 10 Mbit/s as losses become more.

Each cell, from one ``# %%`` to the next, can be run alone in an editor that knows them.
"""

# %% The network: one connection over a geostationary satellite, losses in both directions.
from pathlib import Path

from dumbbell import Bernoulli, Flow, plots, run_many, topologies
from dumbbell.models.throughput import mathis
from dumbbell.statistics import mean_interval

RUNS = 4
losses = [3e-5, 1e-4, 1e-3, 1e-2]
variants = ["newreno", "sack", "vegas", "westwoodp"]
drawing = topologies.draw(topologies.satellite(pairs=1, reverse_pairs=0, impairments=["bernoulli"]))

# %% One scenario for each algorithm and loss rate.
scenarios = [
    topologies.satellite(pairs=1, reverse_pairs=0, impairments=[Bernoulli(probability=loss)]).scenario(
        name=f"{variant}, {loss:g}",
        rules="classic",
        duration="220 s",
        measure_from="20 s",
        flows=[Flow(name="tcp", from_="s1", to="d1", tcp=variant)],
    )
    for variant in variants
    for loss in losses
]
runs = run_many(scenarios, runs=RUNS, seed=1, progress=False)

# %% Means with their intervals; jobs stand in the order of the scenarios, the runs of each together.
goodput = runs.flows.goodput_bps.to_numpy().reshape(len(variants), len(losses), RUNS) / 1e6
curves = {}
for variant, rows in zip(variants, goodput, strict=True):
    means = [mean_interval(row) for row in rows]
    columns = ([getattr(mean, name) for mean in means] for name in ("estimate", "low", "high"))
    curves[variant] = (losses, *columns)
    print(f"{variant:10}", " ".join(f"{mean.estimate:6.3f}" for mean in means), "Mbit/s")

# %% Beside them the square-root law, for segments of 1460 bytes and the round trip of 590 ms.
ax = plots.sweep(curves, x_label="loss rate", y_label="goodput", y_unit="Mbit/s", log_x=True, log_y=True)
law = mathis(loss_rate=losses, rtt=0.59, losses="random") * 1460 * 8 / 1e6
ax.plot(losses, law, color="grey", linestyle=":", label="square-root law")
ax.legend(frameon=False)
Path("satellite.svg").write_text(plots.to_svg(ax.figure), encoding="utf-8")
