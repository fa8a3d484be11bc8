"""Percentiles of every value that runs recorded, pooled over the runs: of round-trip times, queueing and completion times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from dumbbell.quantities import nanoseconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.scenario import Scenario

VALUES: Mapping[str, str] = {"rtt": "value", "wait": "value", "transfers": "completion_s"}
"""Traces with a record for every value, and the column of the values, s."""

GROUPS = ("page", "request")
"""Kinds of rows of ``transfers`` that stand for the transfers of a flow, as its columns do."""

WORDS: Mapping[str, str] = {
    "rtt": "round-trip time", "wait": "queueing time", "transfers": "completion time",
}  # fmt: skip


class Started(Protocol):
    """A job: see `dumbbell.Job`."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""


class Recorded(Protocol):
    """What is needed of many runs: see `dumbbell.Runs`."""

    @property
    def jobs(self) -> Sequence[Started]:
        """The jobs."""

    @property
    def completed_jobs(self) -> tuple[int, ...]:
        """The completed jobs."""

    @property
    def arrow_traces(self) -> Mapping[str, Any]:
        """Traces by quantity."""


def counted(runs: Recorded, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a trace that count: those of the measurement window, and of a workload with pages or requests these.

    Parameters
    ----------
    runs
        The runs.
    frame
        A trace of theirs with ``job``, ``time_s`` and ``name``, and ``kind`` if it has transfers.
    """
    bounds = {job: _window(runs.jobs[job].scenario) for job in runs.completed_jobs}
    # Times are whole nanoseconds, written as seconds.
    time = np.rint(frame["time_s"].to_numpy() * 1e9)
    first, last = (
        frame["job"].map({job: window[end] for job, window in bounds.items()}).to_numpy(dtype=float)
        for end in (0, 1)
    )
    frame = frame[(time >= first) & (time <= last)]
    if "kind" not in frame:
        return frame
    is_group = frame["kind"].isin(GROUPS)
    return frame[is_group | ~frame["name"].isin(frame["name"][is_group])]


def pooled_values(runs: Recorded, quantity: str) -> dict[str, list[NDArray[np.float64]]]:
    """Return all recorded values that count, s: for each flow or link an array for each completed job.

    A transfer without an end has no value.
    """
    frame = counted(runs, runs.arrow_traces[quantity].to_pandas())
    found: dict[str, list[NDArray[np.float64]]] = {}
    for name, rows in frame.groupby("name", sort=False):
        by_job = dict(list(rows.groupby("job")[VALUES[quantity]]))
        values = [
            by_job[job].dropna().to_numpy(dtype=float) if job in by_job else np.empty(0)
            for job in runs.completed_jobs
        ]
        if any(part.size for part in values):
            found[str(name)] = values
    return found


def _window(scenario: Scenario) -> tuple[float, float]:
    """Return the measurement window, ns."""
    end = scenario.measure_until
    return (
        float(nanoseconds(scenario.measure_from or "0 s", "measure_from")),
        np.inf if end is None else float(nanoseconds(end, "measure_until")),
    )
