"""Sheet 2: buffer sizing."""

from __future__ import annotations

import functools
from typing import Any

import dumbbell
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity, Slip, Task, times
from dumbbell.course.networks import alone, many
from dumbbell.course.slow_start import PACKET, SEGMENT, bdp_packets

RATE, RTT = 20e6, 0.060
RUNS = 5
FLOWS = 16
BUSY = 0.98
"""Utilization from which the link counts as busy."""
CUBIC_KEEPS = 0.7
"""Fraction of the window that CUBIC keeps after a loss, RFC 9438 §4.6."""


def product() -> float:
    """Return the bandwidth-delay product of the path, in packets."""
    return bdp_packets(RATE, RTT)


def reno_needs() -> float:
    """Return the buffer that keeps the link busy with one Reno flow, in packets [appenzeller2004 §2]."""
    return product()


def cubic_needs() -> float:
    """Return it for CUBIC: with B packets of buffer and C of the path, 0.7 (B + C) = C."""
    return product() * (1 / CUBIC_KEEPS - 1)


def without_buffer() -> float:
    """Return the utilization by Reno without a buffer, in %: the mean of a sawtooth between half and all of the path."""
    return 100 * (0.5 + 1) / 2


@functools.cache
def _bottleneck(packets: int) -> Any:
    """Run one Reno flow with a buffer; return the rows of the bottleneck, one per run."""
    scenario = alone(rate="20 Mbit/s", rtt="60 ms", queue=f"{packets} packets")
    runs = dumbbell.run_many(scenario, runs=RUNS, seed=1, progress=False)
    return runs.links.query("name == 'r1-r2'")


def utilization(packets: int) -> float:
    """Measure the mean utilization by one Reno flow, in %."""
    return float(100 * _bottleneck(packets).utilization.mean())


def waiting(packets: int) -> float:
    """Measure the mean queueing delay of one Reno flow, in ms."""
    return float(1e3 * _bottleneck(packets).wait_mean_s.mean())


@functools.cache
def smallest_buffer() -> str:
    """Measure which is the smallest buffer that keeps a link of many flows busy: the product, over sqrt(n), or over n."""
    whole = bdp_packets(100e6, 0.040)
    sizes = {"a": whole, "b": whole / FLOWS**0.5, "c": whole / FLOWS}
    busy = [letter for letter, size in sizes.items() if _utilization_of_many(round(size)) >= BUSY]
    return busy[-1] if busy else "none"


def _utilization_of_many(packets: int) -> float:
    runs = dumbbell.run_many(many(FLOWS, queue=f"{packets} packets"), runs=2, seed=1, progress=False)
    return float(runs.links.query("name == 'r1-r2'").utilization.mean())


TASKS: dict[str, Task] = {
    "2.1": Quantity(
        truth=reno_needs,
        unit="packets",
        tolerance=0.025,
        source="the bandwidth-delay product: half of the peak window still fills the path",
        hint="The peak window is path plus buffer; half of it must fill the path.",
        slips=[
            times(PACKET / SEGMENT, "Packets on the wire have headers too: which size counts for the link?"),
            times(2, "Is this the buffer, or the peak window?"),
            times(PACKET, "These are bytes; the task asks for packets."),
        ],
    ),
    "2.2": Quantity(
        truth=without_buffer,
        unit="%",
        tolerance=0.02,
        source="the mean of a sawtooth between half of the path and all of it",
        hint="Between which two fractions of the path does the window move, and what is its mean?",
        slips=[Slip(lambda _: 50.0, "This is the lowest point of the sawtooth, not its mean.")],
    ),
    "2.3": Quantity(
        truth=lambda: utilization(20),
        unit="%",
        tolerance=0.02,
        source="measured, mean of five runs",
        hint="Take the column utilization of the link r1-r2, and the mean over runs.",
        slips=[times(SEGMENT / PACKET, "This is the goodput; the link also carries headers.")],
    ),
    "2.4": Quantity(
        truth=lambda: waiting(400),
        unit="ms",
        tolerance=0.05,
        source="measured, mean of five runs",
        hint="Take the column wait_mean_s of the link r1-r2, and the mean over runs.",
        slips=[
            Slip(
                lambda truth: truth + 1e3 * RTT,
                "This is the round-trip time; the task asks for its queueing.",
            )
        ],
    ),
    "2.5": Quantity(
        truth=cubic_needs,
        unit="packets",
        tolerance=0.03,
        source="0.7 times path and buffer fill the path",
        hint="After a loss, CUBIC keeps 0.7 of path plus buffer; this must fill the path.",
        slips=[
            Slip(lambda _: product(), "This is what Reno needs; CUBIC keeps more of its window."),
            Slip(
                lambda _: 0.3 * product(),
                "The window falls by 0.3 of path and buffer, not of the path alone.",
            ),
            Slip(lambda _: product() / 0.7, "Is this the buffer, or the peak window?"),
        ],
    ),
    "2.6": Choice(
        truth=smallest_buffer,
        source="measured: the smallest of the three with a utilization of at least 98 %",
        hints={
            "a": "This is enough, but is it the smallest that is?",
            "b": "Measure the utilization with each of the three buffers.",
            "c": "Measure the utilization with this buffer: does it reach 98 %?",
        },
    ),
    "2.7": OpenQuestion(),
}
