"""Traffic phase effects.

In a deterministic network with a drop-tail queue, the share of a flow depends on tiny differences of the round-trip
times, because they decide whose packets arrive when the queue is full. Random drops, as of RED, take most of it away.

Source: [floyd1991].
"""

import dumbbell
from dumbbell import DropTail, Flow, Red, Tcp, topologies

# As in the paper: a packet of 1000 bytes takes 10 ms, and the receiver accepts 32 of them. The second round-trip time
# is longer by less than that.
jobs = []
for name, queue in (("drop-tail", DropTail(limit="15 packets")), ("RED", Red(limit="100 packets"))):
    for step in range(20):
        rtt = ["220 ms", f"{220 + step / 2} ms"]
        shape = topologies.dumbbell(
            pairs=2, rate="800 kbit/s", delay="100 ms", rtt=rtt, access_rate="8 Mbit/s", queue=queue
        )
        tcp = Tcp(variant="reno", mss="960 bytes", delayed_ack="off", receive_buffer="30720 bytes")
        flows = [Flow(name=f"f{n}", from_=f"s{n}", to=f"d{n}", tcp=tcp) for n in (1, 2)]
        scenario = shape.scenario(rules="classic", duration="200 s", measure_from="100 s", flows=flows)
        jobs.append(dumbbell.Job(scenario, parameters={"queue": name, "more_ms": step / 2}))
runs = dumbbell.run_many(jobs, progress=False)

goodput = runs.flows.pivot(index=["queue", "more_ms"], columns="name", values="goodput_bps")
share = (goodput.f2 / goodput.sum(axis="columns")).groupby("queue")
spread = share.max() - share.min()
print(spread)
assert spread["drop-tail"] > 0.3
assert spread["RED"] < spread["drop-tail"] / 2
runs.plot(x="more_ms", hue="queue", names=["f2"]).save("phase_effects.svg")
