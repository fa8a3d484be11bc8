"""The field's shapes of networks: dumbbell, parking lot, chain with cross traffic, last-hop wireless, satellite.

Each function returns a `Topology`: nodes and unidirectional links, named by one rule. Routers are ``r1``,
``r2``, … from left to right; senders are ``s1``, ``s2``, … and their receivers ``d1``, ``d2``, …; a link is
named by the nodes it joins, ``r1-r2`` and ``r2-r1``.

Examples
--------
>>> from dumbbell import topologies
>>> shape = topologies.dumbbell(pairs=2, rate="10 Mbit/s", delay="20 ms", rtt=["50 ms", "100 ms"])
>>> [link.name for link in shape.links][:4]
['r1-r2', 'r2-r1', 's1-r1', 'r1-s1']
>>> shape.propagation_rtt_s("s2", "d2")
0.1
"""

from dumbbell.topologies.drawing import draw
from dumbbell.topologies.network import Access, AccessLinks, Hop, Topology, chain
from dumbbell.topologies.shapes import (
    dumbbell,
    last_hop_wireless,
    multi_bottleneck,
    parking_lot,
    satellite,
    spread,
)

__all__ = [
    "Access",
    "AccessLinks",
    "Hop",
    "Topology",
    "chain",
    "draw",
    "dumbbell",
    "last_hop_wireless",
    "multi_bottleneck",
    "parking_lot",
    "satellite",
    "spread",
]
