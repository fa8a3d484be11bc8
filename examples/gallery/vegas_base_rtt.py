"""Vegas and a path that becomes longer.

Vegas takes the smallest round-trip time that it has seen for that of the empty path. When the path becomes longer, it takes
the additional delay for a queue and reduces its window until hardly anything is in flight.

Source: [mo1999].
"""

import dumbbell
from dumbbell import Flow, LinkChange, Probe, topologies

shape = topologies.dumbbell(
    pairs=1,
    rate="10 Mbit/s",
    delay="10 ms",
    rtt="40 ms",
    changes=[LinkChange(at="30 s", delay="70 ms")],
)
flow = Flow(name="vegas", from_="s1", to="d1", tcp="vegas")
probe = Probe(flows=["vegas"], quantities=["delivered"], period="1 s")
run = dumbbell.run(
    shape.scenario(
        name="Vegas on a path that becomes longer",
        rules="classic",
        duration="60 s",
        flows=[flow],
        probes=[probe],
    )
)

delivered = run.traces["delivered"].set_index("time_s").value
before, after = ((delivered.asof(end) - delivered.asof(end - 15)) * 8 / 15 for end in (30.0, 60.0))
print(f"{before / 1e6:.1f} Mbit/s before, {after / 1e6:.1f} Mbit/s after the change")
assert before > 9e6
assert after < 2e6
run.plot().save("vegas_base_rtt.svg")
