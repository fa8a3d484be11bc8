"""Figures of many runs by a few words: what is on the axes, what the colours and the panels are, and the kind of mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from dumbbell.plots.asked import Asked, ManyResults, Options
from dumbbell.plots.drawing import drawing_of
from dumbbell.plots.marks import BUILDERS
from dumbbell.plots.time_series import time_series

if TYPE_CHECKING:
    from dumbbell.plots.picture import Picture


def runs_picture(
    runs: ManyResults,
    x: str | None = None,
    y: str | None = None,
    hue: str | None = None,
    names: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Picture:
    """Return a figure of many runs, as `dumbbell.Runs.plot` describes it."""
    asked = Asked(x=x, y=y, hue=hue, names=names, **options).checked()
    if asked.of_kind == "timeseries":
        return time_series(runs, asked)
    drawing = drawing_of(runs, asked)
    panels, note = BUILDERS[asked.of_kind](drawing)
    return drawing.picture(panels, note)
