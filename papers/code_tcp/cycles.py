"""Cycles from loss to loss in windows against time.

[chan2010 §3.1, fig 3, fig 5, fig 6]

A cycle begins at instant i with a loss of the variant, has its lowest window at j, and ends at k with the next loss. Windows
are read outside recoveries, where duplicate ACKs inflate them, and slopes are per round trip.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.traces import StepFunction

from .assumptions import BASE
from .evidence import Run, Values
from .network import BOTTLENECK, PACKET

WARM_UP_S = 20.0
"""Earlier data, with both slow starts, is excluded."""

# A recovery takes one round trip, and the round of a loss is not a round of growth.
SKIPPED_ROUNDS = 2.0
RECOVERY_ROUNDS = 3.0
SHORTEST_ROUNDS = 10.0
SHORTEST_STRETCH = 3.0
BEFORE_LOSS_S = 0.1
CLUSTER_S = 0.5


@dataclass(frozen=True)
class Growth:
    """Growth of a window over round trips.

    Parameters
    ----------
    packets, rounds
        How much, and in how many.
    """

    packets: float
    rounds: float

    @property
    def slope(self) -> float:
        """Packets a round trip."""
        return self.packets / self.rounds if self.rounds > 0 else float("nan")


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """One cycle.

    Parameters
    ----------
    begin_s, lowest_s, end_s
        Instants i, j and k.
    peak, lowest
        The variant's window before the loss that begins the cycle, and its lowest window, packets.
    falling, rising
        The variant's growth from i to j and from j to k.
    reno_falling, reno_rising
        Reno's, outside its own cuts.
    packets, reno_packets
        Delivered in the cycle.
    """

    begin_s: float
    lowest_s: float
    end_s: float
    peak: float
    lowest: float
    falling: Growth
    rising: Growth
    reno_falling: Growth
    reno_rising: Growth
    packets: float
    reno_packets: float


class _Windows:
    """Windows, round trips and deliveries of a run, to be read at any time."""

    def __init__(self, run: Run, rate: float) -> None:
        self.time, self.cwnd = run.trace("cwnd")
        self.reno = np.interp(self.time, *run.trace("cwnd", "reno"))
        self.delivered = run.trace("delivered")
        self.reno_delivered = run.trace("delivered", "reno")
        backlog = np.interp(self.time, *run.trace("backlog", BOTTLENECK))
        rtt = run.one("rtt_min", "variant") + backlog * 8 * PACKET / (1e6 * rate)
        self.rounds = np.cumsum(np.diff(self.time, prepend=self.time[0]) / rtt)

    def index(self, time_s: float) -> int:
        return int(np.clip(np.searchsorted(self.time, time_s), 0, self.time.size - 1))

    def rounds_at(self, time_s: float) -> float:
        return float(np.interp(time_s, self.time, self.rounds))

    def time_after(self, time_s: float, rounds: float) -> float:
        return float(np.interp(self.rounds_at(time_s) + rounds, self.rounds, self.time))

    def growth(self, window: Values, begin_s: float, end_s: float) -> Growth:
        first, last = self.index(begin_s), self.index(end_s)
        return Growth(float(window[last] - window[first]), float(self.rounds[last] - self.rounds[first]))

    def reno_growth(self, begin_s: float, end_s: float, cuts: Sequence[tuple[float, float]]) -> Growth:
        """Return Reno's growth outside its recoveries, each of which ends with a cut."""
        packets = rounds = 0.0
        start = begin_s
        for first, last in [
            *(cut for cut in cuts if begin_s < cut[1] and cut[0] < end_s + 1.0),
            (np.inf, np.inf),
        ]:
            stop = end_s if np.isinf(first) else min(self.time_after(first, -RECOVERY_ROUNDS), end_s)
            if stop > start and self.rounds_at(stop) - self.rounds_at(start) > SHORTEST_STRETCH:
                part = self.growth(self.reno, start, stop)
                packets, rounds = packets + part.packets, rounds + part.rounds
            start = end_s if np.isinf(last) else max(start, self.time_after(last, 1.0))
        return Growth(packets, rounds)


def reno_cuts(run: Run) -> list[tuple[float, float]]:
    """Return Reno's cuts: when its window first and last falls by a quarter or more at once, s.

    It falls when a recovery begins, is inflated, and falls again when the recovery ends.
    """
    time, cwnd = run.trace("cwnd", "reno")
    falls = time[1:][cwnd[1:] < 0.75 * cwnd[:-1]]
    groups = np.split(falls, np.flatnonzero(np.diff(falls) > CLUSTER_S) + 1) if falls.size else []
    return [(float(group[0]), float(group[-1])) for group in groups]


def _answers(run: Run) -> Values:
    """Return when the variant's thresholds answered a loss, s: scaled, or put back by more than a step."""
    times, alpha = run.trace("alpha")
    before, after = alpha[:-1], alpha[1:]
    is_scaled = np.abs(after - BASE.epsilon * before) < 1e-9
    is_reset = (after == 1.0) & (before - after > 1.0 + 1e-9)
    found: Values = times[1:][is_scaled | is_reset]
    return found


def losses(run: Run, rate: float = BASE.window_rate) -> list[float]:
    """Return when the variant lost, s, at a bottleneck of `rate` Mbit/s; losses of one recovery count once."""
    windows = _Windows(run, rate)
    found: list[float] = []
    for loss in _answers(run):
        if loss >= WARM_UP_S and (
            not found or windows.rounds_at(loss) - windows.rounds_at(found[-1]) > SHORTEST_ROUNDS
        ):
            found.append(float(loss))
    return found


def shared_losses(run: Run) -> tuple[int, int, int]:
    """Return how many overflows hit both connections, the variant alone, and Reno alone."""
    mine = np.array(losses(run))
    others = np.array([first for first, _ in reno_cuts(run) if first >= WARM_UP_S])
    apart = np.abs(mine[:, np.newaxis] - others[np.newaxis, :])
    both = int((apart.min(axis=1, initial=np.inf) < CLUSTER_S).sum())
    return both, mine.size - both, int((apart.min(axis=0, initial=np.inf) >= CLUSTER_S).sum())


def cycles(run: Run, rate: float = BASE.window_rate) -> list[Cycle]:
    """Return the complete cycles of a run of Fig. 3 or 5 at a bottleneck of `rate` Mbit/s."""
    windows = _Windows(run, rate)
    cuts = reno_cuts(run)
    bounds = losses(run, rate)
    found = []
    for begin, end in itertools.pairwise(bounds):
        start, stop = windows.time_after(begin, SKIPPED_ROUNDS), end - BEFORE_LOSS_S
        first, last = windows.index(start), windows.index(stop)
        at = first + int(np.argmin(windows.cwnd[first:last]))
        lowest = float(windows.time[at])

        def delivered(trace: StepFunction, begin: float = begin, end: float = end) -> float:
            return float(np.diff(np.interp([begin, end], *trace))[0])

        found.append(
            Cycle(
                begin_s=begin,
                lowest_s=lowest,
                end_s=end,
                peak=float(windows.cwnd[windows.index(begin - BEFORE_LOSS_S)]),
                lowest=float(windows.cwnd[at]),
                falling=windows.growth(windows.cwnd, start, lowest),
                rising=windows.growth(windows.cwnd, lowest, stop),
                reno_falling=windows.reno_growth(start, lowest, cuts),
                reno_rising=windows.reno_growth(lowest, stop, cuts),
                packets=delivered(windows.delivered),
                reno_packets=delivered(windows.reno_delivered),
            )
        )
    return found
