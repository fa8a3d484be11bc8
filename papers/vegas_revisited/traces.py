"""Reading traces: quantities over time, round-trip times, and one run of a batch with what its probes saw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Runs

__all__ = ["Curve", "TracedRun", "Values", "bytes_of", "round_trips"]

Values = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A traced quantity: values from their times on.

    Parameters
    ----------
    time
        Times of the changes, s, ascending.
    value
        Values from these times on.
    """

    time: Values
    value: Values

    def at(self, times: Values | float, *, before: bool = False) -> Values:
        """Return the values at some times, or just before them; NaN where nothing was recorded yet."""
        index = np.searchsorted(self.time, times, side="left" if before else "right") - 1
        known = np.append(self.value, np.nan)
        return np.asarray(known[np.where(index < 0, len(self.value), index)])

    def mean(self, start: float, end: float) -> float:
        """Return the average over a time."""
        inside = (self.time > start) & (self.time < end)
        edges = np.concatenate([[start], self.time[inside], [end]])
        values = self.at(edges[:-1])
        return float(np.average(values, weights=np.diff(edges)))

    def spread(self, start: float, end: float) -> float:
        """Return the standard deviation over a time."""
        inside = (self.time > start) & (self.time < end)
        edges = np.concatenate([[start], self.time[inside], [end]])
        values, weights = self.at(edges[:-1]), np.diff(edges)
        mean = np.average(values, weights=weights)
        return float(math.sqrt(np.average((values - mean) ** 2, weights=weights)))


class TracedRun:
    """One run of a batch.

    Parameters
    ----------
    runs
        The batch.
    job
        Which of its jobs.
    """

    def __init__(self, runs: Runs, job: int) -> None:
        self.scenario = runs.jobs[job].scenario
        self.number = runs.jobs[job].run
        self._runs = runs
        self._job = job

    @property
    def mss(self) -> int:
        """Payload of a segment of the first flow, bytes."""
        return bytes_of(self.scenario.to_dict()["flows"][0]["tcp"]["mss"])

    def _of_job(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of the job, which stand together."""
        jobs = frame["job"].to_numpy()
        return frame.iloc[np.searchsorted(jobs, self._job) : np.searchsorted(jobs, self._job, side="right")]

    def curve(self, quantity: str, name: str) -> Curve:
        """Return a traced quantity of a flow or link."""
        rows = self._of_job(self._runs.traces[quantity])
        rows = rows[rows["name"] == name]
        return Curve(
            time=rows["time_s"].to_numpy(dtype=np.float64), value=rows["value"].to_numpy(dtype=np.float64)
        )

    def flows(self, column: str) -> Values:
        """Return a column of the results for all flows."""
        return self._of_job(self._runs.flows)[column].to_numpy(dtype=np.float64)


def round_trips(sent: Curve, acked: Curve, mss: int) -> tuple[Values, Values]:
    """Return when segments that were sent once were acknowledged, and their round-trip times, s.

    Parameters
    ----------
    sent
        First bytes of the segments sent.
    acked
        Cumulative acknowledgements.
    mss
        Payload of a segment, bytes.
    """
    first, index, count = np.unique(sent.value, return_index=True, return_counts=True)
    once = count == 1
    first, start = first[once], sent.time[index[once]]
    position = np.searchsorted(acked.value, first + mss)
    known = position < len(acked.value)
    arrival = acked.time[position[known]]
    order = np.argsort(arrival, kind="stable")
    return arrival[order], (arrival - start[known])[order]


def bytes_of(text: str) -> int:
    """Return a size written in bytes as a number."""
    return int(text.split()[0])
