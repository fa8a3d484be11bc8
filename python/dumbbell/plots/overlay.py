"""Runs over each other: the panels of each run's picture, with the curves of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dumbbell.plots.panel import Panel
from dumbbell.plots.picture import Picture
from dumbbell.plots.results import RunResults, run_picture


def overlay(runs: Mapping[str, RunResults], *, title: str = "") -> Picture:
    """Return windows, queues, goodput and losses of several runs in the same panels.

    Parameters
    ----------
    runs
        The runs by a short label, which begins the names of their curves.
    title
        Text over the picture.

    Raises
    ------
    ScenarioError
        A run has nothing to draw, or cannot be repeated.
    """
    joined: dict[str, Panel] = {}
    for label, result in runs.items():
        for panel in run_picture(result).panels:
            # A panel of a single curve names it in its title.
            name = panel.title.partition(": ")[0]
            series = {f"{label}: {curve}": points for curve, points in panel.series.items()}
            known = joined.get(name)
            joined[name] = (
                replace(panel, title=name, series=series)
                if known is None
                else replace(known, series={**known.series, **series})
            )
    return Picture(panels=list(joined.values()), title=title)
