"""Pictures drawn with characters, where there is no display, by plotext."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from dumbbell.errors import installation
from dumbbell.plots.panel import Panel, labelled
from dumbbell.printable import printable

ROWS = 15
LEAST_WIDTH, MOST_WIDTH = 40, 120
COLOURS = ("blue", "orange", "green", "magenta", "cyan", "red", "white", "yellow")
# One character for each curve, so that they differ without colours.
LETTERS = "ox+*#@%&=~"

# Of more values than these, a curve without a drawing shows some.
MOST_VALUES = 12


def drawn(panels: Sequence[Panel], title: str, note: str = "") -> str:
    """Return panels one below the other, as wide as the terminal; with colours only on a terminal.

    Without the package ``plotext``, and for cells, the numbers of each curve stand for it.

    Parameters
    ----------
    panels
        The panels.
    title, note
        Texts over and under them.
    """
    try:
        import plotext
    except ImportError:
        plotext = None
    width = min(MOST_WIDTH, max(LEAST_WIDTH, shutil.get_terminal_size().columns - 1))
    blocks = textwrap.wrap(printable(title), width)
    for panel in panels:
        x_label, y_label = panel.labels
        head = f"{y_label} over {x_label}"
        if panel.z_label:
            head = f"{labelled(panel.z_label, panel.z_unit)}: {head}"
        blocks += textwrap.wrap(printable(f"{panel.title}: {head}" if panel.title else head), width)
        if plotext is None or panel.mark == "heat":
            blocks += _in_numbers(panel, width)
        else:
            blocks.append(_plotted(plotext, panel, width))
        if panel.references:
            blocks += textwrap.wrap(printable(f"for comparison: {', '.join(panel.references)}"), width)
    blocks += textwrap.wrap(printable(note), width)
    if plotext is None:
        blocks += ["The package plotext draws this:", installation("plots")]
    return "\n".join(blocks)


def _plotted(plotext: Any, panel: Panel, width: int) -> str:
    """Return a panel drawn by plotext."""
    plotext.clear_figure()
    plotext.limit_size(False, False)
    plotext.plotsize(width, ROWS)
    plotext.theme("clear")
    is_joined = panel.mark in ("line", "cdf") or (panel.mark == "means" and not panel.ticks)
    for number, (label, (x, y)) in enumerate(panel.thinned.items()):
        known = np.isfinite(y)
        x, y = x[known], y[known]
        if panel.steps or panel.mark == "cdf":
            x, y = _corners(x, y)
        draw = plotext.plot if is_joined else plotext.scatter
        draw(
            list(x),
            list(y),
            label=printable(label),
            marker=LETTERS[number % len(LETTERS)],
            color=COLOURS[number % len(COLOURS)],
        )
    if panel.ticks:
        plotext.xticks(list(range(len(panel.ticks))), [printable(tick) for tick in panel.ticks])
    if panel.log_x:
        plotext.xscale("log")
    if panel.log_y:
        plotext.yscale("log")
    if panel.is_from_zero:
        plotext.ylim(lower=0.0)
    text = plotext.build().rstrip("\n")
    plotext.clear_figure()
    return str(text if sys.stdout.isatty() else plotext.uncolorize(text))


def _in_numbers(panel: Panel, width: int) -> list[str]:
    """Return a line for each curve: its values if they are few, otherwise the first, least, greatest and last."""
    lines = []
    for label, (_, y) in panel.series.items():
        values = y[np.isfinite(y)]
        if len(values) <= MOST_VALUES:
            text = ", ".join(f"{value:.4g}" for value in values)
        else:
            parts = {"first": values[0], "least": values.min(), "greatest": values.max(), "last": values[-1]}
            text = ", ".join(f"{name} {value:.4g}" for name, value in parts.items())
        lines += textwrap.wrap(printable(f"{label}: {text or 'no value'}"), width, subsequent_indent="  ")
    return lines


def _corners(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a step function."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
