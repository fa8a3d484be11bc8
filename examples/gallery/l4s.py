"""L4S: low latency for scalable senders.

The coupled queues of DualPI2 give packets of TCP Prague a queueing delay below a millisecond or two, while CUBIC in the
classic queue waits about 15 ms. The coupling makes their rates similar.

Source: RFC 9332 §1; RFC 9331.
"""

import dumbbell
from dumbbell import DualPi2, Flow, Tcp, topologies

shape = topologies.dumbbell(pairs=2, rate="40 Mbit/s", delay="2 ms", rtt="10 ms", queue=DualPi2())
cubic = Tcp(rules="linux", congestion="cubic")
flows = [
    Flow(name="prague", from_="s1", to="d1", tcp="prague"),
    Flow(name="cubic", from_="s2", to="d2", tcp=cubic, start="1 s"),
]
scenario = shape.scenario(
    name="Prague and CUBIC", rules="classic", duration="60 s", measure_from="15 s", flows=flows
)
run = dumbbell.run(scenario.with_values({"links.r1-r2.wait_percentiles": True}))

link, goodput = run.link("r1-r2"), run.flows.set_index("name").goodput_bps
print(
    f"p99 of L {link.wait_l_p99_s * 1e3:.2f} ms, mean of C {link.wait_c_mean_s * 1e3:.2f} ms, {goodput / 1e6}"
)
assert link.wait_l_p99_s < 0.003
assert 0.005 < link.wait_c_mean_s < 0.025
assert 0.4 < goodput["prague"] / goodput["cubic"] < 2.5
run.plot("srtt").save("l4s.svg")
