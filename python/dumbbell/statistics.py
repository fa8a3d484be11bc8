"""Intervals for means, differences and ratios, the bootstrap, the fairness index, and corrected p values.

This module uses NumPy and SciPy and adds what claims about replicated runs need: one `Interval` type,
the ratio of two means with its interval, resamples shared by several quantities, and errors that name the argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes
    ----------
    estimate, low, high : float
        In the unit of the data; a ratio has none. A bound may be infinite, see `paired_ratio`.
    confidence : float
        Probability that such an interval covers the true value, between 0 and 1.
    n : int
        Number of replications behind the estimate; the smaller one when there are two samples.
    """

    estimate: float
    low: float
    high: float
    confidence: float
    n: int

    @property
    def half_width(self) -> float:
        """Half of the distance between the bounds, in the unit of the estimate."""
        return (self.high - self.low) / 2.0

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def excludes(self, value: float) -> bool:
        """Whether `value` is outside; False if the bounds are not numbers."""
        return value < self.low or value > self.high

    def __format__(self, spec: str) -> str:
        estimate, low, high = (format(x, spec) for x in (self.estimate, self.low, self.high))
        return f"{estimate} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self, ".6g")


def _sample(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Check and return one sample of at least two finite values."""
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size < 2:
        raise ValueError(f"{name} has the shape {sample.shape}; accepted: one dimension of at least 2 values")
    bad = np.flatnonzero(~np.isfinite(sample))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] = {sample[bad[0]]}; accepted: finite numbers")
    return sample


def _paired(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = _sample("a", a), _sample("b", b)
    if first.size != second.size:
        raise ValueError(f"b has {second.size} values; accepted: {first.size}, one for each value of a")
    return first, second


def check_confidence(confidence: float) -> float:
    """Return `confidence` as a float, or raise ValueError unless it lies strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence = {confidence!r}; accepted: a number between 0 and 1, such as 0.90")
    return float(confidence)


def _t_interval(
    estimate: float, standard_error: float, degrees: float, confidence: float, n: int
) -> Interval:
    half = float(stats.t.ppf((1.0 + confidence) / 2.0, degrees)) * standard_error
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half, confidence=confidence, n=n)


def mean_interval(values: ArrayLike, *, confidence: float = 0.90) -> Interval:
    """Mean of independent replications with Student's two-sided interval.

    Parameters
    ----------
    values : array_like, shape (n,)
        One value for each replication, n >= 2, all finite.
    confidence : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If there are fewer than two values or one is not finite.

    Examples
    --------
    >>> print(mean_interval([9.0, 10.0, 11.0], confidence=0.90))
    10 [8.31415, 11.6859]
    """
    sample = _sample("values", values)
    error = float(sample.std(ddof=1)) / sample.size**0.5
    return _t_interval(
        float(sample.mean()), error, sample.size - 1, check_confidence(confidence), sample.size
    )


def paired_difference(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.90) -> Interval:
    """Mean of a - b over replications that share their random numbers.

    Parameters
    ----------
    a, b : array_like, shape (n,)
        Value j of both belongs to replication j.
    confidence : float
        Between 0 and 1.

    Examples
    --------
    >>> print(paired_difference([12.0, 22.0, 33.0], [10.0, 20.0, 30.0]))
    2.33333 [1.36, 3.30666]
    """
    first, second = _paired(a, b)
    return mean_interval(first - second, confidence=confidence)


def mean_difference(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.90) -> Interval:
    """Difference of the means of two independent samples, a minus b, by Welch's interval.

    Variances and sizes may differ between the samples. The interval is that of `scipy.stats.ttest_ind`, which takes seven
    times as long.
    """
    first, second = _sample("a", a), _sample("b", b)
    level = (1.0 + check_confidence(confidence)) / 2.0
    estimate, half = float(first.mean() - second.mean()), 0.0
    if _varies(first, second):
        error = (_variance_of_mean(first) + _variance_of_mean(second)) ** 0.5
        half = float(stats.t.ppf(level, _degrees_of_freedom(first, second))) * error
    n = min(first.size, second.size)
    return Interval(
        estimate=estimate, low=estimate - half, high=estimate + half, confidence=float(confidence), n=n
    )


