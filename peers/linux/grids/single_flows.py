"""One flow in the kernel and in the simulator, a grid for each congestion control."""

from __future__ import annotations

from ...grids import _single_flow as single

RUNS = {"reno": 2, "cubic": 2, "bbr": 3}
"""Replications. They differ by the start of the flow, and those of BBR by the phases that it draws."""

GRIDS = tuple(
    single.SingleFlow(
        variant,
        10 + place,
        single.MODERN_QUANTITIES if variant == "bbr" else single.QUANTITIES,
        runs=runs,
    )
    for place, (variant, runs) in enumerate(RUNS.items())
)
