"""Runs by key, and the bootstrap over them.

A key is ``group|name``. The runs of a variation are a group; what a variation did not run is taken from the base. Runs of one
number share their random numbers in every configuration, so that they are drawn together.

Which keys a claim rests on is recorded while it is judged: see `dumbbell.judge.reads`.
"""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd

from dumbbell.judge.estimate import NotMeasured, Values
from dumbbell.judge.reads import Remembered, Results, RunsByKey, by_key
from dumbbell.statistics import resample_weights, resampled_mean

Row = dict[str, Any]


def rows_of(runs: pd.DataFrame) -> list[Row]:
    """Return runs as plain rows."""
    return [{str(name): value for name, value in row.items()} for row in runs.to_dict("records")]


class KeyedRuns:
    """The results of runs, seen from a group.

    Parameters
    ----------
    results
        One row for each run: ``key``, ``run`` and further columns; or the same by key.
    base
        The group of the runs that are not varied.
    group
        The group to look at; by default the base.
    seed
        Seed of the resampling.
    resamples
        Number of resamples.
    """

    def __init__(
        self, results: Results, base: str, *, group: str = "", seed: int = 1, resamples: int = 400
    ) -> None:
        self._by_key: RunsByKey = by_key(results)
        self._rows: Remembered[str, list[Row]] = Remembered()
        self._columns: dict[tuple[str, str], Values] = {}
        self.base_group = base
        self.group = group or base
        self._seed = seed
        self._resamples = resamples
        self._limit: int | None = None

    @property
    def results(self) -> pd.DataFrame:
        """All runs as one table."""
        return self._by_key.table

    def of_group(self, group: str, limit: int | None = None) -> Self:
        """Return the runs seen from another group, at most `limit` of each configuration."""
        other = copy(self)
        other.group = group
        other._limit = limit
        return other

    def has_runs(self, group: str, name: str = "") -> bool:
        """Return whether a group has runs of configurations whose names begin so."""
        return any(key.startswith(f"{group}|{name}") for key in self._by_key)

    def key(self, name: str) -> str:
        """Return the key of a configuration: that of the group, or of the base.

        Raises
        ------
        NotMeasured
            There are no runs of it.
        """
        for group in (self.group, self.base_group):
            if f"{group}|{name}" in self._by_key:
                return f"{group}|{name}"
        raise NotMeasured(f"There are no runs of {name.replace('|', ', ')}.")

    def frame(self, name: str) -> pd.DataFrame:
        """Return the runs of a configuration as a table; raises as `key`."""
        rows = self._by_key[self.key(name)]
        return rows if self._limit is None else rows[: self._limit]

    def column(self, name: str, column: str) -> Values:
        """Return a column of numbers over the runs of a configuration; raises as `key`."""
        key = self.key(name)
        rows = self._by_key[key]
        if (key, column) not in self._columns:
            values = rows[column].to_numpy(dtype=np.float64)
            values.flags.writeable = False
            self._columns[key, column] = values
        return self._columns[key, column][: self._limit]

    def records(self, name: str) -> list[Row]:
        """Return the runs of a configuration as plain rows; raises as `key`."""
        key = self.key(name)
        return self._rows.of(key, lambda: rows_of(self._by_key[key]))[: self._limit]

    def names(self, prefix: str = "") -> list[str]:
        """Return the configurations of the base whose names begin so."""
        begin = f"{self.base_group}|"
        return [key.removeprefix(begin) for key in self._by_key if key.startswith(begin + prefix)]

    def weights(self, count: int) -> Values:
        """Return the weights of `count` runs: all equal first, then those of each resample."""
        return resample_weights(count, seed=(self._seed, count), resamples=self._resamples)

    def mean(self, values: Values) -> Values:
        """Return means over runs with resamples, without missing values: shape (1 + resamples, ...).

        Parameters
        ----------
        values
            Runs along the last axis.
        """
        return resampled_mean(values, self.weights(values.shape[-1]))
