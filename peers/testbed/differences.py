"""Differences that remain between the kernel and the simulator, each as a change of our scenario."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from dumbbell import Scenario
from dumbbell.crossvalidation import Counterfactual
from dumbbell.quantities import nanoseconds

LATENESS = "Delivery times: exact in the simulator; tens of microseconds late in real time, so that equal round-trip times differ"

# The runs of the grids report the 99th percentile of theirs, see `lateness` in `../grids/_one_link.py`.
MEDIAN_US = 3.5
LOG_DEVIATION = 1.45

PERIOD_NS = 10_000_000

STALLS = "Stalls: none in the simulator; in real time, the emulator stands still for a millisecond or more now and then"

# Of a thread that wakes every 0.5 ms under the emulator's policy, for 40 s on each core while a grid ran: stalls of more
# than a millisecond, and by how much they exceed it on average.
STALLS_PER_S = 1.8
LEAST_STALL_NS = 1e6
MEAN_EXCESS_NS = 1e6
# A delay falls from one change to the next, so that packets leave in order at the end of a stall.
STEPS = 8


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


def stalled(scenario: Scenario) -> Scenario:
    """Return a scenario whose links stand still as the testbed does: all of them at once, at random times.

    A packet that is due during a stall is delivered at its end. The times between stalls are exponential with a mean of
    0.56 s, and their length is 1 ms and an exponential time with a mean of 1 ms. They are seeded by the scenario's name.
    """
    data = scenario.to_dict()
    resolved = scenario.resolved()
    stalls = _stalls(str(scenario.name), nanoseconds(resolved["duration"], "duration"))
    for stated, link in zip(data["links"], resolved["links"], strict=True):
        delay = nanoseconds(link["delay"], "delay")
        stated["changes"] = [
            {
                "at": f"{start + length * step // STEPS} ns",
                "delay": f"{delay + length - length * step // STEPS} ns",
            }
            for start, length in stalls
            for step in range(STEPS + 1)
        ]
    return Scenario.from_dict(data)


def _stalls(name: str, until: int) -> list[tuple[int, int]]:
    """Return start and length of the stalls that end before a time, ns. They do not overlap."""
    drawn = np.random.default_rng(zlib.crc32(name.encode()))
    found: list[tuple[int, int]] = []
    end = 0
    while True:
        start = end + 1 + round(drawn.exponential(1e9 / STALLS_PER_S))
        length = round(LEAST_STALL_NS + drawn.exponential(MEAN_EXCESS_NS))
        if start + length >= until:
            return found
        found.append((start, length))
        end = start + length


REMAINING: Sequence[Counterfactual] = (
    Counterfactual(difference=LATENESS, ours=late),
    Counterfactual(difference=STALLS, ours=stalled),
)
