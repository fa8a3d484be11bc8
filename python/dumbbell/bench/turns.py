"""Turns: measurements in sequence, net of start-up, and ratios by turn."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dumbbell.bench.children import Measured

# Start-up runs are repeated until they take this fraction of a measurement, at most as often as the runs, and at
# least this many times.
PART_OF_START_UPS, LEAST_START_UPS = 0.1, 3

# Assumed minimum cost of a run, s.
LEAST_CPU_S = 1e-3


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A median between the smallest and the largest value.

    Parameters
    ----------
    low, median, high
        The three, in the unit of the values.
    """

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Return the spread of at least one value."""
        listed = sorted(values)
        return cls(low=listed[0], median=statistics.median(listed), high=listed[-1])

    def text(self, digits: int, scale: float = 1.0) -> tuple[str, str]:
        """Return the median, and the range around it, as texts.

        Parameters
        ----------
        digits
            Decimals.
        scale
            Factor on the values.
        """
        low, median, high = (f"{scale * value:,.{digits}f}" for value in (self.low, self.median, self.high))
        return median, f"{low} to {high}"


@dataclass(kw_only=True)
class Turns:
    """The turns of one simulator at one scenario.

    Parameters
    ----------
    run, nothing
        Execute this many runs of the scenario, and of the same one without simulated time.
    least_cpu_s
        Minimum CPU time of a measurement, s; the scenario is repeated accordingly.
    """

    run: Callable[[int], Measured]
    nothing: Callable[[int], Measured]
    least_cpu_s: float
    runs: int = field(default=0, init=False)
    measured: list[Measured] = field(default_factory=list, init=False)
    start_ups_s: list[float] = field(default_factory=list, init=False)

    def take(self) -> None:
        """Execute one turn: the start-up, then the runs. The first turn determines the number of runs."""
        runs = self.runs or 1
        self._measure(runs)
        if self.runs == 0:
            # Where a run costs less than its start-up, more runs would measure the start-up only.
            cost_s = max(self.cpu_s[0], self.start_up_s, LEAST_CPU_S)
            self.runs = max(1, math.ceil(self.least_cpu_s / cost_s))
            if self.runs > 1:
                self._measure(self.runs)
                del self.start_ups_s[0], self.measured[0]

    def fresh(self) -> Turns:
        """Return the same measurement with no turn taken."""
        return Turns(run=self.run, nothing=self.nothing, least_cpu_s=self.least_cpu_s)

    def _measure(self, runs: int) -> None:
        once_s = statistics.median(self.start_ups_s) if self.start_ups_s else math.inf
        enough = max(LEAST_START_UPS, math.ceil(PART_OF_START_UPS * self.least_cpu_s / max(once_s, 1e-6)))
        empty = self.nothing(min(runs, enough))
        self.start_ups_s.append(empty.cpu_s / empty.runs)
        made = self.run(runs)
        if made.packets <= 0:
            raise RuntimeError("the run is too short to measure: no packet was delivered")
        self.measured.append(made)

    @property
    def start_up_s(self) -> float:
        """CPU time of a run without packets: the median over the turns, s."""
        return statistics.median(self.start_ups_s)

    @property
    def cpu_s(self) -> list[float]:
        """CPU time of each turn net of start-up, s, at least one millionth."""
        return [max(one.cpu_s - one.runs * self.start_up_s, 1e-6 * one.cpu_s) for one in self.measured]

    @property
    def rates(self) -> list[float]:
        """Delivered packets per CPU second of each turn."""
        return [one.packets / net for one, net in zip(self.measured, self.cpu_s, strict=True)]

    @property
    def costs_ns(self) -> list[float]:
        """CPU time per delivered packet of each turn, ns."""
        return [1e9 / rate for rate in self.rates]

    @property
    def packets_per_run(self) -> float:
        """Delivered packets of one run."""
        return statistics.median(one.packets / one.runs for one in self.measured)

    @property
    def events_per_packet(self) -> float:
        """Events per delivered packet, NaN if the simulator does not report them."""
        return statistics.median(one.events / one.packets for one in self.measured)

    @property
    def peak_bytes(self) -> float:
        """Maximum resident memory of a process over the turns, bytes; NaN if not measured."""
        return max(one.peak_bytes for one in self.measured)


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Return the spread of the ratios ours / theirs, turn by turn.

    Parameters
    ----------
    ours, theirs
        As many values of either side.
    """
    return Spread.of(one / other for one, other in zip(ours, theirs, strict=True))
