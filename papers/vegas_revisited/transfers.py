"""The measurement of every design: the foreground transfer."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dumbbell import Runs

from .scenarios import KB, TRANSFER

FOREGROUND = "fg"


def transfers(runs: Runs) -> pd.DataFrame:
    """Return the results of the foreground transfer of each run, indexed by job.

    Parameters
    ----------
    runs
        Finished runs. Those without a foreground are left out.

    Returns
    -------
    DataFrame
        ``throughput`` in KB/s; ``retransmitted`` in KB; ``duration`` in s; ``completed``, 1 or 0. An incomplete
        transfer counts with the bytes delivered until the end of the run.
    """
    flows = runs.flows
    foreground = flows[flows["name"] == FOREGROUND].set_index("job")
    completion = foreground["completion_s"].to_numpy(dtype=np.float64)
    completed = ~np.isnan(completion)
    elapsed = np.where(
        completed,
        completion,
        foreground["simulated_s"].to_numpy(dtype=np.float64)
        - foreground["start_s"].to_numpy(dtype=np.float64),
    )
    delivered = foreground["bytes_delivered"].to_numpy(dtype=np.float64)
    return pd.DataFrame(
        {
            "throughput": np.where(completed, TRANSFER, delivered) / KB / elapsed,
            "retransmitted": foreground["bytes_retransmitted"].to_numpy(dtype=np.float64) / KB,
            "duration": elapsed,
            "completed": completed.astype(np.float64),
        },
        index=foreground.index,
    )
