"""Figures of agreement for reports: one side against the other, ratios over a factor, traces over each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dumbbell import plots
from dumbbell.crossvalidation.tables import peer_title
from dumbbell.errors import refusal
from dumbbell.plots.curves import BARS, scale_by_logarithm
from dumbbell.plots.look import GREY, literal, with_unit
from dumbbell.report import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

BOUND = {"color": GREY, "linewidth": 0.9, "linestyle": "--", "zorder": 0}
OVERLAID = {"ours": (plots.COLOURS[0], "-", 1.6), "peer": (plots.COLOURS[1], "--", 1.0)}
"""Colour, dashes and width of a trace of each side."""

POINTS = {"markersize": 4.5, "linestyle": ""}


def scatter(
    table: pd.DataFrame,
    *,
    label: str,
    caption: str,
    unit: str | None = None,
    scale: float = 1.0,
    by: str | None = None,
    bound: float | None = None,
    log: bool = False,
) -> Figure:
    """Draw our means against the peer's, with the diagonal and the bounds of agreement.

    Parameters
    ----------
    table
        From `ratios`, with the bounds as rays, or from `differences`, with the bounds as parallels and the intervals of
        both means as bars.
    label, unit
        The quantity and its unit as shown.
    caption
        What the figure shows.
    scale
        Factor from the unit of the table to the one shown.
    by
        A column of `table` that decides on colour and marker, such as the variant.
    bound
        The largest distance that counts as agreement: of the ratio from 1, or of the difference from 0 in the unit of the
        table.
    log
        Whether both axes are logarithmic.
    """
    made, axes = plots.figure(width=5.2 if by is None else 6.4, height=4.4)
    ax = axes[0, 0]
    x, y = (table[side].to_numpy(dtype=np.float64) * scale for side in ("peer", "ours"))
    reached = [x, y]
    for name, chosen, look in _groups(table, by):
        ax.plot(x[chosen], y[chosen], color=look.colour, marker=look.marker, label=name, **POINTS)
        if "ours_low" in table.columns:
            arms = {
                "xerr": _arms(table, "peer", "peer_low", "peer_high", chosen) * scale,
                "yerr": _arms(table, "ours", "ours_low", "ours_high", chosen) * scale,
            }
            ax.errorbar(x[chosen], y[chosen], ecolor=look.colour, **arms, **BARS)
            reached += [x[chosen] + sign * arm for sign, arm in zip((-1, 1), arms["xerr"], strict=True)]
            reached += [y[chosen] + sign * arm for sign, arm in zip((-1, 1), arms["yerr"], strict=True)]
    low, high = _range(np.concatenate(reached), log=log)
    # Enough places that a straight line stays one on logarithmic axes too.
    line = np.geomspace(low, high, 50) if log else np.array([low, high])
    ax.plot(line, line, color=GREY, linewidth=0.9, zorder=0)
    for away in (-bound, bound) if bound is not None else ():
        ax.plot(line, line * (1.0 + away) if "ratio" in table.columns else line + away * scale, **BOUND)
    # Equal axes, so that the diagonal connects the corners.
    ax.set(xlim=(low, high), ylim=(low, high))
    scale_by_logarithm(ax, ["x", "y"] if log else [])
    ax.set_xlabel(with_unit(f"{label}, {peer_title(table)}", unit))
    ax.set_ylabel(with_unit(f"{label}, Dumbbell", unit))
    return _figure(made, ax, caption)


def _range(values: NDArray[np.float64], *, log: bool) -> tuple[float, float]:
    """Return the range of an axis that shows some values, with a margin."""
    shown = values[np.isfinite(values) & ((values > 0.0) | (not log))]
    if not shown.size:
        return (1.0, 10.0) if log else (0.0, 1.0)
    low, high = float(shown.min()), float(shown.max())
    if log:
        margin = max((high / low) ** 0.05, 1.1)
        return low / margin, high * margin
    margin = max(0.05 * (high - low), 0.05 * abs(high), 1e-9)
    return low - margin, high + margin


def ratio_figure(
    table: pd.DataFrame,
    *,
    x: str,
    x_label: str,
    label: str,
    caption: str,
    x_unit: str | None = None,
    by: str | None = None,
    bound: float | None = None,
    log_x: bool = False,
) -> Figure:
    """Draw the ratio of both sides over a factor, with its intervals.

    Parameters
    ----------
    table
        From `ratios`.
    x
        A column of numbers in `table`.
    x_label, x_unit
        The quantity and its unit.
    label
        The quantity whose ratio is drawn.
    caption
        What the figure shows.
    by
        A column of `table` that decides on colour and marker.
    bound
        The largest distance of the ratio from 1 that counts as agreement.
    log_x
        Whether the axis of the factor is logarithmic.
    """
    made, axes = plots.figure(width=7.5, height=3.8)
    ax = axes[0, 0]
    where, ratio = (table[name].to_numpy(dtype=np.float64) for name in (x, "ratio"))
    for name, chosen, look in _groups(table, by):
        ax.plot(where[chosen], ratio[chosen], color=look.colour, marker=look.marker, label=name, **POINTS)
        arms = _arms(table, "ratio", "low", "high", chosen)
        ax.errorbar(where[chosen], ratio[chosen], yerr=arms, ecolor=look.colour, **BARS)
    ax.axhline(1.0, color=GREY, linewidth=0.9, zorder=0)
    for edge in (1.0 - bound, 1.0 + bound) if bound is not None else ():
        ax.axhline(edge, **BOUND)
    scale_by_logarithm(ax, ["x"] if log_x else [])
    ax.set_xlabel(with_unit(x_label, x_unit))
    ax.set_ylabel(literal(f"{label}, Dumbbell / {peer_title(table)}"))
    return _figure(made, ax, caption)


def overlays(
    results: pd.DataFrame,
    column: str,
    at: ArrayLike | str,
    *,
    keys: Sequence[str],
    label: str,
    caption: str,
    unit: str | None = None,
    scale: float = 1.0,
    columns: int = 2,
) -> Figure:
    """Draw sampled traces of both sides over each other, one plot for each case: windows, or backlogs over time.

    Parameters
    ----------
    results
        The table of results.
    column, at
        Name of a reduced list, a trace; and the times of its samples, s, or the name of a reduced list of them.
    keys
        The cases to draw.
    label, unit
        The quantity and its unit as shown.
    caption
        What the figure shows.
    scale
        Factor from the unit of the samples to the one shown.
    columns
        Number of plots side by side.

    Raises
    ------
    ScenarioError
        There is no case with such a key, or no case at all.
    """
    for key in keys:
        if key not in set(results["key"]):
            raise refusal(
                "keys", key, "keys of the results", names=set(results["key"]), problem="is not a case"
            )
    if not keys:
        raise refusal("keys", "no key", "at least one", quoted=False)
    made, axes = plots.figure(-(-len(keys) // columns), min(columns, len(keys)), width=5.6, height=2.6)
    for ax, key in zip(axes.flat, keys, strict=False):
        for _, row in results[results["key"] == key].iterrows():
            colour, dashes, width = OVERLAID[row["side"]]
            ax.plot(
                np.asarray(row[at] if isinstance(at, str) else at, dtype=np.float64),
                np.array(row[column], dtype=np.float64) * scale,
                color=colour,
                linestyle=dashes,
                linewidth=width,
                drawstyle="steps-post",
                label="Dumbbell" if row["side"] == "ours" else peer_title(results),
            )
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        ax.margins(x=0.01)
        name_small(ax, key, y_label=with_unit(label, unit))
    return small_plots(made, axes, len(keys), caption)


def name_small(ax: Axes, key: str, *, y_label: str) -> None:
    """Write the case and the quantities of one of several small plots over time."""
    ax.set_title(literal(key), fontsize=9)
    ax.set_xlabel("time [s]", fontsize=8)
    ax.set_ylabel(y_label, fontsize=8)


def small_plots(made: Any, axes: Any, used: int, caption: str) -> Figure:
    """Return the figure of some small plots, of which the first has the legend; the others are hidden."""
    for ax in axes.flat[used:]:
        ax.set_visible(False)
    axes[0, 0].legend(frameon=False, fontsize=8)
    return Figure(svg=plots.to_svg(made), caption=caption)


def _groups(table: pd.DataFrame, by: str | None) -> list[tuple[str | None, NDArray[np.bool_], plots.Style]]:
    """Return the groups of a table: their names, their rows, and their look."""
    if by is None:
        return [(None, np.ones(len(table), dtype=bool), plots.Style(plots.COLOURS[0], plots.MARKERS[0]))]
    names = [str(value) for value in table[by]]
    return [
        (literal(name), np.array([other == name for other in names]), look)
        for name, look in plots.styles(names).items()
    ]


def _arms(
    table: pd.DataFrame, centre: str, low: str, high: str, chosen: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the lengths of error bars to both sides; an interval without finite bounds has none."""
    rows = table[chosen]
    middle, below, above = (rows[name].to_numpy(dtype=np.float64) for name in (centre, low, high))
    finite = np.isfinite(middle) & np.isfinite(below) & np.isfinite(above)
    # The estimate of a ratio is inside its interval, except for rounding.
    return np.where(finite, np.maximum([middle - below, above - middle], 0.0), np.nan)


def _figure(made: Any, ax: Axes, caption: str) -> Figure:
    """Return the drawn figure, with a legend beside it if its points have names."""
    if ax.get_legend_handles_labels()[1]:
        plots.legend_beside(ax)
    return Figure(svg=plots.to_svg(made), caption=caption)
