"""Two flows of different congestion controls in real time and in the simulator, a grid for each pair."""

from __future__ import annotations

from ...grids._pair import AIM, KERNELS_AIM, Pair
from .. import rules

GRIDS = (
    *(Pair("reno", twin, aim=AIM, order=40 + place) for place, twin in enumerate(rules.TWINS)),
    Pair("reno", "cubic", aim=KERNELS_AIM, order=60),
    Pair("cubic", "bbr", aim=KERNELS_AIM, order=61),
)
