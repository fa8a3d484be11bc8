"""A picture of panels that is drawn where it is wanted: a notebook, a file, a page with zoom and hover, or a terminal."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.arguments import file_path
from dumbbell.errors import refusal
from dumbbell.files import replacing
from dumbbell.plots.curves import lines, sweep
from dumbbell.plots.look import figure, literal
from dumbbell.plots.panel import Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf", "html")

DPI = 110


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A picture of one or several panels.

    In a notebook it shows itself; `save` writes it to a file, and ``print`` draws it in the terminal.

    Parameters
    ----------
    panels
        The panels, in rows of two.
    title
        Text over the picture.
    """

    panels: Sequence[Panel]
    title: str = ""

    @cached_property
    def figure(self) -> Figure:
        """The picture as a matplotlib figure."""
        columns = min(2, len(self.panels))
        rows = math.ceil(len(self.panels) / columns)
        width, height = (8.0, 4.2) if columns == 1 else (5.6, 3.0)
        made, grid = figure(rows, columns, width=width, height=height)
        for ax in grid.flat[len(self.panels) :]:
            ax.set_visible(False)
        for panel, ax in zip(self.panels, grid.flat, strict=False):
            texts: dict[str, Any] = {
                "x_label": panel.x_label,
                "y_label": panel.y_label,
                "x_unit": panel.x_unit,
                "y_unit": panel.y_unit,
                "title": panel.title,
                "ax": ax,
            }
            if panel.intervals:
                sweep(
                    {label: (*panel.series[label], *panel.intervals[label]) for label in panel.series},
                    **texts,
                )
            else:
                lines(panel.thinned, steps=panel.steps, **texts)
                ax.margins(x=0.01)
            if all(np.nanmin(y, initial=0.0) >= 0.0 for _, y in panel.series.values()):
                ax.set_ylim(bottom=0.0)
            legend = ax.get_legend()
            if legend is not None:
                # Curves stay visible below the names.
                legend.set_frame_on(True)
                legend.get_frame().set(alpha=0.75, linewidth=0.0)
            ax.title.set_fontsize("medium")
            if panel.ticks:
                ax.set_xticks(range(len(panel.ticks)), panel.ticks)
        if self.title:
            made.suptitle(literal(self.title), fontsize="large")
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path
            Its ending decides: ``.png``, ``.svg``, ``.pdf``, or ``.html`` for a page with zoom and hover that needs no
            network (package ``bokeh``).

        Raises
        ------
        ScenarioError
            Another ending, or a package is missing.
        ResultsError
            The file cannot be written.
        """
        file = file_path("picture", path)
        kind = picture_format(file)
        # Drawn before the file is opened, so that a missing package leaves nothing.
        content = self.to_html().encode() if kind == "html" else self._drawn(kind)
        with replacing(file) as opened:
            opened.write(content)

    def to_html(self) -> str:
        """Return a page with zoom and hover; its scripts are in it.

        Raises
        ------
        ScenarioError
            The package ``bokeh`` is missing.
        """
        from dumbbell.plots.interactive import page

        return page(self.panels, self.title)

    def __str__(self) -> str:
        """Return the picture drawn with characters."""
        from dumbbell.plots.terminal import drawn

        return drawn(self.panels, self.title)

    def __repr__(self) -> str:
        return f"<Picture {', '.join(panel.title for panel in self.panels)!r}: print() or save() it>"

    def _drawn(self, kind: str) -> bytes:
        made = io.BytesIO()
        self.figure.savefig(made, format=kind, dpi=DPI if kind == "png" else "figure")
        return made.getvalue()

    def _repr_png_(self) -> bytes:
        return self._drawn("png")


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the ending of a file name states.

    Raises
    ------
    ScenarioError
        It is none of `FORMATS`.
    """
    file = file_path("picture", path)
    kind = file.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        accepted = f"a name that ends in {', '.join(f'.{name}' for name in FORMATS)}"
        raise refusal("picture", str(path), accepted, names=FORMATS, near=kind)
    return kind
