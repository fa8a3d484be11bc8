"""Pictures of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["trace_figure"]


def trace_figure(
    quantity: str, trace: pd.DataFrame, *, unit: str | None = None, title: str | None = None
) -> Figure:
    """Draw one probed quantity over time, one line per flow or link.

    Parameters
    ----------
    quantity
        Name of the quantity, as ``"cwnd"``.
    trace
        The columns ``time_s`` (seconds), ``name`` and ``value``.
    unit
        Unit of ``value``, written at the axis.
    title
        Text over the picture.

    Returns
    -------
    matplotlib.figure.Figure
        The picture. It belongs to no window and no global state; ``savefig`` writes it.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name, rows in trace.groupby("name", sort=True):
        # A quantity keeps its value until it is recorded again.
        axes.plot(
            rows["time_s"].to_numpy(),
            rows["value"].to_numpy(),
            drawstyle="steps-post",
            linewidth=0.9,
            label=name,
        )
    axes.set_xlabel("time [s]")
    axes.set_ylabel(f"{quantity} [{unit}]" if unit else quantity)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.margins(x=0.01)
    axes.grid(visible=True, linewidth=0.3)
    if not trace.empty:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    if title:
        axes.set_title(title)
    return figure
