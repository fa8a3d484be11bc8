"""The figure of an item: sweeps where points lie on an axis, rows of estimates elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell import plots
from dumbbell.evaluation.item import Judged
from dumbbell.evaluation.study import Study
from dumbbell.judge.baseline import Limit
from dumbbell.judge.quantity import CONFIDENCE
from dumbbell.plots.look import GREY, literal
from dumbbell.report import Figure
from dumbbell.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS = 3
"""Plots side by side."""
SHOWN_LIMITS = 3
LONGEST_LABEL = 44


def figure_of(one: Judged, study: Study) -> Figure | None:
    """Return the figure of an item; none if there are no results."""
    if one.results.empty or not one.comparisons:
        return None
    limits = list(dict.fromkeys(each.limit for each in one.comparisons))[:SHOWN_LIMITS]
    swept = one.item.x_label and one.results["x"].notna().all()
    return _sweeps(one, study, limits) if swept else _rows(one, study, limits)


def _names(study: Study) -> dict[str, tuple[str, str]]:
    """Return label and algorithm of each role."""
    return {role: (one.label, one.name) for role, one in study.roles()}


def _sweeps(one: Judged, study: Study, limits: Sequence[Limit]) -> Figure:
    """Draw quantities over the axis of an item, a plot for each quantity and panel."""
    names = _names(study)
    results = one.results[one.results["role"].isin(names)]
    plotted = []
    for limit in limits:
        having = results[results[limit.column].notna()]
        plotted += [(limit, str(panel), rows) for panel, rows in having.groupby("panel", sort=False)]
    across = min(ACROSS, len(plotted))
    made, axes = plots.figure(-(-len(plotted) // across), across, width=3.9, height=2.7)
    for ax, (limit, panel, rows) in zip(axes.flat, plotted, strict=False):
        series: dict[str | tuple[str, str], tuple[Any, Any, Any, Any]] = {}
        for role, label in names.items():
            part = rows[rows["role"] == role].sort_values("x", kind="stable")
            if part.empty:
                continue
            by_point = limit.means(part, "point")
            x = [float(part.loc[part["point"] == point, "x"].iloc[0]) for point in by_point]
            scaled = [
                [value * limit.scale for value in (each.estimate, each.low, each.high)]
                for each in by_point.values()
            ]
            mean, low, high = np.array(scaled).T
            series[label] = (x, mean, low, high)
        plots.sweep(
            series,
            x_label=one.item.x_label,
            y_label=_wrapped(limit.title),
            log_x=one.item.log_x,
            title=panel or None,
            ax=ax,
        )
        ax.set_title(ax.get_title(), fontsize=9)
        ax.xaxis.label.set_fontsize(8)
        ax.yaxis.label.set_fontsize(8)
        if limit.bound is not None:
            ax.axhline(limit.bound * limit.scale, color=GREY, linewidth=0.9, linestyle="--")
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
    for ax in axes.flat[len(plotted) :]:
        ax.set_visible(False)
    # A baseline may be missing in the first plot.
    shown = [ax.get_legend_handles_labels() for ax in axes.flat]
    named = {
        label: handle for handles, labels in shown for handle, label in zip(handles, labels, strict=True)
    }
    axes[0, 0].legend(list(named.values()), list(named), frameon=False, fontsize=8)
    return Figure(svg=plots.to_svg(made), caption=_caption(one))


def _rows(one: Judged, study: Study, limits: Sequence[Limit]) -> Figure:
    """Draw quantities of points in rows, a plot for each quantity."""
    names = _names(study)
    results = one.results[one.results["role"].isin(names)]
    columns = [limit for limit in limits if results[limit.column].notna().any()]
    parts = [results[results[limit.column].notna()] for limit in columns]
    points = [list(dict.fromkeys(part["point"])) for part in parts]
    tallest = max(len(each) for each in points)
    # Labels of rows take space, so that few plots stand side by side.
    across = min(2, len(columns))
    lines = -(-len(columns) // across)
    made, axes = plots.figure(lines, across, width=5.9, height=1.1 + 0.42 * tallest)
    looks = plots.styles(name for _, name in names.values())
    for ax, limit, part, listed in zip(axes.flat, columns, parts, points, strict=False):
        count = len(names)
        for place, (role, (label, name)) in enumerate(names.items()):
            look = looks[name]
            by_point = limit.means(part[part["role"] == role], "point")
            offset = (place - (count - 1) / 2.0) * 0.5 / max(1, count - 1)
            _draw(ax, by_point, listed, offset, limit.scale, look, label)
        ax.set_yticks(range(len(listed)), [literal(_short(point)) for point in listed], fontsize=8)
        ax.set_ylim(len(listed) - 0.4, -0.6)
        ax.set_xlabel(literal(limit.title), fontsize=8)
        if limit.bound is not None:
            ax.axvline(limit.bound * limit.scale, color=GREY, linewidth=0.9, linestyle="--")
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]))
    for ax in axes.flat[len(columns) :]:
        ax.set_visible(False)
    axes[0, 0].legend(
        frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(names)
    )
    return Figure(svg=plots.to_svg(made), caption=_caption(one))


def _draw(
    ax: Axes,
    intervals: Mapping[str, Interval],
    points: Sequence[str],
    offset: float,
    scale: float,
    look: plots.Style,
    label: str,
) -> None:
    """Draw the estimates of one role."""
    for number, point in enumerate(points):
        if point not in intervals:
            continue
        each = intervals[point]
        row = number + offset
        if math.isfinite(each.low) and math.isfinite(each.high):
            ax.plot([each.low * scale, each.high * scale], [row, row], color=look.colour, linewidth=1.3)
        ax.plot(
            each.estimate * scale,
            row,
            color=look.colour,
            marker=look.marker,
            markersize=5,
            linestyle="",
            label=literal(label) if label else None,
        )
        label = ""


def _caption(one: Judged) -> str:
    shown = f"{one.item.title}. Means with {CONFIDENCE:.0%} intervals"
    dashed = any(each.limit.bound is not None for each in one.comparisons)
    return f"{shown}; dashed: the limit." if dashed else f"{shown}."


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _wrapped(text: str, width: int = 34) -> str:
    """Return a text in lines for the side of a plot."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
