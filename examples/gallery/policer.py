"""A policer makes senders lose packets.

A policer drops what exceeds a rate and queues nothing. A sender that probes for more loses many packets behind it, and few
or none behind a queue of the same rate that holds as much as the policer's burst.

Source: [flach2016].
"""

import dumbbell
from dumbbell import DropTail, Flow, Policer, Tcp, topologies

links = {
    "queue": ("10 Mbit/s", DropTail(limit="67 packets")),
    "policer": ("100 Mbit/s", Policer(rate="10 Mbit/s", burst="100 kB")),
}
jobs = []
for name, (rate, queue) in links.items():
    shape = topologies.dumbbell(pairs=1, rate=rate, delay="10 ms", rtt="40 ms", queue=queue)
    for algorithm in ("cubic", "bbr"):
        flow = Flow(name="flow", from_="s1", to="d1", tcp=Tcp(rules="linux", congestion=algorithm))
        scenario = shape.scenario(rules="classic", duration="60 s", measure_from="5 s", flows=[flow])
        jobs.append(dumbbell.Job(scenario, parameters={"link": name, "tcp": algorithm}))
runs = dumbbell.run_many(jobs, progress=False)

flows = runs.flows.assign(loss=runs.flows.segments_lost / runs.flows.segments_sent)
loss = flows.pivot(index="link", columns="tcp", values="loss")
print(loss)
assert (loss.loc["policer"] > 10 * loss.loc["queue"]).all()
assert loss.bbr["policer"] > 0.02
runs.plot(x="tcp", y="segments_lost", hue="link").save("policer.svg")
