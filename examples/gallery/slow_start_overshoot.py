"""Slow start overshoots.

Slow start doubles its window per round trip and learns of the overflow a round trip later. The last round sends about
twice what the path and the buffer hold: about that much is lost.

Source: [jacobson1988]; RFC 9406 §1.
"""

import dumbbell
from dumbbell import DropTail, Flow, Tcp, topologies

# 20 Mbit/s times 60 ms are 100 packets, and the buffer holds as many.
shape = topologies.dumbbell(
    pairs=1, rate="20 Mbit/s", delay="20 ms", rtt="60 ms", queue=DropTail(limit="100 packets")
)
tcp = Tcp(variant="sack", delayed_ack="off", receive_buffer="16 MiB")
flow = Flow(name="reno", from_="s1", to="d1", tcp=tcp)
run = dumbbell.run(shape.scenario(name="Slow start", rules="classic", duration="2 s", flows=[flow]))

lost = run.flow("reno").segments_lost
print(f"{lost} segments lost of a window that fits into 200")
assert 100 <= lost <= 220
run.plot().save("slow_start_overshoot.svg")
