"""Comparable traces of both sides: step functions sampled at given times, and their distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.traces import StepFunction

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, kw_only=True)
class Distance:
    """How far two sampled traces are from each other.

    Parameters
    ----------
    largest
        The largest distance at any sample, in the unit of the traces; NaN without samples.
    share
        Share of samples at which they are within the bound, from 0 to 1; NaN without samples.
    index
        Which sample is farthest, from 0; -1 without samples.
    n
        Number of samples at which both have a value.
    """

    largest: float
    share: float
    index: int
    n: int


def sampled(trace: pd.DataFrame, at: ArrayLike, name: str | None = None) -> NDArray[np.float64]:
    """Return the values of a step function at some times.

    A quantity holds its value until the next record, so a sample is the last value recorded at or before that time.

    Parameters
    ----------
    trace
        The columns ``time_s`` (s, ascending for each name) and ``value``, and ``name`` if it is requested.
    at : array_like, shape (n,)
        Times, s.
    name
        Of the flow or link, in a trace of several.

    Returns
    -------
    ndarray, shape (n,)
        In the unit of the trace; NaN before its first record.

    Examples
    --------
    >>> import pandas as pd
    >>> trace = pd.DataFrame({"time_s": [1.0, 2.0, 2.0], "value": [1.0, 2.0, 4.0]})
    >>> sampled(trace, [0.5, 1.0, 1.9, 2.0, 9.0]).tolist()
    [nan, 1.0, 1.0, 4.0, 4.0]
    """
    return StepFunction.of(trace, name).at(at)


def distance(ours: ArrayLike, peer: ArrayLike, *, bound: float) -> Distance:
    """Return how far two sampled traces are from each other.

    Parameters
    ----------
    ours, peer : array_like, shape (n,)
        Samples at the same times, as from `sampled`. A time at which one of them is NaN does not count.
    bound
        Which distance still counts as agreement, in the unit of the traces.

    Examples
    --------
    >>> distance([1.0, 2.0, 5.0], [1.0, 3.0, 2.0], bound=1.0)
    Distance(largest=3.0, share=0.6666666666666666, index=2, n=3)
    """
    with np.errstate(invalid="ignore"):  # two infinite values have no distance
        apart = np.abs(np.asarray(ours, dtype=np.float64) - np.asarray(peer, dtype=np.float64))
    known = ~np.isnan(apart)
    if not known.any():
        return Distance(largest=np.nan, share=np.nan, index=-1, n=0)
    index = int(np.nanargmax(apart))
    return Distance(
        largest=float(apart[index]),
        share=float((apart[known] <= bound).mean()),
        index=index,
        n=int(known.sum()),
    )


def largest_distance(
    trace_a: pd.DataFrame, trace_b: pd.DataFrame, at: ArrayLike, *, bound: float, name: str | None = None
) -> Distance:
    """Return how far two traces, as step functions, are from each other at some times; see `sampled` and `distance`.

    Parameters
    ----------
    trace_a, trace_b
        The columns ``time_s`` and ``value``, and ``name`` if it is requested.
    at : array_like, shape (n,)
        Times, s.
    bound
        Which distance still counts as agreement, in the unit of the traces.
    name
        Of the flow or link, in traces of several.
    """
    return distance(sampled(trace_a, at, name), sampled(trace_b, at, name), bound=bound)
