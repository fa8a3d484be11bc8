"""One flow in real time and in the simulator, a grid for each congestion control."""

from __future__ import annotations

from ...grids import _single_flow as single
from .. import rules

RUNS = 5

MODERN = ("cubic", "bbr")

GRIDS = tuple(
    single.SingleFlow(
        variant,
        10 + place,
        single.MODERN_QUANTITIES if variant in MODERN else single.QUANTITIES,
        runs=RUNS,
        rules_of_path=True,
        between_windows=variant in rules.LEAST_THRESHOLDS,
    )
    for place, variant in enumerate(rules.VARIANTS)
)