def paired_ratio(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.90) -> Interval:
    """Ratio of two means, mean(a) / mean(b), over paired replications, by Fieller's theorem.

    The covariance of the pairs is taken into account. If the mean of `b` cannot be distinguished from zero at this
    confidence, the bounds are -inf and inf.

    Parameters
    ----------
    a, b : array_like, shape (n,)
        Value j of both belongs to replication j. The mean of `b` is not zero.
    confidence : float
        Between 0 and 1.

    Examples
    --------
    >>> print(paired_ratio([22.0, 23.0, 25.0], [20.0, 21.0, 22.0]))
    1.11111 [1.0695, 1.14768]
    """
    first, second = _paired(a, b)
    n = first.size
    covariance = np.cov(first, second) / n
    return _fieller(first, second, float(covariance[0, 1]), n - 1, confidence)


def mean_ratio(a: ArrayLike, b: ArrayLike, *, confidence: float = 0.90) -> Interval:
    """Ratio of the means of two independent samples, mean(a) / mean(b), by Fieller's theorem.

    The degrees of freedom are those of Welch for the contrast mean(a) - ratio * mean(b). Infinite bounds have the
    same meaning as in `paired_ratio`.
    """
    first, second = _sample("a", a), _sample("b", b)
    ratio = _ratio_of_means(first, second)
    contrast = ratio * second
    degrees = float(min(first.size, second.size) - 1)
    if _varies(first, contrast):
        degrees = _degrees_of_freedom(first, contrast)
    return _fieller(first, second, 0.0, degrees, confidence)


def _variance_of_mean(sample: NDArray[np.float64]) -> float:
    return float(sample.var(ddof=1)) / sample.size


def _varies(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    return bool(np.ptp(a) > 0.0 or np.ptp(b) > 0.0)


def _degrees_of_freedom(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Degrees of freedom of the difference of two means, at least one of which varies (Welch 1947)."""
    total = _variance_of_mean(a) + _variance_of_mean(b)
    if total == 0.0:
        # The variance is too small for a number.
        return float(min(a.size, b.size) - 1)
    share = _variance_of_mean(a) / total
    return 1.0 / (share**2 / (a.size - 1) + (1.0 - share) ** 2 / (b.size - 1))


def _ratio_of_means(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if b.mean() == 0.0:
        raise ValueError(
            "mean(b) = 0.0; accepted: a sample whose mean is not zero, because it is the denominator"
        )
    return float(a.mean() / b.mean())


def _fieller(
    a: NDArray[np.float64], b: NDArray[np.float64], covariance: float, degrees: float, confidence: float
) -> Interval:
    """Solve (mean_a - x mean_b)^2 = t^2 (var_a - 2 x cov + x^2 var_b) for the ratio x."""
    ratio = _ratio_of_means(a, b)
    t2 = float(stats.t.ppf((1.0 + check_confidence(confidence)) / 2.0, degrees)) ** 2
    mean_a, mean_b = float(a.mean()), float(b.mean())
    square = mean_b**2 - t2 * _variance_of_mean(b)
    linear = mean_a * mean_b - t2 * covariance
    constant = mean_a**2 - t2 * _variance_of_mean(a)
    if square > 0.0:
        # A bounded ratio has real bounds; only rounding can make the discriminant negative.
        root = max(linear**2 - square * constant, 0.0) ** 0.5
        low, high = (linear - root) / square, (linear + root) / square
    else:
        low, high = -np.inf, np.inf
    return Interval(estimate=ratio, low=low, high=high, confidence=confidence, n=min(a.size, b.size))


@lru_cache(maxsize=256)
def _drawn(count: int, seed: tuple[int, ...], resamples: int) -> NDArray[np.float64]:
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples) / count
    weights = np.vstack([np.full(count, 1 / count), drawn])
    weights.setflags(write=False)
    return weights


def resample_weights(count: int, *, seed: int | Sequence[int], resamples: int = 400) -> NDArray[np.float64]:
    """Weights of replications in the whole sample and in its bootstrap resamples.

    Quantities that are computed with the same weights are resampled together, so that their differences and ratios, and
    whatever else is computed of them, have resamples too. The 5 % and 95 % quantiles of these are the limits of the
    percentile interval (Efron 1979). `scipy.stats.bootstrap` draws for one statistic at a time.

    Parameters
    ----------
    count : int
        Number of replications, at least 1.
    seed : int or sequence of int
        Seed of the resamples; quantities with the same seed and count share them.
    resamples : int
        Number of resamples.

    Returns
    -------
    ndarray, shape (1 + resamples, count)
        First row: all replications, each 1 / count. Other rows: how often each was drawn, with replacement, over count.
        Read-only.

    Examples
    --------
    >>> weights = resample_weights(4, seed=1, resamples=2)
    >>> weights[0].tolist(), weights.sum(axis=1).tolist()
    ([0.25, 0.25, 0.25, 0.25], [1.0, 1.0, 1.0])
    """
    if count < 1:
        raise ValueError(f"count = {count}; accepted: at least 1 replication")
    return _drawn(count, tuple(np.atleast_1d(seed).tolist()), resamples)


def resampled_mean(values: ArrayLike, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over replications, in the whole sample and in each resample.

    Parameters
    ----------
    values : array_like, shape (..., n)
        One value for each replication along the last axis; NaN marks a missing value, which is excluded.
    weights : ndarray, shape (r, n)
        As `resample_weights` returns them.

    Returns
    -------
    ndarray, shape (r, ...)
        NaN where every replication drawn is left out.

    Examples
    --------
    >>> weights = resample_weights(3, seed=1, resamples=1)
    >>> float(resampled_mean([1.0, float("nan"), 3.0], weights)[0])
    2.0
    """
    table = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(table)
    if known.all():
        return np.asarray(weights @ table.T if table.ndim > 1 else weights @ table)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights @ np.where(known, table, 0.0).T) / (weights @ known.T.astype(np.float64)))


