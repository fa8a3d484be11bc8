"""Plots in the manner of the field: axes with units, one colour and one marker for an algorithm everywhere.

Figures are made without pyplot, so they belong to no window and no global state. Every function that draws
into `ax` makes a figure of its own when there is none, and returns the axes; ``ax.figure`` is the figure.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from dumbbell.factorial import Analysis
    from dumbbell.statistics import Interval

__all__ = [
    "COLOURS",
    "MARKERS",
    "Style",
    "effects",
    "figure",
    "half_normal",
    "interaction",
    "intervals",
    "lines",
    "main_effects",
    "pareto",
    "residual_checks",
    "residual_quantiles",
    "residuals_against_predicted",
    "style",
    "styles",
    "to_svg",
    "trace_figure",
]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
"""Okabe and Ito's colours, told apart by colour-blind readers, with brown for their pale yellow."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""One fewer than the colours, so that 56 algorithms go by before a pair of colour and marker comes again."""

_WIDTH, _HEIGHT = 6.0, 3.8
_GREY = "#7F7F7F"


class Style(NamedTuple):
    """How one algorithm looks in all plots."""

    colour: str
    marker: str


def _registry() -> list[str]:
    """Names of the engine's algorithms in the order of its registry."""
    from dumbbell.engine import catalogue

    return [algorithm["name"] for algorithm in catalogue()["algorithms"]]


def _slot(index: int) -> Style:
    return Style(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)])


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Style of each name.

    A registered algorithm has the style of its place in the registry, in every plot. Other labels, such as
    those of parameter settings, take the places after the registry's in the order given.

    Parameters
    ----------
    names : iterable of str
        Algorithms or labels; repeated names count once.
    """
    registered = _registry()
    listed = list(dict.fromkeys(names))
    others = [name for name in listed if name not in registered]
    places = {name: i for i, name in enumerate([*registered, *others])}
    return {name: _slot(places[name]) for name in listed}


def style(name: str) -> Style:
    """Style of one algorithm; see `styles`."""
    return styles([name])[name]


def figure(
    rows: int = 1, columns: int = 1, *, width: float = _WIDTH, height: float = _HEIGHT
) -> tuple[Figure, NDArray[Any]]:
    """Make an empty figure with a grid of axes.

    Parameters
    ----------
    rows, columns : int
        Of the grid.
    width, height : float
        Of one of its axes, in inches.

    Returns
    -------
    tuple of Figure and ndarray of Axes
        The array has the shape (rows, columns).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(made)
    grid = made.subplots(rows, columns, squeeze=False)
    for ax in grid.flat:
        _dress(ax)
    return made, grid


def _dress(ax: Axes) -> None:
    """Apply the common look."""
    ax.grid(visible=True, linewidth=0.4, color="#DDDDDD")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _axes(ax: Axes | None, *, height: float = _HEIGHT) -> Axes:
    if ax is not None:
        return ax
    made: Axes = figure(height=height)[1][0, 0]
    return made


def _with_unit(label: str, unit: str | None) -> str:
    return f"{label} [{unit}]" if unit else label


