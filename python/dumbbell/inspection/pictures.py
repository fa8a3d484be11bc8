"""Pictures of a connection of a capture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import refusal
from dumbbell.inspection.shown import Shown
from dumbbell.plots.naming import PROBES, label_of
from dumbbell.plots.panel import Curve, Panel
from dumbbell.plots.picture import FORMATS, Picture
from dumbbell.plots.sheets import sheet_of
from dumbbell.plots.time_series import arriving

if TYPE_CHECKING:
    from numpy.typing import NDArray


GOODPUT_WINDOWS = 50
"""Goodput is the mean over each of this many parts of the connection."""

FARTHEST = 2.5
"""The receive window is not drawn where it is more than this many times the data in flight, but for its smallest values."""

SMALLEST = 0.02
"""The share of these: the window of a SYN is not scaled."""


def picture(found: Shown, quantity: str | None, style: str | None) -> Picture:
    """Return a connection over time, or one quantity, as `dumbbell.inspection.Captured.plot` describes it."""
    sheet_of(style)
    title = f"{found.path.name}, connection {found.number}: {found.name}"
    if quantity is None:
        panels = [flight(found), rtt(found), goodput(found), _retransmissions(found)]
        return Picture(panels=[panel for panel in panels if panel.series], title=title, style=style)
    if quantity not in found.traces:
        accepted = ", ".join(found.traces)
        if str(quantity).lower().endswith(tuple(f".{ending}" for ending in FORMATS)):
            accepted = f'a quantity; plot().save("{quantity}") writes the picture to a file'
        raise refusal("quantity", quantity, accepted, names=list(found.traces))
    label = label_of(quantity) if quantity in PROBES else quantity.replace("_", " ")
    is_sample = quantity in ("rtt", "delivery_rate", "seq_sent")
    panel = _panel(
        quantity, {quantity: _curve(found, quantity)}, label, PROBES.get(quantity), steps=not is_sample
    )
    return Picture(panels=[panel], title=title, style=style)


def _curve(found: Shown, quantity: str) -> Curve:
    trace = found.traces[quantity]
    return trace["time_s"].to_numpy(dtype=float), trace["value"].to_numpy(dtype=float)


def _panel(title: str, series: dict[str, Curve], label: str, unit: str | None, *, steps: bool) -> Panel:
    shown = {name: curve for name, curve in series.items() if len(curve[0])}
    return Panel(
        title=title, x_label="time", x_unit="s", y_label=label, y_unit=unit, series=shown, steps=steps
    )


def flight(found: Shown) -> Panel:
    """Return the data in flight, and the receive window where it is near."""
    series = {"in flight": _curve(found, "flight_size")}
    window = _curve(found, "receive_window")
    highest = float(np.nanmax(series["in flight"][1], initial=0.0))
    if len(window[1]) and float(np.quantile(window[1], SMALLEST)) <= FARTHEST * highest:
        # What is far above the data in flight does not limit it.
        series["receive window"] = window[0], np.minimum(window[1], FARTHEST * highest)
    return _panel("data in flight", series, "data in flight", "segments", steps=True)


def rtt(found: Shown) -> Panel:
    """Return round-trip times."""
    time, value = _curve(found, "rtt")
    return _panel("round-trip time", {"RTT": (time, value * 1e3)}, "RTT", "ms", steps=False)


def goodput(found: Shown) -> Panel:
    """Return the rate of data that arrives, also behind a hole."""
    time = found.acks["time_s"].to_numpy(dtype=float)
    delivered = found.acks["delivered"].to_numpy(dtype=float)
    return _panel("goodput", {"goodput": _rate(time, delivered)}, "goodput", "Mbit/s", steps=False)


def _rate(time: NDArray[np.float64], delivered: NDArray[np.float64]) -> Curve:
    """Return the mean rate of delivered data, Mbit/s, over parts of the same length."""
    if len(time) < 2 or time[-1] <= time[0]:
        return np.array([]), np.array([])
    edges = np.linspace(time[0], time[-1], min(GOODPUT_WINDOWS, len(time) - 1) + 1)
    return (edges[:-1] + edges[1:]) / 2.0, arriving(time, delivered, edges, np.inf) / 1e6


def retransmitted(found: Shown) -> Panel:
    """Return the number of retransmissions so far, of all kinds."""
    series = {"retransmitted": _curve(found, "retransmissions")}
    return _panel("retransmissions", series, "retransmissions so far", None, steps=True)


def _retransmissions(found: Shown) -> Panel:
    """Return the number of retransmissions so far, by kind."""
    segments = found.segments
    series: dict[str, Curve] = {}
    for kind in ("fast", "probe", "timeout", "other"):
        times = segments["time_s"][segments["kind"] == kind].to_numpy(dtype=float)
        if len(times):
            ends = np.array([float(segments["time_s"].iloc[0]), float(segments["time_s"].iloc[-1])])
            count = np.arange(1.0, len(times) + 1.0)
            series[kind] = (
                np.concatenate([ends[:1], times, ends[1:]]),
                np.concatenate([[0.0], count, count[-1:]]),
            )
    return _panel("retransmissions", series, "retransmissions so far", None, steps=True)
