"""The marks of panels, drawn by matplotlib: lines with bands, means, points, distributions, boxes, bars and cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dumbbell.plots.curves import scale_by_logarithm
from dumbbell.plots.look import Style, literal
from dumbbell.plots.panel import Panel
from dumbbell.plots.sheets import Sheet, luminance

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

DODGE = 0.76
"""Width that the marks of one category share."""
BAND = 0.2
"""Opacity of bands."""
WHISKERS = 1.5
"""Whiskers reach the farthest value within this many interquartile ranges of the box, as Tukey draws them."""
MOST_WRITTEN = 80
"""Cells with numbers in them."""
CELLS = "cividis"
"""Colours of cells: even steps for all readers, also in grey."""

Looks = Mapping[str, Style]


def draw(panel: Panel, ax: Axes, looks: Looks, sheet: Sheet) -> None:
    """Draw a panel into axes.

    Parameters
    ----------
    panel
        The panel.
    ax
        Where to draw.
    looks
        Colour and marker of each label.
    sheet
        What the figure is for.
    """
    _MARKS[panel.mark](panel, ax, looks, sheet)
    scale_by_logarithm(ax, logarithmic(panel))
    if panel.is_from_zero:
        # The margin of the automatic limit is small if all values are close to each other.
        ax.set_ylim(0.0, max(ax.get_ylim()[1], 1.06 * panel.highest))
    _references(panel, ax, sheet)
    if panel.ticks:
        ax.set_xticks(range(len(panel.ticks)), [literal(tick) for tick in panel.ticks])
        if panel.mark != "heat":
            ax.set_xlim(-0.5, len(panel.ticks) - 0.5)
            ax.grid(visible=False, axis="x")
    x_label, y_label = panel.labels
    ax.set_xlabel(literal(x_label))
    ax.set_ylabel(literal(y_label))
    if panel.title:
        ax.set_title(literal(panel.title))


def logarithmic(panel: Panel) -> list[str]:
    """Return which axes of a panel are logarithmic."""
    return [name for name, is_chosen in (("x", panel.log_x), ("y", panel.log_y)) if is_chosen]


def handle(panel: Panel, label: str, look: Style, sheet: Sheet) -> Artist:
    """Return what stands for a label in the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if panel.mark in ("bar", "box"):
        return Patch(facecolor=look.colour, label=literal(label), linewidth=0.0)
    is_joined = panel.mark in ("line", "cdf") or (panel.mark == "means" and not panel.ticks)
    marker: Any = None if panel.mark in ("line", "cdf") else look.marker
    return Line2D(
        [],
        [],
        color=look.colour,
        linewidth=sheet.line,
        linestyle=stroke(panel, label) if is_joined else "",
        marker=marker,
        label=literal(label),
    )


def stroke(panel: Panel, label: str) -> Literal["-", "--"]:
    """Return the style of the line of a label, in matplotlib's words."""
    return "--" if label in panel.dashed else "-"


def dodged(panel: Panel, label: str) -> float:
    """Return by how much the marks of a label are beside the place of their category."""
    count = len(panel.series)
    return (list(panel.series).index(label) - (count - 1) / 2.0) * DODGE / count if panel.ticks else 0.0


def _line(panel: Panel, ax: Axes, looks: Looks, _sheet: Sheet) -> None:
    drawstyle: Any = "steps-post" if panel.steps else "default"
    for label, (x, y) in panel.thinned.items():
        dashes = stroke(panel, label)
        ax.plot(x, y, color=looks[label].colour, linestyle=dashes, drawstyle=drawstyle, label=literal(label))
        if label in panel.intervals:
            _band(ax, panel.series[label][0], panel.intervals[label], looks[label])
    ax.margins(x=0.01)


def _means(panel: Panel, ax: Axes, looks: Looks, _sheet: Sheet) -> None:
    for label, (x, y) in panel.series.items():
        look, places = looks[label], x + dodged(panel, label)
        dashes = "" if panel.ticks else "-"
        ax.plot(places, y, color=look.colour, marker=look.marker, linestyle=dashes, label=literal(label))
        if label not in panel.intervals:
            continue
        if panel.ticks:
            _bars(ax, places, y, panel.intervals[label], look)
        else:
            _band(ax, places, panel.intervals[label], look)
            _bars(ax, places, y, panel.intervals[label], look, only_alone=True)


def _band(ax: Axes, x: NDArray[np.float64], ends: Sequence[NDArray[np.float64]], look: Style) -> None:
    low, high = ends
    finite = np.isfinite(low) & np.isfinite(high)
    if finite.sum() > 1:
        ax.fill_between(x, low, high, where=list(finite), color=look.colour, alpha=BAND, linewidth=0.0)


