"""The curve of CUBIC.

After a loss, the window of CUBIC follows a cubic function of time: it returns fast to the window before the loss, stays
there, and then probes faster and faster. Its growth does not depend on the round-trip time.

Source: RFC 9438 §4.2.
"""

import dumbbell
from dumbbell import DropTail, Flow, Forced, Probe, Tcp, topologies

# One packet is lost; the link and its buffer are never full.
shape = topologies.dumbbell(
    pairs=1,
    rate="1 Gbit/s",
    delay="40 ms",
    rtt="100 ms",
    access_rate="10 Gbit/s",
    queue=DropTail(limit="1000 packets"),
    impairments=[Forced(packets=[5000])],
)
tcp = Tcp(congestion="cubic", recovery="sack", initial_ssthresh="300 segments", receive_buffer="64 MiB")
flow = Flow(name="cubic", from_="s1", to="d1", tcp=tcp)
probe = Probe(flows=["cubic"], quantities=["cwnd_base"], period="100 ms")
run = dumbbell.run(
    shape.scenario(name="CUBIC after a loss", rules="classic", duration="18 s", flows=[flow], probes=[probe])
)

cwnd = run.traces["cwnd_base"].set_index("time_s").value
loss = cwnd.diff().idxmin()
before, after = cwnd.asof(loss - 0.2), cwnd.asof(loss + 0.2)
K = (before * 0.3 / 0.4) ** (1 / 3)  # seconds until the window is that of before
print(
    f"window {before:.0f} to {after:.0f} segments at {loss:.1f} s, and again {cwnd.asof(loss + K):.0f} {K:.1f} s later"
)
assert abs(after / before - 0.7) < 0.03
assert abs(cwnd.asof(loss + K) / before - 1) < 0.05
run.plot("cwnd_base").save("cubic_curve.svg")
