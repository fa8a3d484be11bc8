"""Percentiles of values pooled over runs, with intervals.

A percentile of a run cannot be pooled: the mean of percentiles of runs is no percentile of all values. Here all values of all
runs are one sample, and the runs are what is drawn again for the interval, since values of one run depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.judge.estimate import NotMeasured, Outcome, Values, resampled
from dumbbell.statistics import resample_weights

DEFINITION = (
    "the smallest value such that at least this share of all values of all runs is not larger (nearest rank)"
)
"""What a pooled percentile is."""


def pooled(values: Sequence[ArrayLike], share: float, *, seed: int = 1) -> Values:
    """Return a percentile of the values of all runs, and of its bootstrap resamples of the runs.

    Parameters
    ----------
    values
        The values of each run, in any unit; a run may have none.
    share
        Above 0, at most 1; 0.95 for the 95th percentile.
    seed
        Of the resamples: percentiles with the same seed and number of runs share them.

    Returns
    -------
    ndarray, shape (1 + resamples,)
        The percentile of all runs, then of each resample; NaN for a resample without values.

    Raises
    ------
    NotMeasured
        No run has a value.

    Examples
    --------
    >>> float(pooled([[1.0, 2.0, 3.0], [10.0]], 0.5)[0])
    2.0
    """
    if not 0.0 < share <= 1.0:
        raise ValueError(f"share = {share!r}; accepted: a number above 0, at most 1, such as 0.95")
    runs = [np.sort(np.asarray(run, dtype=np.float64)) for run in values]
    if not sum(run.size for run in runs):
        raise NotMeasured("No run has a value.")
    every = np.unique(np.concatenate(runs))
    drawn = np.rint(resample_weights(len(runs), seed=(seed, len(runs))) * len(runs))
    total = drawn @ np.array([run.size for run in runs], dtype=np.float64)
    rank = np.maximum(np.ceil(share * total), 1.0)
    low, high = np.zeros(total.shape, dtype=int), np.full(total.shape, every.size - 1)
    while (low < high).any():
        middle = (low + high) // 2
        reached = np.zeros(total.shape)
        for number, run in enumerate(runs):
            reached += drawn[:, number] * np.searchsorted(run, every[middle], side="right")
        is_enough = reached >= rank
        low, high = np.where(is_enough, low, middle + 1), np.where(is_enough, middle, high)
    return np.where(total > 0.0, every[np.minimum(low, every.size - 1)], np.nan)


def percentile(values: Sequence[ArrayLike], share: float) -> Outcome:
    """Return a percentile of the values of all runs with the percentile interval of the bootstrap over runs.

    One run has no interval. The parameters, and what is raised, are those of `pooled`.
    """
    count = sum(np.size(run) for run in values)
    return resampled(pooled(values, share), note=f"{count} values of {len(values)} runs")