def jain_index(allocations: ArrayLike, axis: int = -1) -> Any:
    """Jain's fairness index, $(sum x)^2 / (n sum x^2)$, between 1/n and 1.

    Parameters
    ----------
    allocations : array_like
        The allocation of each flow, not negative, in any common unit.
    axis : int
        The axis of the flows.

    Returns
    -------
    float or ndarray
        1 if all are equal, 1/n if one flow gets everything; NaN if all are zero.

    Raises
    ------
    ValueError
        If there is no flow or a value is negative or not finite.

    Examples
    --------
    >>> jain_index([1.0, 1.0, 1.0, 1.0])
    1.0
    >>> jain_index([1.0, 0.0, 0.0, 0.0])
    0.25
    """
    shares = np.asarray(allocations, dtype=np.float64)
    if shares.ndim == 0 or shares.shape[axis] == 0:
        raise ValueError(f"allocations has the shape {shares.shape}; accepted: at least one flow")
    bad = ~(np.isfinite(shares) & (shares >= 0.0))
    if bad.any():
        where = ", ".join(str(int(i)) for i in np.argwhere(bad)[0])
        raise ValueError(f"allocations[{where}] = {shares[bad][0]}; accepted: finite numbers, not negative")
    # Scaling by the largest share keeps the squares within range.
    largest = shares.max(axis=axis, keepdims=True)
    scaled = np.divide(shares, largest, out=np.full_like(shares, np.nan), where=largest > 0.0)
    index = scaled.sum(axis=axis) ** 2 / (shares.shape[axis] * (scaled**2).sum(axis=axis))
    return float(index) if np.ndim(index) == 0 else index


def adjust_p_values(p_values: ArrayLike, method: Literal["holm", "bh"] = "holm") -> NDArray[np.float64]:
    """P values corrected for the number of tests.

    Parameters
    ----------
    p_values : array_like, shape (n,)
        Between 0 and 1; NaN marks a test that could not be performed; it is returned as NaN and not counted.
    method : {"holm", "bh"}
        "holm" bounds the probability of any false finding (Holm 1979), "bh" the expected share of false
        findings among all findings (Benjamini and Hochberg 1995).

    Examples
    --------
    >>> adjust_p_values([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    if method not in ("holm", "bh"):
        raise ValueError(f"method = {method!r}; accepted: 'holm', 'bh'")
    known = ~np.isnan(p)
    if p.ndim != 1 or (known & ~((p >= 0.0) & (p <= 1.0))).any():
        raise ValueError(f"p_values = {p_values!r}; accepted: one dimension of numbers between 0 and 1")
    adjusted = np.full(p.shape, np.nan)
    tested = p[known]
    if not tested.size:
        return adjusted
    if method == "bh":
        adjusted[known] = stats.false_discovery_control(tested, method="bh")
        return adjusted
    # Not `multipletests` of statsmodels, which collects all garbage of the process at each call.
    order = np.argsort(tested)
    steps = np.maximum.accumulate(tested[order] * np.arange(tested.size, 0, -1))
    adjusted[np.flatnonzero(known)[order]] = np.minimum(steps, 1.0)
    return adjusted
