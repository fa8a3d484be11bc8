"""Curves, estimates with their intervals, and a model against measurements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict, TypeVar, Unpack

import numpy as np

from dumbbell.errors import refusal
from dumbbell.plots.look import (
    GREY,
    Style,
    axes_or_new,
    figure,
    legend_beside,
    literal,
    name_rows,
    styles,
    with_unit,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from dumbbell.statistics import Interval

BARS: dict[str, Any] = {"fmt": "none", "elinewidth": 0.9, "capsize": 2.0}
"""How intervals look as bars."""


class Labels(TypedDict, total=False):
    """What is written at a plot of one quantity over another."""

    x_label: Required[str]
    """Quantity of the x axis."""
    y_label: Required[str]
    """Quantity of the y axis."""
    x_unit: str | None
    """Its unit; none for counts and ratios."""
    y_unit: str | None
    """Its unit; none for counts and ratios."""
    title: str | None
    """Text over the plot."""


# A mapping accepts only one type of keys: text, or pairs, or both.
Name = TypeVar("Name", bound=str | tuple[str, str])
Printed = TypeVar("Printed", bound=str | tuple[str, str])


def lines(
    series: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    markers: bool = False,
    steps: bool = False,
    ax: Axes | None = None,
    **labels: Unpack[Labels],
) -> Axes:
    """Draw one line for each series.

    Parameters
    ----------
    series : mapping of str to (x, y)
        By algorithm or label.
    markers : bool
        Whether to mark the points, as for few of them.
    steps : bool
        Whether a value holds until the next one, as a window does.
    ax : Axes, optional
        Where to draw.
    **labels
        What is written at the axes and over the plot, see `Labels`.
    """
    ax = axes_or_new(ax)
    looks = styles(series)
    for label, (x, y) in series.items():
        shape = {} if markers else {"marker": ""}
        drawstyle = "steps-post" if steps else "default"
        ax.plot(
            np.asarray(x),
            np.asarray(y),
            linewidth=1.1,
            drawstyle=drawstyle,
            **_look(looks[label], label) | shape,
        )
    _write(ax, **labels)
    _add_legend(ax, len(series))
    return ax


def trace_figure(
    quantity: str,
    trace: pd.DataFrame,
    *,
    unit: str | None = None,
    title: str | None = None,
    end_s: float | None = None,
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
    end_s : float, optional
        End of the run, s, to which the last values hold; the last record by default.
    """
    made, grid = figure(width=9.0, height=4.5)
    series = {
        str(name): held_to(end_s, rows["time_s"].to_numpy(), rows["value"].to_numpy())
        for name, rows in trace.groupby("name", sort=True)
    }
    # A quantity holds its value until the next record.
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
    if len(series) > 1:
        legend_beside(ax)
    return made


