"""Plots in the manner of the field: axes with units, one colour and one marker for an algorithm everywhere.

Figures are created without pyplot, so they have no window and no global state. Every function that draws into `ax`
creates a figure if `ax` is not given, and returns the axes; ``ax.figure`` is the figure.
"""

from dumbbell.plots.curves import intervals, lines, scatter_against, sweep, trace_figure
from dumbbell.plots.designs import (
    effects,
    half_normal,
    interaction,
    main_effects,
    pareto,
    residual_checks,
    residual_quantiles,
    residuals_against_predicted,
)
from dumbbell.plots.look import COLOURS, MARKERS, Style, figure, legend_beside, style, styles, to_svg
from dumbbell.plots.panel import Panel
from dumbbell.plots.picture import Picture

__all__ = [
    "COLOURS",
    "MARKERS",
    "Panel",
    "Picture",
    "Style",
    "effects",
    "figure",
    "half_normal",
    "interaction",
    "intervals",
    "legend_beside",
    "lines",
    "main_effects",
    "pareto",
    "residual_checks",
    "residual_quantiles",
    "residuals_against_predicted",
    "scatter_against",
    "style",
    "styles",
    "sweep",
    "to_svg",
    "trace_figure",
]
