"""Sheet 6: a congestion control of one's own."""

from __future__ import annotations

import functools
from typing import Any

import dumbbell
from dumbbell.course.design import Criterion, Design
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity, Slip, Task
from dumbbell.course.networks import alone, two

KEPT = 0.8
"""Fraction of the window that the AIMD of the sheet keeps after a loss."""


def friendly_increase(kept: float = KEPT) -> float:
    """Return the segments per round trip with which an AIMD gets as much as Reno: RFC 9438 §4.3."""
    return 3 * (1 - kept) / (1 + kept)


def _aimd(increase: float) -> dumbbell.Tcp:
    return dumbbell.Tcp(congestion={"name": "aimd", "increase": increase, "decrease": KEPT})


def _mean_goodput(tcp: Any) -> float:
    scenario = alone(tcp, rate="100 Mbit/s", rtt="100 ms", queue="1 BDP", loss=0.003, duration="60 s")
    runs = dumbbell.run_many(scenario, runs=10, seed=1, progress=False)
    return float(runs.flows.goodput_bps.mean())


@functools.cache
def ratio(increase: float) -> float:
    """Measure the goodput of an AIMD that keeps 0.8 of its window over that of Reno, each alone with the same losses."""
    return _mean_goodput(_aimd(increase)) / _mean_goodput("reno")


@functools.cache
def ratio_beside(increase: float) -> float:
    """Measure the goodput of this AIMD over that of Reno, beside each other."""
    scenario = two(_aimd(increase), "reno", names=("aimd", "reno"), noise="300 kbit/s")
    runs = dumbbell.run_many(scenario, runs=6, seed=1, progress=False)
    goodput = runs.flows.groupby("name").goodput_bps.mean()
    return float(goodput["aimd"] / goodput["reno"])


def effect_of_increase() -> str:
    """Measure whether the increase of a whole segment leaves the AIMD with less, about as much, or more than Reno."""
    gain = ratio_beside(1.0)
    return "a" if gain < 1 / 1.2 else "c" if gain > 1.2 else "b"


BUSY = Criterion(
    quantity="utilization alone",
    low=95,
    hint="Alone, it leaves the link idle: does the window grow in `on_ack`, and does it keep enough after a loss?",
)
SHORT = Criterion(
    quantity="queueing delay alone",
    high=20,
    hint="Its queue is too long: stop growing when `ack.rtt` exceeds `ack.min_rtt` by some milliseconds.",
)
FAIR = Criterion(
    quantity="share beside CUBIC",
    low=30,
    high=70,
    hint="It does not share with CUBIC: below the bounds it gives way too early, above them it reacts too little to losses.",
)

TASKS: dict[str, Task] = {
    "6.1": Quantity(
        truth=friendly_increase,
        unit="segments per round trip",
        tolerance=0.02,
        source="3 (1 - b) / (1 + b), RFC 9438 §4.3",
        hint="Insert the fraction that is kept: 1 for b = 0.5 is Reno.",
        slips=[
            Slip(
                lambda _: (1 - KEPT) / (1 + KEPT),
                "For b = 0.5 the increase must be 1: a factor is missing.",
            ),
            Slip(
                lambda _: friendly_increase(1 - KEPT),
                "b is the fraction that is kept, not the one that is given up.",
            ),
        ],
    ),
    "6.2": Design(criteria=[BUSY]),
    "6.3": Quantity(
        truth=lambda: ratio(friendly_increase()),
        unit="own over Reno",
        tolerance=0.1,
        source="measured with the registered aimd, ratio of the means of ten runs",
        hint="Divide the means of ten runs of both, with the increase of task 6.1. Does a run of yours differ from all others?",
        slips=[
            Slip(
                lambda _: ratio(friendly_increase() / 2),
                "Does the class grow by acknowledgements? A delayed one acknowledges two segments: use `ack.acked`.",
            ),
            Slip(lambda _: ratio(1.0), "This is the increase of a whole segment; use that of task 6.1."),
            Slip(lambda truth: truth / (1 + truth), "This is a share, not the ratio."),
        ],
    ),
    "6.4": Choice(
        truth=effect_of_increase,
        source="measured with the registered aimd",
        hints={
            "a": "Who gives up less at a loss, and who grows as fast?",
            "b": "With b = 0.8, which increase makes both equal?",
            "c": "Measure the ratio with an increase of 1.",
        },
    ),
    "6.5": Design(criteria=[BUSY, SHORT]),
    "6.6": Design(criteria=[BUSY, SHORT, FAIR]),
    "6.7": OpenQuestion(),
}
