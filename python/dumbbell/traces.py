"""Step functions: recorded quantities that keep their value until the next record.

A probe records a quantity when it changes or periodically, so a trace is a step function. `StepFunction` evaluates,
averages and integrates it. The last value holds to the end; before the first record there is no value (NaN).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class StepFunction:
    """A quantity that holds each value from the time of its record.

    Parameters
    ----------
    time : ndarray, shape (n,)
        Times of the records, s, ascending. Of several records at one time the last one counts.
    value : ndarray, shape (n,)
        Values from these times on, in any unit.

    Examples
    --------
    >>> window = StepFunction([0.0, 1.0, 3.0], [2.0, 4.0, 3.0])
    >>> window.at([0.5, 1.0, 9.0]).tolist()
    [2.0, 4.0, 3.0]
    >>> window.mean(0.0, 4.0)
    3.25
    >>> window.integral(0.0, 4.0)
    13.0
    """

    time: NDArray[np.float64]
    value: NDArray[np.float64]

    def __post_init__(self) -> None:
        time, value = (np.asarray(part, dtype=np.float64) for part in (self.time, self.value))
        if time.ndim != 1 or time.shape != value.shape:
            raise ValueError(
                f"time has the shape {time.shape} and value {value.shape}; accepted: one dimension, of equal length"
            )
        object.__setattr__(self, "time", time)
        object.__setattr__(self, "value", value)

    @classmethod
    def empty(cls) -> StepFunction:
        """Return a quantity that was never recorded."""
        return cls(np.empty(0), np.empty(0))

    @classmethod
    def of(cls, trace: pd.DataFrame, name: str | None = None) -> StepFunction:
        """Return the step function of a frame of traces.

        Parameters
        ----------
        trace
            The columns ``time_s`` (s, ascending for each name) and ``value``, and ``name`` if `name` is given.
        name
            Name of the flow or link, in a trace of several.
        """
        rows = trace if name is None else trace[trace["name"] == name]
        return cls(rows["time_s"].to_numpy(dtype=np.float64), rows["value"].to_numpy(dtype=np.float64))

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        """Yield the times and the values, so that ``time, value = trace`` works."""
        yield self.time
        yield self.value

    def at(self, times: ArrayLike, *, before: bool = False) -> NDArray[np.float64]:
        """Return the values at some times; NaN where nothing was recorded yet.

        Parameters
        ----------
        times : array_like
            Times, s, of any shape.
        before
            Return the values just before these times instead.

        Returns
        -------
        ndarray
            In the shape of `times`.
        """
        index = np.searchsorted(self.time, times, side="left" if before else "right") - 1
        known = np.append(self.value, np.nan)
        return np.asarray(known[np.where(index < 0, len(self.value), index)])

    def resample(self, start: float, end: float, period: float) -> StepFunction:
        """Return the step function recorded every `period` seconds from `start` on, before `end`."""
        times = np.arange(start, end, period)
        return StepFunction(times, self.at(times))

    def between(self, start: float, end: float) -> StepFunction:
        """Return the records from `start` on, before `end`; earlier values are dropped."""
        inside = (self.time >= start) & (self.time < end)
        return StepFunction(self.time[inside], self.value[inside])

    def pieces(self, start: float, end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the known values between two times and how long each of them held, s."""
        inside = (self.time > start) & (self.time < end)
        edges = np.concatenate([[start], self.time[inside], [end]])
        values, durations = self.at(edges[:-1]), np.diff(edges)
        known = ~np.isnan(values)
        return values[known], durations[known]

    def integral(self, start: float, end: float) -> float:
        """Return the integral over time, in the unit of the values times s; unknown values count as 0."""
        values, durations = self.pieces(start, end)
        return float(values @ durations)

    def mean(self, start: float, end: float) -> float:
        """Return the mean over the time with a known value; NaN without any."""
        values, durations = self.pieces(start, end)
        return float(np.average(values, weights=durations)) if durations.sum() > 0 else math.nan

    def deviation(self, start: float, end: float) -> float:
        """Return the standard deviation over the time with a known value; NaN without any."""
        values, durations = self.pieces(start, end)
        if not durations.sum() > 0:
            return math.nan
        mean = np.average(values, weights=durations)
        return float(math.sqrt(np.average((values - mean) ** 2, weights=durations)))

    def maximum(self, start: float, end: float) -> float:
        """Return the greatest value taken between two times; NaN without any."""
        values, _ = self.pieces(start, end)
        return float(values.max()) if values.size else math.nan
