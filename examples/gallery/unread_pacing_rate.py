"""Find the bug: BBR whose pacing rate nobody reads.

BBR computes a pacing rate from its estimate of the bandwidth, and packets are to leave at that rate: its window of two
bandwidth-delay products is only a limit. quinn's BBR computes a rate, too, but quinn's pacer does not read it, and spreads
a window over a round trip. Its window is always full, so that behind a shallow buffer more packets leave than BBR wants:
all that is too much is lost. The kernel takes part if `dumbbell kernel build 6.12` has built it.

Source: [cardwell2017].
"""

import numpy as np
import pandas as pd

import dumbbell
from dumbbell import Bernoulli, DropTail, Flow, Tcp, Transport, kernel, plots, topologies

senders = {
    "engine": Tcp(rules="linux", congestion="bbr"),
    "quinn": Transport("quinn", congestion="bbr"),
}
if any(built.version.startswith("6.12.") for built in kernel.kernels()):
    senders["kernel"] = Transport("linux", tree="6.12", congestion="bbr")
else:
    print("the kernel does not take part: dumbbell kernel build 6.12")

# 10 Mbit/s times 40 ms are 33 packets; one packet in a thousand is lost, so that runs differ.
shape = topologies.dumbbell(
    pairs=1,
    rate="10 Mbit/s",
    delay="20 ms",
    rtt="40 ms",
    queue=DropTail(limit="17 packets"),
    impairments=[Bernoulli(probability=0.001)],
)
rows, series = [], {}
edges = np.arange(2, 6.01, 0.2)
for name, sender in senders.items():
    flow = Flow(name="bbr", from_="s1", to="d1", tcp=sender)
    scenario = shape.scenario(duration="6 s", measure_from="2 s", flows=[flow])
    # The kernel takes a hundred times as long.
    for seed in (1,) if name == "kernel" else (1, 2, 3):
        run = dumbbell.run(scenario, seed=seed)
        why = run.why("bbr")
        # What a stack of others sends again is among what it sends.
        sent = why.events[why.events.kind.isin(["sent"] if why.unknown else ["sent", "retransmission"])]
        left = np.histogram(sent.time_s, edges, weights=sent.segments * why.mss * 8)[0] / np.diff(edges)
        rate = why.events.groupby("time_s").pacing_rate_bps.last()
        paced = rate.groupby(pd.cut(rate.index, edges), observed=False).mean().to_numpy()
        acks = why.events[(why.events.kind == "ack") & (why.events.time_s > edges[0])]
        row = run.flow("bbr")
        rows.append(
            {
                "sender": name,
                "leaves, Mbit/s": left.mean() / 1e6,
                "pacing rate, Mbit/s": paced.mean() / 1e6,
                "window in flight": (acks.in_flight_bytes / acks.cwnd_bytes).mean(),
                "lost": row.segments_lost / row.segments_sent,
            }
        )
    series |= {
        f"{name}: leaves": (edges[1:], left / 1e6),
        f"{name}: pacing rate": (edges[1:], paced / 1e6),
    }
table = pd.DataFrame(rows).groupby("sender", sort=False).mean()
ratio = table["leaves, Mbit/s"] / table["pacing rate, Mbit/s"]
print(table.assign(ratio=ratio).round(3).to_string())
assert ratio["quinn"] > 1.3
assert ratio.drop("quinn").between(0.97, 1.03).all()
ax = plots.lines(series, x_label="time", x_unit="s", y_label="rate", y_unit="Mbit/s")
ax.figure.savefig("unread_pacing_rate.svg")
