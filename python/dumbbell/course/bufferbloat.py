"""Sheet 4: bufferbloat and active queue management."""

from __future__ import annotations

import functools

import dumbbell
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity, Slip, Task, times
from dumbbell.course.networks import call
from dumbbell.course.slow_start import PACKET

RATE, ONE_WAY = 10e6, 20.0
"""Rate of the bottleneck in bit/s, and delay of the call without queueing in ms."""
RUNS = 3


def full_buffer(packets: int = 1000) -> float:
    """Return the delay of a full buffer, in ms."""
    return packets * PACKET * 8 / RATE * 1e3


def buffer_of(delay: float = 100.0) -> float:
    """Return the buffer whose delay is this when it is full, in packets; the delay is in ms."""
    return delay / 1e3 * RATE / 8 / PACKET


@functools.cache
def _runs(queue: str, rate: str = "10 Mbit/s") -> dumbbell.Runs:
    return dumbbell.run_many(call(rate=rate, queue=queue), runs=RUNS, seed=1, progress=False)


def delay_of_call(queue: str) -> float:
    """Measure the mean of the 99th percentiles of the call's one-way delay, in ms."""
    return float(1e3 * _runs(queue).flows.query("name == 'call'").delay_p99_s.mean())


def waiting(queue: str, rate: str = "10 Mbit/s") -> float:
    """Measure the mean queueing delay of the bottleneck, in ms."""
    return float(1e3 * _runs(queue, rate).links.query("name == 'r1-r2'").wait_mean_s.mean())


def needs_no_tuning() -> str:
    """Measure which queueing delays change by more than a factor of three at four times the rate."""
    before, after = (
        [waiting(queue, rate) for queue in ("83 packets", "codel")] for rate in ("10 Mbit/s", "40 Mbit/s")
    )
    tail, codel = (max(a / b, b / a) > 3 for a, b in zip(before, after, strict=True))
    return {(True, True): "a", (True, False): "b", (False, True): "c"}.get((tail, codel), "none")


TASKS: dict[str, Task] = {
    "4.1": Quantity(
        truth=full_buffer,
        unit="ms",
        tolerance=0.03,
        source="packets times their bits over the rate",
        hint="How long does the link take to transmit 1000 packets of 1500 bytes?",
    ),
    "4.2": Quantity(
        truth=lambda: delay_of_call("1000 packets"),
        unit="ms",
        tolerance=0.01,
        source="measured, mean of the percentiles of three runs",
        hint="Take the column delay_p99_s of the flow `call`, and the mean over runs.",
        slips=[
            Slip(
                lambda _: waiting("1000 packets"),
                "This is the mean queueing delay of the link; take the call's column.",
            ),
            Slip(lambda truth: truth - ONE_WAY, "The one-way delay includes propagation."),
        ],
    ),
    "4.3": Quantity(
        truth=buffer_of,
        unit="packets",
        tolerance=0.02,
        source="rate times delay over the packet size",
        hint="How many packets of 1500 bytes leave within the delay?",
        slips=[
            times(PACKET, "These are bytes; the task asks for packets."),
            times((100 - ONE_WAY) / 100, "The bound is for the queue alone; leave propagation out."),
        ],
    ),
    "4.4": Quantity(
        truth=lambda: waiting("codel"),
        unit="ms",
        tolerance=0.1,
        source="measured, mean of three runs",
        hint="Take the column wait_mean_s of the link r1-r2, and the mean over runs.",
        slips=[Slip(lambda truth: truth + ONE_WAY, "The task asks for the queueing delay alone.")],
    ),
    "4.5": Choice(
        truth=needs_no_tuning,
        source="measured: a buffer is an amount of data, and CoDel's target a time",
        hints={
            "a": "CoDel's parameters are times. Measure its delay at both rates.",
            "b": "Measure both at both rates.",
            "c": "How long does a full buffer of 83 packets take at 40 Mbit/s?",
        },
    ),
    "4.6": Quantity(
        truth=lambda: delay_of_call("fqcodel") - ONE_WAY,
        unit="ms",
        tolerance=0.2,
        source="measured, mean of the percentiles of three runs, less 20 ms",
        hint="Take the column delay_p99_s of the flow `call` with the queue fqcodel, and subtract propagation.",
        slips=[
            Slip(lambda truth: truth + ONE_WAY, "Subtract the propagation delay of 20 ms."),
            Slip(
                lambda _: waiting("fqcodel"),
                "This is the delay of all packets; the task asks for the call's.",
            ),
            Slip(lambda _: delay_of_call("codel") - ONE_WAY, "This is CoDel in a single queue."),
        ],
    ),
    "4.7": OpenQuestion(),
}
