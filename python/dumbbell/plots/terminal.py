"""Pictures drawn with characters, where there is no display, by plotext."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

import numpy as np

from dumbbell.errors import installation, refusal
from dumbbell.plots.panel import Panel
from dumbbell.printable import printable

ROWS = 15
LEAST_WIDTH, MOST_WIDTH = 40, 120
COLOURS = ("blue", "orange", "green", "magenta", "cyan", "red", "white", "yellow")
# One character for each curve, so that they differ without colours.
LETTERS = "ox+*#@%&=~"


def drawn(panels: Sequence[Panel], title: str) -> str:
    """Return panels one below the other, as wide as the terminal; with colours only on a terminal.

    Raises
    ------
    ScenarioError
        The package ``plotext`` is missing.
    """
    try:
        import plotext
    except ImportError:
        accepted = f"an installed package plotext: {installation('plots')}"
        raise refusal("picture", "text", accepted, problem="needs a package that is missing") from None
    width = min(MOST_WIDTH, max(LEAST_WIDTH, shutil.get_terminal_size().columns - 1))
    blocks = [printable(title)] if title else []
    for panel in panels:
        plotext.clear_figure()
        plotext.limit_size(False, False)
        plotext.plotsize(width, ROWS)
        plotext.theme("clear")
        for number, (label, (x, y)) in enumerate(panel.thinned.items()):
            known = np.isfinite(y)
            if panel.steps:
                x, y = _corners(x[known], y[known])
            else:
                x, y = x[known], y[known]
            plotext.plot(
                list(x),
                list(y),
                label=printable(label),
                marker=LETTERS[number % len(LETTERS)],
                color=COLOURS[number % len(COLOURS)],
            )
        x_label, y_label = panel.labels
        if panel.ticks:
            plotext.xticks(list(range(len(panel.ticks))), [printable(tick) for tick in panel.ticks])
        if all(np.nanmin(y, initial=0.0) >= 0.0 for _, y in panel.series.values()):
            plotext.ylim(lower=0.0)
        blocks += textwrap.wrap(printable(f"{panel.title}: {y_label} over {x_label}"), width)
        text = plotext.build().rstrip("\n")
        blocks.append(text if sys.stdout.isatty() else plotext.uncolorize(text))
    plotext.clear_figure()
    return "\n".join(blocks)


def _corners(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a step function."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
