"""Two flows of different congestion controls in the kernel and in the simulator, a grid for each pair."""

from __future__ import annotations

from ...grids._pair import AIM, KERNELS_AIM, Pair

GRIDS = (
    Pair("reno", "cubic", aim=AIM, order=60),
    Pair("cubic", "bbr", aim=KERNELS_AIM, order=61),
)
