"""Runs in pairs: ratios and differences of the means of two sides, with intervals.

The input has one row for each case and side (``"ours"`` or ``"peer"``). Cases of a point are its replications. If their random
elements (start times, losses) are drawn beforehand, both sides of a replication share them and are compared in pairs. If each
side draws for itself, ``paired=False`` treats them as two independent samples.

The interval of a ratio is that of mean(ours) / mean(peer) by Fieller's theorem (`statistics.paired_ratio`, or with Welch's
degrees of freedom `statistics.mean_ratio`); the interval of a mean or a difference is Student's. A single replication has
no interval: its bounds are NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import statistics
from dumbbell.statistics import Interval

CONFIDENCE = 0.95
"""Probability that an interval covers the true value, unless another one is requested."""

Sample = NDArray[np.float64]


def ratios(
    results: pd.DataFrame,
    column: str,
    *,
    factors: Sequence[str] = (),
    paired: bool = True,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the ratio of the means of both sides, ours / peer, for each point.

    Parameters
    ----------
    results
        The table of results.
    column
        Name of a reduced number.
    factors
        Columns to take along, from the first case of each point.
    paired
        Whether a replication has the same random events on both sides.
    confidence
        Between 0 and 1.

    Returns
    -------
    DataFrame
        One row per point, in the order of the results: ``point``, `factors`, ``n`` (replications), ``ours`` and ``peer``
        (means, in the unit of the column), ``ratio``, ``low`` and ``high``. The bounds are NaN for a single
        replication, and infinite if the peer's mean cannot be distinguished from zero. If the peer's mean is zero,
        the ratio is 1 if ours is zero too and infinite otherwise. If a side cannot report a value, the ratio is
        NaN.

    Examples
    --------
    >>> results = pd.DataFrame(
    ...     {"key": ["a", "a", "b", "b"], "point": "p", "side": ["ours", "peer"] * 2, "x": [9.0, 10.0, 11.0, 10.0]}
    ... )
    >>> ratios(results, "x")[["point", "n", "ours", "peer", "ratio"]]
      point  n  ours  peer  ratio
    0     p  2  10.0  10.0    1.0
    """
    rows: list[dict[str, Any]] = []
    for head, ours, peer in _points(results, column, factors):
        ratio = _ratio(ours, peer, paired=paired, confidence=confidence)
        rows.append(
            head
            | {"n": len(ours), "ours": ours.mean(), "peer": peer.mean()}
            | {"ratio": ratio.estimate, "low": ratio.low, "high": ratio.high}
        )
    return table_of(results, rows, ["point", *factors, "n", "ours", "peer", "ratio", "low", "high"])