def held_to(
    end: float | None, time: NDArray[np.float64], value: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a step function with its last value at the end as well."""
    if end is None or not len(time) or time[-1] >= end:
        return time, value
    return np.append(time, end), np.append(value, value[-1])


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
    ax = axes_or_new(ax, height=0.9 + 0.32 * len(data))
    looks = styles(data)
    for row, (name, interval) in enumerate(data.items()):
        if math.isfinite(interval.low) and math.isfinite(interval.high):
            ax.plot([interval.low, interval.high], [row, row], color=looks[name].colour, linewidth=1.6)
        ax.plot(interval.estimate, row, color=looks[name].colour, marker=looks[name].marker, linestyle="")
    if reference is not None:
        ax.axvline(reference, color=GREY, linewidth=0.9, linestyle="--")
    name_rows(ax, list(data))
    ax.set_xlabel(with_unit(label, unit))
    if title:
        ax.set_title(literal(title))
    return ax


# A longer legend would hide the curves and is placed beside the plot.
_MOST_NAMES_INSIDE = 6
_LINE_STYLES = ("-", "--", ":", "-.")


def sweep(
    series: Mapping[Name, tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]],
    *,
    paper: Mapping[Printed, tuple[ArrayLike, ArrayLike]] | None = None,
    drawn: Literal["bars", "bands"] = "bars",
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
    **labels: Unpack[Labels],
) -> Axes:
    """Draw means with their intervals against a swept parameter, one curve for each series.

    Parameters
    ----------
    series : mapping of str or (label, algorithm) to (x, mean, low, high)
        By algorithm or label; with a pair, the label is shown in the legend and the algorithm decides on
        colour and marker. Curves of one algorithm differ by the style of their line. An interval that is
        not finite, as of one replication, is not drawn. A mean that is not finite leaves a gap.
    paper : mapping of str or (label, algorithm) to (x, y), optional
        Published values, drawn as hollow markers.
    drawn : {"bars", "bands"}
        How intervals are drawn: bars suit few points, bands many.
    log_x, log_y : bool
        Whether the axis is logarithmic.
    ax : Axes, optional
        Where to draw.
    **labels
        What is written at the axes and over the plot, see `Labels`.

    Raises
    ------
    ScenarioError
        The arrays of a series differ in length, or `drawn` is neither.
    """
    if drawn not in ("bars", "bands"):
        raise refusal("drawn", drawn, '"bars" or "bands"')
    ax = axes_or_new(ax)
    looks = styles(algorithm for _, algorithm in map(_label_and_algorithm, [*series, *(paper or {})]))
    used: dict[str, int] = {}
    for name, columns in series.items():
        label, algorithm = _label_and_algorithm(name)
        nth = used[algorithm] = used.get(algorithm, -1) + 1
        arrays = _same_length(f"series[{name!r}]", columns, ("x", "mean", "low", "high"))
        _curve(ax, arrays, looks[algorithm], label, _LINE_STYLES[nth % len(_LINE_STYLES)], drawn)
    for printed, points in (paper or {}).items():
        label, algorithm = _label_and_algorithm(printed)
        x, y = _same_length(f"paper[{printed!r}]", points, ("x", "y"))
        hollow = {"markersize": 7.0, "markerfacecolor": "none", "linestyle": ""}
        ax.plot(x, y, **_look(looks[algorithm], f"{label}, paper") | hollow)
    scale_by_logarithm(ax, [axis for axis, wanted in (("x", log_x), ("y", log_y)) if wanted])
    _write(ax, **labels)
    _add_legend(ax, len(series) + len(paper or {}))
    return ax


def _look(look: Style, label: str) -> dict[str, Any]:
    """Return the settings of points of one algorithm."""
    return {"color": look.colour, "marker": look.marker, "markersize": 4.5, "label": literal(label)}


def _curve(
    ax: Axes,
    arrays: Sequence[NDArray[np.float64]],
    look: Style,
    label: str,
    dashes: str,
    drawn: Literal["bars", "bands"],
) -> None:
    """Draw means with their intervals."""
    x, mean, low, high = arrays
    ax.plot(x, mean, linewidth=1.1, linestyle=dashes, **_look(look, label))
    finite = np.isfinite(mean) & np.isfinite(low) & np.isfinite(high)
    if drawn == "bands":
        ax.fill_between(x, low, high, where=list(finite), color=look.colour, alpha=0.18, linewidth=0.0)
    elif finite.any():
        arms = np.maximum([mean[finite] - low[finite], high[finite] - mean[finite]], 0.0)
        ax.errorbar(x[finite], mean[finite], yerr=arms, ecolor=look.colour, **BARS)


def _write(
    ax: Axes,
    *,
    x_label: str,
    y_label: str,
    x_unit: str | None = None,
    y_unit: str | None = None,
    title: str | None = None,
) -> None:
    """Write `Labels`."""
    ax.set_xlabel(with_unit(x_label, x_unit))
    ax.set_ylabel(with_unit(y_label, y_unit))
    if title:
        ax.set_title(literal(title))


def scatter_against(
    analytic: ArrayLike,
    simulated: ArrayLike,
    *,
    label: str,
    unit: str | None = None,
    by: Sequence[str] | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    log: bool = False,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw model predictions against simulated values; on the diagonal, they agree.

    The median and largest relative error of the prediction are written into the plot, without points simulated as zero.

    Parameters
    ----------
    analytic, simulated : array_like of shape (n,)
        Values of one quantity, along the y axis and the x axis.
    label, unit : str
        The quantity and its unit; none for counts and ratios.
    by : sequence of str of length n, optional
        Algorithm or label of each point, for colour, marker and legend.
    low, high : array_like of shape (n,), optional
        Intervals of the simulated values, drawn as bars where both are finite.
    log : bool
        Whether both axes are logarithmic.
    title, ax : optional
        Text over the plot, and where to draw.

    Raises
    ------
    ScenarioError
        The arrays differ in length, or there is no point.
    """
    given = {"analytic": analytic, "simulated": simulated, "low": low, "high": high}
    named = {name: values for name, values in given.items() if values is not None}
    arrays = dict(zip(named, _same_length("points", tuple(named.values()), tuple(named)), strict=True))
    x, y = arrays["simulated"], arrays["analytic"]
    names = list(by) if by is not None else [label] * len(x)
    if len(x) == 0 or len(names) != len(x):
        accepted = f"one for each of at least one point: {len(x)}"
        raise refusal("by", f"{len(names)} names", accepted, quoted=False)
    ax = axes_or_new(ax)
    looks = styles(names)
    for name, look in looks.items():
        chosen = np.array([other == name for other in names])
        ax.plot(x[chosen], y[chosen], linestyle="", **_look(look, name))
        if low is not None and high is not None:
            bars = chosen & np.isfinite(arrays["low"]) & np.isfinite(arrays["high"])
            arms = np.maximum([x[bars] - arrays["low"][bars], arrays["high"][bars] - x[bars]], 0.0)
            ax.errorbar(x[bars], y[bars], xerr=arms, ecolor=look.colour, **BARS)
    _compare(ax, x, y, log=log)
    _write(
        ax, x_label=f"{label}, simulated", y_label=f"{label}, model", x_unit=unit, y_unit=unit, title=title
    )
    _add_legend(ax, len(looks), loc="lower right")
    return ax


def _compare(ax: Axes, x: NDArray[np.float64], y: NDArray[np.float64], *, log: bool) -> None:
    """Draw the diagonal on equally scaled axes, and write how far points are from it."""
    ends = np.concatenate([x, y])
    ends = ends[np.isfinite(ends) & ((ends > 0.0) | (not log))]
    if ends.size:
        ax.plot([ends.min(), ends.max()], [ends.min(), ends.max()], color=GREY, linewidth=0.9, zorder=0)
    scale_by_logarithm(ax, ["x", "y"] if log else [])
    ax.text(0.03, 0.97, _relative_errors(x, y), transform=ax.transAxes, va="top", fontsize=8)


def _relative_errors(simulated: NDArray[np.float64], analytic: NDArray[np.float64]) -> str:
    """Write the median and the largest error of a prediction, relative to the simulated values."""
    known = np.isfinite(simulated) & np.isfinite(analytic) & (simulated != 0.0)
    if not known.any():
        return "no relative error: nothing simulated above zero"
    errors = 100.0 * np.abs(analytic[known] / simulated[known] - 1.0)
    return (
        f"relative error of the model\nmedian {np.median(errors):.3g} %, largest {errors.max():.3g} % "
        f"(n = {known.sum()})"
    )


def scale_by_logarithm(ax: Axes, axes: Sequence[str]) -> None:
    """Make axes logarithmic, with ticks written as plain numbers: of few decades also twos and fives.

    Below a thousandth and above a million, ticks are powers of ten.
    """
    from matplotlib.ticker import LogFormatterMathtext, LogLocator, NullFormatter, StrMethodFormatter

    for name in axes:
        ax.set(**{f"{name}scale": "log"})
        axis = ax.xaxis if name == "x" else ax.yaxis
        low, high = sorted(axis.get_view_interval())
        is_plain = low >= 2e-4 and high <= 5e6
        axis.set_major_formatter(StrMethodFormatter("{x:g}") if is_plain else LogFormatterMathtext())
        if high < 300.0 * low:
            axis.set_minor_locator(LogLocator(subs=(2.0, 5.0), numticks=30))
            axis.set_minor_formatter(StrMethodFormatter("{x:g}"))
        else:
            axis.set_minor_formatter(NullFormatter())


def _add_legend(ax: Axes, names: int, *, loc: Literal["best", "lower right"] = "best") -> None:
    """Add a legend to a plot of several names: inside it, or beside it if it would hide the curves."""
    if len(ax.get_legend_handles_labels()[1]) > _MOST_NAMES_INSIDE:
        legend_beside(ax)
    elif names > 1:
        ax.legend(frameon=False, loc=loc)


def _label_and_algorithm(name: str | tuple[str, str]) -> tuple[str, str]:
    return (name, name) if isinstance(name, str) else name


def _same_length(
    field: str, columns: Sequence[ArrayLike], names: Sequence[str]
) -> tuple[NDArray[np.float64], ...]:
    """Return columns as arrays of floats; reject a wrong number of columns or unequal lengths."""
    arrays = tuple(np.atleast_1d(np.asarray(column, dtype=np.float64)) for column in columns)
    shapes = [array.shape for array in arrays]
    if len(arrays) != len(names) or len(set(shapes)) > 1 or arrays[0].ndim != 1:
        accepted = f"{', '.join(names)} of one length"
        raise refusal(field, f"arrays of shapes {shapes}", accepted, quoted=False)
    return arrays
