"""Percentiles of every value that runs recorded, pooled over the runs: of round-trip times, queueing and completion times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from dumbbell.errors import refusal
from dumbbell.judge.pooled import percentile
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


def pooled_values(runs: Recorded, quantity: str) -> dict[str, list[NDArray[np.float64]]]:
    """Return all recorded values of the measurement window, s: for each flow or link an array for each completed job.

    Of a workload with pages or requests, these count; a transfer without an end has no value.
    """
    frame = runs.arrow_traces[quantity].to_pandas()
    bounds = {job: _window(runs.jobs[job].scenario) for job in runs.completed_jobs}
    time, first, last = (
        frame["time_s"].to_numpy() * 1e9,
        frame["job"].map({job: low for job, (low, _) in bounds.items()}).to_numpy(dtype=float),
        frame["job"].map({job: high for job, (_, high) in bounds.items()}).to_numpy(dtype=float),
    )
    # Times are whole nanoseconds, written as seconds.
    frame = frame[(np.rint(time) >= first) & (np.rint(time) <= last)]
    found: dict[str, list[NDArray[np.float64]]] = {}
    for name, rows in frame.groupby("name", sort=False):
        if quantity == "transfers" and rows["kind"].isin(GROUPS).any():
            rows = rows[rows["kind"].isin(GROUPS)]
        by_job = dict(list(rows.groupby("job")[VALUES[quantity]]))
        values = [
            by_job[job].dropna().to_numpy(dtype=float) if job in by_job else np.empty(0) for job in bounds
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


def percentiles(
    runs: Recorded, quantity: str, shares: Sequence[float], names: Sequence[str] | None
) -> pd.DataFrame:
    """Return pooled percentiles as `dumbbell.Runs.percentiles` describes them."""
    if quantity not in VALUES:
        raise refusal("quantity", quantity, ", ".join(VALUES), names=VALUES)
    if quantity not in runs.arrow_traces:
        accepted = f"runs with a probe of it: Probe(quantities=[{quantity!r}])"
        raise refusal("quantity", quantity, accepted, problem="was not recorded")
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
            raise refusal("shares", share, "numbers above 0, at most 1, such as 0.95")
    if len({runs.jobs[job].scenario.canonical_json for job in runs.completed_jobs}) > 1:
        raise refusal("runs", "several scenarios", "replications of one scenario", quoted=False)
    found = pooled_values(runs, quantity)
    for name in names or ():
        if name not in found:
            raise refusal("names", name, ", ".join(found) or "none", names=found)
    rows = []
    for name in names or found:
        for share in shares:
            made = percentile(found[name], share)
            count = sum(part.size for part in found[name])
            rows.append((name, share, made.measured, made.low, made.high, len(found[name]), count))
    return pd.DataFrame(rows, columns=["name", "share", "value", "low", "high", "runs", "values"])
