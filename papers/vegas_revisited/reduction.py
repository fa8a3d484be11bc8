"""The reduction of a run: the foreground transfer, the bottleneck, and observations from traces."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dumbbell import Runs

from . import episodes, observations
from .looks import SEEN, SEEN_VALUES
from .transfers import FOREGROUND, transfers

BOTTLENECK = "r1-r2"

FLOW_COLUMNS = ("timeouts", "fast_retransmits", "receive_window_limited")

COLUMNS = (
    "throughput",
    "retransmitted",
    "duration",
    "completed",
    "loss_rate",
    "utilization",
    "fingerprint_high",
    *FLOW_COLUMNS,
    *episodes.COLUMNS,
    SEEN,
    SEEN_VALUES,
)
"""Columns of a reduced run."""


def reduce(runs: Runs) -> pd.DataFrame:
    """Return what the claims need of the foreground and the bottleneck, and what was seen in traces."""
    flows = runs.flows
    foreground = flows[flows["name"] == FOREGROUND]
    happened = episodes.episodes(foreground, runs.traces.get(episodes.EVENTS))
    foreground = foreground.set_index("job")
    links = runs.links
    bottleneck = links[links["name"] == BOTTLENECK].set_index("job").loc[foreground.index]
    offered = bottleneck["packets"].to_numpy(dtype=np.float64)
    measured = pd.DataFrame(
        {
            "loss_rate": bottleneck["drops_queue"].to_numpy(dtype=np.float64) / np.maximum(offered, 1.0),
            "utilization": bottleneck["utilization"].to_numpy(dtype=np.float64),
            # The upper 53 bits are exact as a number.
            "fingerprint_high": (foreground["fingerprint"].to_numpy(dtype=np.uint64) >> np.uint64(11)).astype(
                np.float64
            ),
        },
        index=foreground.index,
    )
    frame = pd.concat([transfers(runs), measured], axis=1)
    for column in FLOW_COLUMNS:
        frame[column] = foreground[column].to_numpy(dtype=np.float64)
    frame = frame.assign(**happened)
    # Runs of long flows have no foreground.
    frame = frame.reindex(range(len(runs.jobs)))
    return pd.concat([frame, observations.reduce(runs)], axis=1)[list(COLUMNS)]
