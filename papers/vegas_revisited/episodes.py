"""The effects of losses on a flow, from the trace of its events; the only module that knows where these numbers come from.

[hengartner2000 §VIII.B-C]
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.tcp_events import (
    in_first_slow_start,
    losses_before_timeouts,
    mean_by_flow,
    new_data_waits,
    sum_by_flow,
    window_kept,
)

EVENTS = "tcp_events"
"""The quantity that a probe has to record of the flow."""

COLUMNS = (
    "first_slow_start_timeouts",
    "first_slow_start_losses",
    "timeouts_multiple_loss",
    "recovery_wait_rtts",
    "cwnd_after_recovery",
)
"""Timeouts and losses in the first slow start; timeouts after several losses in one window; mean time from a fast retransmit to
the next new segment, round trips; mean share of the window that a recovery leaves."""


def episodes(flows: pd.DataFrame, events: pd.DataFrame | None) -> dict[str, NDArray[np.float64]]:
    """Return `COLUMNS` for some rows of the results, one number for each flow; NaN for a mean without values.

    Parameters
    ----------
    flows
        Rows of ``runs.flows``.
    events
        The trace of their events; ``None`` if it was not recorded; all values are NaN then.
    """
    if events is None:
        return {column: np.full(len(flows), np.nan) for column in COLUMNS}
    early = in_first_slow_start(events)
    is_timeout = events.loc[early.index, "kind"] == "timeout"
    several = losses_before_timeouts(events) >= 2
    return {
        "first_slow_start_timeouts": sum_by_flow(events, early[is_timeout], flows),
        "first_slow_start_losses": sum_by_flow(events, early[~is_timeout], flows),
        "timeouts_multiple_loss": sum_by_flow(events, several, flows),
        "recovery_wait_rtts": mean_by_flow(events, new_data_waits(events), flows),
        "cwnd_after_recovery": mean_by_flow(events, window_kept(events), flows),
    }
