"""RED keeps the average queue short.

Random early detection drops packets with a probability that rises with the average queue. The queue is shorter than
behind a full drop-tail buffer, at nearly the same utilization.

Source: [floyd1993]; [floyd2001].
"""

import dumbbell
from dumbbell import DropTail, Flow, Red, Uniform, topologies

shape = topologies.dumbbell(pairs=10, rate="20 Mbit/s", delay="20 ms", rtt="60 ms")
start = Uniform(uniform=("0 s", "2 s"))
flows = [Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp="sack", start=start) for n in range(1, 11)]
base = shape.scenario(rules="classic", duration="60 s", measure_from="20 s", flows=flows)
limit = "200 packets"
queues = {"drop-tail": DropTail(limit=limit), "RED": Red(limit=limit)}
jobs = [
    dumbbell.Job(base.with_values({"links.r1-r2.queue": queue}), run=run, parameters={"discipline": name})
    for name, queue in queues.items()
    for run in range(4)
]
runs = dumbbell.run_many(jobs, progress=False)

links = (
    runs.links.query("name == 'r1-r2'").groupby("discipline")[["backlog_mean_packets", "utilization"]].mean()
)
print(links)
assert links.backlog_mean_packets["RED"] < links.backlog_mean_packets["drop-tail"] / 2
assert links.utilization["RED"] > 0.95
runs.plot(x="discipline", y="backlog_mean_packets", names=["r1-r2"]).save("red.svg")
