"""One run of a batch with what its probes saw, and round-trip times."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import Runs
from dumbbell.traces import StepFunction

from .episodes import EVENTS, episodes

Values = NDArray[np.float64]


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
        """Return the rows of the job, which are adjacent."""
        jobs = frame["job"].to_numpy()
        return frame.iloc[np.searchsorted(jobs, self._job) : np.searchsorted(jobs, self._job, side="right")]

    def curve(self, quantity: str, name: str) -> StepFunction:
        """Return a traced quantity of a flow or link."""
        rows = self._of_job(self._runs.traces[quantity])
        return StepFunction.of(rows, name)

    def flows(self, column: str) -> Values:
        """Return a column of the results for all flows."""
        return self._of_job(self._runs.flows)[column].to_numpy(dtype=np.float64)

    def episodes(self, column: str) -> Values:
        """Return a number of `episodes.COLUMNS` for all flows."""
        events = self._runs.traces.get(EVENTS)
        of_job = None if events is None else self._of_job(events)
        return episodes(self._of_job(self._runs.flows), of_job)[column]


def round_trips(sent: StepFunction, acked: StepFunction, mss: int) -> tuple[Values, Values]:
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