def differences(
    results: pd.DataFrame,
    column: str,
    *,
    factors: Sequence[str] = (),
    paired: bool = True,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the means of both sides and their difference, ours - peer, for each point; see `ratios`.

    Returns
    -------
    DataFrame
        One row per point: ``point``, `factors`, ``n``, ``ours``, ``ours_low``, ``ours_high``, ``peer``, ``peer_low``,
        ``peer_high``, ``difference``, ``low``, ``high``, all in the unit of the column, and ``overlap``: whether the
        intervals of both means have a value in common. Single replications overlap only if they are equal.
    """
    names = ("ours", "peer", "difference")
    columns = [name for side in names[:2] for name in (side, f"{side}_low", f"{side}_high")]
    rows: list[dict[str, Any]] = []
    for head, ours, peer in _points(results, column, factors):
        means = [_mean(sample, confidence) for sample in (ours, peer)]
        difference = (
            _mean(ours - peer, confidence) if paired else _mean_difference(ours, peer, confidence=confidence)
        )
        values = [bound for mean in means for bound in (mean.estimate, mean.low, mean.high)]
        rows.append(
            head
            | {"n": len(ours)}
            | dict(zip(columns, values, strict=True))
            | {"difference": difference.estimate, "low": difference.low, "high": difference.high}
            | {"overlap": overlap(*means)}
        )
    return table_of(results, rows, ["point", *factors, "n", *columns, "difference", "low", "high", "overlap"])


def overlap(first: Interval, second: Interval) -> bool:
    """Return whether two intervals have a value in common; without bounds, whether the estimates are equal.

    Examples
    --------
    >>> overlap(statistics.mean_interval([1.0, 3.0]), statistics.mean_interval([2.0, 4.0]))
    True
    """
    low, high = (
        [value.estimate if math.isnan(bound) else bound for value, bound in pairs]
        for pairs in (
            [(first, first.low), (second, second.low)],
            [(first, first.high), (second, second.high)],
        )
    )
    # An estimate that is not known is in no interval.
    return not any(map(math.isnan, [*low, *high])) and max(low) <= min(high)


def within(table: pd.DataFrame, bound: float, column: str = "ratio") -> pd.Series[bool]:
    """Return for each row whether a ratio is at most `bound` from 1, or a difference at most `bound` from 0.

    Parameters
    ----------
    table
        From `ratios` or `differences`.
    bound
        The largest distance that counts as agreement; 0.01 is 1 % of a ratio.
    column
        ``"ratio"``, or any other column, which is compared with 0. NaN is not within.
    """
    centre = 1.0 if column == "ratio" else 0.0
    # Differences like 1.01 - 1 are not exact in binary; the bound itself shall count as within.
    return (table[column] - centre).abs() <= bound * (1.0 + 1e-9)


def _points(
    results: pd.DataFrame, column: str, factors: Sequence[str]
) -> Iterator[tuple[dict[str, Any], Sample, Sample]]:
    """Yield the identification of each point and the values of both sides, by replication."""
    points: dict[str, list[dict[str, pd.Series[Any]]]] = {}
    for sides in cases(results).values():
        points.setdefault(sides["ours"]["point"], []).append(sides)
    for point, several in points.items():
        ours, peer = (
            np.array([case[side][column] for case in several], dtype=np.float64) for side in ("ours", "peer")
        )
        first = several[0]["ours"]
        yield {"point": point} | {name: first[name] for name in factors}, ours, peer


def cases(results: pd.DataFrame) -> dict[str, dict[str, pd.Series[Any]]]:
    """Return the rows of each case by their sides; a case that lacks one is left out."""
    cases: dict[str, dict[str, pd.Series[Any]]] = {}
    for _, row in results.iterrows():
        cases.setdefault(row["key"], {})[row["side"]] = row
    return {key: sides for key, sides in cases.items() if {"ours", "peer"} <= sides.keys()}


def table_of(results: pd.DataFrame, rows: list[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a table that has the attributes of the results."""
    table = pd.DataFrame(rows, columns=list(columns))
    table.attrs = dict(results.attrs)
    return table


def _plain_interval(estimate: float, confidence: float, n: int) -> Interval:
    return Interval(estimate=estimate, low=math.nan, high=math.nan, confidence=confidence, n=n)


def _ratio(ours: Sample, peer: Sample, *, paired: bool, confidence: float) -> Interval:
    mean, other = float(ours.mean()), float(peer.mean())
    if not (math.isfinite(mean) and math.isfinite(other)):
        return _plain_interval(math.nan, confidence, len(ours))
    if other == 0.0:
        return _plain_interval(1.0 if mean == 0.0 else math.copysign(math.inf, mean), confidence, len(ours))
    if len(ours) < 2:
        return _plain_interval(mean / other, confidence, 1)
    compared = statistics.paired_ratio if paired else statistics.mean_ratio
    return compared(ours, peer, confidence=confidence)


def _mean(sample: Sample, confidence: float) -> Interval:
    if len(sample) < 2 or not np.isfinite(sample).all():
        return _plain_interval(float(sample.mean()), confidence, len(sample))
    return statistics.mean_interval(sample, confidence=confidence)


def _mean_difference(ours: Sample, peer: Sample, *, confidence: float) -> Interval:
    if len(ours) < 2 or not np.isfinite([ours, peer]).all():
        return _plain_interval(float(ours.mean() - peer.mean()), confidence, len(ours))
    return statistics.mean_difference(ours, peer, confidence=confidence)
