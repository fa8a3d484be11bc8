"""Analysis of 2^k r designs: effects, allocation of variation, intervals, checks [jain1991 chapter 18].

y_ij = q_0 + sum_m q_m s_im + e_ij          response of replication j in cell i, signs s_im
q_m  = (1 / 2^k) sum_i s_im mean_j(y_ij)     effects
SS_m = 2^k r q_m^2,   SSE = sum e_ij^2,   SST = sum_m SS_m + SSE
s_e^2 = SSE / (2^k (r - 1)),   s_q = s_e / sqrt(2^k r),   q_m +- t s_q
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from dumbbell.factorial import _checks, _transform
from dumbbell.factorial._checks import Check
from dumbbell.factorial._inputs import (
    Levels,
    check_random,
    coded_levels,
    factor_names,
    response_array,
    term_number,
)
from dumbbell.statistics import Interval, adjust_p_values, check_confidence

if TYPE_CHECKING:
    from numpy.typing import NDArray


# A text shows all terms of up to six factors, and of more factors those that explain most.
_LINES_OF_TEXT = 63


class HalfWidths(NamedTuple):
    """Half-widths of the intervals of effects, in the unit of the response; see `half_widths`."""

    one_sided: float
    two_sided: float


class Effect(NamedTuple):
    """One term of an analysis.

    `effect` and the half-widths are in the unit of the response, or in its log10 in the multiplicative model;
    `percent` is the share of the variation. The flags are None where there is no estimate of the error.
    """

    term: str
    effect: float
    percent: float
    hw_one_sided: float
    hw_two_sided: float
    significant_one_sided: bool | None
    significant_two_sided: bool | None
    p_value: float


def half_widths(s_e: float, *, cells: int, replications: int, confidence: float = 0.90) -> HalfWidths:
    """Half-widths of the intervals of all effects of a full model.

    Parameters
    ----------
    s_e : float
        Standard deviation of the errors, in the unit of the response, not negative.
    cells : int
        2^k.
    replications : int
        r, at least 2.
    confidence : float
        1 - a, between 0 and 1.

    Returns
    -------
    HalfWidths
        `one_sided` with the quantile $t[1 - a; 2^k (r - 1)]$, which makes a bound on one side, or an interval
        of confidence 1 - 2a; `two_sided` with $t[1 - a/2; 2^k (r - 1)]$, which makes an interval of confidence
        1 - a.

    Examples
    --------
    >>> narrow, wide = half_widths(9.18, cells=8, replications=50)
    >>> f"{narrow:.2f} {wide:.2f}"
    '0.59 0.76'
    """
    if not s_e >= 0.0:
        raise ValueError(f"s_e = {s_e!r}; accepted: a number that is not negative")
    if replications < 2:
        raise ValueError(
            f"replications = {replications!r}; accepted: at least 2, one gives no estimate of the error"
        )
    one, two = _quantiles(check_confidence(confidence), cells * (replications - 1))
    s_q = s_e / (cells * replications) ** 0.5
    return HalfWidths(one * s_q, two * s_q)


def _quantiles(confidence: float, degrees: int) -> tuple[float, float]:
    """One-sided and two-sided quantiles of t; NaN without degrees of freedom."""
    if degrees < 1:
        return np.nan, np.nan
    return float(stats.t.ppf(confidence, degrees)), float(stats.t.ppf((1.0 + confidence) / 2.0, degrees))


def cells_from_effects(
    effects: Mapping[str, float] | Mapping[tuple[str, ...], float], factors: Sequence[Any]
) -> pd.Series[float]:
    """Cell means that have the given effects: the inverse of the analysis.

    Parameters
    ----------
    effects : mapping
        From terms, "mean", "ss", "ss:ca" or tuples of names, to effects. Omitted effects are 0.
    factors : sequence of str or Factor
        The first varies slowest.

    Returns
    -------
    Series
        By cell, in standard order.

    Examples
    --------
    >>> cells_from_effects({"mean": 10.0, "a": 2.0, "b": -1.0, "a:b": 0.5}, ["a", "b"]).to_dict()
    {'00': 9.5, '01': 6.5, '10': 12.5, '11': 11.5}
    """
    names = factor_names(factors)
    k = len(names)
    by_number = np.zeros(2**k)
    for term, value in effects.items():
        members = term if isinstance(term, tuple) else () if term == "mean" else tuple(term.split(":"))
        by_number[term_number(names, members)] = value
    return pd.Series(
        _transform.sums_of_effects(by_number),
        index=pd.Index(_transform.cell_names(k), name="cell"),
        name="mean",
    )


def analyse(
    responses: Any,
    factors: Any,
    *,
    model: Literal["additive", "multiplicative"] = "additive",
    order: int | None = None,
    confidence: float = 0.90,
    random: Literal["independent", "common"] | None = None,
) -> Analysis:
    """Analyse the responses of a $2^k r$ design.

    Parameters
    ----------
    responses : array_like, shape (2^k, r), or mapping
        Cells in standard order, the first factor varying slowest: 000, 001, 010, ..., 111. Or from cell names
        to their r values. One dimension of 2^k values is a design without replication.
    factors : sequence of str or Factor, or Design
        The factors in the order of the digits of a cell's name.
    model : {"additive", "multiplicative"}
        In the multiplicative model the effects multiply, so log10 of the response is analysed;
        `Analysis.table` and `Analysis.predict` transform back.
    order : int, optional
        Highest order of interactions in the model; those above are counted as error, with their degrees of
        freedom. All are in the model if left out. To list fewer of them, use ``Analysis.table(order=...)``.
    confidence : float
        1 - a, between 0 and 1.
    random : {"independent", "common"}, optional
        Whether replication j of all cells shares random numbers. Then replications are blocks, the variation
        between them is set apart, and each effect gets its interval from its r values in single replications,
        with r - 1 degrees of freedom. Taken from the Design if there is one, else "independent".

    Raises
    ------
    ValueError
        If cells differ in their number of replications, a response is not finite (or not positive in the
        multiplicative model), or an argument is not accepted; the message names the cell or the argument.

    Examples
    --------
    >>> result = analyse([[9, 11], [19, 21], [29, 31], [59, 61]], ["a", "b"])
    >>> result.mean, result.effects.to_dict()
    (30.0, {'a': 15.0, 'b': 10.0, 'a:b': 5.0})
    >>> result.predict("11")
    60.0
    """
    names = factor_names(factors)
    chosen: Literal["independent", "common"] = (
        getattr(factors, "random", "independent") if random is None else random
    )
    _check_model(model, order, len(names))
    check_random(chosen)
    return Analysis(
        factors=names,
        responses=_responses(responses, len(names), model),
        model=model,
        order=len(names) if order is None else order,
        confidence=check_confidence(confidence),
        random=chosen,
    )


def _check_model(model: object, order: object, k: int) -> None:
    if model not in ("additive", "multiplicative"):
        raise ValueError(f"model = {model!r}; accepted: 'additive', 'multiplicative'")
    if order is not None and (isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= k):
        raise ValueError(f"order = {order!r}; accepted: an integer from 1 to {k}, the number of factors")


def _responses(responses: Any, k: int, model: str) -> NDArray[np.float64]:
    """Return the responses as an array, shape (2^k, r)."""
    values = response_array(responses, k)
    if model == "multiplicative" and (values <= 0.0).any():
        i, j = np.argwhere(values <= 0.0)[0]
        raise ValueError(
            f"responses: cell {_transform.cell_names(k)[i]}, replication {j} is {values[i, j]}; "
            "accepted: positive numbers in the multiplicative model"
        )
    return values


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysis:
    """The analysis of a design; returned by `analyse`.

    Effects, sums of squares and standard errors are in the unit of the response (or its square), and of
    log10 of the response in the multiplicative model. Terms are "ss" or "ss:ca", main effects first.

    Attributes
    ----------
    factors : tuple of str
        The first varies slowest from cell to cell.
    responses : ndarray, shape (2^k, r)
        As given.
    model, order, confidence, random
        As given to `analyse`.
    """

    factors: tuple[str, ...]
    responses: NDArray[np.float64] = field(repr=False)
    model: Literal["additive", "multiplicative"]
    order: int
    confidence: float
    random: Literal["independent", "common"]

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells in standard order."""
        return _transform.cell_names(len(self.factors))

    @property
    def replications(self) -> int:
        """Replications of each cell, r."""
        return int(self.responses.shape[1])

    # Fit

    @cached_property
    def _modelled(self) -> NDArray[np.float64]:
        return np.log10(self.responses) if self.model == "multiplicative" else self.responses

    @cached_property
    def _origin(self) -> float:
        """A value near all responses; sums of deviations from it lose no digits."""
        return float(self._modelled.flat[0] if np.ptp(self._modelled) == 0.0 else self._modelled.mean())

    @cached_property
    def _cell_deviations(self) -> NDArray[np.float64]:
        """Mean of each cell, less the origin; exact in cells without any variation."""
        deviations = self._modelled - self._origin
        return np.where(np.ptp(deviations, axis=1) == 0.0, deviations[:, 0], deviations.mean(axis=1))

    @cached_property
    def _terms(self) -> tuple[list[str], NDArray[np.int64]]:
        return _transform.terms(self.factors, self.order)

    def _fit(self, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
        """Effects by term number, 0 for terms outside the model; shape (2^k, ...)."""
        count = deviations.shape[0]
        everything = _transform.signed_sums(deviations) / count
        # The rounding error of an effect that is exactly zero must not look like a small effect.
        rounding = 8.0 * (len(self.factors) + 1) * np.finfo(float).eps * np.abs(deviations).max()
        everything[np.abs(everything) <= rounding] = 0.0
        numbers = np.concatenate(([0], self._terms[1]))
        fit: NDArray[np.float64] = np.zeros_like(everything)
        fit[numbers] = everything[numbers]
        return fit

    @cached_property
    def _effects(self) -> NDArray[np.float64]:
        return self._fit(self._cell_deviations)

    @cached_property
    def _fitted_deviations(self) -> NDArray[np.float64]:
        if self.order == len(self.factors):
            return self._cell_deviations
        return _transform.sums_of_effects(self._effects)

    @cached_property
    def _block_deviations(self) -> NDArray[np.float64]:
        """Deviation of each replication from the mean, over all cells; 0 if replications are independent."""
        if self.random == "independent":
            return np.zeros(self.replications)
        deviations = self._modelled - self._origin
        blocks: NDArray[np.float64] = deviations.mean(axis=0) - deviations.mean()
        return blocks

    @property
    def mean(self) -> float:
        """q_0, the mean of all responses."""
        return self._origin + float(self._effects[0])

    @cached_property
    def effects(self) -> pd.Series[float]:
        """Effects q_m by term: half the change of the response from the low to the high sign."""
        labels, numbers = self._terms
        return pd.Series(self._effects[numbers], index=pd.Index(labels, name="term"), name="effect")

    @cached_property
    def residuals(self) -> NDArray[np.float64]:
        """Response less fitted value, and less the replication's part if they are blocks; shape (2^k, r)."""
        deviations = self._modelled - self._origin
        residuals = deviations - self._fitted_deviations[:, None] - self._block_deviations
        rounding = 8.0 * np.finfo(float).eps * np.abs(deviations).max()
        return np.where(np.abs(residuals) <= rounding, 0.0, residuals)

    @property
    def fitted(self) -> NDArray[np.float64]:
        """Value of the model in every cell, shape (2^k,)."""
        return self._origin + self._fitted_deviations

    @cached_property
    def cell_means(self) -> pd.Series[float]:
        """Mean response of every cell; the geometric mean in the multiplicative model."""
        means = self._origin + self._cell_deviations
        if self.model == "multiplicative":
            means = 10.0**means
        return pd.Series(means, index=pd.Index(self.cells, name="cell"), name="mean")

    # Allocation of variation

    @cached_property
    def sum_of_squares(self) -> pd.Series[float]:
        """$SS_m = 2^k r q_m^2$ by term."""
        return (self.responses.size * self.effects**2).rename("sum_of_squares")

    @cached_property
    def sst(self) -> float:
        """Total variation about the mean."""
        return float(((self._modelled - self._origin - self._effects[0]) ** 2).sum())

    @cached_property
    def sse(self) -> float:
        """Variation that the model does not explain."""
        return float((self.residuals**2).sum())

    @cached_property
    def ss_replications(self) -> float:
        """Variation between replications under common random numbers, else 0."""
        return float(len(self.cells) * (self._block_deviations**2).sum())

    @cached_property
    def percent(self) -> pd.Series[float]:
        """Share of the variation each term explains, in percent; NaN if nothing varies."""
        share = self.sum_of_squares / self.sst if self.sst > 0.0 else self.sum_of_squares * np.nan
        return (100.0 * share).rename("percent")

    @property
    def percent_error(self) -> float:
        """Share of the variation that is error, in percent."""
        return 100.0 * self.sse / self.sst if self.sst > 0.0 else np.nan

    @property
    def percent_replications(self) -> float:
        """Share of the variation between replications, in percent; 0 if they are independent."""
        return 100.0 * self.ss_replications / self.sst if self.sst > 0.0 else np.nan

    # Precision

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom of the intervals: $2^k (r - 1)$ if the model is full, r - 1 with blocks."""
        return self.replications - 1 if self.random == "common" else self._error_degrees

    @property
    def _error_degrees(self) -> int:
        degrees = self.responses.size - 1 - len(self._terms[1])
        return degrees - (self.replications - 1 if self.random == "common" else 0)

    @cached_property
    def s_e(self) -> float:
        """Standard deviation of the errors; NaN if there are no degrees of freedom."""
        return float(np.sqrt(self.sse / self._error_degrees)) if self._error_degrees > 0 else np.nan

    @property
    def s_q(self) -> float:
        """Standard error of the mean and of every effect."""
        self._refuse_single("s_q")
        return float(self.s_e / np.sqrt(self.responses.size))

    def _refuse_single(self, name: str) -> None:
        if self.random == "common":
            raise ValueError(
                f"{name} differs from term to term with random = 'common'; see standard_errors and table()"
            )

    @cached_property
    def _effects_by_replication(self) -> NDArray[np.float64]:
        """Effects of each replication alone, shape (2^k, r)."""
        return self._fit(self._modelled - self._origin)

    @cached_property
    def effects_by_replication(self) -> pd.DataFrame:
        """Mean and effects of each replication alone: one row for each term, one column for each replication.

        Any weighted sum of effects has its own r values here, and with replications as blocks its interval is
        that of their mean.
        """
        labels, numbers = self._terms
        values = self._effects_by_replication[np.concatenate(([0], numbers))]
        values[0] += self._origin
        return pd.DataFrame(values, index=pd.Index(["mean", *labels], name="term"))

    @cached_property
    def standard_errors(self) -> pd.Series[float]:
        """Standard error of the mean and of every effect, by term."""
        labels, numbers = self._terms
        if self.random == "independent":
            errors = np.full(1 + len(labels), self.s_q)
        elif self.replications == 1:
            errors = np.full(1 + len(labels), np.nan)
        else:
            single = self._effects_by_replication[np.concatenate(([0], numbers))]
            errors = single.std(axis=1, ddof=1) / self.replications**0.5
        return pd.Series(errors, index=pd.Index(["mean", *labels], name="term"), name="standard_error")

    @cached_property
    def quantiles(self) -> HalfWidths:
        """Quantiles of t behind the half-widths: 1 - a one-sided, 1 - a/2 two-sided."""
        return HalfWidths(*_quantiles(self.confidence, self.degrees_of_freedom))

    @property
    def hw_one_sided(self) -> float:
        """Half-width with t[1 - a]: a bound on one side, or an interval of confidence 1 - 2a."""
        self._refuse_single("hw_one_sided")
        return self.quantiles.one_sided * self.s_q

    @property
    def hw_two_sided(self) -> float:
        """Half-width with t[1 - a/2]: an interval of confidence 1 - a."""
        self._refuse_single("hw_two_sided")
        return self.quantiles.two_sided * self.s_q

    def _significant(self, quantile: float, name: str) -> pd.Series[Any]:
        half = quantile * self.standard_errors.to_numpy()[1:]
        flags = (self.effects.abs() > half).astype("boolean").mask(np.isnan(half))
        return flags.rename(name)

    @cached_property
    def significant_one_sided(self) -> pd.Series[Any]:
        """Whether the interval with the one-sided quantile excludes 0, by term; NA without an error."""
        return self._significant(self.quantiles.one_sided, "significant_one_sided")

    @cached_property
    def significant_two_sided(self) -> pd.Series[Any]:
        """Whether the interval with the two-sided quantile excludes 0, by term; NA without an error."""
        return self._significant(self.quantiles.two_sided, "significant_two_sided")

    @cached_property
    def p_values(self) -> pd.Series[float]:
        """Two-sided p value of each effect, by term; NaN without an error estimate."""
        size = self.effects.abs().to_numpy()
        errors = self.standard_errors.iloc[1:].to_numpy()
        # Without any error, an effect is certain if it is not zero.
        t = np.divide(size, errors, out=np.where(size > 0.0, np.inf, 0.0), where=errors != 0.0)
        p = 2.0 * stats.t.sf(t, max(self.degrees_of_freedom, 1))
        return pd.Series(np.where(np.isnan(errors), np.nan, p), index=self.effects.index, name="p_value")

    @cached_property
    def simultaneous_quantile(self) -> float:
        """Quantile of t whose intervals hold simultaneously for all m effects: $1 - a / (2 m)$, after Bonferroni.

        NaN without an estimate of the error.
        """
        joint = 1.0 - (1.0 - self.confidence) / len(self.effects)
        return _quantiles(joint, self.degrees_of_freedom)[1]

    def ranking(self) -> pd.DataFrame:
        """Rank all effects by the variation they explain, with intervals and p values corrected for multiple comparisons.

        Returns
        -------
        DataFrame
            Columns `term`, `order`, `effect`, `standard_error`, `low`, `high`, `percent`, `significant`,
            `p_value`, `p_holm`, `p_bh`; the index counts from 1. With the confidence of the analysis *all*
            intervals hold together (Bonferroni), and `significant` says whether one excludes 0; it is NA
            without an estimate of the error.
        """
        errors = self.standard_errors.iloc[1:].to_numpy()
        half = self.simultaneous_quantile * errors
        values = self.effects.to_numpy()
        frame = pd.DataFrame(
            {
                "term": self.effects.index.to_numpy(dtype=object),
                "order": [term.count(":") + 1 for term in self.effects.index],
                "effect": values,
                "standard_error": errors,
                "low": values - half,
                "high": values + half,
                "percent": self.percent.to_numpy(),
                "significant": self._significant(self.simultaneous_quantile, "significant").array,
                "p_value": self.p_values.to_numpy(),
                "p_holm": self.adjusted_p_values("holm").to_numpy(),
                "p_bh": self.adjusted_p_values("bh").to_numpy(),
            }
        )
        ranks = np.argsort(-self.sum_of_squares.to_numpy(), kind="stable")
        return frame.iloc[ranks].set_axis(pd.RangeIndex(1, len(frame) + 1, name="rank"))

    def adjusted_p_values(self, method: Literal["holm", "bh"] = "holm") -> pd.Series[float]:
        """P values corrected for testing all effects; see `dumbbell.statistics.adjust_p_values`."""
        adjusted = adjust_p_values(self.p_values.to_numpy(), method)
        return pd.Series(adjusted, index=self.effects.index, name=f"p_{method}")

    # Single terms and cells

    def term(self, *factors: str) -> str:
        """Name of the term of these factors, in whatever order they are given."""
        term_number(self.factors, factors)
        if not 1 <= len(factors) <= self.order:
            raise ValueError(
                f"term = {':'.join(factors)!r}; accepted: 1 to {self.order} factors, the order of the model"
            )
        return ":".join(sorted(factors, key=self.factors.index))

    def effect(self, *factors: str) -> Effect:
        """Everything about one term, ``effect("ss")`` or ``effect("ss", "ca")``."""
        term = self.term(*factors)
        flags = [self.significant_one_sided[term], self.significant_two_sided[term]]
        one, two = (None if flag is pd.NA else bool(flag) for flag in flags)
        error = float(self.standard_errors[term])
        return Effect(
            term=term,
            effect=float(self.effects[term]),
            percent=float(self.percent[term]),
            hw_one_sided=self.quantiles.one_sided * error,
            hw_two_sided=self.quantiles.two_sided * error,
            significant_one_sided=one,
            significant_two_sided=two,
            p_value=float(self.p_values[term]),
        )

    def _signs_at(self, levels: Levels) -> NDArray[np.float64]:
        """Sign of every term at these levels, 0 where a factor is averaged over."""
        signs: NDArray[np.float64] = np.ones(1)
        for level in coded_levels(self.factors, levels):
            signs = np.kron(signs, np.array([1.0, level]))
        return signs

    def predict(self, levels: Levels) -> float:
        """Response the model predicts.

        Parameters
        ----------
        levels : str, mapping or sequence
            A cell, "110"; or the level of each factor: True, 1 or "high", and False, -1 or "low". A factor
            that a mapping leaves out is averaged over.

        Returns
        -------
        float
            In the unit of the response; the geometric mean in the multiplicative model.
        """
        value = self._origin + float(self._signs_at(levels) @ self._effects)
        return float(10.0**value) if self.model == "multiplicative" else value

    def predict_interval(self, levels: Levels, sides: Literal["one", "two"] = "two") -> Interval:
        """Predicted mean response with its interval, by the one-sided or the two-sided quantile."""
        if sides not in ("one", "two"):
            raise ValueError(f"sides = {sides!r}; accepted: 'one', 'two'")
        signs = self._signs_at(levels)
        value = self._origin + float(signs @ self._effects)
        if self.random == "independent":
            in_model = signs[np.concatenate(([0], self._terms[1]))]
            error = self.s_q * float((in_model**2).sum()) ** 0.5
        elif self.replications == 1:
            error = np.nan
        else:
            error = float((signs @ self._effects_by_replication).std(ddof=1)) / self.replications**0.5
        half = (self.quantiles.one_sided if sides == "one" else self.quantiles.two_sided) * error
        bounds = [value, value - half, value + half]
        if self.model == "multiplicative":
            bounds = [float(10.0**bound) for bound in bounds]
        estimate, low, high = bounds
        confidence = self.confidence if sides == "two" else 2.0 * self.confidence - 1.0
        return Interval(estimate=estimate, low=low, high=high, confidence=confidence, n=self.replications)

    # Tables

    def sign_table(self) -> pd.DataFrame:
        """Signs of the mean and of all effects in every cell, +1 or -1."""
        return _transform.sign_table(self.factors)

    def table(
        self, *, order: int | None = None, top: int | None = None, sort: Literal["order", "percent"] = "order"
    ) -> pd.DataFrame:
        """All results, one row for each term.

        Parameters
        ----------
        order : int, optional
            List interactions up to this order.
        top : int, optional
            List this many terms that explain most.
        sort : {"order", "percent"}
            Main effects first, or what explains most first.

        Returns
        -------
        DataFrame
            Columns `term`, `order`, `effect`, `sum_of_squares`, `percent`; `low_` and `high_`,
            `significant_`, each `one_sided` and `two_sided`; `p_value`, `p_holm`, `p_bh`, corrected for all
            effects of the model. In the multiplicative model also `ratio`, $10^(2 q)$, the geometric mean of
            the response where the term's sign is + over that where it is -, with its intervals. Rows: mean,
            terms, what is not listed, replications (common random numbers), error. The percentages add to
            100.
        """
        for name, value in (("order", order), ("top", top)):
            if value is not None and value < 1:
                raise ValueError(f"{name} = {value!r}; accepted: an integer of at least 1")
        if sort not in ("order", "percent"):
            raise ValueError(f"sort = {sort!r}; accepted: 'order', 'percent'")
        rows = self._term_rows()
        listed = rows if order is None else rows[rows["order"] <= order]
        ranked = listed.sort_values("sum_of_squares", ascending=False, kind="stable")
        if top is not None:
            ranked = ranked.head(top)
        listed = ranked if sort == "percent" else ranked.sort_index()
        sums: list[dict[Any, Any]] = [
            {"term": "error", "sum_of_squares": self.sse, "percent": self.percent_error}
        ]
        if self.random == "common":
            block = self.ss_replications, self.percent_replications
            sums.insert(0, {"term": "replications", "sum_of_squares": block[0], "percent": block[1]})
        if len(listed) < len(rows):
            rest = rows.drop(listed.index)[["sum_of_squares", "percent"]].sum(min_count=1)
            sums.insert(0, {"term": "other interactions" if top is None else "other terms", **rest.to_dict()})
        tail = pd.DataFrame(sums).reindex(columns=rows.columns)
        mean = self._interval_columns(np.array([self.mean]), self.standard_errors.iloc[:1].to_numpy())
        head = pd.DataFrame({"term": ["mean"], "order": [0], **mean}).reindex(columns=rows.columns)
        parts = [part.astype(rows.dtypes.to_dict()) for part in (head, listed, tail)]
        return pd.concat(parts, ignore_index=True)

    def _interval_columns(self, values: NDArray[Any], errors: NDArray[Any]) -> dict[str, Any]:
        columns: dict[str, Any] = {"effect": values}
        for sides, quantile in self.quantiles._asdict().items():
            columns[f"low_{sides}"] = values - quantile * errors
            columns[f"high_{sides}"] = values + quantile * errors
        return columns

    def _term_rows(self) -> pd.DataFrame:
        values = self.effects.to_numpy()
        intervals = self._interval_columns(values, self.standard_errors.iloc[1:].to_numpy())
        columns = {
            "term": self.effects.index.to_numpy(dtype=object),
            "order": pd.array([term.count(":") + 1 for term in self.effects.index], dtype="Int64"),
            "effect": intervals.pop("effect"),
            "sum_of_squares": self.sum_of_squares.to_numpy(),
            "percent": self.percent.to_numpy(),
            **intervals,
            "significant_one_sided": self.significant_one_sided.array,
            "significant_two_sided": self.significant_two_sided.array,
            "p_value": self.p_values.to_numpy(),
            "p_holm": self.adjusted_p_values("holm").to_numpy(),
            "p_bh": self.adjusted_p_values("bh").to_numpy(),
        }
        if self.model == "multiplicative":
            columns["ratio"] = 10.0 ** (2.0 * values)
            columns.update((f"ratio_{name}", 10.0 ** (2.0 * bound)) for name, bound in intervals.items())
        return pd.DataFrame(columns)

    # Checks of the assumptions

    def normality(self) -> Check:
        """Test whether the residuals are normal: Shapiro-Wilk, or D'Agostino-Pearson above 5,000 of them."""
        return _checks.normality(self.residuals)

    def constant_variance(self, method: Literal["levene", "bartlett"] = "levene") -> Check:
        """Test whether the errors of all cells have the same variance.

        Parameters
        ----------
        method : {"levene", "bartlett"}
            Levene's test about the medians (Brown-Forsythe), which bears with errors that are not normal; or
            Bartlett's, sharper if they are.
        """
        return _checks.constant_variance(self._modelled - self._origin, self.cells, method)

    # Text

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the results."""
        notes = []
        if self.degrees_of_freedom < 1:
            notes.append(
                "There is one replication, so the error cannot be estimated: there are no intervals, and no "
                "effect can be called significant. Replications or a model of lower order would allow it."
            )
        if self.sst == 0.0:
            notes.append("The response does not vary at all, so there is no variation to allocate.")
        if self.order < len(self.factors):
            notes.append(f"Interactions of more than {self.order} factors are counted as error.")
        if self.random == "common":
            notes.append(
                "Replications share random numbers between cells; each effect has its own standard error, "
                "from its values in single replications."
            )
        if self.model == "multiplicative":
            notes.append("Effects are in log10 of the response; 10^(2 q) is the ratio of high to low.")
        return tuple(notes)

    def __str__(self) -> str:
        head = f"2^{len(self.factors)} design with {self.replications} replications, {self.model} model"
        few = len(self.effects) <= _LINES_OF_TEXT
        shown = self.table() if few else self.table(top=_LINES_OF_TEXT, sort="percent")
        table = shown.drop(columns=["order", "sum_of_squares"]).to_string(
            index=False, na_rep="", float_format="{:.4g}".format
        )
        lines = [head, "", table, ""]
        if self.degrees_of_freedom > 0:
            one, two = self.quantiles
            lines.append(
                f"a = {1.0 - self.confidence:.3g}, {self.degrees_of_freedom} degrees of freedom: "
                f"one-sided intervals with t[1 - a] = {one:.4g}, two-sided with t[1 - a/2] = {two:.4g}"
            )
        return "\n".join([*lines, *self.notes])
