"""A tail loss probe saves a timeout.

If the last segments of a transfer are lost, no acknowledgement reports it, and the sender waits for its retransmission
timer. A tail loss probe after about two round trips starts the recovery earlier.

Source: RFC 8985 §7.
"""

import dumbbell
from dumbbell import Flow, Forced, RackRecovery, Tcp, Transfer, topologies

# The transfer has 20 segments; the last two are lost.
shape = topologies.dumbbell(
    pairs=1, rate="10 Mbit/s", delay="10 ms", rtt="40 ms", impairments=[Forced(packets=[19, 20])]
)
jobs = []
for name, tlp in (("without probe", False), ("with probe", True)):
    tcp = Tcp(variant="sack", recovery=RackRecovery(tlp=tlp))
    flow = Flow(name="transfer", from_="s1", to="d1", tcp=tcp, source=Transfer(size="29200 bytes"))
    scenario = shape.scenario(rules="classic", duration="10 s", flows=[flow])
    jobs.append(dumbbell.Job(scenario, parameters={"sender": name}))
runs = dumbbell.run_many(jobs, progress=False)

flows = runs.flows.set_index("sender")
print(flows[["completion_s", "timeouts"]])
assert flows.timeouts.to_dict() == {"without probe": 1, "with probe": 0}
assert flows.completion_s["without probe"] - flows.completion_s["with probe"] > 0.5
runs.plot(x="sender", y="completion_s").save("tail_loss.svg")
