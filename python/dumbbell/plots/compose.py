"""Figures of panels: their grid, one legend outside of all axes, a note on what is drawn, and texts that fit."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.plots.curves import scale_by_logarithm
from dumbbell.plots.kinds import draw, handle, logarithmic
from dumbbell.plots.look import Style, figure, literal, registered, with_unit
from dumbbell.plots.panel import Panel
from dumbbell.plots.sheets import Sheet

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME = 44
"""A longer name in a legend is broken."""
PAD = 3.0 / 72.0
"""What the layout leaves at each side of a legend or a note, in."""
TILT = 30.0
"""Angle of names of categories that would overlap, degrees."""


def compose(
    panels: Sequence[Panel],
    sheet: Sheet,
    *,
    title: str = "",
    note: str = "",
    columns: int | None = None,
    is_shared: bool = False,
    legend_title: str = "",
) -> Figure:
    """Return a figure of panels.

    Parameters
    ----------
    panels
        The panels, by rows.
    sheet
        What the figure is for.
    title
        Text over all; the legend is then below.
    note
        Text under all.
    columns
        Panels side by side; two by default.
    is_shared
        Whether the axes of all panels have the same limits, and only the outer ones are labelled.
    legend_title
        What the names of the legend are.
    """
    across = columns or min(2, len(panels))
    rows = math.ceil(len(panels) / across)
    width, height = sheet.size(rows, across)
    made, grid = figure(rows, across, width=width / across, height=height / rows)
    looks = looks_of(panels, sheet)
    for ax in grid.flat:
        ax.grid(visible=True, linewidth=0.4, color=sheet.grid)
        ax.spines[:].set_color(sheet.ink)
    for ax in grid.flat[len(panels) :]:
        ax.set_visible(False)
    drawn = list(zip(panels, grid.flat[: len(panels)], strict=True))
    for panel, ax in drawn:
        draw(panel, ax, looks, sheet)
    if is_shared:
        _share(drawn, across)
    else:
        _align(drawn)
    _colour_bar(made, drawn)
    if title:
        made.suptitle(literal(title))
    _note(made, note, sheet)
    _legend(
        made, legend_entries(panels, looks, sheet, is_shared=is_shared), legend_title, is_below=bool(title)
    )
    _fit(made, drawn)
    return made


def looks_of(panels: Sequence[Panel], sheet: Sheet) -> dict[str, Style]:
    """Return colour and marker of every label, the same in all panels.

    A label that is no algorithm, such as that of a link, has a colour that no algorithm beside it has.
    """
    names: dict[str, str] = {}
    for panel in panels:
        names |= {label: panel.looks.get(label, label) for label in panel.series}
    found = sheet.looks(dict.fromkeys(names.values()))
    algorithms = registered()
    taken = {look.colour for name, look in found.items() if name in algorithms}
    free = [colour for colour in sheet.colours if colour not in taken]
    for number, name in enumerate(name for name in found if name not in algorithms and taken and free):
        found[name] = found[name]._replace(colour=free[number % len(free)])
    return {label: found[name] for label, name in names.items()}


def legend_entries(
    panels: Sequence[Panel], looks: Mapping[str, Style], sheet: Sheet, *, is_shared: bool
) -> dict[str, Artist]:
    """Return what stands for each label; a panel with one curve says in its title what it is."""
    shown = [panel for panel in panels if panel.mark != "heat"]
    labels = {label for panel in shown for label in panel.series}
    if is_shared and len(labels) < 2:
        return {}
    found: dict[str, Artist] = {}
    for panel in shown:
        if len(panel.series) > 1 or is_shared:
            for label in panel.series:
                found.setdefault(label, handle(panel, label, looks[label], sheet))
    return found


def _colour_bar(made: Figure, drawn: Sequence[tuple[Panel, Axes]]) -> None:
    """Add one bar for the colours of all cells, whose ends are the same."""
    cells = [(panel, ax) for panel, ax in drawn if panel.mark == "heat"]
    if cells:
        panel, _ = cells[0]
        bar = made.colorbar(cells[0][1].collections[0], ax=[ax for _, ax in cells], pad=0.02)
        bar.set_label(with_unit(panel.z_label, panel.z_unit))
        bar.outline.set_visible(False)


def _legend(made: Figure, entries: Mapping[str, Artist], title: str, *, is_below: bool) -> None:
    """Put a legend outside of the axes, in as many columns as fit, and make the figure higher by it."""
    if not entries:
        return
    names = [literal(textwrap.fill(label, LONGEST_NAME)) for label in entries]
    place: Any = "outside lower center" if is_below else "outside upper center"
    renderer = made.canvas.get_renderer()  # type: ignore[attr-defined]  # of an Agg canvas
    for count in range(len(names), 0, -1):
        legend = made.legend(
            list(entries.values()),
            names,
            loc=place,
            ncols=count,
            frameon=False,
            title=literal(title) or None,
            columnspacing=1.4,
            handlelength=1.7,
            handletextpad=0.5,
            borderpad=0.1,
            borderaxespad=0.2,
        )
        box = legend.get_window_extent(renderer)
        if count == 1 or box.width <= 0.98 * made.bbox.width:
            break
        legend.remove()
    _heighten(made, box.height / made.dpi + 2.0 * PAD)


def _note(made: Figure, note: str, sheet: Sheet) -> None:
    """Write a note under the axes, and make the figure higher by it."""
    if not note:
        return
    text = made.supxlabel(note, x=0.01, ha="left", fontsize=sheet.small, color=sheet.soft, linespacing=1.1)
    renderer = made.canvas.get_renderer()  # type: ignore[attr-defined]  # of an Agg canvas
    share = 0.97 * made.bbox.width / text.get_window_extent(renderer).width
    if share < 1.0:
        # Lines of equal numbers of characters differ in their widths.
        note = textwrap.fill(note, max(20, int(0.96 * share * len(note))))
    text.set_text(literal(note))
    _heighten(made, text.get_window_extent(renderer).height / made.dpi + PAD)


def _heighten(made: Figure, by: float) -> None:
    width, height = made.get_size_inches()
    made.set_size_inches(width, height + by)


def _share(drawn: Sequence[tuple[Panel, Axes]], across: int) -> None:
    """Give all axes the same limits, and label only the outer ones."""
    axes = [ax for _, ax in drawn]
    has_x = not drawn[0][0].ticks
    y_limits = [ax.get_ylim() for ax in axes]
    x_limits = [ax.get_xlim() for ax in axes]
    for place, ax in enumerate(axes):
        if drawn[0][0].mark != "heat":
            ax.set_ylim(min(low for low, _ in y_limits), max(high for _, high in y_limits))
            if has_x:
                ax.set_xlim(min(low for low, _ in x_limits), max(high for _, high in x_limits))
        scale_by_logarithm(ax, logarithmic(drawn[0][0]))
        if place % across:
            ax.set_ylabel("")
        if place + across < len(axes):
            ax.set_xlabel("")


def _align(drawn: Sequence[tuple[Panel, Axes]]) -> None:
    """Give panels of one x axis, such as time, the same limits of it."""
    alike = [ax for panel, ax in drawn if not panel.ticks and panel.labels[0] == drawn[0][0].labels[0]]
    limits = [ax.get_xlim() for ax in alike]
    for ax in alike:
        ax.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def _fit(made: Figure, drawn: Sequence[tuple[Panel, Axes]]) -> None:
    """Tilt names of categories that overlap, and break labels and titles that are longer than their axes."""
    made.draw_without_rendering()
    renderer = made.canvas.get_renderer()  # type: ignore[attr-defined]  # of an Agg canvas
    is_changed, higher = False, 0.0
    for panel, ax in drawn:
        room = ax.get_window_extent(renderer)
        for text, space, extent in (
            (ax.xaxis.label, room.width, "width"),
            (ax.yaxis.label, room.height, "height"),
            (ax.title, room.width, "width"),
        ):
            length = getattr(text.get_window_extent(renderer), extent)
            if length > space and len(text.get_text()) > 1:
                words = text.get_text()
                text.set_text(textwrap.fill(words, max(8, int(len(words) * space / length))))
                is_changed = True
        if panel.ticks:
            names = ax.get_xticklabels()
            widest = max((text.get_window_extent(renderer).width for text in names), default=0.0)
            if widest > 0.96 * room.width / max(1, len(panel.ticks)):
                before = max(text.get_window_extent(renderer).height for text in names)
                for text in names:
                    text.set(rotation=TILT, ha="right", rotation_mode="anchor")
                after = max(text.get_window_extent(renderer).height for text in names)
                higher = max(higher, (after - before) / made.dpi)
                is_changed = True
    if higher:
        _heighten(made, higher)
    if is_changed:
        made.draw_without_rendering()
