"""Incast.

Many servers answer a request at once and overflow the buffer of the switch before the client. Whole windows are lost, and
the request waits for a retransmission timer that is a thousand round trips long. A short minimum of the timer helps.

Source: [phanishayee2008]; [vasudevan2009].
"""

import dumbbell
from dumbbell import DropTail, Flow, Incast, Tcp, topologies

shape = topologies.dumbbell(
    pairs=1,
    rate="1 Gbit/s",
    delay="20 us",
    access_rate="10 Gbit/s",
    access_delay="1 us",
    queue=DropTail(limit="64 packets"),
)
jobs = []
for minimum in ("200 ms", "1 ms"):
    tcp = Tcp(variant="sack", timer={"kind": "rfc6298", "minimum": minimum, "granularity": "100 us"})
    for servers in (2, 8, 32):
        sizes = {"kind": "fixed", "size": "64 kB"}
        source = Incast(senders=servers, sizes=sizes, pause="10 ms", count=20)
        flow = Flow(name="requests", from_="s1", to="d1", tcp=tcp, source=source)
        scenario = shape.scenario(
            rules="classic", duration="20 s", stop_when_complete=["requests"], flows=[flow]
        )
        jobs.append(dumbbell.Job(scenario, parameters={"servers": servers, "minimum": minimum}))
runs = dumbbell.run_many(jobs, progress=False)

times = runs.flows.pivot(index="servers", columns="minimum", values="fct_mean_s")
print(times * 1e3)
assert times["200 ms"][32] > 0.1  # the answers alone take 17 ms
assert times["1 ms"][32] < times["200 ms"][32] / 3
runs.plot(x="servers", y="fct_mean_s", hue="minimum").save("incast.svg")
