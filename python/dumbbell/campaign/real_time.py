"""Making runs in real time, on the testbed, and reducing them as they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from dumbbell.campaign.execution import job_of
from dumbbell.campaign.planned import Keep, Make, Planned
from dumbbell.testbed import BUDGET_BPS, Progress, RealTimeRun, run_many


def in_real_time(
    reduce: Callable[[RealTimeRun], Mapping[str, Any]],
    *,
    at_once: int = 1,
    budget_bps: float = BUDGET_BPS,
    congestion: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    finished: Callable[[int, RealTimeRun], None] | None = None,
) -> Make[Planned]:
    """Return a function that makes runs in real time and stores each completed run.

    A run that remains disturbed after its repetitions is not stored, so that the same command repeats it. The store needs
    the identity of the testbed, `dumbbell.testbed.identity`.

    Parameters
    ----------
    reduce
        Returns what is kept of a run: values by column.
    at_once, budget_bps, congestion, progress, finished
        As of `dumbbell.testbed.run_many`.
    """

    def make(planned: Sequence[Planned], keep: Keep) -> None:
        def completed(number: int, result: RealTimeRun) -> None:
            keep([number], pd.DataFrame([] if result.disturbed else [dict(reduce(result))]))
            if finished is not None:
                finished(number, result)

        run_many(
            [job_of(one) for one in planned],
            at_once=at_once,
            budget_bps=budget_bps,
            congestion=congestion,
            progress=progress,
            finished=completed,
        )

    return make