def _bars(
    ax: Axes,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    ends: Sequence[NDArray[np.float64]],
    look: Style,
    *,
    only_alone: bool = False,
) -> None:
    """Draw intervals as bars; `only_alone` where no neighbour has one, so that there is no band."""
    low, high = ends
    finite = np.isfinite(low) & np.isfinite(high) & np.isfinite(y)
    if only_alone:
        beside = np.concatenate([[False], finite[:-1]]) | np.concatenate([finite[1:], [False]])
        finite &= ~beside
    if finite.any():
        arms = np.maximum([y[finite] - low[finite], high[finite] - y[finite]], 0.0)
        ax.errorbar(x[finite], y[finite], yerr=arms, fmt="none", ecolor=look.colour, capsize=2.0)


def _scatter(panel: Panel, ax: Axes, looks: Looks, _sheet: Sheet) -> None:
    for label, (x, y) in panel.series.items():
        look = looks[label]
        ax.plot(
            x + dodged(panel, label),
            y,
            color=look.colour,
            marker=look.marker,
            linestyle="",
            alpha=0.75,
            markeredgewidth=0.0,
            label=literal(label),
        )


def _cdf(panel: Panel, ax: Axes, looks: Looks, _sheet: Sheet) -> None:
    for label, (x, y) in panel.thinned.items():
        ax.plot(x, y, color=looks[label].colour, drawstyle="steps-post", label=literal(label))
    ax.set_ylim(0.0, 1.02)


def _box(panel: Panel, ax: Axes, looks: Looks, sheet: Sheet) -> None:
    from matplotlib.cbook import boxplot_stats

    width, thin = 0.8 * DODGE / max(1, len(panel.series)), {"linewidth": 0.8 * sheet.line}
    for label, (x, _) in panel.series.items():
        known = [
            (place, values) for place, values in zip(x, panel.samples[label], strict=True) if len(values)
        ]
        if not known:
            continue
        ax.bxp(
            [stats for _, values in known for stats in boxplot_stats(values, whis=WHISKERS)],
            positions=[place + dodged(panel, label) for place, _ in known],
            widths=width,
            patch_artist=True,
            manage_ticks=False,
            boxprops={"facecolor": (looks[label].colour, 0.5), "edgecolor": looks[label].colour, **thin},
            medianprops={"color": sheet.ink, "linewidth": 1.2 * sheet.line},
            whiskerprops={"color": looks[label].colour, **thin},
            capprops={"color": looks[label].colour, **thin},
            flierprops={"marker": "o", "markersize": 0.5 * sheet.marker, "markeredgecolor": sheet.soft},
        )


def _bar(panel: Panel, ax: Axes, looks: Looks, sheet: Sheet) -> None:
    width = DODGE / max(1, len(panel.series))
    for label, (x, y) in panel.series.items():
        places = x + dodged(panel, label)
        ax.bar(places, y, width=0.92 * width, color=looks[label].colour, linewidth=0.0, label=literal(label))
        if label in panel.intervals:
            _bars(ax, places, y, panel.intervals[label], looks[label]._replace(colour=sheet.ink))


def _heat(panel: Panel, ax: Axes, _looks: Looks, sheet: Sheet) -> None:
    cells = np.array([y for _, y in panel.series.values()], dtype=float)
    rows, columns = cells.shape
    low, high = panel.z_range or (float(np.nanmin(cells)), float(np.nanmax(cells)))
    mesh = ax.pcolormesh(
        np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5, cells, cmap=CELLS, vmin=low, vmax=high
    )
    ax.set_yticks(range(rows), [literal(label) for label in panel.series])
    ax.grid(visible=False)
    ax.tick_params(length=0.0)
    if cells.size > MOST_WRITTEN:
        return
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            ground = mesh.cmap(mesh.norm(value))
            is_light = luminance("#" + "".join(f"{round(255 * part):02x}" for part in ground[:3])) > 0.2
            colour = "#000000" if is_light else "#ffffff"
            ax.text(column, row, f"{value:.3g}", ha="center", va="center", fontsize=sheet.small, color=colour)


_MARKS: Mapping[str, Callable[[Panel, Axes, Looks, Sheet], None]] = {
    "line": _line,
    "means": _means,
    "scatter": _scatter,
    "cdf": _cdf,
    "box": _box,
    "bar": _bar,
    "heat": _heat,
}


def _references(panel: Panel, ax: Axes, sheet: Sheet) -> None:
    """Draw dashed lines with their text beside the axes, where it covers no curve."""
    if not panel.references:
        return
    top = max(panel.references.values())
    low, high = ax.get_ylim()
    ax.set_ylim(low, max(high, 1.06 * top))
    for text, value in panel.references.items():
        ax.axhline(value, color=sheet.soft, linewidth=0.7 * sheet.line, linestyle="--", zorder=1.0)
        ax.annotate(
            literal(text),
            (1.0, value),
            xycoords=("axes fraction", "data"),
            xytext=(3.0, 0.0),
            textcoords="offset points",
            va="center",
            fontsize=sheet.small,
            color=sheet.soft,
            annotation_clip=False,
        )
