"""The effects of losses on a flow; the only module that knows where these numbers come from.

[hengartner2000 §VIII.B-C]

They are columns of the engine's results. Claims, tables and scripted connections get them from here alone, so that they can be
taken from a trace of a flow's events instead.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["COLUMNS", "episodes"]

COLUMNS = (
    "first_slow_start_timeouts",
    "first_slow_start_losses",
    "timeouts_multiple_loss",
    "timeouts_any_loss",
    "recovery_wait_rtts",
    "cwnd_after_recovery",
    "receive_window_limited",
)
"""Timeouts and losses in the first slow start; timeouts after several losses in one window, and after any; mean time from a fast
retransmit to the next new segment, round trips; mean share of the window that a recovery leaves; send opportunities that the
receiver's window stopped."""


def episodes(flows: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    """Return `COLUMNS` for some rows of the results, one number for each flow; NaN for a mean of nothing.

    Parameters
    ----------
    flows
        Rows of ``runs.flows``.
    """
    return {column: flows[column].to_numpy(dtype=np.float64) for column in COLUMNS}
