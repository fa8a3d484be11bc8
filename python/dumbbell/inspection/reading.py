"""Captures, read by the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from dumbbell import _engine
from dumbbell.arguments import file_path, function, whole_number
from dumbbell.errors import refusal
from dumbbell.exports import FOLDER, write_tables
from dumbbell.files import check_file, plain
from dumbbell.frames import arrow, frame
from dumbbell.inspection.captured import Captured
from dumbbell.inspection.told import counted

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

MOST_CONNECTIONS = 2**32
"""Largest number of a connection."""

Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Inspection:
    """The TCP connections of a capture.

    Parameters
    ----------
    path
        The capture.
    arrow_connections
        One row per connection, of the end that sent more data; see `connections`.
    arrow_directions
        One row per connection and end that sent data.
    counts
        Packets by what they are: ``packets`` in all, ``tcp``, ``udp``, ``other``, ``fragments``, ``damaged``, ``cut_tail``
        (1 if the file ends within a packet), ``backwards`` (older than the one before), ``untimed``, and ``omitted``
        (segments of connections beyond those that are listed).
    damage
        What is wrong with the first packet that could not be read, if there is one.
    epoch_ns
        Time of the first segment, in ns since 1970.
    """

    path: Path
    arrow_connections: pa.Table
    arrow_directions: pa.Table
    counts: Mapping[str, int]
    damage: str | None
    epoch_ns: int

    @cached_property
    def connections(self) -> pd.DataFrame:
        """One row per connection, in the order in which they begin; `columns` says what the columns are."""
        return frame(self.arrow_connections)

    @cached_property
    def directions(self) -> pd.DataFrame:
        """One row per connection and end that sent data, with the same columns."""
        return frame(self.arrow_directions)

    def __len__(self) -> int:
        return int(self.arrow_connections.num_rows)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The connections as plain objects; ``None`` is missing."""
        found: list[dict[str, Any]] = plain(self.arrow_connections.to_pylist())
        return found

    @property
    def largest(self) -> int | None:
        """Number of the connection that delivered the most data; ``None`` without connections."""
        rows = self.rows
        return max(rows, key=lambda row: row["bytes_delivered"])["connection"] if rows else None

    @property
    def sentence(self) -> str:
        """What limited the largest connection, in words."""
        from dumbbell.inspection.told import sentence

        number = self.largest
        return "There is no TCP connection." if number is None else sentence(self.rows[number - 1])

    @property
    def warnings(self) -> list[str]:
        """What could not be read, in sentences."""
        from dumbbell.inspection.told import warnings_of_capture

        return warnings_of_capture(self.counts, self.damage)

    def flow(self, number: int, progress: Progress | None = None) -> Captured:
        """Return one connection with its segments. The capture is read again.

        Raises
        ------
        ScenarioError
            There is no connection of this number.
        OSError
            The capture cannot be read.
        """
        return inspect(self.path, number, progress)

    def tables(self) -> dict[str, pa.Table]:
        """Return both Arrow tables by name: ``connections`` and ``directions``."""
        return {"connections": self.arrow_connections, "directions": self.arrow_directions}

    def to_csv(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write both tables as CSV files; return them. Raises `ResultsError` if one could not be written."""
        return write_tables(self.tables(), file_path("folder", folder, FOLDER), "csv", [])

    def to_parquet(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write both tables as Parquet files; see `to_csv`."""
        return write_tables(self.tables(), file_path("folder", folder, FOLDER), "parquet", [])

    def to_dict(self) -> dict[str, Any]:
        """Return the connections as plain data, as ``dumbbell inspect --json`` prints them."""
        return {
            "capture": str(self.path),
            "begins": begins(self.epoch_ns),
            "counts": dict(self.counts),
            "damage": self.damage,
            "sentence": self.sentence,
            "warnings": self.warnings,
            "connections": self.rows,
        }

    def __repr__(self) -> str:
        return f"Inspection({str(self.path)!r}: {counted(len(self))})"


def begins(epoch_ns: int) -> str:
    """Return when a capture begins, as ISO 8601 in UTC."""
    return (
        datetime.fromtimestamp(epoch_ns // 10**9, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        + f".{epoch_ns % 10**9:09d}Z"
    )


def columns() -> list[tuple[str, str, str]]:
    """Return the columns of connections: name, unit and meaning."""
    return _engine.inspect_columns()


@overload
def inspect(
    path: str | os.PathLike[str], flow: None = None, progress: Progress | None = None
) -> Inspection: ...


@overload
def inspect(path: str | os.PathLike[str], flow: int, progress: Progress | None = None) -> Captured: ...


def inspect(
    path: str | os.PathLike[str], flow: int | None = None, progress: Progress | None = None
) -> Inspection | Captured:
    """Read the TCP connections of a capture, in constant memory.

    Parameters
    ----------
    path
        A file of pcap or pcapng, as tcpdump and Wireshark write them, also compressed with gzip. ``docs/captures.md`` says
        how to make one, and what is found how.
    flow
        Number of one connection, counted from 1 in the order of `Inspection.connections`, whose segments are kept.
    progress
        Called with the bytes of the file that were read, and with its size, or ``None``.

    Returns
    -------
    Inspection or Captured
        All connections, or the one that is asked for.

    Raises
    ------
    ScenarioError
        There is no connection of this number.
    OSError
        The file cannot be read, is no capture, or is one of a link layer that is not read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dumbbell
    >>> from dumbbell import Flow, topologies
    >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
    >>> scenario = shape.scenario(duration="10 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp="reno")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     capture = Path(folder) / "run.pcapng"
    ...     run = dumbbell.run(scenario, pcap=capture)
    ...     found = dumbbell.inspect(capture, flow=1)
    >>> int(found.flows.segments_retransmitted[0] - run.flow("fg").segments_retransmitted)
    0
    >>> found.row["captured_at"], found.row["limited_by"]
    ('sender', 'congestion')
    """
    place = file_path("path", path, "the name of a capture")
    if flow is not None:
        flow = whole_number("flow", flow, 1, MOST_CONNECTIONS)
    if progress is not None:
        function("progress", progress, "a function of the bytes read and of the size of the file")
    check_file(place)
    found = _engine.inspect(place, flow, progress)
    counts, connections = dict(found.counts), arrow(found.connections())
    if flow is None:
        return Inspection(
            path=place,
            arrow_connections=connections,
            arrow_directions=arrow(found.directions()),
            counts=counts,
            damage=found.damage,
            epoch_ns=found.epoch_ns,
        )
    series = (found.phases(), found.segments(), found.acks(), found.rtts())
    if any(one is None for one in series):
        number = connections.num_rows
        accepted = (
            f"a connection of {place}, from 1 to {number}"
            if number
            else "none: the capture has no TCP connection"
        )
        raise refusal("flow", flow, accepted, quoted=False)
    phases, segments, acks, rtts = (arrow(one) for one in series)
    return Captured(
        path=place,
        number=flow,
        arrow_flows=connections.slice(flow - 1, 1),
        arrow_phases=phases,
        arrow_segments=segments,
        arrow_acks=acks,
        arrow_rtts=rtts,
        counts=counts,
        damage=found.damage,
        omitted=found.rows_omitted,
    )
