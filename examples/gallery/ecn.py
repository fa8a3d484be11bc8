"""ECN: congestion without losses.

With explicit congestion notification, RED marks packets instead of dropping them. The senders react as to a loss, and
nothing is retransmitted.

Source: RFC 3168 §1.
"""

import dumbbell
from dumbbell import Flow, Red, Tcp, Uniform, topologies

shape = topologies.dumbbell(
    pairs=10, rate="20 Mbit/s", delay="20 ms", rtt="60 ms", queue=Red(ecn=True, limit="500 packets")
)
start = Uniform(uniform=("0 s", "2 s"))
jobs = []
for ecn in ("off", "classic"):
    tcp = Tcp(variant="sack", ecn=ecn)
    flows = [Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp=tcp, start=start) for n in range(1, 11)]
    scenario = shape.scenario(rules="classic", duration="60 s", measure_from="20 s", flows=flows)
    jobs += [dumbbell.Job(scenario, run=run, parameters={"ecn": ecn}) for run in range(3)]
runs = dumbbell.run_many(jobs, progress=False)

links = runs.links.query("name == 'r1-r2'").groupby("ecn")[["drops_early", "marks", "utilization"]].mean()
sent_again = runs.flows.groupby("ecn").segments_retransmitted.sum()
print(links, sent_again, sep="\n")
assert sent_again["classic"] == 0
assert sent_again["off"] > 0
assert links.marks["classic"] > 0
assert links.utilization["classic"] > 0.95
runs.plot(x="ecn", y="segments_retransmitted").save("ecn.svg")
