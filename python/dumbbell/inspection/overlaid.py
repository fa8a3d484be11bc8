"""Connections of captures over each other, from their first data on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dumbbell.inspection.pictures import flight, goodput, retransmitted, rtt
from dumbbell.inspection.shown import Shown
from dumbbell.plots.panel import Panel
from dumbbell.plots.picture import Picture


def overlay(sides: Mapping[str, Shown], *, title: str = "", style: str | None = None) -> Picture:
    """Return data in flight, round-trip times, goodput and retransmissions of several connections in the same panels.

    Parameters
    ----------
    sides
        The connections by a short label, which is the name of their curves. Those of all but the first are dashed.
    title
        Text over the picture.
    style
        As of `dumbbell.Run.plot`.
    """
    panels = [_joined({label: make(found) for label, found in sides.items()}, sides)
              for make in (flight, rtt, goodput, retransmitted)]  # fmt: skip
    return Picture(panels=[panel for panel in panels if panel.series], title=title, style=style)


def _joined(panels: Mapping[str, Panel], sides: Mapping[str, Shown]) -> Panel:
    """Return one panel with the first curve of each side, over the time since its first data segment."""
    first, *others = panels
    series = {}
    for label, panel in panels.items():
        for time, value in list(panel.series.values())[:1]:
            series[label] = time - _start(sides[label]), value
    return replace(
        panels[first],
        x_label="time since the first data",
        series=series,
        dashed=frozenset(others) & series.keys(),
    )


def _start(found: Shown) -> float:
    """Return the time of the first data segment, s."""
    time = found.segments["time_s"]
    return float(time.iloc[0]) if len(time) else 0.0
