"""Traffic from files and from loads: sizes of frames and transfers, delivery opportunities, bursts of a mean load.

Examples
--------
>>> from dumbbell import traffic
>>> traffic.vbr(load=0.8, capacity="1.6 Mbit/s", peak="3.2 Mbit/s", packet="1000 bytes", on="10 ms")
OnOff(rate='3.2 Mbit/s', packet='1000 bytes', on='10 ms', off='15 ms', ecn=None)
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from dumbbell import mahimahi
from dumbbell.errors import refusal
from dumbbell.files import read_text
from dumbbell.quantities import bits_per_second, nanoseconds, written_time
from dumbbell.scenario import EmpiricalSizes, LinkChange, OnOff, Opportunities
from dumbbell.scenario.opportunities import read_trace

# Number, type, time and size of a frame, as the public traces of films have them.
_COLUMNS_OF_A_FRAME = 4


def frames_from_file(
    path: str | Path, *, column: int | None = None, unit: Literal["bytes", "bits"] = "bytes"
) -> tuple[str, ...]:
    r"""Return the frame sizes of a trace for the source `Frames`.

    Parameters
    ----------
    path
        A text file with one frame per line, in columns separated by blanks or commas. Empty lines and text after
        ``#`` are skipped.
    column
        Number of the column with the sizes, from 1. When not given, it is the only column, or the last one of
        four: number, type, time and size of a frame.
    unit
        Unit of the sizes in the file; bits are rounded up to whole bytes.

    Returns
    -------
    tuple of str
        The size of each frame, in the order of the lines, as ``"1234 bytes"``.

    Raises
    ------
    ScenarioError
        The file contains no frame, a size is not a whole number of at least 0, or it is unknown which column to
        read; the error names the file and the line.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from dumbbell import Frames
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "film.dat"
    ...     _ = file.write_text("# number type time size\n1 I 0.0 5340\n2 B 40.0 312\n")
    ...     sizes = frames_from_file(file)
    >>> Frames(sizes=sizes, frame_rate=25.0).sizes
    ('5340 bytes', '312 bytes')
    """
    if unit not in ("bytes", "bits"):
        raise refusal("unit", unit, '"bytes" or "bits"')
    lines = pd.Series(read_text(Path(path)).splitlines(), dtype=str)
    lines.index += 1
    lines = lines.str.partition("#")[0].str.strip() if len(lines) else lines
    cells = lines[lines != ""].str.split(r"\s*,\s*|\s+", regex=True, expand=True)
    if cells.empty:
        raise refusal(str(path), "nothing", "one frame per line", problem="was found", quoted=False)
    number = _column_of_sizes(path, cells, column)
    text = cells[number - 1] if number <= cells.shape[1] else pd.Series(None, index=cells.index, dtype=str)
    sizes = pd.to_numeric(text, errors="coerce").astype("float64")
    # Beyond 2^53 a number of bits or bytes is no longer exact, and no frame is that large.
    unread = text[~((sizes >= 0.0) & (sizes < 2.0**53) & (sizes == np.floor(sizes)))]
    if not unread.empty:
        line, cell = unread.index[0], unread.iloc[0]
        found = f'"{cell}"' if isinstance(cell, str) else "nothing"
        accepted = f"a size in {unit} in column {number}, a whole number of at least 0; comments begin with #"
        raise refusal(f"{path}, line {line}", found, accepted, quoted=False)
    whole = sizes if unit == "bytes" else np.ceil(sizes / 8.0)
    return tuple(f"{size} bytes" for size in whole.astype("int64"))


def opportunities_from_file(path: str | Path) -> Opportunities:
    r"""Read the delivery opportunities of a link from a trace of Mahimahi.

    Parameters
    ----------
    path
        The trace: one time in whole milliseconds per line, ascending.

    Raises
    ------
    ScenarioError
        A line is not such a time. The link that uses the trace checks the rest.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "cellular.up"
    ...     _ = file.write_text("0\n5\n5\n12\n")
    ...     opportunities = opportunities_from_file(file)
    >>> opportunities.times
    (0, 5, 5, 12)
    """
    return Opportunities(times=read_trace(Path(path)))


def delays_from_file(
    path: str | Path, *, time: str | None = None, delay: str | None = None
) -> tuple[LinkChange, ...]:
    r"""Read a table of delays over time as the ``changes`` of a link.

    Parameters
    ----------
    path
        The table; see `dumbbell.mahimahi.read_delays`. Its first time is the beginning of the run.
    time, delay
        Names of the columns, or ``NAME:UNIT``; by default ``time`` and ``delay`` with a unit, as ``delay_ms``.

    Raises
    ------
    ScenarioError
        A column is missing, or a line is not as it should be. The message names it.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "satellite.csv"
    ...     _ = file.write_text("time_s,delay_ms\n15,21.5\n30,34\n")
    ...     changes = delays_from_file(file)
    >>> [(change.at, change.delay) for change in changes]
    [('0 s', '21.5 ms'), ('15 s', '34 ms')]
    """
    found = mahimahi.read_delays(Path(path), time=time, delay=delay)
    since = found.time_s - found.time_s[0]
    return tuple(
        LinkChange(at=written_time(round(at * 1e9)), delay=written_time(round(value * 1e9)))
        for at, value in zip(since.tolist(), found.delay_s.tolist(), strict=True)
    )


def sizes_from_file(path: str | Path, *, unit_bytes: float = 1.0) -> EmpiricalSizes:
    r"""Read the points of a cumulative distribution of sizes, as public traffic generators have them.

    Parameters
    ----------
    path
        A text file with one point per line: size and cumulative share, separated by blanks or a comma, both
        ascending. The shares end with 1, or with 100 if they are percentages. Empty lines and text after ``#`` are
        skipped. Sizes below one byte become one byte.
    unit_bytes
        Bytes of one unit of the sizes, such as 1460 for sizes in packets.

    Raises
    ------
    ScenarioError
        A line is not a point, the points do not ascend, or the last share is neither 1 nor 100; the error names the
        file and the line.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "search.txt"
    ...     _ = file.write_text("6 0\n6 15\n13 20\n20000 100\n")
    ...     sizes = sizes_from_file(file, unit_bytes=1460)
    >>> sizes.sizes
    ('8760 bytes', '8760 bytes', '18980 bytes', '29200000 bytes')
    >>> sizes.shares
    (0.0, 0.15, 0.2, 1.0)
    """
    if not (math.isfinite(unit_bytes) and unit_bytes > 0.0):
        raise refusal("unit_bytes", unit_bytes, "a number above 0")
    points: list[tuple[float, float]] = []
    lines = read_text(Path(path)).splitlines()
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].replace(",", " ").split()
        if not text:
            continue
        point = _point(text)
        accepted = "a size and a cumulative share, both numbers of at least 0 and at least those before"
        if point is None or any(
            now < before for now, before in zip(point, points[-1] if points else (), strict=False)
        ):
            raise refusal(f"{path}, line {number}", line.strip(), accepted)
        points.append(point)
    whole = points[-1][1] if points else math.nan
    if whole not in (1.0, 100.0):
        raise refusal(str(path), whole, "points whose last share is 1, or 100 for percentages")
    return EmpiricalSizes(
        sizes=tuple(f"{max(round(size * unit_bytes), 1)} bytes" for size, _ in points),
        shares=tuple(share / whole for _, share in points),
    )


def _point(cells: list[str]) -> tuple[float, float] | None:
    """Return the size and the share of two cells; ``None`` if they are not finite numbers of at least 0."""
    try:
        size, share = (float(cell) for cell in cells)
    except ValueError:
        return None
    is_point = math.isfinite(size) and math.isfinite(share) and min(size, share) >= 0.0
    return (size, share) if is_point else None


def vbr(load: float, capacity: str, peak: str, packet: str, on: str) -> OnOff:
    """Return bursts and pauses, both exponential, that offer a mean load.

    With a mean rate of ``load * capacity``, the mean pause is ``on * (peak / mean - 1)``. Bursts are whole
    packets, at least one, so that short ones offer a little more: 1 % for bursts of four packets in pauses
    as long.

    Parameters
    ----------
    load
        Mean rate over `capacity`, above 0.
    capacity
        Rate of the link to which the load refers, as ``"1.6 Mbit/s"``.
    peak
        Rate on the wire within a burst, at least the mean rate.
    packet
        Size of a packet on the wire, as ``"1000 bytes"``.
    on
        Mean length of a burst, as ``"10 ms"``.

    Raises
    ------
    ScenarioError
        A quantity is not accepted, or the mean rate is zero or above the peak.
    """
    fullest = bits_per_second(peak, "peak") / bits_per_second(capacity, "capacity")
    if not (math.isfinite(load) and 0.0 < load <= fullest):
        raise refusal("load", load, f"a number above 0, at most peak over capacity: {fullest:g}")
    pause_ns = round(nanoseconds(on, "on") * (fullest / load - 1.0))
    return OnOff(rate=peak, packet=packet, on=on, off=written_time(pause_ns))


def _column_of_sizes(path: str | Path, cells: pd.DataFrame, column: int | None) -> int:
    """Return the number of the column to read, from 1."""
    first = cells.index[0]
    found = int(cells.loc[first].notna().sum())
    if column is None:
        if found in (1, _COLUMNS_OF_A_FRAME):
            return found
        accepted = (
            f"one column, or {_COLUMNS_OF_A_FRAME}: number, type, time and size; else name one by column="
        )
        raise refusal(
            f"{path}, line {first}", f"{found} columns", accepted, problem="are not accepted", quoted=False
        )
    if not 1 <= column <= found:
        raise refusal("column", column, f"a column of {path}, from 1 to {found}")
    return column
