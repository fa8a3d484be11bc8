"""The journal of a flow as a page: the window's curve, and the entries around the time that is clicked."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dumbbell.errors import refusal
from dumbbell.plots.interactive import STYLE, document, need_bokeh
from dumbbell.plots.look import COLOURS
from dumbbell.printable import printable

if TYPE_CHECKING:
    import pandas as pd

# A page with more entries would take long to open.
MOST_ENTRIES = 50_000
# A notebook shows the first ones.
MOST_ROWS = 40

LOOK = (
    "main{display:block}nav{margin:.8em 0;display:flex;flex-wrap:wrap;gap:.6em;align-items:center}"
    "#scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9em}"
    "td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top}"
    "td:first-child{font-variant-numeric:tabular-nums;white-space:nowrap}td:nth-child(2){white-space:nowrap}"
    "tbody tr{cursor:pointer}tr[aria-current]{background:#fff3c4}"
    ".retransmission,.timeout,.fast-retransmit,.timer-fired{color:#B03A00}.decision{color:#005A91}"
    "@media print{nav button,nav select{display:none}}"
)

# Marks on the curve, by kind of entry: name, shape and colour.
MARKS = {
    "retransmission": ("retransmission", "x", COLOURS[1]),
    "loss": ("declared lost", "x", COLOURS[1]),
    "timeout": ("timeout", "inverted_triangle", COLOURS[6]),
    "recovery_enter": ("recovery begins", "circle", COLOURS[3]),
    "recovery_exit": ("recovery ends", "square", COLOURS[2]),
}


class Entry(Protocol):
    """An entry in words: see `dumbbell.why.Line`."""

    @property
    def time_s(self) -> float:
        """Time, s."""

    @property
    def kind(self) -> str:
        """What it tells."""

    @property
    def text(self) -> str:
        """Its numbers."""


class Journal(Protocol):
    """What a page shows: see `dumbbell.why.Explanation`."""

    @property
    def title(self) -> str:
        """The run, the flow and the time."""

    @property
    def at_s(self) -> float | None:
        """The time asked for, s."""

    @property
    def window_s(self) -> tuple[float, float]:
        """First and last time of the entries, s."""

    @property
    def mss(self) -> int:
        """Payload of a full segment, bytes."""

    @property
    def lines(self) -> Sequence[Entry]:
        """The entries in words."""

    @property
    def events(self) -> pd.DataFrame:
        """The entries in numbers."""

    def __len__(self) -> int: ...


def page(found: Journal) -> str:
    """Return the page of a journal; its scripts are in it.

    Raises
    ------
    ScenarioError
        The package ``bokeh`` is missing, or there are too many entries.
    """
    need_bokeh()
    if len(found) > MOST_ENTRIES:
        raise refusal(
            "window",
            f"{len(found)} entries",
            f"a shorter part of the run, with at most {MOST_ENTRIES} entries (at and window)",
            problem="are too many for a page",
            quoted=False,
        )
    time = found.at_s if found.at_s is not None else found.window_s[0]
    # A name of a flow must not end the script.
    entries = json.dumps([[line.time_s, line.kind, line.text] for line in found.lines]).replace(
        "<", r"\u003c"
    )
    options = "".join(
        f'<option value="{width}"{" selected" if width == 0.1 else ""}>{text}</option>'
        for width, text in ((0.01, "10 ms"), (0.1, "100 ms"), (1, "1 s"), (10, "10 s"))
    )
    code = resources.files("dumbbell.plots").joinpath("why.js").read_text(encoding="utf-8")
    below = (
        f'<nav><b id="moment"></b><button id="earlier" type="button">earlier</button>'
        f'<button id="later" type="button">later</button><label>shown <select id="width">{options}</select></label>'
        f"<span>A click on the curve or on a row moves there.</span></nav>"
        f'<div id="scroll"><table><thead><tr><th>time [s]</th><th>what</th><th>details</th></tr></thead>'
        f'<tbody id="around" data-time="{time!r}"></tbody></table></div>'
        f'<script type="application/json" id="entries">{entries}</script>'
        f"<script>{code}</script>"
    )
    return document([_curves(found, time)], found.title, STYLE + LOOK, below)


def _curves(found: Journal, time: float) -> Any:
    """Return the figure of window and threshold, on which a click is reported."""
    from bokeh.models import CustomJS, HoverTool, Range1d, Span
    from bokeh.plotting import figure

    first, last = found.window_s
    made = figure(
        height=340,
        sizing_mode="stretch_width",
        x_axis_label="time [s]",
        y_axis_label="window [segments]",
        tools="xpan,xwheel_zoom,xbox_zoom,reset,save",
        active_drag="xbox_zoom",
        x_range=Range1d(first, last),
    )
    _draw_events(made, found, last)
    moment = Span(location=time, dimension="height", line_color="#D59F00", line_width=2, name="moment")
    made.add_layout(moment)
    made.js_on_event("tap", CustomJS(code="window.showEntriesAround(cb_obj.x)"))
    made.add_tools(
        HoverTool(tooltips=[("", "$name"), ("time [s]", "$x{0.[000000]}"), ("segments", "@y{0.[000]}")])
    )
    if len(made.legend):
        made.add_layout(made.legend[0], "below")
        made.legend.update(
            click_policy="hide",
            orientation="horizontal",
            ncols=3,
            spacing=14,
            location="top_left",
            border_line_color=None,
        )
    made.y_range.start = 0.0
    return made


def _draw_events(made: Any, found: Journal, last: float) -> None:
    """Draw window and threshold as steps, and a mark for each event."""
    events = found.events
    times = events["time_s"].to_numpy(dtype=float)
    # Only the engine's TCP has an inflation.
    window = (events["cwnd_bytes"] + events["inflation_bytes"].fillna(0.0)).to_numpy(dtype=float) / found.mss
    threshold = events["ssthresh_bytes"].to_numpy(dtype=float) / found.mss
    for label, values, dash, colour in (
        ("congestion window", window, "solid", COLOURS[0]),
        ("slow-start threshold", threshold, "dashed", "#7F7F7F"),
    ):
        known = np.isfinite(values)
        if known.any():
            # The last value holds to the end.
            x, y = np.append(times[known], last), np.append(values[known], values[known][-1])
            made.step(
                x,
                y,
                mode="after",
                line_color=colour,
                line_dash=dash,
                line_width=1.6,
                legend_label=label,
                name=label,
            )
    for kind, (label, shape, colour) in MARKS.items():
        chosen = (events["kind"] == kind).to_numpy(dtype=bool)
        if chosen.any():
            made.scatter(
                times[chosen],
                window[chosen],
                marker=shape,
                size=9,
                color=colour,
                legend_label=label,
                name=label,
            )


def table(found: Journal) -> str:
    """Return the entries as a table for a notebook."""
    rows = "".join(
        f"<tr><td>{line.time_s:.6f}</td><td>{_text(line.kind)}</td>"
        f'<td style="text-align:left">{_text(line.text)}</td></tr>'
        for line in found.lines[:MOST_ROWS]
    )
    more = len(found) - MOST_ROWS
    rest = f"<p>and {more} more entries</p>" if more > 0 else ""
    head = "<tr><th>time [s]</th><th>what</th><th>details</th></tr>"
    return (
        f"<div><p><b>{_text(found.title)}</b></p>"
        f'<div style="overflow-x:auto"><table>{head}{rows}</table></div>{rest}</div>'
    )


def _text(text: str) -> str:
    return html.escape(printable(text))
