"""Vegas and traffic on the reverse path.

Vegas sees the queueing of its acknowledgements as congestion of its own path, and reduces its window. RoVegas asks routers
for the queueing times of both directions, and keeps the link busy.

Source: [chan2004].
"""

import dumbbell
from dumbbell import DropTail, Flow, topologies

shape = topologies.dumbbell(
    pairs=1,
    reverse_pairs=1,
    rate="4 Mbit/s",
    delay="20 ms",
    queue=DropTail(limit="40 packets"),
    aqt=True,
)
reverse = Flow(name="reverse", from_="s2", to="d2", tcp="newreno", start="1 s")
jobs = []
for name in ("vegas", "rovegas"):
    flow = Flow(name="forward", from_="s1", to="d1", tcp=name)
    scenario = shape.scenario(rules="classic", duration="60 s", measure_from="10 s", flows=[flow, reverse])
    jobs.append(dumbbell.Job(scenario, parameters={"tcp": name}))
runs = dumbbell.run_many(jobs, progress=False)

goodput = runs.flows.query("name == 'forward'").set_index("tcp").goodput_bps / 1e6
print(goodput)
assert goodput["vegas"] < 2
assert goodput["rovegas"] > 1.5 * goodput["vegas"]
runs.plot(x="tcp", hue="name").save("reverse_traffic.svg")
