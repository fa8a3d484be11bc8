"""The value of an objective at points of a search, over several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.runs import Job, run_many
from dumbbell.search.dimensions import Values
from dumbbell.search.objectives import Objective
from dumbbell.search.subject import Subject


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Runs the scenarios of points.

    Parameters
    ----------
    subject, objective
        The algorithm and what is measured of it.
    seed
        Seed of all runs.
    threads
        Number of threads; all cores by default.
    """

    subject: Subject
    objective: Objective
    seed: int
    threads: int | None = None

    def values(self, points: Sequence[Values], runs: range) -> NDArray[np.float64]:
        """Return the objective in each run of each point, shape (points, runs)."""
        scenarios = [self.subject.scenario(point) for point in points]
        jobs = [Job(scenario, self.seed, run) for scenario in scenarios for run in runs]
        done = run_many(jobs, threads=self.threads, progress=False, warn=False)
        rows: list[dict[str, dict[str, object]]] = [{} for _ in jobs]
        columns = ["job", "name", "goodput_bps", "rtt_mean_s", "delay_mean_s"]
        for row in done.arrow_flows.select(columns).to_pylist():
            rows[row["job"]][row["name"]] = row
        values = [
            self.objective.value(flows, points[number // len(runs)]) for number, flows in enumerate(rows)
        ]
        return np.asarray(values).reshape(len(points), len(runs))

    def means(self, points: Sequence[Values], runs: range) -> list[float]:
        """Return the mean objective of each point."""
        return [float(value) for value in self.values(points, runs).mean(axis=1)] if points else []
