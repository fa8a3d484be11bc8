"""Traces of Mahimahi: their statistics, and their making from rates over time.

A trace has one delivery opportunity of 1504 bytes per line, its time in whole milliseconds. At its end it starts over:
its last time is its length. `dumbbell.scenario.Opportunities` describes the link that replays it.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.errors import refusal
from dumbbell.files import read_text, replacing
from dumbbell.scenario.opportunities import read_trace

__all__ = [
    "OPPORTUNITY_BYTES",
    "RATE_UNITS",
    "TIME_UNITS",
    "Description",
    "Rates",
    "describe",
    "from_rates",
    "read_rates",
    "read_trace",
    "write_trace",
]

OPPORTUNITY_BYTES = 1504
"""Bytes of an opportunity: an IP packet of 1500 bytes, and the 4 bytes that a TUN device puts before it."""

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
"""Units of time in columns of files, in s."""

RATE_UNITS = {
    "bps": 1.0,
    "kbps": 1e3,
    "mbps": 1e6,
    "gbps": 1e9,
    "Bps": 8.0,
    "kBps": 8e3,
    "MBps": 8e6,
}
"""Units of rates in columns of files, in bit/s; those with a capital B count bytes."""

MOST_OPPORTUNITIES = 50_000_000


@dataclass(frozen=True)
class Description:
    """The statistics by which traces are compared, at 1504 bytes per opportunity.

    Parameters
    ----------
    opportunities
        Number of opportunities.
    duration_s
        Length of the trace, s: its last time.
    mean_bps
        Mean rate, bit/s.
    min_bps, median_bps, max_bps
        Of the rates in whole slots of one second, bit/s; NaN if the trace is shorter.
    variation
        Coefficient of variation of these rates: their standard deviation divided by their mean; NaN without a mean.
    autocorrelation
        Correlation of these rates with those of the second before; NaN if they do not vary.
    longest_gap_ms
        Longest time between two opportunities, ms; the beginning of the trace counts as one.
    most_at_once
        Largest number of opportunities in one millisecond.
    """

    opportunities: int
    duration_s: float
    mean_bps: float
    min_bps: float
    median_bps: float
    max_bps: float
    variation: float
    autocorrelation: float
    longest_gap_ms: int
    most_at_once: int


@dataclass(frozen=True, eq=False)
class Rates:
    """A rate over time, each value from its time to the next.

    Parameters
    ----------
    time_s : ndarray, shape (n,)
        Times, s, ascending.
    rate_bps : ndarray, shape (n,)
        Rates from these times on, bit/s. The last one holds as long as the one before it, or 1 s if it is alone.
    """

    time_s: NDArray[np.float64]
    rate_bps: NDArray[np.float64]


def describe(times: Sequence[int]) -> Description:
    """Return the statistics of a trace.

    Parameters
    ----------
    times
        Times of its opportunities, ms, ascending; the last one above 0.

    Raises
    ------
    ScenarioError
        There are no such times.

    Examples
    --------
    One opportunity per millisecond is 12.032 Mbit/s:

    >>> found = describe(range(1, 10_001))
    >>> found.mean_bps, found.variation, found.longest_gap_ms
    (12032000.0, 0.0, 1)
    """
    at = np.asarray(times, dtype=np.int64)
    if at.size == 0 or at[-1] <= 0 or np.any(np.diff(at) < 0) or at[0] < 0:
        raise refusal(
            "times", "this list", "times in milliseconds, ascending, the last one above 0", quoted=False
        )
    bits = OPPORTUNITY_BYTES * 8
    # An opportunity at the end of a second belongs to it, since a trace of one line per millisecond begins with 1.
    seconds = int(at[-1]) // 1000
    slots = np.maximum(at - 1, 0) // 1000
    rates = np.bincount(slots[slots < seconds], minlength=seconds)[:seconds] * float(bits)
    mean = float(rates.mean()) if seconds else math.nan
    deviations = rates - mean
    variance = float(np.mean(deviations**2)) if seconds else math.nan
    lagged = float(np.sum(deviations[1:] * deviations[:-1])) / seconds if seconds else math.nan
    return Description(
        opportunities=int(at.size),
        duration_s=float(at[-1]) / 1e3,
        mean_bps=at.size * bits * 1000.0 / float(at[-1]),
        min_bps=float(rates.min()) if seconds else math.nan,
        median_bps=float(np.median(rates)) if seconds else math.nan,
        max_bps=float(rates.max()) if seconds else math.nan,
        variation=math.sqrt(variance) / mean if seconds and mean > 0.0 else math.nan,
        autocorrelation=lagged / variance if seconds and variance > 0.0 else math.nan,
        longest_gap_ms=int(np.diff(at, prepend=0).max()),
        most_at_once=int(np.unique(at, return_counts=True)[1].max()),
    )


def from_rates(rates: Rates) -> NDArray[np.int64]:
    """Return the times of opportunities that carry the bytes of a rate over time, ms.

    Each comes in the millisecond in which its last byte does; bytes that do not fill one are carried over. A rest at the
    end that does not fill one is not part of the trace.

    Examples
    --------
    12.032 Mbit/s for 5 ms, then nothing for 10 ms, then half of it:

    >>> from_rates(Rates(np.array([0.0, 0.005, 0.015]), np.array([12.032e6, 0.0, 6.016e6]))).tolist()
    [1, 2, 3, 4, 5, 17, 19, 21, 23, 25]
    """
    time, rate = rates.time_s - rates.time_s[0], rates.rate_bps / 8.0
    last = time[-1] - time[-2] if time.size > 1 else 1.0
    edges = np.append(time, time[-1] + last)
    carried = np.append(0.0, np.cumsum(rate * np.diff(edges)))
    # Sums of fractions are a little off; a billionth of an opportunity does not matter.
    count = math.floor(carried[-1] / OPPORTUNITY_BYTES + 1e-9)
    if not 1 <= count <= MOST_OPPORTUNITIES:
        raise refusal(
            "rates",
            f"{carried[-1]:.0f} bytes in all",
            f"enough for 1 to {MOST_OPPORTUNITIES} opportunities of {OPPORTUNITY_BYTES} bytes",
            quoted=False,
        )
    wanted = OPPORTUNITY_BYTES * (np.arange(1, count + 1) - 1e-9)
    slot = np.searchsorted(carried, wanted, side="left") - 1
    at = edges[slot] + (wanted - carried[slot]) / rate[slot]
    whole: NDArray[np.int64] = np.maximum(np.ceil(at * 1e3 - 1e-6), 1.0).astype(np.int64)
    return whole


def read_rates(path: Path, *, time: str | None = None, rate: str | None = None) -> Rates:
    """Read a rate over time from a CSV file with a header.

    Parameters
    ----------
    path
        The file. The name of a column ends in its unit, as ``time_s`` or ``rate_mbps``.
    time, rate
        Names of the columns, or ``NAME:UNIT`` if the name has no unit, as ``DL_bitrate:kbps``. By default ``time`` and
        ``rate`` with a unit of `TIME_UNITS` and of `RATE_UNITS`.

    Raises
    ------
    ScenarioError
        A column is missing, or a line is not as it should be. The message names it.
    """
    lines = list(csv.reader(io.StringIO(read_text(path), newline="")))
    header = [name.strip() for name in lines[0]] if lines else []
    time_column, time_scale = _column(path, header, "time", time, TIME_UNITS)
    rate_column, rate_scale = _column(path, header, "rate", rate, RATE_UNITS)
    times, rates = [], []
    for number, cells in enumerate(lines[1:], 2):
        if not any(cell.strip() for cell in cells):
            continue
        times.append(_number(path, number, header[time_column], cells, time_column) * time_scale)
        rates.append(_number(path, number, header[rate_column], cells, rate_column) * rate_scale)
        if len(times) > 1 and times[-1] <= times[-2]:
            raise refusal(
                f"{path}, line {number}", cells[time_column], "a time after that of the line before"
            )
        if rates[-1] < 0.0:
            raise refusal(f"{path}, line {number}", cells[rate_column], "a rate of at least 0")
    if not times:
        raise refusal(str(path), "no line of numbers", "at least one line after the header", quoted=False)
    return Rates(np.array(times), np.array(rates))


def write_trace(path: Path, times: ArrayLike) -> None:
    """Write a trace, one time per line."""
    lines = "\n".join(str(time) for time in np.asarray(times, dtype=np.int64).tolist())
    with replacing(path) as file:
        file.write(f"{lines}\n".encode("ascii"))


def _column(
    path: Path, header: Sequence[str], what: str, stated: str | None, units: dict[str, float]
) -> tuple[int, float]:
    """Return the position of a column and the scale of its unit."""
    if stated is None:
        names = {f"{what}_{unit}": (f"{what}_{unit}", unit) for unit in units}
    else:
        name, colon, unit = stated.rpartition(":")
        if not colon:
            name, unit = stated, stated.rpartition("_")[2]
        if unit not in units:
            raise refusal(what, stated, f"a column, or column:unit, with a unit of {', '.join(units)}")
        names = {name: (name, unit)}
    found = [unit for name, unit in names.values() if name in header]
    if len(found) != 1:
        listed = ", ".join(header) or "nothing"
        raise refusal(
            f"{path}, line 1",
            listed,
            f"a header with one column of {', '.join(names)}",
            quoted=False,
        )
    name = next(name for name in names if name in header)
    return header.index(name), units[found[0]]


def _number(path: Path, line: int, name: str, cells: Sequence[str], column: int) -> float:
    """Return the number of a cell."""
    text = cells[column].strip() if column < len(cells) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise refusal(f"{path}, line {line}", text, f"a number in the column {name}")
    return value
