"""Spurious timeouts and F-RTO.

A path whose delay jumps makes the retransmission timer expire although nothing is lost. Without F-RTO, the sender sends
the window again; with it, the first acknowledgements show that the originals arrived.

Source: RFC 5682 §1.
"""

import dumbbell
from dumbbell import Flow, LinkChange, RackRecovery, Tcp, topologies

jump = [LinkChange(at="10 s", delay="1500 ms"), LinkChange(at="12 s", delay="10 ms")]
shape = topologies.dumbbell(pairs=1, rate="5 Mbit/s", delay="10 ms", rtt="100 ms", changes=jump)
jobs = []
for name, frto in (("without F-RTO", "off"), ("with F-RTO", "rfc5682")):
    tcp = Tcp(variant="sack", recovery=RackRecovery(frto=frto, dsack=False, undo=False, tlp=False))
    flow = Flow(name="reno", from_="s1", to="d1", tcp=tcp)
    scenario = shape.scenario(
        rules="classic", duration="20 s", measure_from="9 s", measure_until="14 s", flows=[flow]
    )
    jobs.append(dumbbell.Job(scenario, parameters={"sender": name}))
runs = dumbbell.run_many(jobs, progress=False)

flows = runs.flows.set_index("sender")
print(flows[["timeouts", "segments_lost", "segments_retransmitted"]])
assert (flows.timeouts > 0).all()
assert (flows.segments_lost == 0).all()
assert flows.segments_retransmitted["with F-RTO"] < flows.segments_retransmitted["without F-RTO"] / 3
runs.plot(x="sender", y="segments_retransmitted").save("spurious_timeout.svg")
