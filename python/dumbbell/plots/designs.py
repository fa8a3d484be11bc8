"""Effects and residuals of factorial designs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from dumbbell.plots.look import COLOURS, GREY, axes_or_new, figure, literal, name_rows, slot, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from dumbbell.factorial import Analysis


def _ranked(analysis: Analysis, top: int) -> list[str]:
    """Return the terms that explain most, the largest first."""
    if top < 1:
        raise ValueError(f"top = {top!r}; accepted: an integer of at least 1")
    order = np.argsort(-analysis.sum_of_squares.to_numpy(), kind="stable")[:top]
    return [str(term) for term in analysis.effects.index[order]]


def _effect_label(analysis: Analysis, unit: str | None) -> str:
    if analysis.model == "multiplicative":
        return "effect on log10 of the response"
    return with_unit("effect", unit)


def effects(
    analysis: Analysis,
    *,
    sides: Literal["both", "one", "two"] = "both",
    top: int = 20,
    unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the largest effects with their intervals.

    Parameters
    ----------
    analysis : Analysis
        Of a factorial design.
    sides : {"both", "one", "two"}
        Intervals by the one-sided quantile (thick), the two-sided one (thin), or both.
    top : int
        How many effects.
    unit : str, optional
        Unit of the response.
    ax : Axes, optional
        Where to draw.
    """
    if sides not in ("both", "one", "two"):
        raise ValueError(f"sides = {sides!r}; accepted: 'both', 'one', 'two'")
    ranked = _ranked(analysis, top)
    ax = axes_or_new(ax, height=1.2 + 0.28 * len(ranked))
    widths = {"one": (analysis.quantiles.one_sided, 4.0), "two": (analysis.quantiles.two_sided, 1.2)}
    drawn = [widths[side] for side in ("one", "two") if sides in ("both", side)]
    for row, term in enumerate(ranked):
        value = float(analysis.effects[term])
        error = float(analysis.standard_errors[term])
        # Without replications, there is no interval to draw.
        for quantile, linewidth in drawn if math.isfinite(error) else ():
            half = quantile * error
            ax.plot([value - half, value + half], [row, row], color=COLOURS[0], linewidth=linewidth)
        ax.plot(value, row, color="black", marker="o", markersize=3.5, linestyle="")
    ax.axvline(0.0, color=GREY, linewidth=0.9)
    name_rows(ax, ranked)
    ax.set_xlabel(_effect_label(analysis, unit))
    return ax


