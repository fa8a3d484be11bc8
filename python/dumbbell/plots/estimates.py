"""Means of replications with their intervals, by the rule of `dumbbell.judge.estimate`, and how a note names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dumbbell.judge.estimate import NotMeasured, mean_of
from dumbbell.judge.quantity import CONFIDENCE, Quantity


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A mean over replications.

    Parameters
    ----------
    mean, low, high
        The mean and the ends of its interval, in the unit of the quantity as shown; NaN where there is none.
    n
        Number of replications.
    is_measured
        Whether every replication has a value.
    """

    mean: float
    low: float
    high: float
    n: int
    is_measured: bool = True


@dataclass
class Tally:
    """What was estimated, for the note of a figure."""

    counts: list[int] = field(default_factory=list)
    intervals: int = 0
    missing: int = 0

    def add(self, estimate: Estimate) -> Estimate:
        """Count an estimate, and return it."""
        if estimate.is_measured:
            self.counts.append(estimate.n)
            self.intervals += bool(np.isfinite(estimate.low))
        else:
            self.missing += 1
        return estimate

    def note(self, drawn: str, of: str = "mean") -> str:
        """Return what is drawn, in sentences.

        Parameters
        ----------
        drawn
            What the intervals are drawn as; empty if they are not drawn.
        of
            What they are intervals of.
        """
        runs = counted(self.counts, "run")
        if set(self.counts) <= {1}:
            sentences = ["Single runs, without intervals."]
        elif not drawn:
            sentences = [f"Means of {runs}."]
        elif self.intervals:
            sentences = [
                f"Means of {runs}; {drawn}: {CONFIDENCE:.0%} intervals of the {of} (Student's\u00a0t).".replace(
                    "%", " %"
                )
            ]
            if self.intervals < len(self.counts):
                sentences.append("No interval where no run differs from another.")
        else:
            sentences = [f"Means of {runs} that do not differ, without intervals."]
        if self.missing:
            sentences.append(f"Not drawn: {counted([self.missing], 'point')} where a run has no value.")
        return " ".join(sentences)


def counted(counts: Sequence[int], noun: str) -> str:
    """Return a number of things, or the smallest and the largest.

    Examples
    --------
    >>> counted([3, 3], "run"), counted([1], "point"), counted([3, 10], "run")
    ('3 runs', '1 point', '3 to 10 runs')
    """
    low, high = min(counts, default=0), max(counts, default=0)
    many = "" if high == 1 else "s"
    return f"{low:,} {noun}{many}" if low == high else f"{low:,} to {high:,} {noun}s"


def estimate(values: Iterable[float], quantity: Quantity) -> Estimate:
    """Return the mean of one value for each run, with the part of its interval inside the bounds of the quantity.

    Parameters
    ----------
    values
        In the unit of the column.
    quantity
        The quantity, whose unit and bounds count.
    """
    sample = np.asarray(list(values), dtype=float)
    try:
        found = mean_of(sample)
    except NotMeasured:
        return Estimate(mean=np.nan, low=np.nan, high=np.nan, n=len(sample), is_measured=False)
    low, high = (
        min(max(end, quantity.least), quantity.most) if np.isfinite(end) else np.nan
        for end in (found.low, found.high)
    )
    scale = quantity.scale
    return Estimate(mean=found.measured * scale, low=low * scale, high=high * scale, n=len(sample))


def by_run(frame: pd.DataFrame, by: Sequence[str], column: str) -> pd.DataFrame:
    """Return one value for each run and group: the mean over its flows or links; missing if one of them has none.

    A flow or link without a value in any run, such as the window of a source of datagrams, does not count.

    Parameters
    ----------
    frame
        Rows with ``job``, the columns of the groups and the quantity.
    by
        The columns of the groups.
    column
        The quantity.
    """
    if "name" in frame.columns:
        known = frame.groupby("name", sort=False)[column].transform("count") > 0
        frame = frame[known]
    grouped = frame.groupby(["job", *by], sort=False, dropna=False)[column]
    means = grouped.mean().where(grouped.count() == grouped.size())
    found: pd.DataFrame = means.reset_index()
    return found
