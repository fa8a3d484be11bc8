"""Distances between the sampled traces of both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.crossvalidation.traces import distance
from dumbbell.judge.pairs import Sample, cases, table_of


def distances(
    results: pd.DataFrame, column: str, *, bound: float, factors: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the distance between the sampled traces of both sides, for each case.

    Parameters
    ----------
    results
        The table of results.
    column
        Name of a reduced list: a trace sampled at the same times on both sides, as from `sampled`.
    bound
        Which distance still counts as agreement, in the unit of the trace.
    factors
        Columns to take along.

    Returns
    -------
    DataFrame
        One row per case: ``point``, ``key``, `factors`, ``largest``, ``share``, ``index`` and ``n`` of `Distance`, and
        ``within``, the number of samples within the bound.
    """
    rows: list[dict[str, Any]] = []
    for key, sides in cases(results).items():
        ours, peer = (sides[side] for side in ("ours", "peer"))
        found = distance(_floats(ours[column]), _floats(peer[column]), bound=bound)
        rows.append(
            {"point": ours["point"], "key": key}
            | {name: ours[name] for name in factors}
            | {"largest": found.largest, "share": found.share, "index": found.index, "n": found.n}
            | {"within": round(found.share * found.n) if found.n else 0}
        )
    return table_of(results, rows, ["point", "key", *factors, "largest", "share", "index", "n", "within"])


def shares(table: pd.DataFrame, *, by: str = "point") -> pd.DataFrame:
    """Return the share of samples within the bound over all cases of a point, or over all with the same value of a factor.

    Parameters
    ----------
    table
        From `distances`.
    by
        Name of the column by which cases are grouped.

    Returns
    -------
    DataFrame
        One row for each value of `by`: that, ``share`` (NaN without samples), ``within``, ``n`` (samples), ``largest``.
    """
    found = (
        table.groupby(by, sort=False)
        .agg(within=("within", "sum"), n=("n", "sum"), largest=("largest", "max"))
        .reset_index()
    )
    found.insert(1, "share", found["within"] / found["n"].where(found["n"] > 0))
    return found


def _floats(values: Any) -> Sample:
    """Return a list as numbers; None is NaN."""
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