def lines(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    x_label: str,
    y_label: str,
    x_unit: str | None = None,
    y_unit: str | None = None,
    title: str | None = None,
    markers: bool = False,
    steps: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line for each series.

    Parameters
    ----------
    series : mapping of str to (x, y)
        By algorithm or label.
    x_label, y_label : str
        Quantities of the axes.
    x_unit, y_unit : str, optional
        Their units; none for counts and ratios.
    title : str, optional
        Text over the plot.
    markers : bool
        Whether to mark the points, as for few of them.
    steps : bool
        Whether a value holds until the next one, as a window does.
    ax : Axes, optional
        Where to draw.
    """
    ax = _axes(ax)
    looks = styles(series)
    for label, (x, y) in series.items():
        look = looks[label]
        ax.plot(
            np.asarray(x),
            np.asarray(y),
            color=look.colour,
            marker=look.marker if markers else "",
            markersize=4.5,
            linewidth=1.1,
            drawstyle="steps-post" if steps else "default",
            label=label,
        )
    ax.set_xlabel(_with_unit(x_label, x_unit))
    ax.set_ylabel(_with_unit(y_label, y_unit))
    if title:
        ax.set_title(title)
    if len(series) > 1:
        ax.legend(frameon=False)
    return ax


def trace_figure(
    quantity: str, trace: pd.DataFrame, *, unit: str | None = None, title: str | None = None
) -> Figure:
    """Draw one probed quantity over time, one line for each flow or link.

    Parameters
    ----------
    quantity : str
        Name of the quantity, as ``"cwnd"``.
    trace : DataFrame
        The columns ``time_s`` (seconds), ``name`` and ``value``.
    unit : str, optional
        Unit of ``value``, written at the axis.
    title : str, optional
        Text over the plot.
    """
    made, grid = figure(width=9.0, height=4.5)
    series = {
        str(name): (rows["time_s"].to_numpy(), rows["value"].to_numpy())
        for name, rows in trace.groupby("name", sort=True)
    }
    # A quantity keeps its value until it is recorded again.
    ax = lines(
        series,
        x_label="time",
        x_unit="s",
        y_label=quantity,
        y_unit=unit,
        title=title,
        steps=True,
        ax=grid[0, 0],
    )
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.margins(x=0.01)
    if ax.get_legend() is not None:
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    return made


def intervals(
    data: Mapping[str, Interval],
    *,
    label: str,
    unit: str | None = None,
    reference: float | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw estimates with their intervals, one row for each.

    Parameters
    ----------
    data : mapping of str to Interval
        By algorithm or label, from the top.
    label : str
        Quantity of the axis.
    unit : str, optional
        Its unit.
    reference : float, optional
        A value to compare with, such as a published one, drawn as a dashed line.
    title : str, optional
        Text over the plot.
    ax : Axes, optional
        Where to draw.
    """
    ax = _axes(ax, height=0.9 + 0.32 * len(data))
    looks = styles(data)
    for row, (name, interval) in enumerate(data.items()):
        if math.isfinite(interval.low) and math.isfinite(interval.high):
            ax.plot([interval.low, interval.high], [row, row], color=looks[name].colour, linewidth=1.6)
        ax.plot(interval.estimate, row, color=looks[name].colour, marker=looks[name].marker, linestyle="")
    if reference is not None:
        ax.axvline(reference, color=_GREY, linewidth=0.9, linestyle="--")
    _rows(ax, list(data))
    ax.set_xlabel(_with_unit(label, unit))
    if title:
        ax.set_title(title)
    return ax


def _rows(ax: Axes, labels: Sequence[str]) -> None:
    """Name the rows of a horizontal plot, the first at the top."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)


def _ranked(analysis: Analysis, top: int) -> list[str]:
    """Return the terms that explain most, the largest first."""
    if top < 1:
        raise ValueError(f"top = {top!r}; accepted: an integer of at least 1")
    order = np.argsort(-analysis.sum_of_squares.to_numpy(), kind="stable")[:top]
    return [str(term) for term in analysis.effects.index[order]]


def _effect_label(analysis: Analysis, unit: str | None) -> str:
    if analysis.model == "multiplicative":
        return "effect on log10 of the response"
    return _with_unit("effect", unit)


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
    ax = _axes(ax, height=1.2 + 0.28 * len(ranked))
    widths = {"one": (analysis.quantiles.one_sided, 4.0), "two": (analysis.quantiles.two_sided, 1.2)}
    drawn = [widths[side] for side in ("one", "two") if sides in ("both", side)]
    for row, term in enumerate(ranked):
        value = float(analysis.effects[term])
        error = float(analysis.standard_errors[term])
        # Without replications there is no interval to draw.
        for quantile, linewidth in drawn if math.isfinite(error) else ():
            half = quantile * error
            ax.plot([value - half, value + half], [row, row], color=COLOURS[0], linewidth=linewidth)
        ax.plot(value, row, color="black", marker="o", markersize=3.5, linestyle="")
    ax.axvline(0.0, color=_GREY, linewidth=0.9)
    _rows(ax, ranked)
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
    ax = _axes(ax, height=1.0 + 0.26 * len(shares))
    colours = [COLOURS[0] if term in ranked else _GREY for term in shares]
    ax.barh(range(len(shares)), list(shares.values()), color=colours, height=0.7)
    _rows(ax, list(shares))
    ax.set_xlabel("share of the variation [%]")
    return ax


def half_normal(
    analysis: Analysis, *, label: int = 5, unit: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the sizes of the effects against half-normal quantiles.

    Effects that are nothing but noise lie along a line through the origin; those above it are real. This
    needs no replications.

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

    ax = _axes(ax)
    sizes = analysis.effects.abs().sort_values(kind="stable")
    count = len(sizes)
    quantiles = stats.halfnorm.ppf((np.arange(1, count + 1) - 0.5) / count)
    ax.plot(quantiles, sizes.to_numpy(), color=COLOURS[0], marker="o", markersize=3.5, linestyle="")
    slope = _pseudo_standard_error(np.asarray(sizes, dtype=np.float64))
    ax.plot([0.0, quantiles[-1]], [0.0, slope * quantiles[-1]], color=_GREY, linewidth=0.9)
    for x, (term, size) in list(zip(quantiles, sizes.items(), strict=True))[::-1][:label]:
        ax.annotate(str(term), (x, size), xytext=(-5, 3), textcoords="offset points", ha="right", fontsize=8)
    ax.set_xlabel("half-normal quantile")
    ax.set_ylabel(_with_unit("size of the effect", unit if analysis.model == "additive" else "log10"))
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
    ax = _axes(ax)
    for i, name in enumerate(analysis.factors):
        ends = [analysis.predict({name: level}) for level in ("low", "high")]
        look = _slot(i)
        ax.plot([-1.0, 1.0], ends, color=look.colour, marker=look.marker, linewidth=1.3, label=name)
    _level_limits(ax)
    ax.set_xlabel("level of the factor")
    ax.set_ylabel(_with_unit("mean response", unit))
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
    ax = _axes(ax)
    for i, level in enumerate(("low", "high")):
        ends = [analysis.predict({first: other, second: level}) for other in ("low", "high")]
        look = _slot(i)
        ax.plot(
            [-1.0, 1.0], ends, color=look.colour, marker=look.marker, linewidth=1.3, label=f"{second} {level}"
        )
    if analysis.model == "multiplicative":
        ax.set_yscale("log")
    _level_limits(ax)
    ax.set_xlabel(f"level of {first}")
    ax.set_ylabel(_with_unit("mean response", unit))
    ax.legend(frameon=False)
    return ax


def residual_quantiles(analysis: Analysis, *, unit: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the residuals against normal quantiles; on a line, they are normal."""
    from scipy import stats

    ax = _axes(ax)
    residuals = np.sort(analysis.residuals, axis=None)
    quantiles = stats.norm.ppf((np.arange(1, residuals.size + 1) - 0.5) / residuals.size)
    ax.plot(quantiles, residuals, color=COLOURS[0], marker="o", markersize=2.5, linestyle="", rasterized=True)
    ends = quantiles[[0, -1]]
    ax.plot(ends, residuals.std() * ends, color=_GREY, linewidth=0.9)
    ax.set_xlabel("normal quantile")
    ax.set_ylabel(_with_unit("residual", unit if analysis.model == "additive" else "log10"))
    return ax


def residuals_against_predicted(
    analysis: Analysis, *, unit: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the residuals against the predicted response; a funnel means that the variance is not constant."""
    ax = _axes(ax)
    predicted = np.repeat(analysis.fitted, analysis.replications)
    residuals = analysis.residuals.ravel()
    ax.plot(predicted, residuals, color=COLOURS[0], marker="o", markersize=2.5, linestyle="", rasterized=True)
    ax.axhline(0.0, color=_GREY, linewidth=0.9)
    shown = unit if analysis.model == "additive" else "log10"
    ax.set_xlabel(_with_unit("predicted response", shown))
    ax.set_ylabel(_with_unit("residual", shown))
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


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG text that stands inside an HTML page; the same figure gives the same text."""
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "dumbbell", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]
