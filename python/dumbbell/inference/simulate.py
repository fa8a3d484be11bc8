"""Candidates in the engine: many at once, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dumbbell.inference.connection import Connection, Floats
from dumbbell.inference.distance import Shape, distance, shape_of_capture, shape_of_series
from dumbbell.inference.path import QUANTITIES, Ends, Path
from dumbbell.runs import Job, Runs, run_many

# Candidates of one batch: their series are in memory together.
BATCH = 24


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A path and a congestion control, with a seed for what is random.

    Parameters
    ----------
    path, control, run
        What is simulated; `run` is the number of the replication.
    """

    path: Path
    control: str
    run: int = 0


@dataclass(kw_only=True)
class Simulator:
    """Distances of candidates from one captured flow; each candidate is simulated once.

    Parameters
    ----------
    seen
        The flow.
    ends
        Its two hosts.
    base_rtt_s
        The base round-trip time that queueing times are reckoned from.
    seed
        Seed of all runs.
    threads
        Number of threads; all cores by default.
    told
        Called with the number of simulations done so far.
    """

    seen: Connection
    ends: Ends
    base_rtt_s: float
    seed: int = 1
    threads: int | None = None
    told: Callable[[int], None] | None = None
    known: dict[Candidate, float] = field(default_factory=dict)
    _shape: Shape | None = None

    def distances(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return the distance of each candidate from the captured flow."""
        new = [one for one in dict.fromkeys(candidates) if one not in self.known]
        for begin in range(0, len(new), BATCH):
            some = new[begin : begin + BATCH]
            self.known.update(zip(some, self._measured(some), strict=True))
            if self.told is not None:
                self.told(len(self.known))
        return [self.known[one] for one in candidates]

    def _measured(self, candidates: Sequence[Candidate]) -> list[float]:
        if self._shape is None:
            self._shape = shape_of_capture(self.seen)
        jobs = [Job(one.path.scenario(self.ends, one.control), self.seed, one.run) for one in candidates]
        done = run_many(jobs, threads=self.threads, progress=False, warn=False)
        series = [_series(done, place) for place in range(len(jobs))]
        shapes = [shape_of_series(one, self.ends.mss, self.seen.end_s) for one in series]
        return [distance(self._shape, one, self.base_rtt_s) for one in shapes]


def _series(runs: Runs, job: int) -> dict[str, tuple[Floats, Floats]]:
    """Return times and values of the probes of one job."""
    found = {}
    for quantity in QUANTITIES:
        table = runs.arrow_traces.get(quantity)
        if table is None:
            found[quantity] = (np.empty(0), np.empty(0))
            continue
        jobs = table["job"].to_numpy()
        first, last = np.searchsorted(jobs, [job, job + 1])
        part = table.slice(first, last - first)
        values = np.asarray(part["value"].to_numpy(), np.float64)
        found[quantity] = (np.asarray(part["time_s"].to_numpy(), np.float64), values)
    return found
