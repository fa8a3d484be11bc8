"""Three implementations of CUBIC on equal paths.

The engine's CUBIC with the rules of Linux, that of the QUIC library quinn, and that of the Linux kernel itself each fill a
path of their own. The kernel and the engine leave slow start before their queue overflows for long (HyStart); quinn has no
HyStart, and loses about three times as many packets. The kernel takes part if `dumbbell kernel build 6.12` has built it.

Source: RFC 9438; RFC 9406.
"""

import dumbbell
from dumbbell import DropTail, Flow, Link, Probe, Scenario, Tcp, Transfer, Transport, kernel

senders = {
    "engine": Tcp(rules="linux", congestion="cubic"),
    "quinn": Transport("quinn", congestion="cubic"),
}
if any(built.version.startswith("6.12.") for built in kernel.kernels()):
    senders["kernel"] = Transport("linux", tree="6.12", congestion="cubic")
else:
    print("the kernel does not take part: dumbbell kernel build 6.12")

# 10 Mbit/s times 40 ms are 33 packets.
path = {"rate": "10 Mbit/s", "delay": "20 ms"}
links, flows = [], []
for name, sender in senders.items():
    begin, end = f"{name}-a", f"{name}-b"
    links += [
        Link(name=f"{name}-data", from_=begin, to=end, queue=DropTail(limit="33 packets"), **path),
        Link(name=f"{name}-acks", from_=end, to=begin, **path),
    ]
    flows.append(Flow(name=name, from_=begin, to=end, tcp=sender, source=Transfer(size="5 MB")))
scenario = Scenario(
    rules="classic",
    duration="10 s",
    nodes=sorted({node for link in links for node in (link.from_, link.to)}),
    links=links,
    flows=flows,
    probes=[Probe(flows=["*"], quantities=["cwnd"])],
    stop_when_complete=list(senders),
)
run = dumbbell.run(scenario)
table = run.flows.set_index("name")[["completion_s", "segments_lost"]]
print(table)
assert (table.completion_s < 4.5).all()
assert table.segments_lost["quinn"] > 2 * table.segments_lost.drop("quinn").max()
run.plot("cwnd").save("whose_cubic.svg")
