"""Sheet 5: BBR against CUBIC."""

from __future__ import annotations

import functools

import dumbbell
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity, Slip, Task, times
from dumbbell.course.networks import alone, two
from dumbbell.course.slow_start import PACKET, SEGMENT, bdp_packets

RATE, RTT = 10e6, 0.040
GAIN = 2
"""Gain of BBR's window over the bandwidth-delay product that it estimates [cardwell2017]."""
RUNS = 6


def most_in_flight() -> float:
    """Return what BBR keeps in flight at most, in packets."""
    return GAIN * bdp_packets(RATE, RTT)


@functools.cache
def round_trip(tcp: str) -> float:
    """Measure the mean round-trip time of a flow alone behind four bandwidth-delay products, in ms."""
    scenario = alone(tcp, queue="4 BDP")
    runs = dumbbell.run_many(scenario, runs=3, seed=1, progress=False)
    return float(1e3 * runs.flows.rtt_mean_s.mean())


@functools.cache
def share(queue: str) -> float:
    """Measure BBR's share of the goodput beside CUBIC, in %."""
    scenario = two("bbr", "cubic", names=("BBR", "CUBIC"), queue=queue)
    runs = dumbbell.run_many(scenario, runs=RUNS, seed=1, progress=False)
    goodput = runs.flows.groupby("name").goodput_bps.mean()
    return float(100 * goodput["BBR"] / goodput.sum())


@functools.cache
def wins_when_shallow() -> str:
    """Measure how BBR's share goes with the buffer: it rises, it falls, or neither by more than 10 %."""
    change = share("16 BDP") - share("0.5 BDP")
    return "a" if change > 10 else "b" if change < -10 else "c"


@functools.cache
def lossy_goodput(tcp: str) -> float:
    """Measure the mean goodput of a flow alone at a random loss of 1 %, in Mbit/s."""
    scenario = alone(tcp, queue="1 BDP", loss=0.01)
    runs = dumbbell.run_many(scenario, runs=RUNS, seed=1, progress=False)
    return float(runs.flows.goodput_bps.mean() / 1e6)


TASKS: dict[str, Task] = {
    "5.1": Quantity(
        truth=most_in_flight,
        unit="packets",
        tolerance=0.025,
        source="twice the bandwidth-delay product",
        hint="Multiply the bandwidth-delay product by BBR's gain of the window.",
        slips=[
            times(1 / 2, "This is the bandwidth-delay product; BBR's window is larger by its gain."),
            times(PACKET / SEGMENT, "Packets on the wire have headers too: which size counts for the link?"),
            times(PACKET, "These are bytes; the task asks for packets."),
        ],
    ),
    "5.2": Quantity(
        truth=lambda: round_trip("cubic") / round_trip("bbr"),
        unit="CUBIC over BBR",
        tolerance=0.08,
        source="measured, ratio of the means of three runs",
        hint="Divide the column rtt_mean_s of CUBIC by that of BBR.",
        slips=[
            Slip(lambda truth: 1 / truth, "This is BBR over CUBIC."),
            Slip(lambda _: round_trip("cubic"), "This is CUBIC's round-trip time, not the ratio."),
        ],
    ),
    "5.3": Quantity(
        truth=lambda: share("0.5 BDP"),
        unit="%",
        tolerance=0.04,
        source="measured, from the means of six runs",
        hint="Divide BBR's mean goodput by the sum of both.",
        slips=[
            Slip(lambda truth: 100 - truth, "This is CUBIC's share."),
            Slip(
                lambda truth: truth / (100 - truth), "This is the ratio of both, not BBR's share of the sum."
            ),
        ],
    ),
    "5.4": Quantity(
        truth=lambda: share("8 BDP"),
        unit="%",
        tolerance=0.12,
        source="measured, from the means of six runs; single runs differ by some percentage points",
        hint="Divide BBR's mean goodput by the sum of both, over at least six runs.",
        slips=[
            Slip(lambda truth: 100 - truth, "This is CUBIC's share."),
            Slip(
                lambda truth: truth / (100 - truth), "This is the ratio of both, not BBR's share of the sum."
            ),
        ],
    ),
    "5.5": Choice(
        truth=wins_when_shallow,
        source="measured with 0.5 and 16 bandwidth-delay products: CUBIC fills any buffer, and BBR has its limit",
        hints={
            "a": "Measure the share with more than one buffer.",
            "b": "Measure the share with more than one buffer.",
            "c": "Compare the shares of tasks 5.3 and 5.4.",
        },
    ),
    "5.6": Quantity(
        truth=lambda: lossy_goodput("bbr") / lossy_goodput("cubic"),
        unit="BBR over CUBIC",
        tolerance=0.12,
        source="measured, ratio of the means of six runs",
        hint="Divide BBR's mean goodput by CUBIC's, each alone with a loss of 0.01.",
        slips=[
            Slip(lambda truth: 1 / truth, "This is CUBIC over BBR."),
            Slip(lambda _: lossy_goodput("bbr"), "This is BBR's goodput, not the ratio."),
        ],
    ),
    "5.7": OpenQuestion(),
}
