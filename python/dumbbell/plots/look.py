"""Colours, markers, empty figures, and figures as text: the common look of all plots."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000",
    "#8C6D31", "#7300E6", "#8FBF60", "#990066", "#8673E6", "#734339",
)  # fmt: skip
"""Okabe and Ito's colours, with brown for their pale yellow, and five more chosen for their distance from
all others as readers with any of the three kinds of colour blindness see them."""

Marker = str | tuple[int, int, float]

MARKERS: tuple[Marker, ...] = (
    "o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p", "d",
    "h", "8", (4, 1, 0.0), (3, 1, 0.0), (6, 1, 0.0), (5, 0, 180.0), (4, 1, 45.0), (3, 1, 180.0),
    "H", (8, 1, 0.0), (5, 1, 180.0), (3, 1, 90.0),
)  # fmt: skip
"""Shapes of matplotlib that can be filled; a tuple is a polygon or a star by its sides, kind and angle in degrees.
Their number and that of the colours have no common factor, so that 312 labels go by before a pair of colour and
marker comes again."""

WIDTH, HEIGHT = 6.0, 3.8
GREY = "#7F7F7F"


class Style(NamedTuple):
    """How one algorithm looks in all plots."""

    colour: str
    marker: Marker


def registered() -> list[str]:
    """Return the names of the engine's algorithms: TCP presets in order, then congestion controls."""
    from dumbbell.engine import catalogue

    known = catalogue()
    return list(dict.fromkeys(entry["name"] for entry in [*known["variants"], *known["algorithms"]]))


def slot(index: int) -> Style:
    """Look of a place, counted from 0."""
    return Style(COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)])


def styles(names: Iterable[str]) -> dict[str, Style]:
    """Style of each name.

    A registered algorithm has the style of its place in the registry, in every plot: a marker that none of the
    first 24 shares, and a colour that none of the first 13 shares. Other labels, such as those of parameter
    settings, begin again at the first colour in the order given, with other markers.

    Parameters
    ----------
    names : iterable of str
        Algorithms or labels; repeated names count once.
    """
    known = registered()
    listed = list(dict.fromkeys(names))
    places = {name: i for i, name in enumerate(known)}
    # The next place that has the first colour.
    beyond = -(-len(known) // len(COLOURS)) * len(COLOURS)
    others = [name for name in listed if name not in places]
    places.update({name: i for i, name in enumerate(others, start=beyond)})
    return {name: slot(places[name]) for name in listed}


def style(name: str) -> Style:
    """Style of one algorithm; see `styles`."""
    return styles([name])[name]


def figure(
    rows: int = 1, columns: int = 1, *, width: float = WIDTH, height: float = HEIGHT
) -> tuple[Figure, NDArray[Any]]:
    """Make an empty figure with a grid of axes.

    Parameters
    ----------
    rows, columns : int
        Of the grid.
    width, height : float
        Of one of its axes, in inches.

    Returns
    -------
    tuple of Figure and ndarray of Axes
        The array has the shape (rows, columns).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(made)
    grid = made.subplots(rows, columns, squeeze=False)
    for ax in grid.flat:
        dress(ax)
    return made, grid


def dress(ax: Axes) -> None:
    """Apply the common look."""
    ax.grid(visible=True, linewidth=0.4, color="#DDDDDD")
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


# Maximum fraction of the axes' width for a legend beside them; for more, the figure grows.
LEGEND_SHARE = 0.4
# Fraction of the height between the title and the label of the axis.
PLOT_SHARE = 0.85


def legend_beside(ax: Axes) -> None:
    """Put the legend to the right of the plot, whole: in as many columns as its names need, in a wider figure if need be.

    Parameters
    ----------
    ax : Axes
        A plot with labels, in a figure with constrained layout, as `figure` makes it.
    """
    from matplotlib.figure import Figure

    names = len(ax.get_legend_handles_labels()[1])
    made = ax.get_figure()
    renderer = getattr(getattr(made, "canvas", None), "get_renderer", None)

    def placed(columns: int) -> tuple[float, float]:
        """Return width and height, in pixels."""
        legend = ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, ncols=columns)
        if renderer is None:
            return 0.0, 0.0
        box = legend.get_window_extent(renderer())
        return float(box.width), float(box.height)

    width, height = placed(1)
    if not isinstance(made, Figure) or not names or not height:
        return
    grid = ax.get_subplotspec()
    rows, across = grid.get_gridspec().get_geometry() if grid is not None else (1, 1)
    room = PLOT_SHARE * made.bbox.height / rows
    if height > room:
        width, _ = placed(math.ceil(names / max(1, int(room / (height / names)))))
    beyond = width - LEGEND_SHARE * made.bbox.width / across
    if beyond > 0.0:
        size = made.get_size_inches()
        made.set_size_inches(size[0] + across * beyond / made.dpi, size[1])


def axes_or_new(ax: Axes | None, *, height: float = HEIGHT) -> Axes:
    """Return the axes, or those of a new figure."""
    if ax is not None:
        return ax
    made: Axes = figure(height=height)[1][0, 0]
    return made


def literal(text: str) -> str:
    """Text to draw literally: otherwise, two dollar signs in a name would enclose a formula. Fonts lack control characters."""
    return printable(text).replace("$", r"\$")


def with_unit(label: str, unit: str | None) -> str:
    """Label of an axis, drawn literally."""
    return literal(f"{label} [{unit}]" if unit else label)


def name_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Name the rows of a horizontal plot, the first at the top."""
    ax.set_yticks(range(len(labels)), [literal(label) for label in labels])
    ax.set_ylim(len(labels) - 0.5, -0.5)


def to_svg(figure: Figure) -> str:
    """Return a figure as SVG text for an HTML page; the same figure gives the same text."""
    import matplotlib

    text = io.StringIO()
    # Laid out once: matplotlib draws a figure with a layout twice.
    if (layout := figure.get_layout_engine()) is not None:
        layout.execute(figure)
        figure.set_layout_engine("none")
    with matplotlib.rc_context({"svg.hashsalt": "dumbbell", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]
