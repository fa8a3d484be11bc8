"""The evidence for the claims: results of the runs with resamples, and model predictions for each run.

Every quantity is an array whose first row comes from all runs and whose other rows come from resamples of the runs (the
bootstrap: runs drawn with replacement, the same ones in every row of the tables, because they share a phase). A claim's
number and its interval therefore follow from one definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dumbbell.judge.reads import Results
from dumbbell.judge.runs import KeyedRuns

from .assumptions import VARIATIONS, Assumptions, Variation
from .grid import GRID, Connections, Setting
from .plan import BASE, buffers
from .scenarios import of_phase

Values = NDArray[np.float64]

Averages = Literal["steady", "cycles"]
"""Where the averages of Vegas and of Reno are from."""

RESAMPLES = 300


class Sweep:
    """A sweep of the buffer: how many runs still lose packets in their second half.

    Parameters
    ----------
    critical
        B* by the model, packets.
    shares
        Share of the runs that still lose, by buffer.
    """

    def __init__(self, critical: float, shares: Mapping[int, float]) -> None:
        self.critical = critical
        self.shares = shares

    @property
    def predicted(self) -> int:
        """Smallest buffer with which Vegas should be steady: floor(B*) + 1."""
        return int(np.floor(self.critical * (1.0 + 1e-12))) + 1

    @property
    def smallest_stable(self) -> int:
        """One more than the largest buffer with which at least half of the runs still lose, packets."""
        losing = [buffer for buffer, share in self.shares.items() if share >= 0.5]
        return max(losing, default=min(self.shares) - 1) + 1

    @property
    def is_cut_off(self) -> bool:
        """Whether the sweep ends before Vegas is steady."""
        return self.smallest_stable > max(self.shares)


class Evidence(KeyedRuns):
    """The results of the runs, with the chosen assumptions or with one of them varied.

    Parameters
    ----------
    results
        The table of results: ``key``, ``run`` and the columns of the paper.
    seed
        Seed of the resampling.
    group
        `BASE`, or the name of a variation. Runs missing in a variation are taken from the base.
    seeds
        The number of seeds the results of the base are from. Each has runs of all phases.
    phases
        Returns the number of phases of a key, if `results` is a choice of some complete table; otherwise they are counted.
    """

    def __init__(
        self,
        results: Results,
        *,
        seed: int = 1,
        group: str = BASE,
        seeds: int = 1,
        phases: Callable[[str], int] | None = None,
    ) -> None:
        super().__init__(results, BASE, group=group, seed=seed, resamples=RESAMPLES)
        self._seeds = seeds
        self._phases = phases

    @property
    def _variation(self) -> Variation | None:
        return next((moved for moved in VARIATIONS if moved.name == self.group), None)

    def phases(self, key: str) -> int:
        """Return the number of phases of a key; runs with one number modulo it have the same phase."""
        if self._phases is not None:
            return self._phases(key)
        return len(self._by_key[key]) // (self._seeds if key.startswith(f"{BASE}|") else 1)

    def _assumptions(self, name: str) -> Assumptions:
        variation = self._variation
        if variation is None or not self.key(name).startswith(f"{self.group}|"):
            return Assumptions()
        return variation.moved

    # The tables.

    def table(self, kind: Averages, column: str, rows: Sequence[Setting] = GRID) -> Values:
        """Return a column for rows of the tables: shape (rows, runs)."""
        return np.array([self.column(f"{kind}/{row.id}", column) for row in rows])

    def settings(self, name: str, row: Setting) -> list[Setting]:
        """Return the row as each run of a configuration had it, with the model's reading of T."""
        count = self.phases(self.key(name))
        assumptions = self._assumptions(name)
        service = "mu" if self._variation is None else self._variation.service
        return [
            _placed(row, int(run) % count, count, assumptions, service) for run in self.column(name, "run")
        ]

    def model(
        self,
        kind: Averages,
        predicts: Callable[[Setting], float],
        rows: Sequence[Setting] = GRID,
    ) -> Values:
        """Return the model predictions for each run of rows of the tables: shape (rows, runs)."""
        return np.array(
            [[predicts(place) for place in self.settings(f"{kind}/{row.id}", row)] for row in rows]
        )

    def errors(self, predicted: Values, simulated: Values) -> Values:
        """Return relative errors of the model's means, predicted / simulated - 1: shape (1 + resamples, rows)."""
        known = np.isfinite(simulated)
        return self.mean(np.where(known, predicted, np.nan)) / self.mean(simulated) - 1.0

    # The sweeps.

    def sweep(self, kind: Literal["threshold", "connections"], case: Connections) -> Sweep:
        """Return a sweep of the buffer.

        Raises
        ------
        NotMeasured
            It was not run.
        """
        name = f"{kind}/{case.setting.id}/{case.flows}"
        shares = {
            buffer: float(np.mean(self.column(f"{name}/{buffer}", "still_loses")))
            for buffer in buffers(case.critical_buffer)
        }
        return Sweep(case.critical_buffer, shares)

    # Mini-slots.

    def mini_slots(self, name: str) -> Iterable[tuple[int, Values, Values, Values]]:
        """Yield run, windows, durations and round-trip times of the mini-slots of each run of a configuration."""
        for run, row in enumerate(self.frame(name).itertuples()):
            yield run, np.asarray(row.windows), np.asarray(row.durations), np.asarray(row.rtts)


@cache
def _placed(row: Setting, phase: int, count: int, assumptions: Assumptions, service: str) -> Setting:
    """Return a row as runs of one phase had it; the model computes each once."""
    place = of_phase(row, phase, count, assumptions)
    return place if service == "mu" else place.with_service("nu")
