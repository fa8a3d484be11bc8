"""Tests of the assumptions of the model: normal errors of the same variance in all cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# SciPy's Shapiro-Wilk p value is computed for at most this many values.
_SHAPIRO_LIMIT = 5000
# Above this size tests of normality find departures that do not matter for the intervals.
_LARGE_SAMPLE = 300


@dataclass(frozen=True, kw_only=True)
class Check:
    """A test of an assumption of the model.

    Attributes
    ----------
    test : str
        Which test.
    statistic, p_value : float
        NaN if the test could not be computed; `note` gives the reason.
    note : str
        What to keep in mind when reading it.
    measures : dict of str to float
        The size of the departure, regardless of its significance.
    """

    test: str
    statistic: float
    p_value: float
    note: str
    measures: dict[str, float]


def normality(residuals: NDArray[np.float64]) -> Check:
    """Test whether the residuals are normal: Shapiro-Wilk, or D'Agostino-Pearson above 5,000 of them."""
    residuals = residuals.ravel()
    if residuals.size < 3 or not residuals.any():
        return Check(
            test="Shapiro-Wilk", statistic=np.nan, p_value=np.nan, note="There are no errors.", measures={}
        )
    if residuals.size <= _SHAPIRO_LIMIT:
        test = "Shapiro-Wilk"
        statistic, p_value = stats.shapiro(residuals)
    else:
        test = "D'Agostino-Pearson"
        statistic, p_value = stats.normaltest(residuals)
    note = "A small p value is evidence against normal errors."
    if residuals.size > _LARGE_SAMPLE:
        note += (
            f" With {residuals.size} residuals it finds departures too small to matter, the intervals of "
            "means being robust; judge by the quantile plot, skewness and excess kurtosis."
        )
    measures = {"skewness": float(stats.skew(residuals)), "excess_kurtosis": float(stats.kurtosis(residuals))}
    return Check(test=test, statistic=float(statistic), p_value=float(p_value), note=note, measures=measures)


def constant_variance(
    values: NDArray[np.float64], cells: Sequence[str], method: Literal["levene", "bartlett"]
) -> Check:
    """Test whether the errors of all cells have the same variance.

    Parameters
    ----------
    values : ndarray, shape (2^k, r)
        Responses, of any origin.
    cells : sequence of str
        Names of the cells.
    method : {"levene", "bartlett"}
        As in `Analysis.constant_variance`.
    """
    if method not in ("levene", "bartlett"):
        raise ValueError(f"method = {method!r}; accepted: 'levene', 'bartlett'")
    test = "Levene (medians)" if method == "levene" else "Bartlett"
    varies = np.ptp(values, axis=1) > 0.0
    spread = np.where(varies, values.std(axis=1, ddof=min(1, values.shape[1] - 1)), 0.0)
    reason = ""
    if values.shape[1] < 3:
        reason = f"There are {values.shape[1]} replications; the test takes 3."
    elif not varies.any():
        reason = "There are no errors."
    elif method == "bartlett" and not varies.all():
        reason = f"Cell {cells[int(np.argmin(varies))]} does not vary, so Bartlett's test is not defined."
    if reason:
        return Check(test=test, statistic=np.nan, p_value=np.nan, note=reason, measures={})
    statistic, p_value = stats.levene(*values) if method == "levene" else stats.bartlett(*values)
    smallest = float(spread.min())
    measures = {
        "largest_over_smallest_deviation": float(spread.max()) / smallest if smallest > 0.0 else np.inf,
        "rank_correlation_with_mean": _rank_correlation(values.mean(axis=1), spread),
    }
    note = (
        "A small p value is evidence against equal variances. If the deviation grows with the mean, "
        "the multiplicative model may fit better."
    )
    return Check(test=test, statistic=float(statistic), p_value=float(p_value), note=note, measures=measures)


def _rank_correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Spearman's rank correlation; NaN when one of the two is constant."""
    if np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return float("nan")
    return float(stats.spearmanr(a, b).statistic)
