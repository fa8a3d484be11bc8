"""Making runs on this machine's cores, and reducing them as they end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd
import pyarrow as pa

import dumbbell
from dumbbell.campaign.planned import Keep, Make, Planned
from dumbbell.campaign.store import arrow
from dumbbell.runs import Job, Runs, RunsInterrupted

Reduction = Callable[[Runs], "pd.DataFrame | pa.Table"]
"""Returns the reduction of some finished runs: a row for each of ``runs.jobs``, in their order.

What it keeps of a run may depend on that run alone: which runs it is given together is up to the order in which they end.
"""


def reduced(reduce: Reduction, runs: Runs) -> pa.Table:
    """Return the reduction of some completed runs as an Arrow table.

    Raises
    ------
    ValueError
        The reduction did not return a row for each run.
    """
    kept = reduce(runs)
    if len(kept) != len(runs.jobs):
        raise ValueError(f"the reduction returned {len(kept)} rows for {len(runs.jobs)} runs")
    return kept if isinstance(kept, pa.Table) else arrow(kept.reset_index(drop=True))


def job_of(planned: Planned) -> Job:
    """Return the job of a planned run."""
    return Job(scenario=planned.scenario, seed=planned.seed, run=planned.run)


def on_threads(reduce: Reduction, threads: int | None = None) -> Make[Planned]:
    """Return a function that runs on threads of this process and stores completed runs about once per second.

    Parameters
    ----------
    reduce
        The reduction.
    threads
        Number of threads; all cores by default.
    """

    def make(planned: Sequence[Planned], keep: Keep) -> None:
        def finished(runs: Runs) -> None:
            keep(runs.completed_jobs, reduced(reduce, runs.only_completed()))

        try:
            dumbbell.run_many(
                [job_of(one) for one in planned],
                threads=threads,
                progress=False,
                finished=finished,
                warn=False,
            )
        except RunsInterrupted:
            raise KeyboardInterrupt from None

    return make
