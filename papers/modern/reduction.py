"""What is kept of a run: the rows of its flows and links, and the traces that were asked for."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd

from dumbbell import Runs

COLUMNS = ("flows", "links", "traces")
"""Names of the columns: JSON texts of rows by name, and of traces by quantity and name."""

EVENT_FIELDS = ("connection", "kind", "seq", "snd_una", "snd_max", "cwnd_before_bytes", "cwnd_bytes")


def _plain(value: Any) -> Any:
    """Return a cell as plain data; what is missing as ``None``."""
    if isinstance(value, str):
        return value
    number = float(value) if value is not None else math.nan
    return None if math.isnan(number) else number


def _rows(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    fields = [name for name in frame.columns if name not in ("name", "job")]
    return {
        str(row["name"]): {name: _plain(row[name]) for name in fields} for row in frame.to_dict("records")
    }


def _trace(quantity: str, rows: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a trace as lists by column."""
    columns = EVENT_FIELDS if quantity == "tcp_events" else ("value",)
    kept: dict[str, list[Any]] = {"time_s": rows["time_s"].tolist()}
    for column in columns:
        kept[column] = [_plain(value) for value in rows[column]]
    return kept


def reduce(runs: Runs) -> pd.DataFrame:
    """Return `COLUMNS` for some finished runs, a row for each."""
    flows = dict(list(runs.flows.groupby("job", sort=False)))
    links = dict(list(runs.links.groupby("job", sort=False)))
    traces = {
        quantity: dict(list(frame.groupby("job", sort=False))) for quantity, frame in runs.traces.items()
    }
    rows = []
    for job in range(len(runs.jobs)):
        own = {
            quantity: {
                str(name): _trace(quantity, part) for name, part in of_jobs[job].groupby("name", sort=False)
            }
            for quantity, of_jobs in traces.items()
            if job in of_jobs
        }
        rows.append(
            {
                "flows": json.dumps(_rows(flows[job])),
                "links": json.dumps(_rows(links[job])),
                "traces": json.dumps(own),
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))
