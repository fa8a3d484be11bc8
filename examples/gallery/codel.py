"""CoDel needs no tuning to the rate.

CoDel drops packets while they wait longer than a target of 5 ms for an interval. One setting keeps the queueing delay low
from 4 to 64 Mbit/s, where a buffer of fixed size gives delays that differ by a factor of sixteen.

Source: RFC 8289 §3.
"""

import dumbbell
from dumbbell import CoDel, DropTail, Flow, topologies

rates = [4, 16, 64]
jobs = []
for name, queue in (("drop-tail", DropTail(limit="150 packets")), ("CoDel", CoDel())):
    for rate in rates:
        shape = topologies.dumbbell(pairs=4, rate=f"{rate} Mbit/s", delay="10 ms", rtt="40 ms", queue=queue)
        flows = [
            Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp="sack", start=f"{n * 0.1:.1f} s")
            for n in range(1, 5)
        ]
        scenario = shape.scenario(rules="classic", duration="40 s", measure_from="10 s", flows=flows)
        jobs.append(dumbbell.Job(scenario, parameters={"rate_mbps": rate, "discipline": name}))
runs = dumbbell.run_many(jobs, progress=False)

wait = runs.links.query("name == 'r1-r2'").pivot(
    index="rate_mbps", columns="discipline", values="wait_mean_s"
)
print(wait * 1e3)
assert (wait["CoDel"] < 0.020).all()
assert wait["drop-tail"][4] > 10 * wait["drop-tail"][64]
runs.plot(x="rate_mbps", y="wait_mean_s", hue="discipline", names=["r1-r2"]).save("codel.svg")
