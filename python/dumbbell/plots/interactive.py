"""Pages with zoom and hover, made by Bokeh; its scripts are in the page, which needs no network."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dumbbell.errors import installation, refusal
from dumbbell.plots.compose import looks_of
from dumbbell.plots.kinds import BAND, DODGE, WHISKERS, dodged
from dumbbell.plots.look import Style
from dumbbell.plots.panel import Panel, labelled
from dumbbell.plots.sheets import SHEETS, Sheet
from dumbbell.printable import printable

# Two panels side by side where there is room, and one below the other on a narrow screen.
STYLE = (
    "body{font-family:sans-serif;margin:1em;color:#333}h1{font-size:1.2em;overflow-wrap:anywhere}"
    "main{display:grid;gap:1em;grid-template-columns:repeat(auto-fit,minmax(min(100%,30em),1fr))}main>div{min-width:0}"
)


def page(panels: Sequence[Panel], title: str, *, note: str = "", sheet: Sheet | None = None) -> str:
    """Return an HTML page of some panels. Panels over time share their time axis.

    Parameters
    ----------
    panels
        The panels.
    title, note
        Texts over and under them.
    sheet
        Its colours; by default those of the screen.

    Raises
    ------
    ScenarioError
        The package ``bokeh`` is missing.
    """
    need_bokeh()
    sheet = sheet or SHEETS["screen"]
    looks = looks_of(panels, sheet)
    drawn: list[Any] = []
    for panel in panels:
        is_alike = bool(drawn) and not panel.ticks and panel.x_label == panels[0].x_label
        made = _panel(panel, {"x_range": drawn[0].x_range} if is_alike else {}, looks)
        _colour(made, sheet)
        drawn.append(made)
    colours = f"body{{background:{sheet.ground};color:{sheet.ink}}}" if sheet.is_dark else ""
    below = f"<p>{html.escape(printable(note))}</p>" if note else ""
    return document(drawn, title or "Dumbbell", STYLE + colours, below)


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


def _panel(panel: Panel, shared: dict[str, Any], looks: Mapping[str, Style]) -> Any:
    from bokeh.models import HoverTool, Range1d
    from bokeh.plotting import figure

    x_label, y_label = panel.labels
    made = figure(
        height=340,
        sizing_mode="stretch_width",
        title=panel.title,
        x_axis_label=x_label,
        y_axis_label=y_label,
        x_axis_type="log" if panel.log_x else "linear",
        y_axis_type="log" if panel.log_y else "linear",
        tools="xpan,xbox_zoom,box_zoom,xwheel_zoom,reset,save",
        active_drag="xbox_zoom",
        **shared,
    )
    if panel.mark == "heat":
        _draw_cells(made, panel)
    else:
        for label in panel.series:
            _draw_curve(made, panel, label, looks[label].colour)
        _draw_references(made, panel)
    made.add_tools(HoverTool(tooltips=[("", "$name"), (x_label, "$x{0.[0000]}"), (y_label, "@y{0.[000]}")]))
    highest = max([panel.highest, *panel.references.values()])
    if panel.is_from_zero and highest > 0.0:
        made.y_range = Range1d(0.0, highest * 1.05)
    if panel.ticks:
        made.xaxis.ticker = list(range(len(panel.ticks)))
        made.xaxis.major_label_overrides = dict(enumerate(panel.ticks))
    for legend in made.legend:
        made.add_layout(legend, "below")
        legend.update(
            click_policy="hide",
            orientation="horizontal",
            ncols=4,
            spacing=14,
            location="top_left",
            border_line_color=None,
            visible=len(panel.series) + len(panel.references) > 1,
        )
    return made


def _draw_curve(made: Any, panel: Panel, label: str, colour: str) -> None:
    """Draw what stands for one label. Names are texts, never markup of a legend."""
    x, y = panel.thinned[label]
    x = x + dodged(panel, label)
    named = {"legend_label": label, "name": label}
    dashes = "dashed" if label in panel.dashed else "solid"
    line = {"line_color": colour, "line_width": 1.6, "line_dash": dashes, **named}
    if panel.steps or panel.mark == "cdf":
        made.step(x, y, mode="after", **line)
    elif panel.mark == "bar":
        made.vbar(
            x=x, top=y, width=0.9 * DODGE / len(panel.series), fill_color=colour, line_color=None, **named
        )
    elif panel.mark == "box":
        _draw_boxes(made, panel, label, colour)
        made.scatter(x, y, color=colour, size=7, **named)
    elif panel.mark == "line" or (panel.mark == "means" and not panel.ticks):
        made.line(x, y, **line)
    if panel.mark in ("means", "scatter"):
        made.scatter(x, y, color=colour, size=7, **named)
    if label in panel.intervals:
        low, high = panel.intervals[label]
        finite = np.isfinite(low) & np.isfinite(high)
        places = panel.series[label][0] + dodged(panel, label)
        if panel.mark == "line" or (panel.mark == "means" and not panel.ticks and finite.sum() > 1):
            made.varea(places[finite], low[finite], high[finite], fill_color=colour, fill_alpha=BAND)
        else:
            made.segment(places[finite], low[finite], places[finite], high[finite], line_color=colour)


def _draw_references(made: Any, panel: Panel) -> None:
    """Draw the references as dashed lines over all curves, with their texts in the legend."""
    places = [float(end) for x, _ in panel.series.values() if len(x) for end in (x[0], x[-1])]
    for text, value in panel.references.items() if places else ():
        made.line(
            [min(places), max(places)],
            [value, value],
            line_color="#7F7F7F",
            line_dash="dashed",
            legend_label=text,
            name=text,
        )


def _draw_boxes(made: Any, panel: Panel, label: str, colour: str) -> None:
    from matplotlib.cbook import boxplot_stats

    for place, values in zip(panel.series[label][0], panel.samples[label], strict=True):
        for stats in boxplot_stats(values, whis=WHISKERS) if len(values) else ():
            at, width = place + dodged(panel, label), 0.8 * DODGE / len(panel.series)
            made.segment([at], [stats["whislo"]], [at], [stats["whishi"]], line_color=colour)
            made.vbar(
                x=[at],
                bottom=[stats["q1"]],
                top=[stats["q3"]],
                width=width,
                fill_color=colour,
                fill_alpha=0.4,
            )


def _draw_cells(made: Any, panel: Panel) -> None:
    from bokeh.models import ColorBar, LinearColorMapper
    from bokeh.palettes import Cividis256

    cells = np.array([y for _, y in panel.series.values()], dtype=float)
    rows, columns = np.indices(cells.shape)
    low, high = panel.z_range or (float(np.nanmin(cells)), float(np.nanmax(cells)))
    mapper = LinearColorMapper(palette=Cividis256, low=low, high=high)
    source = {"x": columns.ravel(), "row": rows.ravel(), "y": cells.ravel()}
    made.rect(
        x="x", y="row", width=1, height=1, source=source, line_color=None,
        fill_color={"field": "y", "transform": mapper}, name=panel.z_label or "value",
    )  # fmt: skip
    made.yaxis.ticker = list(range(len(panel.series)))
    made.yaxis.major_label_overrides = dict(enumerate(panel.series))
    made.add_layout(ColorBar(color_mapper=mapper, title=labelled(panel.z_label, panel.z_unit)), "right")


def _colour(made: Any, sheet: Sheet) -> None:
    """Give a figure the colours of a dark sheet."""
    if not sheet.is_dark:
        return
    made.update(
        background_fill_color=sheet.ground, border_fill_color=sheet.ground, outline_line_color=sheet.grid
    )
    made.title.text_color = sheet.ink
    made.grid.grid_line_color = sheet.grid
    for axis in made.axis:
        axis.update(
            axis_label_text_color=sheet.ink, major_label_text_color=sheet.ink, axis_line_color=sheet.ink
        )
    for legend in made.legend:
        legend.update(background_fill_color=sheet.ground, label_text_color=sheet.ink)
