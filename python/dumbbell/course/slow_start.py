"""Sheet 1: slow start and AIMD."""

from __future__ import annotations

import functools

import dumbbell
from dumbbell.course.kinds import Choice, OpenQuestion, Quantity, Slip, Task, times
from dumbbell.course.networks import alone

PACKET = 1500
"""Bytes of a full packet on the wire."""
SEGMENT = 1448
"""Bytes of its payload: 52 bytes are headers, with the timestamp option."""
RATE, RTT = 10e6, 0.040
INITIAL_WINDOW = 10


def bdp_packets(rate: float = RATE, rtt: float = RTT) -> float:
    """Return the bandwidth-delay product in packets, of a rate in bit/s and a round-trip time in s."""
    return rate * rtt / 8 / PACKET


def rounds(size: float = 300e3) -> float:
    """Return the round trips that a transfer of some bytes takes by the doubling of slow start, and its handshake."""
    needed = size / SEGMENT
    sent, window, count = 0.0, float(INITIAL_WINDOW), 1
    while sent < needed:
        sent, window, count = sent + window, 2 * window, count + 1
    return float(count)


@functools.cache
def peak(queue: str = "33 packets") -> float:
    """Measure the largest window after slow start, in segments."""
    windows = dumbbell.run(alone(queue=queue)).traces["cwnd_base"]
    return float(windows.query("time_s > 10").value.max())


@functools.cache
def period(queue: str = "33 packets") -> float:
    """Measure the mean time between two recoveries after slow start, in s."""
    events = dumbbell.run(alone(queue=queue, duration="120 s")).traces["tcp_events"]
    times_s = events.query("kind == 'recovery_enter' and time_s > 10").time_s
    return float(times_s.diff().mean())


def growth_of_period() -> str:
    """Measure which of the factors 2, 4 and 6 the period grows by when the buffer is four times as large."""
    factor = period("132 packets") / period()
    return min({"a": 2, "b": 4, "c": 6}.items(), key=lambda item: abs(item[1] - factor))[0]


@functools.cache
def lossy_goodput() -> float:
    """Measure the mean goodput with random losses over five runs, in Mbit/s."""
    scenario = alone(rate="100 Mbit/s", rtt="100 ms", queue="1 BDP", loss=0.001)
    runs = dumbbell.run_many(scenario, runs=5, seed=1, progress=False)
    return float(runs.flows.goodput_bps.mean() / 1e6)


TASKS: dict[str, Task] = {
    "1.1": Quantity(
        truth=bdp_packets,
        unit="packets",
        tolerance=0.025,
        source="rate times round-trip time over the packet size",
        hint="Multiply the rate by the time of a whole round trip; express it in packets of 1500 bytes.",
        slips=[
            times(PACKET / SEGMENT, "Packets on the wire have headers too: which size counts for the link?"),
            times(1 / 4, "You took the delay of one link; the path there and back is longer."),
            times(PACKET, "These are bytes; the task asks for packets."),
        ],
    ),
    "1.2": Quantity(
        truth=rounds,
        unit="round trips",
        tolerance=0.01,
        source="10 segments in the first round, twice as many in each further one, and the handshake",
        hint="Sum what the rounds send: 10, 20, 40 segments and so on.",
        slips=[
            Slip(lambda truth: truth - 1, "Which round trip comes before the first data?"),
            Slip(
                lambda _: round(300e3 / SEGMENT / INITIAL_WINDOW),
                "The window does not stay at its initial value.",
            ),
            times(0.1, "These are seconds; the task asks for round trips."),
        ],
    ),
    "1.3": Quantity(
        truth=peak,
        unit="segments",
        tolerance=0.06,
        source="measured after 10 s; path and buffer together hold about as much",
        hint="Take the maximum of the trace cwnd_base after 10 s, when slow start is over.",
        slips=[
            times(1 / 2, "This fills the path; what else holds packets before one is lost?"),
            times(SEGMENT, "These are bytes; the trace has segments."),
        ],
    ),
    "1.4": Quantity(
        truth=period,
        unit="s",
        tolerance=0.15,
        source="measured between the starts of recoveries after 10 s",
        hint="The window regains half of its peak, by one segment per round trip.",
        slips=[
            times(2, "How many segments does the window regain: the peak, or half of it?"),
            times(2 / 3, "Round trips take longer than 40 ms while the queue is not empty."),
        ],
    ),
    "1.5": Choice(
        truth=growth_of_period,
        source="measured: both the window to regain and the round-trip time grow",
        hints={
            "a": "The window to regain grows by more than this already; and how long is a round trip now?",
            "b": "The period is a number of round trips times their length. Measure both.",
            "c": "Measure it: the peak does not grow in proportion to the buffer alone.",
        },
    ),
    "1.6": Quantity(
        truth=lossy_goodput,
        unit="Mbit/s",
        tolerance=0.12,
        source="measured, mean of five runs",
        hint="Compare with MSS / RTT * sqrt(3 / (2 p)), in bits.",
        slips=[
            times(0.001**0.5, "Where did the square root of the loss probability go?"),
            times(0.816, "The constant is the square root of 3/2, not 1."),
        ],
    ),
    "1.7": OpenQuestion(),
}
