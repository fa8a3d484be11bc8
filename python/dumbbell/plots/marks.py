"""Panels of each kind of figure: what is computed from the rows of runs before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.plots.drawing import Drawing, matching
from dumbbell.plots.estimates import Tally, by_run, counted, estimate
from dumbbell.plots.naming import quantity_of
from dumbbell.plots.panel import Curve, Panel

Built = tuple[list[Panel], str]


def means(drawing: Drawing) -> Built:
    """Return panels of means with their intervals: points on an axis of numbers or beside each other, or bars."""
    asked, quantity, is_bar = drawing.asked, drawing.quantity, drawing.asked.of_kind == "bar"
    x = str(asked.x)
    axis, tally = drawing.axis(x), Tally()
    is_numeric = axis.is_numeric and not is_bar
    places = {value: float(rank) for rank, value in enumerate(axis.ordered)} if is_bar else dict(axis.places)
    panels = []
    for title, part in drawing.facets():
        series: dict[str, Curve] = {}
        intervals: dict[str, Curve] = {}
        for label, rows in drawing.groups(part):
            points = []
            for value, some in by_run(rows, [x], drawing.column).groupby(x, sort=False, dropna=False):
                found = tally.add(estimate(some[drawing.column], quantity))
                points.append((places[_key(value, places)], found.mean, found.low, found.high))
            table = np.array(sorted(points), dtype=float).reshape(-1, 4)
            series[label] = (table[:, 0], table[:, 1])
            if np.isfinite(table[:, 2]).any():
                intervals[label] = (table[:, 2], table[:, 3])
        panels.append(
            Panel(
                title=title, x_label=drawing.labels[x], x_unit=axis.unit, y_label=drawing.label,
                y_unit=quantity.unit or None, series=series, intervals=intervals, looks=drawing.looks,
                ticks=() if is_numeric else _ticks(drawing, x), mark="bar" if is_bar else "means",
                log_x=drawing.is_logarithmic("x", list(places.values()), is_numeric=is_numeric),
                log_y=drawing.is_logarithmic("y", _all(series)),
            )
        )  # fmt: skip
    _need_points(panels, drawing)
    return panels, tally.note("bars" if not is_numeric else "bands")


def scatter(drawing: Drawing) -> Built:
    """Return panels with a point for each run and flow or link."""
    asked, quantity, x = drawing.asked, drawing.quantity, str(drawing.asked.x)
    is_result = x not in drawing.runs.parameters.columns and pd.api.types.is_float_dtype(drawing.frame[x])
    if is_result:
        across = quantity_of(x, float(drawing.frame[x].abs().max()))
        label, unit, ticks = drawing.labels[x], across.unit or None, []
    else:
        axis = drawing.axis(x)
        label, unit, ticks = drawing.labels[x], axis.unit, axis.ticks
    panels, count = [], 0
    for title, part in drawing.facets():
        series: dict[str, Curve] = {}
        for name, rows in drawing.groups(part):
            known = rows[rows[x].notna() & rows[drawing.column].notna()]
            where = known[x] * across.scale if is_result else known[x].map(drawing.axis(x).places)
            series[name] = (
                where.to_numpy(dtype=float),
                known[drawing.column].to_numpy(dtype=float) * quantity.scale,
            )
            count += len(known)
        log_x = drawing.is_logarithmic(
            "x", [float(v) for xs, _ in series.values() for v in xs], is_numeric=not ticks
        )
        panels.append(
            Panel(
                title=title, x_label=label, x_unit=unit, y_label=drawing.label, y_unit=quantity.unit or None,
                series=series, ticks=ticks, mark="scatter", looks=drawing.looks,
                log_x=log_x and (asked.logx is True or not is_result),
                log_y=drawing.is_logarithmic("y", _all(series)),
            )
        )  # fmt: skip
    _need_points(panels, drawing)
    return panels, f"One point per run and {_kind(drawing)}: {counted([count], 'point')}."


def cdf(drawing: Drawing) -> Built:
    """Return panels with the cumulative distribution of values: of runs and flows, single transfers, or packets."""
    quantity, counts, missing = drawing.quantity, [], 0
    panels = []
    for title, part in drawing.facets():
        series: dict[str, Curve] = {}
        for label, rows in drawing.groups(part):
            values = np.sort(rows[drawing.column].dropna().to_numpy(dtype=float)) * quantity.scale
            missing += len(rows) - len(values)
            if len(values):
                counts.append(len(values))
                shares = np.arange(len(values) + 1) / len(values)
                series[label] = (np.concatenate([values[:1], values]), shares)
        panels.append(
            Panel(
                title=title, x_label=drawing.label, x_unit=quantity.unit or None, y_label="cumulative share",
                series=series, mark="cdf", looks=drawing.looks,
                log_x=drawing.asked.logx is True and drawing.is_logarithmic("x", [x[0] for x, _ in series.values()]),
            )
        )  # fmt: skip
    note = (
        f"Share of values at most as large; {counted(counts, 'value')} per curve, one per {_each(drawing)}."
    )
    return panels, note + (
        f" {counted([missing], _each(drawing).split()[-1])} without a value left out." if missing else ""
    )


def box(drawing: Drawing) -> Built:
    """Return panels with quartiles of the values of runs and flows or links."""
    quantity, x, counts = drawing.quantity, str(drawing.asked.x), []
    axis = drawing.axis(x)
    panels = []
    for title, part in drawing.facets():
        series: dict[str, Curve] = {}
        samples: dict[str, list[Any]] = {}
        for label, rows in drawing.groups(part):
            found = [rows[matching(rows[x], value)][drawing.column].dropna() for value in axis.ordered]
            values = [some.to_numpy(dtype=float) * quantity.scale for some in found]
            counts += [len(some) for some in values if len(some)]
            medians = np.array([np.median(some) if len(some) else np.nan for some in values])
            samples[label] = values
            series[label] = (np.arange(len(values), dtype=float), medians)
        panels.append(
            Panel(
                title=title, x_label=drawing.labels[x], x_unit=axis.unit, y_label=drawing.label,
                y_unit=quantity.unit or None, series=series, samples=samples, looks=drawing.looks,
                ticks=_ticks(drawing, x), mark="box",
                log_y=drawing.is_logarithmic("y", [v for parts in samples.values() for some in parts for v in some]),
            )
        )  # fmt: skip
    return panels, (
        f"Boxes: median and quartiles of {counted(counts, 'value')}, one per run and {_kind(drawing)}; whiskers: "
        "the farthest values within 1.5 interquartile ranges; points: values beyond."
    )


def heat(drawing: Drawing) -> Built:
    """Return panels with a coloured cell for each pair of values: means over the runs."""
    quantity, tally = drawing.quantity, Tally()
    x, y = str(drawing.asked.x), str(drawing.asked.y)
    across, up = drawing.axis(x), drawing.axis(y)
    found = []
    for title, part in drawing.facets():
        means = by_run(part, [x, y], drawing.column)
        cells = {
            (_key(at, across.places), _key(above, up.places)): tally.add(
                estimate(some[drawing.column], quantity)
            ).mean
            for (at, above), some in means.groupby([x, y], sort=False, dropna=False)
        }
        found.append((title, cells))
    known = [value for _, cells in found for value in cells.values() if np.isfinite(value)]
    if not known:
        raise _nothing(drawing)
    panels = [
        Panel(
            title=title, x_label=drawing.labels[x], x_unit=across.unit, y_label=drawing.labels[y], y_unit=up.unit,
            series={
                name: (
                    np.arange(len(across.places), dtype=float),
                    np.array([cells.get((value, above), np.nan) for value in across.ordered]),
                )
                for above, name in zip(up.ordered, _ticks(drawing, y), strict=True)
            },
            ticks=_ticks(drawing, x), mark="heat", z_label=drawing.label, z_unit=quantity.unit or None,
            z_range=(min(known), max(known)),
        )
        for title, cells in found
    ]  # fmt: skip
    return panels, tally.note("")


BUILDERS: Mapping[str, Callable[[Drawing], Built]] = {
    "line": means,
    "bar": means,
    "scatter": scatter,
    "cdf": cdf,
    "box": box,
    "heat": heat,
}
"""Functions that make the panels of each kind of figure, and its note."""


def _ticks(drawing: Drawing, column: str) -> list[str]:
    """Return names of the values of a column in their order; of quantities, the numbers."""
    axis = drawing.axis(column)
    if axis.is_numeric:
        return [f"{axis.places[value]:g}" for value in axis.ordered]
    return axis.ticks


def _key(value: Any, places: Mapping[Any, float]) -> Any:
    """Return the key of a value; a missing one does not equal itself."""
    if value in places:
        return value
    return next(key for key in places if pd.isna(key))


def _kind(drawing: Drawing) -> str:
    return "link" if "utilization" in drawing.frame.columns else "flow"


def _each(drawing: Drawing) -> str:
    """Return what has one value."""
    if drawing.column.startswith("transfers."):
        return "transfer"
    return "packet" if drawing.column in ("rtt", "wait") else f"run and {_kind(drawing)}"


def _all(series: Mapping[str, tuple[Any, Any]]) -> list[float]:
    return [float(value) for _, y in series.values() for value in y if np.isfinite(value)]


def _need_points(panels: list[Panel], drawing: Drawing) -> None:
    if not any(_all(panel.series) for panel in panels):
        raise _nothing(drawing)


def _nothing(drawing: Drawing) -> Exception:
    from dumbbell.errors import refusal

    accepted = "a column with a value in every run and flow; `names` and `where` choose some"
    return refusal("y", drawing.column, accepted, problem="is missing in some run at every point")
