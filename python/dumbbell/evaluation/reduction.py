"""What is stored of a run of an evaluation: flows, links, quantiles of the queueing delay, and sampled traces."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.runs import Runs
from dumbbell.scenario import Scenario

COLUMNS = ("fingerprint", "flows", "links", "delay_s", "traces")
"""The stored columns."""

QUANTILES = (0.5, 0.95, 0.99, 1.0)
"""Quantiles of the queueing delay, after its mean and its standard deviation."""

FLOW_FIELDS = (
    "name",
    "goodput_bps",
    "throughput_bps",
    "bytes_delivered",
    "segments_sent",
    "segments_retransmitted",
    "segments_lost",
    "timeouts",
    "fast_retransmits",
    "completion_s",
    "start_s",
    "rtt_mean_s",
    "rtt_min_s",
)

LINK_FIELDS = (
    "name",
    "utilization",
    "drops_queue",
    "drops_early",
    "drops_impairment",
    "marks",
    "packets",
    "backlog_mean_packets",
    "backlog_max_packets",
    "wait_mean_s",
)

FULL_PACKET_BITS = 12_000.0
"""A packet of 1500 bytes, by which a backlog in packets becomes a delay."""


@cache
def reduction_digest() -> str:
    """Return a digest of the files that decide what is stored of a run."""
    digest = hashlib.blake2b(digest_size=6)
    for name in (__name__, Runs.__module__, nanoseconds.__module__):
        digest.update(Path(str(sys.modules[name].__file__)).read_bytes())
    return digest.hexdigest()


def reduce(runs: Runs) -> pd.DataFrame:
    """Return what is stored of each run.

    Parameters
    ----------
    runs
        Completed runs.

    Returns
    -------
    pandas.DataFrame
        One row per run. ``flows`` and ``links`` are lists of structs, links only those between routers. ``delay_s`` has the
        mean, the standard deviation and the `QUANTILES` of the queueing delay of the sampled bottleneck after the start
        of measurement, in seconds; it is empty if no backlog was sampled. ``traces`` are the other probed quantities.
    """
    flows = runs.flows[["job", "fingerprint", *FLOW_FIELDS]]
    links = runs.links[runs.links["name"].str.startswith("r") & runs.links["name"].str.contains("-r")]
    rows: list[dict[str, Any]] = [
        {"fingerprint": f"{0:016x}", "flows": [], "links": [], "delay_s": [], "traces": []} for _ in runs.jobs
    ]
    for job, part in flows.groupby("job", sort=False):
        rows[int(str(job))]["fingerprint"] = f"{int(part['fingerprint'].iloc[0]):016x}"
        rows[int(str(job))]["flows"] = part[list(FLOW_FIELDS)].to_dict("records")
    for job, part in links.groupby("job", sort=False):
        rows[int(str(job))]["links"] = part[list(LINK_FIELDS)].to_dict("records")
    for quantity, trace in runs.traces.items():
        for job, part in trace.groupby("job", sort=False):
            number = int(str(job))
            if quantity == "backlog":
                rows[number]["delay_s"] = _delays(part, runs.jobs[number].scenario)
            else:
                rows[number]["traces"].extend(_series(quantity, part))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _delays(backlog: pd.DataFrame, scenario: Scenario) -> list[float]:
    """Return the statistics of the queueing delay at the rate of the link, s."""
    name = str(backlog["name"].iloc[0])
    rate = next(
        bits_per_second(link["rate"], "rate") for link in scenario.to_dict()["links"] if link["name"] == name
    )
    begin = nanoseconds(scenario.measure_from, "measure_from") / 1e9 if scenario.measure_from else 0.0
    values = backlog["value"].to_numpy()[backlog["time_s"].to_numpy() >= begin] * FULL_PACKET_BITS / rate
    if not values.size:
        return []
    return [float(values.mean()), float(values.std()), *(float(q) for q in np.quantile(values, QUANTILES))]


def _series(quantity: str, trace: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the trace of each flow or link."""
    return [
        {
            "quantity": quantity,
            "name": str(name),
            "time_s": part["time_s"].to_numpy(dtype=np.float64).tolist(),
            "value": part["value"].to_numpy(dtype=np.float64).tolist(),
        }
        for name, part in trace.groupby("name", sort=False)
    ]
