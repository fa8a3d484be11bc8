"""A picture of panels that is drawn where it is wanted: a notebook, a file, a page with zoom and hover, or a terminal."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dumbbell.arguments import file_path
from dumbbell.errors import refusal
from dumbbell.files import replacing
from dumbbell.plots.panel import Panel
from dumbbell.plots.sheets import sheet_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf", "pgf", "html")

TEX_SYSTEMS = ("lualatex", "xelatex", "pdflatex")


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A picture of one or several panels.

    In a notebook it shows itself; `save` writes it to a file, and ``print`` draws it in the terminal.

    Parameters
    ----------
    panels
        The panels, in rows of two.
    title
        What the picture shows.
    note
        What is drawn, such as means with which intervals of how many runs; written under the axes.
    style
        ``"screen"``, which is the default, ``"dark"``, ``"paper"`` or ``"slides"``: see `dumbbell.plots.sheets`.
    columns
        Panels side by side; two by default.
    is_shared
        Whether all panels have the same axes and curves.
    is_headed
        Whether the title is written over the panels.
    legend_title
        What the names of the legend are.
    """

    panels: Sequence[Panel]
    title: str = ""
    note: str = ""
    style: str | None = None
    columns: int | None = None
    is_shared: bool = False
    is_headed: bool = True
    legend_title: str = ""

    @cached_property
    def figure(self) -> Figure:
        """The picture as a matplotlib figure."""
        from dumbbell.plots.compose import compose

        sheet = sheet_of(self.style)
        with sheet.applied():
            return compose(
                self.panels,
                sheet,
                title=self.title if self.is_headed else "",
                note=self.note,
                columns=self.columns,
                is_shared=self.is_shared,
                legend_title=self.legend_title,
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file.

        Parameters
        ----------
        path
            Its ending decides: ``.png``, ``.svg``, ``.pdf`` with embedded fonts, ``.pgf`` for LaTeX, in the fonts of the
            document (a TeX system), or ``.html`` for a page with zoom and hover that needs no network (package ``bokeh``).

        Raises
        ------
        ScenarioError
            Another ending, or a package or TeX is missing.
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

        return page(self.panels, self.title, note=self.note, sheet=sheet_of(self.style))

    def __str__(self) -> str:
        """Return the picture drawn with characters; without the package ``plotext``, its numbers in a few lines."""
        from dumbbell.plots.terminal import drawn

        return drawn(self.panels, self.title, self.note)

    def __repr__(self) -> str:
        return f"<Picture {', '.join(panel.title for panel in self.panels)!r}: print() or save() it>"

    def _drawn(self, kind: str) -> bytes:
        made = io.BytesIO()
        sheet = sheet_of(self.style)
        settings: Any = {}
        if kind == "pgf":
            # LaTeX sets the text in the fonts of its document.
            settings = {"pgf.texsystem": tex_system(), "pgf.rcfonts": False}
        with sheet.applied():
            import matplotlib

            figure = self.figure
            with matplotlib.rc_context(settings):
                figure.savefig(made, format=kind, dpi=sheet.dpi if kind == "png" else "figure")
        return made.getvalue()

    def _repr_png_(self) -> bytes:
        return self._drawn("png")


def tex_system() -> str:
    """Return the program of TeX that measures text for PGF.

    Raises
    ------
    ScenarioError
        There is none.
    """
    for name in TEX_SYSTEMS:
        if shutil.which(name):
            return name
    accepted = f"one of the programs {', '.join(TEX_SYSTEMS)}, of TeX Live or MiKTeX; .pdf needs none"
    raise refusal("picture", "pgf", accepted, problem="needs a program that is missing")


def picture_format(path: str | os.PathLike[str]) -> str:
    """Return the format that the ending of a file name states.

    Raises
    ------
    ScenarioError
        It is none of `FORMATS`, or ``.pgf`` without a TeX system.
    """
    file = file_path("picture", path)
    kind = file.suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        accepted = f"a name that ends in {', '.join(f'.{name}' for name in FORMATS)}"
        raise refusal("picture", str(path), accepted, names=FORMATS, near=kind)
    if kind == "pgf":
        tex_system()
    return kind
