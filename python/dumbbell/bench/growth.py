"""The plan and the results of measurements of growth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.bench.turns import Spread, Turns, ratios

FEWEST, MOST = 10, 100_000
"""The numbers of flows between which the cost of a packet is compared."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The extent of the measurements.

    Parameters
    ----------
    turns, batch_turns
        How often each point, and each batch, is measured.
    least_cpu_s
        Minimum CPU time of a measurement, s.
    flows
        Numbers of flows.
    flows_s
        Simulated time of each, s.
    windows
        Windows, segments.
    window_packets
        Packets that the link can carry in each run.
    hops
        Numbers of links in a row.
    hops_s
        Simulated time of each, s.
    traces
        Densities of traces.
    traces_s
        Simulated time of each, s.
    hour_s
        Simulated time of the long run, s.
    idle
        The two numbers of idle flows.
    batches
        Numbers of replications in a batch, from the shortest batch to the longest.
    batch_s
        Simulated time of each, s.
    """

    turns: int = 5
    batch_turns: int = 7
    least_cpu_s: float = 1.0
    flows: Sequence[int] = (FEWEST, 100, 1000, 10_000, MOST)
    flows_s: float = 20.0
    windows: Sequence[int] = (10, 100, 1000, 10_000, 100_000)
    window_packets: float = 6e6
    hops: Sequence[int] = (1, 2, 5, 10, 20)
    hops_s: float = 240.0
    traces: Sequence[str] = ("none", "1 s", "10 ms", "every change")
    traces_s: float = 240.0
    hour_s: float = 3600.0
    idle: tuple[int, int] = (1000, 100_000)
    batches: Sequence[int] = (48, 480, 4800)
    batch_s: float = 120.0


FULL = Plan()

QUICK = Plan(
    turns=1,
    batch_turns=3,
    least_cpu_s=0.2,
    flows=(10, 100, 1000, 10_000),
    flows_s=10.0,
    windows=(10, 1000, 10_000),
    window_packets=1e6,
    hops=(1, 5, 20),
    hops_s=60.0,
    traces_s=60.0,
    idle=(1000, 10_000),
    batches=(16, 160),
    batch_s=60.0,
)
"""Fewer and shorter measurements; the largest sizes are left out."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One point of a sweep.

    Parameters
    ----------
    series
        The curve it belongs to.
    label
        What is swept, in words.
    x
        What is swept, as a number.
    turns
        What was measured.
    """

    series: str
    label: str
    x: float
    turns: Turns


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Points that differ in one thing.

    Parameters
    ----------
    key
        Its name in the file of numbers.
    title
        Its heading.
    swept, unit
        What differs, and its unit, or an empty text.
    about
        The scenario.
    points
        The points.
    """

    key: str
    title: str
    swept: str
    unit: str
    about: str
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Idle:
    """Memory of idle flows.

    Parameters
    ----------
    flows
        The two numbers of flows.
    peaks, peaks_of_start_up
        Largest resident memory of the processes that ran them, and of those that only built the network, bytes.
    """

    flows: tuple[int, int]
    peaks: tuple[float, float]
    peaks_of_start_up: tuple[float, float]

    def per_flow(self, peaks: tuple[float, float]) -> float:
        """Return the memory per additional flow, bytes.

        Parameters
        ----------
        peaks
            `peaks` or `peaks_of_start_up`.
        """
        return (peaks[1] - peaks[0]) / (self.flows[1] - self.flows[0])


@dataclass(frozen=True, kw_only=True)
class Batches:
    """Batches of runs on one thread, on two, and in two independent processes, in alternation.

    Parameters
    ----------
    runs
        Replications in a batch.
    one_s, two_s, apart_s
        Wall-clock times, s.
    """

    runs: int
    one_s: Sequence[float]
    two_s: Sequence[float]
    apart_s: Sequence[float]

    @property
    def gain(self) -> Spread:
        """How many times as fast two threads are, turn by turn."""
        return ratios(self.one_s, self.two_s)

    @property
    def granted(self) -> Spread:
        """How many times as fast two processes are, turn by turn: the machine's share in the gain."""
        return ratios(self.one_s, self.apart_s)