def pareto(analysis: Analysis, *, top: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the share of the variation of the largest effects, of the rest and of the error, as bars."""
    ranked = _ranked(analysis, top)
    shares = {term: float(analysis.percent[term]) for term in ranked}
    if len(ranked) < len(analysis.effects):
        shares["other terms"] = float(analysis.percent.drop(ranked).sum())
    if analysis.random == "common":
        shares["replications"] = analysis.percent_replications
    shares["error"] = analysis.percent_error
    ax = axes_or_new(ax, height=1.0 + 0.26 * len(shares))
    colours = [COLOURS[0] if term in ranked else GREY for term in shares]
    ax.barh(range(len(shares)), list(shares.values()), color=colours, height=0.7)
    name_rows(ax, list(shares))
    ax.set_xlabel("share of the variation [%]")
    return ax


def half_normal(
    analysis: Analysis, *, label: int = 5, unit: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the sizes of the effects against half-normal quantiles.

    Effects that are pure noise are on a line through the origin; real effects are above it. No replications are
    needed.

    Parameters
    ----------
    analysis : Analysis
        Of a factorial design.
    label : int
        How many of the largest effects to name.
    unit : str, optional
        Unit of the response.
    ax : Axes, optional
        Where to draw.
    """
    from scipy import stats

    ax = axes_or_new(ax)
    sizes = analysis.effects.abs().sort_values(kind="stable")
    count = len(sizes)
    quantiles = stats.halfnorm.ppf((np.arange(1, count + 1) - 0.5) / count)
    ax.plot(quantiles, sizes.to_numpy(), color=COLOURS[0], marker="o", markersize=3.5, linestyle="")
    slope = _pseudo_standard_error(np.asarray(sizes, dtype=np.float64))
    ax.plot([0.0, quantiles[-1]], [0.0, slope * quantiles[-1]], color=GREY, linewidth=0.9)
    for x, (term, size) in list(zip(quantiles, sizes.items(), strict=True))[::-1][:label]:
        ax.annotate(
            literal(str(term)), (x, size), xytext=(-5, 3), textcoords="offset points", ha="right", fontsize=8
        )
    ax.set_xlabel("half-normal quantile")
    ax.set_ylabel(with_unit("size of the effect", unit if analysis.model == "additive" else "log10"))
    return ax


def _pseudo_standard_error(sizes: NDArray[np.float64]) -> float:
    """Estimate the standard error of effects from their sizes, few of them taken to be real (Lenth 1989)."""
    first = 1.5 * float(np.median(sizes))
    small = sizes[sizes < 2.5 * first]
    return 1.5 * float(np.median(small)) if small.size else first


def _level_limits(ax: Axes) -> None:
    ax.set_xticks([-1.0, 1.0], ["low", "high"])
    ax.set_xlim(-1.3, 1.3)


def main_effects(analysis: Analysis, *, unit: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the predicted response at the low and the high level of each factor, the others averaged over."""
    ax = axes_or_new(ax)
    for i, name in enumerate(analysis.factors):
        ends = [analysis.predict({name: level}) for level in ("low", "high")]
        look = slot(i)
        ax.plot([-1.0, 1.0], ends, color=look.colour, marker=look.marker, linewidth=1.3, label=literal(name))
    _level_limits(ax)
    ax.set_xlabel("level of the factor")
    ax.set_ylabel(with_unit("mean response", unit))
    ax.legend(frameon=False)
    return ax


def interaction(
    analysis: Analysis, first: str, second: str, *, unit: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the predicted response against the level of `first`, one line for each level of `second`.

    Parallel lines mean that the two do not interact; in the multiplicative model the axis is logarithmic to
    keep it so.
    """
    analysis.term(first, second)
    ax = axes_or_new(ax)
    for i, level in enumerate(("low", "high")):
        ends = [analysis.predict({first: other, second: level}) for other in ("low", "high")]
        look = slot(i)
        ax.plot(
            [-1.0, 1.0],
            ends,
            color=look.colour,
            marker=look.marker,
            linewidth=1.3,
            label=literal(f"{second} {level}"),
        )
    if analysis.model == "multiplicative":
        ax.set_yscale("log")
    _level_limits(ax)
    ax.set_xlabel(literal(f"level of {first}"))
    ax.set_ylabel(with_unit("mean response", unit))
    ax.legend(frameon=False)
    return ax


def residual_quantiles(analysis: Analysis, *, unit: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the residuals against normal quantiles; on a line, they are normal."""
    from scipy import stats

    ax = axes_or_new(ax)
    residuals = np.sort(analysis.residuals, axis=None)
    quantiles = stats.norm.ppf((np.arange(1, residuals.size + 1) - 0.5) / residuals.size)
    ax.plot(quantiles, residuals, color=COLOURS[0], marker="o", markersize=2.5, linestyle="", rasterized=True)
    ends = quantiles[[0, -1]]
    ax.plot(ends, residuals.std() * ends, color=GREY, linewidth=0.9)
    ax.set_xlabel("normal quantile")
    ax.set_ylabel(with_unit("residual", unit if analysis.model == "additive" else "log10"))
    return ax


def residuals_against_predicted(
    analysis: Analysis, *, unit: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the residuals against the predicted response; a funnel means that the variance is not constant."""
    ax = axes_or_new(ax)
    predicted = np.repeat(analysis.fitted, analysis.replications)
    residuals = analysis.residuals.ravel()
    ax.plot(predicted, residuals, color=COLOURS[0], marker="o", markersize=2.5, linestyle="", rasterized=True)
    ax.axhline(0.0, color=GREY, linewidth=0.9)
    shown = unit if analysis.model == "additive" else "log10"
    ax.set_xlabel(with_unit("predicted response", shown))
    ax.set_ylabel(with_unit("residual", shown))
    return ax


def residual_checks(analysis: Analysis, *, unit: str | None = None) -> Figure:
    """Draw both plots of residuals side by side, with the p values of the tests of the assumptions."""
    made, grid = figure(1, 2)
    residual_quantiles(analysis, unit=unit, ax=grid[0, 0])
    residuals_against_predicted(analysis, unit=unit, ax=grid[0, 1])
    for ax, check in zip(grid[0], (analysis.normality(), analysis.constant_variance()), strict=True):
        verdict = f"p = {check.p_value:.3g}" if math.isfinite(check.p_value) else check.note
        ax.set_title(f"{check.test}: {verdict}", fontsize=9)
    return made
