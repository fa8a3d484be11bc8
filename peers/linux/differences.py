"""Differences that remain between the kernel and the simulator, each as a change of our scenario."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from dumbbell import Scenario
from dumbbell.crossvalidation import Counterfactual
from dumbbell.quantities import nanoseconds

__all__ = ["LATENESS", "REMAINING", "late"]

LATENESS = "Delivery times: exact in the simulator; tens of microseconds late in real time, so that equal round-trip times differ"

# The runs of the grids report the 99th percentile of theirs, see `lateness` in `grids/_networks.py`.
MEDIAN_US = 3.5
LOG_DEVIATION = 1.45

PERIOD_NS = 10_000_000


def late(scenario: Scenario) -> Scenario:
    """Return a scenario whose links deliver as late as the testbed: their delays vary at random every 10 ms.

    Lateness is lognormal, with a median of 3.5 µs and a 99th percentile of 100 µs. It is seeded by the scenario's name.
    """
    data = scenario.to_dict()
    resolved = scenario.resolved()
    times = range(PERIOD_NS, nanoseconds(resolved["duration"], "duration"), PERIOD_NS)
    for number, (stated, link) in enumerate(zip(data["links"], resolved["links"], strict=True)):
        delay = nanoseconds(link["delay"], "delay")
        drawn = np.random.default_rng([zlib.crc32(str(scenario.name).encode()), number])
        lateness = MEDIAN_US * 1e3 * drawn.lognormal(0.0, LOG_DEVIATION, len(times))
        stated["changes"] = [
            {"at": f"{at} ns", "delay": f"{delay + round(late)} ns"}
            for at, late in zip(times, lateness, strict=True)
        ]
    return Scenario.from_dict(data)


REMAINING: Sequence[Counterfactual] = (Counterfactual(difference=LATENESS, ours=late),)
