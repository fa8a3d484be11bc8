"""Traces of Mahimahi: their statistics, and their making from rates over time.

A trace has one delivery opportunity of 1504 bytes per line, its time in whole milliseconds. At its end it starts over:
its last time is its length. `dumbbell.scenario.Opportunities` describes the link that replays it.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.errors import refusal
from dumbbell.files import read_text, replacing
from dumbbell.scenario.opportunities import LONGEST_MS, read_trace

__all__ = [
    "OPPORTUNITY_BYTES",
    "RATE_UNITS",
    "TIME_UNITS",
    "Delays",
    "Description",
    "Rates",
    "describe",
    "from_rates",
    "read_delays",
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
        Rates from these times on, bit/s.
    last_s
        How long the last one holds, s; by default as long as the one before it, or 1 s if it is alone.
    """

    time_s: NDArray[np.float64]
    rate_bps: NDArray[np.float64]
    last_s: float | None = None


class Delays(NamedTuple):
    """A delay over time, each value from its time to the next.

    Parameters
    ----------
    time_s : ndarray, shape (n,)
        Times, s, ascending.
    delay_s : ndarray, shape (n,)
        Delays from these times on, s.
    """

    time_s: NDArray[np.float64]
    delay_s: NDArray[np.float64]


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
    # Numbers of more than 64 bits, and others, do not fit; what does is in order and within bounds.
    found = np.asarray(times)
    is_whole = found.ndim == 1 and found.size > 0 and np.issubdtype(found.dtype, np.integer)
    if not is_whole or found[0] < 0 or not 0 < found[-1] <= LONGEST_MS or np.any(found[1:] < found[:-1]):
        accepted = "whole times in milliseconds, ascending, the last one from 1 to 10^12"
        raise refusal("times", "this list", accepted, quoted=False)
    at = found.astype(np.int64)
    bits = OPPORTUNITY_BYTES * 8
    # An opportunity at the end of a second belongs to it, since a trace of one line per millisecond begins with 1.
    seconds = int(at[-1]) // 1000
    slots = np.maximum(at - 1, 0) // 1000
    # Seconds without an opportunity are counted, not listed: a trace of a few lines may be 30 years long.
    busy, counts = np.unique(slots[slots < seconds], return_counts=True)
    rates, idle = counts * float(bits), seconds - busy.size
    mean = float(rates.sum()) / seconds if seconds else math.nan
    deviations = rates - mean
    variance = (float(np.sum(deviations**2)) + idle * mean**2) / seconds if seconds else math.nan
    lagged = _lagged(rates, busy, seconds, mean) if seconds else math.nan
    ordered = np.sort(rates)

    def ranked(place: int) -> float:
        return 0.0 if place < idle else float(ordered[place - idle])

    return Description(
        opportunities=int(at.size),
        duration_s=float(at[-1]) / 1e3,
        mean_bps=at.size * bits * 1000.0 / float(at[-1]),
        min_bps=ranked(0) if seconds else math.nan,
        median_bps=(ranked((seconds - 1) // 2) + ranked(seconds // 2)) / 2 if seconds else math.nan,
        max_bps=ranked(seconds - 1) if seconds else math.nan,
        variation=math.sqrt(variance) / mean if seconds and mean > 0.0 else math.nan,
        autocorrelation=lagged / seconds / variance if seconds and variance > 0.0 else math.nan,
        longest_gap_ms=int(np.diff(at, prepend=0).max()),
        most_at_once=int(np.unique(at, return_counts=True)[1].max()),
    )


def _lagged(rates: NDArray[np.floating], busy: NDArray[np.int64], seconds: int, mean: float) -> float:
    """Return the sum of the products of the deviations of neighbouring seconds, multiplied out; idle seconds have no rate."""
    products = float(np.sum((rates[1:] * rates[:-1])[np.diff(busy) == 1]))
    ends = float(rates[busy == 0].sum() + rates[busy == seconds - 1].sum())
    return products - mean * (2 * float(rates.sum()) - ends) + (seconds - 1) * mean**2


def from_rates(rates: Rates) -> NDArray[np.int64]:
    """Return the times of opportunities that carry the bytes of a rate over time, ms.

    Each comes in the millisecond in which its last byte does; bytes that do not fill one are carried over. A trace ends
    with its last opportunity. There is therefore one at the end of the last rate, whether bytes fill it or not.

    Raises
    ------
    ScenarioError
        The rates carry too little or too much, or take too long.

    Examples
    --------
    12.032 Mbit/s for 5 ms, nothing for 10 ms, half of it for 10 ms, then nothing:

    >>> times = np.array([0.0, 0.005, 0.015, 0.025])
    >>> from_rates(Rates(times, np.array([12.032e6, 0.0, 6.016e6, 0.0]))).tolist()
    [1, 2, 3, 4, 5, 17, 19, 21, 23, 25, 35]
    """
    # Seconds since 1970 have rounding errors of less than a microsecond.
    time, rate = np.round(rates.time_s - rates.time_s[0], 6), rates.rate_bps / 8.0
    last = rates.last_s or (time[-1] - time[-2] if time.size > 1 else 1.0)
    edges = np.append(time, time[-1] + last)
    end = math.ceil(edges[-1] * 1e3 - 1e-6) if edges[-1] * 1e3 < LONGEST_MS + 1 else 0
    if not 1 <= end <= LONGEST_MS:
        accepted = "rates over 1 to 10^12 milliseconds"
        raise refusal("times", f"{edges[-1]:g} s in all", accepted, quoted=False)
    with np.errstate(over="ignore", invalid="ignore"):
        carried = np.append(0.0, np.cumsum(rate * np.diff(edges)))
    # Sums of fractions are a little off; a billionth of an opportunity does not matter.
    share = float(carried[-1]) / OPPORTUNITY_BYTES + 1e-9
    if not 1 <= share < MOST_OPPORTUNITIES:
        raise refusal(
            "rates",
            f"{carried[-1]:.0f} bytes in all",
            f"enough for 1 to {MOST_OPPORTUNITIES} opportunities of {OPPORTUNITY_BYTES} bytes",
            quoted=False,
        )
    wanted = OPPORTUNITY_BYTES * (np.arange(1, math.floor(share) + 1) - 1e-9)
    slot = np.searchsorted(carried, wanted, side="left") - 1
    at = edges[slot] + (wanted - carried[slot]) / rate[slot]
    whole: NDArray[np.int64] = np.maximum(np.ceil(at * 1e3 - 1e-6), 1.0).astype(np.int64)
    return whole if whole[-1] == end else np.append(whole, end)


def read_rates(path: Path, *, time: str | None = None, rate: str | None = None) -> Rates:
    """Read a rate over time from a table of columns separated by commas, semicolons, tabs or spaces.

    A table without a header is read as the prepared traces of research on adaptive video are: two columns of numbers,
    separated by spaces or tabs, the times in s and the rates in Mbit/s. With `time` and `rate`, it may have others.
    A file that begins with ``[`` is read as those of the simulator Sabre: a list of periods in JSON, each with
    ``duration_ms`` and ``bandwidth_kbps``. Their ``latency_ms`` is not used.

    Parameters
    ----------
    path
        The file. The name of a column ends in its unit, as ``time_s`` or ``rate_mbps``. Of several lines with the same
        time, the last one counts.
    time, rate
        Names of the columns, or ``NAME:UNIT`` if the name has no unit, as ``DL_bitrate:kbps``; without a header, their
        numbers, as ``1:ms``. By default ``time`` and ``rate`` with a unit of `TIME_UNITS` and of `RATE_UNITS`. Times
        of day have a format of `datetime.strptime` as their unit, as ``Timestamp:%Y.%m.%d_%H.%M.%S``.

    Raises
    ------
    ScenarioError
        A column is missing, or a line is not as it should be. The message names it.
    OSError
        The file cannot be read.
    """
    times, rates, last_s = _read(path, "rate", RATE_UNITS, (time, rate), "mbps", "bandwidth_kbps")
    return Rates(times, rates, last_s)


def read_delays(path: Path, *, time: str | None = None, delay: str | None = None) -> Delays:
    """Read a delay over time from such a table, in units of `TIME_UNITS`; see `read_rates`.

    Without a header, delays are in ms. Of periods in JSON, ``latency_ms`` is the delay.
    """
    times, delays, _ = _read(path, "delay", TIME_UNITS, (time, delay), "ms", "latency_ms")
    return Delays(times, delays)


def _read(
    path: Path,
    what: str,
    units: Mapping[str, float],
    stated: tuple[str | None, str | None],
    prepared: str,
    member: str,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float | None]:
    """Return times and values of a table, and how long the last one holds, if that is known.

    Parameters
    ----------
    path
        The file.
    what, units
        The values, and the units that they may have.
    stated
        The columns of times and values, if they are stated.
    prepared
        The unit of values without a header.
    member
        The member of periods in JSON that has the values.
    """
    text = read_text(path).removeprefix("\ufeff")
    if text.lstrip().startswith("["):
        scale = units[member.rpartition("_")[2]]
        return _periods(path, text, member, scale)
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = next((mark for mark in ",;\t" if mark in first), None)
    lines = _lines(path, text, delimiter)
    number, header = next(lines, (1, []))
    if header and (all(map(_is_number, header)) or _names_numbers(stated, header)):
        is_prepared = delimiter in ("\t", None) and len(header) == 2 and stated == (None, None)
        stated = ("1:s", f"2:{prepared}") if is_prepared else stated
        lines = chain([(number, header)], lines)
        header = [str(column) for column, _ in enumerate(header, 1)]
    of_time = _column(path, header, "time", stated[0], TIME_UNITS)
    of_value = _column(path, header, what, stated[1], units)
    times, values = _ascending(path, lines, of_time, of_value, what)
    # Large numbers, such as milliseconds since 1970, are exact before they are scaled.
    with np.errstate(over="ignore"):
        since = (np.array(times) - times[0]) * of_time.scale
        return since + times[0] * of_time.scale, np.array(values) * of_value.scale, None


class Column(NamedTuple):
    """A column of a table: its position and name, the scale of its unit, and the format of times of day."""

    position: int
    name: str
    scale: float
    form: str | None


def _names_numbers(stated: Sequence[str | None], header: Sequence[str]) -> bool:
    """Return whether columns are stated by number, and none has such a name."""
    names = [text.partition(":")[0] for text in stated if text is not None]
    return len(names) == 2 and all(name.isdecimal() and name not in header for name in names)


def _ascending(
    path: Path, lines: Iterator[tuple[int, list[str]]], of_time: Column, of_value: Column, what: str
) -> tuple[list[float], list[float]]:
    """Return the times and the values of lines; of several with the same time, the last one counts."""
    times: list[float] = []
    values: list[float] = []
    for number, cells in lines:
        found, value = (_number(path, number, cells, column) for column in (of_time, of_value))
        if times and found < times[-1]:
            accepted = "a time of at least that of the line before"
            raise refusal(f"{path}, line {number}", cells[of_time.position], accepted)
        if value < 0.0:
            raise refusal(f"{path}, line {number}", cells[of_value.position], f"a {what} of at least 0")
        if times and found == times[-1]:
            values[-1] = value
        else:
            times.append(found)
            values.append(value)
    if not times:
        raise refusal(str(path), "no line of numbers", "at least one line after the header", quoted=False)
    return times, values


def _periods(
    path: Path, text: str, member: str, scale: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the times and the scaled values of a list of periods in JSON, and the length of the last one."""
    try:
        periods = json.loads(text)
    except ValueError as error:
        raise refusal(str(path), str(error), "a list of periods in JSON", quoted=False) from None
    lengths = [_member(path, number, period, "duration_ms", 1e-6) for number, period in enumerate(periods, 1)]
    if not lengths:
        raise refusal(str(path), "an empty list", "at least one period", quoted=False)
    values = [_member(path, number, period, member, 0.0) for number, period in enumerate(periods, 1)]
    starts = np.array([0.0, *accumulate(lengths[:-1])]) / 1e3
    return starts, np.array(values) * scale, lengths[-1] / 1e3


def _member(path: Path, number: int, period: object, name: str, least: float) -> float:
    """Return a number of a period, at least `least`."""
    value = period.get(name) if isinstance(period, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value < math.inf:
        accepted = "a number above 0" if least > 0.0 else "a number of at least 0"
        found = "nothing" if value is None else repr(value)
        raise refusal(f"{path}, period {number}: {name}", found, accepted, quoted=False)
    return float(value)


def _lines(path: Path, text: str, delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of the lines of a table that are not empty, with their numbers; spaces are the default delimiter."""
    if delimiter is None:
        yield from (
            (number, cells) for number, line in enumerate(text.splitlines(), 1) if (cells := line.split())
        )
        return
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in table:
            if any(cell.strip() for cell in cells):
                yield table.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        place = f"{path}, line {table.line_num}"
        raise refusal(place, str(error), "cells of at most 131072 characters", quoted=False) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_trace(path: Path, times: ArrayLike) -> None:
    """Write a trace, one time per line."""
    lines = "\n".join(str(time) for time in np.asarray(times, dtype=np.int64).tolist())
    with replacing(path) as file:
        file.write(f"{lines}\n".encode("ascii"))


def _column(
    path: Path, header: Sequence[str], what: str, stated: str | None, units: Mapping[str, float]
) -> Column:
    """Return the column of times or rates, by its stated name and unit."""
    form = None
    if stated is None:
        names = {f"{what}_{unit}": (f"{what}_{unit}", unit) for unit in units}
    else:
        name, has_form, form = stated.partition(":%")
        form, unit = (f"%{form}", "s") if has_form and what == "time" else (None, "")
        if form is None:
            name, has_unit, unit = stated.rpartition(":")
            if not has_unit:
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
    return Column(header.index(name), name, units[found[0]], form)


def _number(path: Path, line: int, cells: Sequence[str], column: Column) -> float:
    """Return the number of a cell, or the seconds since 1970 of its time of day, which is in UTC if it states no zone."""
    text = cells[column.position] if column.position < len(cells) else ""
    try:
        if column.form is None:
            value = float(text)
        else:
            at = datetime.strptime(text, column.form)
            value = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        accepted = "a number" if column.form is None else f"a time in the format {column.form}"
        raise refusal(f"{path}, line {line}", text, f"{accepted} in the column {column.name}")
    return value
