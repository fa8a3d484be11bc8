"""Sheets that figures are drawn for: a screen, a dark screen, a column of a paper, and slides."""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from dumbbell.errors import refusal
from dumbbell.plots.look import COLOURS, Style, styles

LEAST_CONTRAST = 4.5
"""Contrast of curves with a dark ground, as WCAG 2 §1.4.3 requires of text."""


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """How a figure is made for one purpose.

    Parameters
    ----------
    name
        The style.
    width, height
        Of a figure with one panel, without legend and note, in.
    wide
        Width of a figure with several panels side by side, in.
    low
        Height of each row of its panels, in.
    font
        Size of text, pt.
    line, marker
        Width of lines and size of markers, pt.
    dpi
        Resolution of PNG files.
    ink, soft, ground, grid
        Colours of text, of notes and references, of the background, and of the grid.
    """

    name: str
    width: float
    height: float
    wide: float
    low: float
    font: float
    line: float
    marker: float
    dpi: int = 110
    ink: str = "#1c2430"
    soft: str = "#566172"
    ground: str = "#ffffff"
    grid: str = "#DDDDDD"
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_dark(self) -> bool:
        """Whether the ground is darker than the text."""
        return luminance(self.ground) < luminance(self.ink)

    @property
    def small(self) -> float:
        """Size of notes and of labels in cells, pt."""
        return 0.82 * self.font

    def size(self, rows: int, columns: int) -> tuple[float, float]:
        """Return width and height of a figure of panels, in."""
        if columns == 1:
            return self.width, self.height * rows if rows == 1 else self.low * 1.25 * rows
        return self.wide, self.low * rows

    def applied(self) -> AbstractContextManager[None]:
        """Return a context in which matplotlib makes and saves figures for this sheet."""
        import matplotlib

        settings: Any = {
            "font.size": self.font,
            "axes.titlesize": self.font,
            "axes.labelsize": self.font,
            "xtick.labelsize": 0.9 * self.font,
            "ytick.labelsize": 0.9 * self.font,
            "legend.fontsize": 0.9 * self.font,
            "legend.title_fontsize": 0.9 * self.font,
            "figure.titlesize": 1.1 * self.font,
            "lines.linewidth": self.line,
            "lines.markersize": self.marker,
            "figure.facecolor": self.ground,
            "axes.facecolor": self.ground,
            "savefig.facecolor": self.ground,
            **dict.fromkeys(
                ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), self.ink
            ),
            # TrueType fonts are embedded whole; Type 3 is refused by many submission systems.
            "pdf.fonttype": 42,
            "ps.fonttype": 42,
            "svg.fonttype": "path",
            "svg.hashsalt": "dumbbell",
        }
        return matplotlib.rc_context(settings | dict(self.further))

    @property
    def colours(self) -> list[str]:
        """The colours of curves; lighter on a dark ground."""
        return [lightened(colour, self.ground) for colour in COLOURS] if self.is_dark else list(COLOURS)

    def looks(self, names: Iterable[str]) -> dict[str, Style]:
        """Return colour and marker of each name, as `dumbbell.plots.sheets`; lighter on a dark ground."""
        found = styles(names)
        if not self.is_dark:
            return found
        return {name: Style(lightened(look.colour, self.ground), look.marker) for name, look in found.items()}


SHEETS: Mapping[str, Sheet] = {
    sheet.name: sheet
    for sheet in (
        Sheet(name="screen", width=8.0, height=4.2, wide=11.2, low=3.0, font=10.0, line=1.3, marker=5.0),
        # A column of two-column proceedings is 3.3 in wide, and the text 7 in.
        Sheet(
            name="paper", width=3.3, height=2.1, wide=7.0, low=1.9, font=8.0, line=1.0, marker=3.2, dpi=300,
            ink="#000000", soft="#444444",
            further={
                "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.minor.width": 0.4,
                "ytick.minor.width": 0.4, "xtick.major.size": 2.5, "ytick.major.size": 2.5, "axes.labelpad": 2.0,
            },
        ),
        Sheet(name="slides", width=10.0, height=4.6, wide=12.6, low=4.2, font=17.0, line=2.4, marker=8.5),
        Sheet(
            name="dark", width=8.0, height=4.2, wide=11.2, low=3.0, font=10.0, line=1.4, marker=5.0,
            ink="#e3e7ee", soft="#a3adbb", ground="#14181e", grid="#333b47",
        ),
    )
}  # fmt: skip
"""The styles by name."""


def sheet_of(style: str | None) -> Sheet:
    """Return the sheet of a style; ``None`` is the screen.

    Raises
    ------
    ScenarioError
        There is no such style.
    """
    if style is None:
        return SHEETS["screen"]
    if not isinstance(style, str) or style not in SHEETS:
        raise refusal("style", style, ", ".join(SHEETS), names=SHEETS)
    return SHEETS[style]


def luminance(colour: str) -> float:
    """Return the relative luminance of an sRGB colour, from 0 to 1, as WCAG 2 defines it."""
    encoded = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in encoded
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lightened(colour: str, ground: str) -> str:
    """Return a colour of the same hue, light enough for a dark ground; black becomes nearly white."""
    hue, light, saturation = colorsys.rgb_to_hls(
        *(int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    )
    if light == 0.0:
        return "#f2f2f2"
    found = colour
    while contrast(found, ground) < LEAST_CONTRAST and light < 1.0:
        light = min(1.0, light + 0.02)
        found = "#" + "".join(
            f"{round(255 * part):02x}" for part in colorsys.hls_to_rgb(hue, light, saturation)
        )
    return found
