"""Probed quantities over time: means over runs with pointwise intervals, and goodput from what was delivered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.errors import refusal
from dumbbell.plots.asked import Asked, ManyResults, completed
from dumbbell.plots.capacity import capacity_of
from dumbbell.plots.curves import held_to
from dumbbell.plots.drawing import Drawing, selected, unknown
from dumbbell.plots.estimates import Tally, estimate
from dumbbell.plots.naming import label_of, quantity_of
from dumbbell.plots.panel import Curve, Panel
from dumbbell.plots.picture import Picture
from dumbbell.traces import StepFunction

# Times at which runs are averaged.
TIMES = 241
# Goodput is the mean over each of this many parts of a run.
BINS = 60
GOODPUT = "goodput"


def time_series(runs: ManyResults, asked: Asked) -> Picture:
    """Return a probed quantity over time, as `dumbbell.Runs.plot` describes it.

    Raises
    ------
    ScenarioError
        The quantity was not recorded.
    """
    recorded = [name for name, trace in runs.traces.items() if "value" in trace.columns]
    known = [*recorded, *([GOODPUT] if "delivered" in recorded else [])]
    if not known:
        accepted = "runs with probes, of run_many or of a sweep without a store, which keeps no traces"
        raise refusal("kind", "timeseries", accepted, problem="needs traces, and none was recorded")
    quantity = asked.y or known[0]
    if quantity not in known:
        accepted = f"{', '.join(known)}; Probe(quantities=[...]) records others, and delivered gives goodput"
        raise refusal("y", quantity, accepted, names=known, problem="was not recorded")
    frame = selected(runs.traces["delivered" if quantity == GOODPUT else quantity], asked)
    asked = completed(asked, runs, frame)
    for role, column in asked.columns.items():
        if role != "y" and column not in frame.columns:
            raise unknown(role, column, runs)
    if quantity == GOODPUT:
        frame = frame.rename(columns={"value": GOODPUT})
    drawing = Drawing(
        runs=runs, asked=asked, frame=frame, column=quantity if quantity == GOODPUT else "value"
    )
    drawing.check_labels()
    return _drawn(drawing, quantity)


def _drawn(drawing: Drawing, quantity: str) -> Picture:
    asked, ends = drawing.asked, drawing.runs.flows.groupby("job")["simulated_s"].max()
    end, tally = float(ends.min()), Tally()
    given, limits = asked.labels or {}, _limits(drawing.runs)
    label = given.get(quantity, label_of(quantity))
    found = []
    for title, part in drawing.facets():
        curves = {
            name: _mean(rows, drawing.column, end, tally, quantity, limits)
            for name, rows in drawing.groups(part)
        }
        found.append((title, curves))
    largest = max(
        (np.nanmax(np.abs(y[0][1]), initial=0.0) for _, curves in found for y in curves.values()), default=0.0
    )
    shown = quantity_of(quantity, float(largest))
    factor = shown.scale
    panels = [
        Panel(
            title=title, x_label="time", x_unit="s", y_label=label, y_unit=shown.unit or None,
            series={name: (x, y * factor) for name, ((x, y), _) in curves.items()},
            intervals={
                name: (low * factor, high * factor)
                for name, (_, (low, high)) in curves.items()
                if np.isfinite(low).any()
            },
            steps=set(tally.counts) <= {1} and quantity != GOODPUT, looks=drawing.looks,
            log_y=drawing.is_logarithmic("y", [v for (x, y), _ in curves.values() for v in y[np.isfinite(y)]]),
        )
        for title, curves in found
    ]  # fmt: skip
    note = tally.note("bands", "mean at each time")
    picture = drawing.picture(panels, note)
    return replace(picture, title=f"{label} over time")


def _limits(runs: ManyResults) -> Callable[[int, str], float]:
    """Return what the bottleneck of a flow of a job carries of its payload, bit/s."""

    @cache
    def limit(job: int, name: str) -> float:
        found = capacity_of(runs.jobs[job].scenario, [name])
        return np.inf if found is None else found.payload_bps

    return limit


def _mean(
    rows: pd.DataFrame,
    column: str,
    end: float,
    tally: Tally,
    quantity: str,
    limits: Callable[[int, str], float],
) -> tuple[Curve, Curve]:
    """Return the mean over runs at some times with its interval; of a single trace, all of it."""
    from dumbbell.judge.quantity import Quantity

    of_column = Quantity(column=column, label=quantity)
    grouped: Any = rows.groupby(["job", "name"], sort=False)
    traces: dict[tuple[int, str], Curve] = {
        (int(job), str(name)): (some["time_s"].to_numpy(dtype=float), some[column].to_numpy(dtype=float))
        for (job, name), some in grouped
    }
    edges = np.linspace(0.0, end, BINS + 1)
    if quantity == GOODPUT:
        times = (edges[:-1] + edges[1:]) / 2.0
        values = {key: arriving(*trace, edges, limits(*key)) for key, trace in traces.items()}
    elif len(traces) == 1:
        tally.add(estimate([0.0], of_column))
        x, y = held_to(end, *next(iter(traces.values())))
        nothing = np.full(len(x), np.nan)
        return (x, y), (nothing, nothing)
    else:
        times = np.linspace(0.0, end, TIMES)
        values = {key: StepFunction(*trace).at(times) for key, trace in traces.items()}
    jobs = dict.fromkeys(job for job, _ in values)
    # One value for each run: the mean over its flows or links.
    samples = np.array([np.mean([v for (of, _), v in values.items() if of == job], axis=0) for job in jobs])
    # Before the first record of one run there is no mean.
    found = [estimate(sample, of_column) for sample in samples.T]
    for one in found:
        if one.is_measured:
            tally.add(one)
    table = np.array([(one.mean, one.low, one.high) for one in found]).reshape(-1, 3)
    return (times, table[:, 0]), (table[:, 1], table[:, 2])


def arriving(time: np.ndarray, size: np.ndarray, edges: np.ndarray, most_bps: float = np.inf) -> np.ndarray:
    """Return the rate, bit/s, at which new data arrive, from how much was delivered in order so far.

    What is delivered at once when a hole closes has arrived before. It is spread evenly over the time since the last
    delivery, and from there back over as much time as the bottleneck needs for it: the latest arrivals that are possible.
    A bin then never has more than the link carries, and the sum is what was delivered. RFC 2647 §3.17 defines goodput by
    what is forwarded to its destination, and not by when an application can read it.

    Parameters
    ----------
    time : ndarray, shape (n,)
        Times of the records, s, ascending.
    size : ndarray, shape (n,)
        Bytes delivered in order until then.
    edges : ndarray, shape (k + 1,)
        Ends of the bins, s.
    most_bps : float
        What the bottleneck carries of the payload, bit/s, if it is known.

    Returns
    -------
    ndarray, shape (k,)
        Mean rate of each bin, bit/s.
    """
    if not len(time):
        return np.zeros(len(edges) - 1)
    is_new = np.concatenate([[True], np.diff(size) > 0.0])
    times, sizes = time[is_new], size[is_new]
    # The first bytes arrive when they are delivered.
    reached = np.interp(edges, times, sizes, left=0.0)
    if np.isfinite(most_bps):
        # Of every later delivery, the part that the bottleneck cannot have carried since.
        rate = most_bps / 8.0
        ahead = np.append(np.maximum.accumulate((sizes - rate * times)[::-1])[::-1], -np.inf)
        reached = np.maximum(reached, rate * edges + ahead[np.searchsorted(times, edges)])
    rates: np.ndarray = np.diff(reached) * 8.0 / np.diff(edges)
    return rates
