"""Pages with zoom and hover, made by Bokeh; its scripts are in the page, which needs no network."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dumbbell.errors import installation, refusal
from dumbbell.plots.look import styles
from dumbbell.plots.panel import Panel

# Two panels side by side where there is room, and one below the other on a narrow screen.
STYLE = (
    "body{font-family:sans-serif;margin:1em;color:#333}h1{font-size:1.2em;overflow-wrap:anywhere}"
    "main{display:grid;gap:1em;grid-template-columns:repeat(auto-fit,minmax(min(100%,30em),1fr))}main>div{min-width:0}"
)


def page(panels: Sequence[Panel], title: str) -> str:
    """Return an HTML page of some panels. Panels over time share their time axis.

    Raises
    ------
    ScenarioError
        The package ``bokeh`` is missing.
    """
    need_bokeh()
    drawn: list[Any] = []
    for panel in panels:
        shared = {} if panel.ticks or not drawn else {"x_range": drawn[0].x_range}
        drawn.append(_panel(panel, shared))
    return document(drawn, title or "Dumbbell", STYLE)


def need_bokeh() -> None:
    """Refuse to draw a page without the package ``bokeh``."""
    try:
        import bokeh.embed
        import bokeh.resources  # noqa: F401 - only whether they are there
    except ImportError:
        accepted = f"an installed package bokeh: {installation('plots')}"
        raise refusal("picture", "html", accepted, problem="needs a package that is missing") from None


def document(drawn: Sequence[Any], title: str, style: str, below: str = "") -> str:
    """Return a page of Bokeh figures; its scripts are in it.

    Parameters
    ----------
    drawn
        The figures.
    title
        A text, never markup.
    style
        Rules of the page.
    below
        Markup after the figures.
    """
    from bokeh.embed import components
    from bokeh.resources import Resources

    script, parts = components(tuple(drawn))
    body = "".join(f"<div>{part}</div>" for part in parts)
    # Only what the panels need of the scripts, in the page.
    resources = Resources(mode="inline", components=["bokeh"]).render()
    text = html.escape(title)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{text}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style>'
        f"{resources}</head><body><h1>{text}</h1><main>{body}</main>{below}{script}</body></html>\n"
    )


def _panel(panel: Panel, shared: dict[str, Any]) -> Any:
    from bokeh.models import HoverTool, Range1d
    from bokeh.plotting import figure

    x_label, y_label = panel.labels
    made = figure(
        height=340,
        sizing_mode="stretch_width",
        title=panel.title,
        x_axis_label=x_label,
        y_axis_label=y_label,
        tools="xpan,xbox_zoom,box_zoom,xwheel_zoom,reset,save",
        active_drag="xbox_zoom",
        **shared,
    )
    looks = styles(panel.series)
    for label, (x, y) in panel.thinned.items():
        colour = looks[label].colour
        # Names are texts, never markup of a legend.
        options = {"line_color": colour, "line_width": 1.6, "legend_label": label, "name": label}
        if panel.steps:
            made.step(x, y, mode="after", **options)
        else:
            made.line(x, y, **options)
        if panel.intervals:
            low, high = panel.intervals[label]
            finite = np.isfinite(low) & np.isfinite(high)
            made.segment(x[finite], low[finite], x[finite], high[finite], line_color=colour)
            made.scatter(x, y, color=colour, size=7)
    made.add_tools(HoverTool(tooltips=[("", "$name"), (x_label, "$x{0.[0000]}"), (y_label, "@y{0.[000]}")]))
    lowest = min(
        (float(np.nanmin(y)) for _, y in panel.thinned.values() if np.isfinite(y).any()), default=0.0
    )
    highest = max(
        (float(np.nanmax(y)) for _, y in panel.thinned.values() if np.isfinite(y).any()), default=1.0
    )
    highest = max(
        [
            highest,
            *(float(np.nanmax(high)) for _, high in panel.intervals.values() if np.isfinite(high).any()),
        ]
    )
    if math.isfinite(lowest) and lowest >= 0.0 and highest > 0.0:
        made.y_range = Range1d(0.0, highest * 1.05)
    if panel.ticks:
        made.xaxis.ticker = list(range(len(panel.ticks)))
        made.xaxis.major_label_overrides = dict(enumerate(panel.ticks))
    (legend,) = made.legend
    made.add_layout(legend, "below")
    legend.update(
        click_policy="hide",
        orientation="horizontal",
        ncols=4,
        spacing=14,
        location="top_left",
        border_line_color=None,
        visible=len(panel.series) > 1,
    )
    return made
