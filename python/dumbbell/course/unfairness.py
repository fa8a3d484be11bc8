"""Sheet 3: RTT unfairness."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import dumbbell
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity, Slip, Task, times
from dumbbell.course.networks import two
from dumbbell.statistics import jain_index

SHORT, LONG = 20.0, 80.0
"""Round-trip times without queueing, ms."""
FULL_QUEUE = 20 * 1500 * 8 / 10e6 * 1e3
"""Queueing delay of 20 packets at 10 Mbit/s, ms."""
RUNS = 6


def index_of_two(shares: Sequence[float] = (8, 2)) -> float:
    """Return Jain's index of some shares."""
    return float(jain_index(np.array(shares, dtype=float)))


def by_round_trips() -> float:
    """Return the ratio of two rates that go with 1/RTT, while a queue of 20 packets is full."""
    return (LONG + FULL_QUEUE) / (SHORT + FULL_QUEUE)


@functools.cache
def sharing(queue: str = "20 packets", tcp: str = "reno") -> Any:
    """Run two flows with different round-trip times; return the mean goodput and mean RTT of each, by name."""
    scenario = two(
        tcp,
        tcp,
        names=("short", "long"),
        rate="10 Mbit/s",
        rtts=("20 ms", "80 ms"),
        queue=queue,
        noise="500 kbit/s",
    )
    runs = dumbbell.run_many(scenario, runs=RUNS, seed=1, progress=False)
    return runs.flows.groupby("name")[["goodput_bps", "rtt_mean_s"]].mean()


def gain(queue: str = "20 packets", tcp: str = "reno") -> float:
    """Measure the ratio of the mean goodputs of the short and the long flow."""
    goodput = sharing(queue, tcp).goodput_bps
    return float(goodput["short"] / goodput["long"])


def exponent() -> float:
    """Measure the power of the ratio of measured round-trip times that the ratio of goodputs is."""
    rtt = sharing().rtt_mean_s
    return float(np.log(gain()) / np.log(rtt["long"] / rtt["short"]))


def change_by_buffer() -> str:
    """Measure whether a buffer of 100 instead of 20 packets makes the gain larger, about equal, or smaller."""
    change = gain("100 packets") / gain()
    return "a" if change > 1.1 else "c" if change < 1 / 1.1 else "b"


def index_with_queues() -> float:
    """Measure Jain's index of the mean goodputs behind FQ-CoDel."""
    goodput = sharing("fqcodel").goodput_bps
    return index_of_two([goodput["short"], goodput["long"]])


TASKS: dict[str, Task] = {
    "3.1": Quantity(
        truth=index_of_two,
        unit="",
        tolerance=0.01,
        source="(sum x)^2 / (n sum x^2)",
        hint="The index lies between 1/n and 1.",
        slips=[
            times(2, "The number of flows belongs to the denominator."),
            Slip(lambda _: 2 / 8, "This is the ratio of the shares, not Jain's index."),
        ],
    ),
    "3.2": Quantity(
        truth=by_round_trips,
        unit="short over long",
        tolerance=0.02,
        source="the ratio of round-trip times, each with the delay of a full queue",
        hint="Add the delay of 20 packets of 1500 bytes to both round-trip times.",
        slips=[
            Slip(lambda _: LONG / SHORT, "Both flows wait in the same queue: add its delay to both."),
            Slip(lambda truth: 1 / truth, "This is long over short."),
        ],
    ),
    "3.3": Quantity(
        truth=gain,
        unit="short over long",
        tolerance=0.1,
        source="measured, ratio of the means of six runs",
        hint="Divide the mean goodput of the short flow by that of the long one.",
        slips=[
            Slip(lambda truth: 1 / truth, "This is long over short."),
            Slip(lambda _: by_round_trips(), "This is the prediction of task 3.2; measure it."),
            Slip(lambda truth: truth / (1 + truth), "This is the share of the short flow, not the ratio."),
        ],
    ),
    "3.4": Quantity(
        truth=exponent,
        unit="",
        tolerance=0.08,
        source="measured: log of the ratio of goodputs over log of the ratio of round-trip times",
        hint="Divide log(goodput ratio) by log(ratio of rtt_mean_s).",
        slips=[
            Slip(
                lambda _: float(np.log(gain()) / np.log(LONG / SHORT)),
                "Use the measured round-trip times: they include the queue.",
            ),
            Slip(
                lambda truth: 1 / truth,
                "The goodput is a power of the round-trip time, not the other way round.",
            ),
        ],
    ),
    "3.5": Choice(
        truth=change_by_buffer,
        source="measured: the same queueing delay is added to both, and the ratio of round-trip times comes closer to 1",
        hints={
            "a": "Which of the two round-trip times changes by more, in proportion?",
            "b": "The delay of the queue belongs to both round-trip times. Measure the ratio again.",
            "c": "Measure the ratio with both buffers.",
        },
    ),
    "3.6": Quantity(
        truth=index_with_queues,
        unit="",
        tolerance=0.01,
        source="measured with FQ-CoDel, of the means of six runs",
        hint="Take the mean goodput of each of the two flows, without that of the noise.",
        slips=[
            Slip(lambda _: gain("fqcodel"), "This is the ratio of goodputs, not Jain's index."),
            times(2, "The number of flows belongs to the denominator."),
            Slip(
                lambda _: index_of_two(sharing("fqcodel").goodput_bps),
                "Did you count the noise as a flow?",
            ),
        ],
    ),
    "3.7": OpenQuestion(),
}
