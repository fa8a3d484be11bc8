"""One connection of a capture file."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell import _engine
from dumbbell.arguments import file_path, whole_number
from dumbbell.errors import refusal
from dumbbell.frames import arrow
from dumbbell.inference.connection import Connection
from dumbbell.inference.turned import turned

MOST_CONNECTIONS = 2**31


def read(
    capture: str | os.PathLike[str], flow: int = 1, progress: Callable[[int, int | None], None] | None = None
) -> Connection:
    """Return one connection of a capture that was made at its sender, or at its receiver with timestamps.

    Parameters
    ----------
    capture
        A pcap or pcapng file.
    flow
        Number of the connection, from 1, in the order of their first packets, as ``dumbbell inspect`` numbers them.
    progress
        Called with the bytes read and the size of the file, if it is known.

    Raises
    ------
    ScenarioError
        There is no such connection, it was captured between its ends, or it has too few acknowledgements.
    OSError
        The file cannot be read.
    """
    path: Path = file_path("capture", capture, "the name of a capture")
    number = whole_number("flow", flow, 1, MOST_CONNECTIONS)
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "is no regular file; accepted: a pcap or pcapng file", str(path))
    found = _engine.inspect(path, number, progress)
    rows = arrow(found.connections()).to_pylist()
    if number > len(rows):
        raise refusal(
            "flow",
            number,
            f"a connection from 1 to {len(rows)}" if rows else "a capture with a TCP connection",
        )
    row = rows[number - 1]
    if row["captured_at"] not in ("sender", "receiver"):
        raise refusal(
            "capture",
            row["captured_at"],
            "a capture at the sender or the receiver of the connection (docs/captures.md)",
        )
    segments, acks, rtts = found.segments(), found.acks(), found.rtts()
    if segments is None or acks is None or rtts is None or found.rows_omitted:
        raise refusal("flow", number, "a connection that is kept whole in memory")
    of_data, of_acks = _columns(segments), _columns(acks)
    if row["captured_at"] == "receiver":
        of_data, of_acks = turned(of_data, of_acks, _columns(rtts)["value"], row["handshake_rtt_s"])
    return of_columns(of_data, of_acks, row)


def of_columns(segments: dict[str, Any], acks: dict[str, Any], row: dict[str, Any]) -> Connection:
    """Return a connection from the columns of a reader; see `read`."""
    if not len(segments["time_s"]):
        raise refusal("flow", row["connection"], "a connection with data", quoted=False)
    # The answer to the request for a connection is no acknowledgement of data.
    of_data = np.asarray(acks["time_s"], np.float64) > float(segments["time_s"][0])
    kept = {name: np.asarray(values)[of_data] for name, values in acks.items()}
    shares = {name: row.get(f"limited_by_{name}") or 0.0 for name in ("application", "receiver")}
    return Connection.of_tables(
        segments,
        kept,
        handshake_rtt_s=row["handshake_rtt_s"],
        has_timestamps=bool(row["timestamps"]),
        application_share=shares["application"] + (row.get("idle") or 0.0),
        receiver_share=shares["receiver"],
        is_turned=row["captured_at"] == "receiver",
    )


def _columns(table: Any) -> dict[str, Any]:
    found = arrow(table)
    return {name: found[name].to_numpy(zero_copy_only=False) for name in found.column_names}
