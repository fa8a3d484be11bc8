"""Runs over each other: the panels of each run's picture, with the curves of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dumbbell.plots.panel import Panel
from dumbbell.plots.picture import Picture
from dumbbell.plots.results import RunResults, run_picture


def overlay(runs: Mapping[str, RunResults], *, title: str = "") -> Picture:
    """Return windows, queues, goodput and losses of several runs in the same panels: solid of the first, dashed of others.

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
    sides: dict[str, list[str]] = {}
    for label, result in runs.items():
        for panel in run_picture(result).panels:
            # A panel of a single curve names it in its title.
            name = panel.title.partition(": ")[0]
            known = joined.get(name, replace(panel, title=name, series={}, looks={}))
            own = {f"{label}: {curve}": curve for curve in panel.series}
            joined[name] = replace(
                known,
                series={**known.series, **{shown: panel.series[curve] for shown, curve in own.items()}},
                # A flow or link has one colour, whatever the run.
                looks={
                    **known.looks,
                    **{shown: panel.looks.get(curve, curve) for shown, curve in own.items()},
                },
                dashed=known.dashed | (frozenset() if label == next(iter(runs)) else own.keys()),
            )
            sides.setdefault(name, []).append(label)
    panels = [
        panel
        if len(sides[name]) == len(runs)
        else replace(panel, title=f"{name}, only of {', '.join(sides[name])}")
        for name, panel in joined.items()
    ]
    return Picture(panels=panels, title=title)
