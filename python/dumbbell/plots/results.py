"""Pictures of results: of one run over time, and of many runs against what varies between them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dumbbell.engine import catalogue
from dumbbell.errors import ScenarioError, refusal
from dumbbell.identified import Identified
from dumbbell.plots.curves import held_to
from dumbbell.plots.panel import Curve, Panel
from dumbbell.plots.picture import FORMATS, Picture
from dumbbell.quantities import bits_per_second, nanoseconds, size_bytes
from dumbbell.scenario import Probe, Scenario

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# More curves in one panel cannot be told apart.
MOST_CURVES = 8
MOST_LINKS = 4

# Samples of a quantity that the run did not record, over the whole run.
SAMPLES = 1500
# Goodput is the mean over each of this many windows of a run.
GOODPUT_WINDOWS = 50

# Quantities whose records are events, which are no curves.
EVENTS = ("tcp_events", "transfers")

UNIT = re.compile(r"\b[Ii]n (segments|seconds|bytes|bit/s|s|1/segments)\b")


class RunResults(Identified, Protocol):
    """What a picture needs of a run: see `dumbbell.runs.RunTables`."""

    @property
    def arrow_traces(self) -> Mapping[str, pa.Table]:
        """Traces by quantity."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The run as one plain object."""

    @property
    def flows(self) -> pd.DataFrame:
        """One row per flow."""

    @property
    def links(self) -> pd.DataFrame:
        """One row per link."""

    @property
    def traces(self) -> Mapping[str, pd.DataFrame]:
        """One frame per quantity."""

    def repeated(self, probes: Sequence[Probe]) -> Mapping[str, pd.DataFrame] | None:
        """Return traces of the same run with other probes; ``None`` if it cannot be repeated."""


class ManyResults(Protocol):
    """What a picture needs of many runs: see `dumbbell.Runs`."""

    @property
    def flows(self) -> pd.DataFrame:
        """One row per flow of each run."""

    @property
    def links(self) -> pd.DataFrame:
        """One row per link of each run."""

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per run, with what varies."""

    @property
    def jobs(self) -> Sequence[object]:
        """What was to be run."""

    def __len__(self) -> int: ...


def run_picture(
    result: RunResults, quantity: str | None = None, names: Sequence[str] | None = None
) -> Picture:
    """Return a run over time, or one probed quantity, as `dumbbell.Run.plot` describes it."""
    flows, links = _chosen(result, names)
    head = result.scenario.name or "unnamed scenario"
    title = f"{head}, seed {result.seed}, run {result.run}"
    if quantity is not None:
        known = {entry["name"]: entry["summary"] for entry in catalogue()["probes"]}
        own = [name for name in result.arrow_traces if name not in known]
        if quantity in own:
            trace = _recorded(result, quantity, flows, names)
        elif quantity in known and quantity not in EVENTS:
            trace = _traces(result, [quantity], flows, links)[quantity]
        else:
            curves = [*(name for name in known if name not in EVENTS), *own]
            accepted = ", ".join(curves)
            if str(quantity).lower().endswith(tuple(f".{ending}" for ending in FORMATS)):
                accepted = f'a probed quantity; run.plot().save("{quantity}") writes the picture to a file'
            raise refusal("quantity", quantity, accepted, names=curves)
        unit = UNIT.search(known.get(quantity, ""))
        shown = {"seconds": "s"}.get(unit[1], unit[1]) if unit else None
        return Picture(panels=[_panel(result, quantity, trace, quantity, shown)], title=title)
    wanted = ["cwnd", "backlog", "delivered", "drops"]
    found = _traces(result, wanted, flows, links)
    delivered = _panel(result, "goodput", found["delivered"], "goodput", "Mbit/s")
    goodput = {name: _rate(*curve) for name, curve in delivered.series.items()}
    panels = [
        _panel(result, "congestion window", found["cwnd"], "cwnd", "segments"),
        _panel(result, "queue", found["backlog"], "backlog", "packets"),
        replace(delivered, series=goodput, steps=False),
        _panel(result, "losses", found["drops"], "packets dropped so far", None),
    ]
    return Picture(panels=[panel for panel in panels if panel.series], title=title)


def _chosen(result: RunResults, names: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Return the flows and the links of a picture."""
    flows, links = result.flows, result.links
    if names is not None:
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise refusal("names", names, "a list of names of flows and links")
        known = [*flows["name"], *links["name"]]
        for name in names:
            if name not in known:
                raise refusal("names", name, ", ".join(known), names=known)
        return [n for n in flows["name"] if n in names], [n for n in links["name"] if n in names]
    best = flows.sort_values("goodput_bps", ascending=False, kind="stable")["name"].head(MOST_CURVES)
    lost = links[[column for column in links.columns if column.startswith("drops_")]].sum(axis="columns")
    queueing = links.assign(lost=lost).sort_values(
        ["lost", "backlog_mean_packets"], ascending=False, kind="stable"
    )
    busy = queueing[(queueing["lost"] > 0) | (queueing["backlog_max_packets"] > 0)]["name"].head(MOST_LINKS)
    chosen = set(busy) or set(queueing["name"].head(1))
    return [n for n in flows["name"] if n in set(best)], [n for n in links["name"] if n in chosen]


def _recorded(
    result: RunResults, quantity: str, flows: Sequence[str], names: Sequence[str] | None
) -> pd.DataFrame:
    """Return the trace of a quantity that a control of the user's exposes, which only some flows have."""
    trace = result.traces[quantity]
    recorded = list(dict.fromkeys(trace["name"]))
    shown = [name for name in recorded if name in flows]
    if not shown and names is not None:
        accepted = ", ".join(recorded)
        raise refusal("names", ", ".join(names), accepted, problem=f"did not record {quantity}")
    # The flows with the highest goodput may be others.
    return trace[trace["name"].isin(shown or recorded[:MOST_CURVES])]


def _traces(
    result: RunResults, wanted: Sequence[str], flows: Sequence[str], links: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Return traces of the run by quantity; what was not recorded for a flow or link is sampled in the same run again."""
    of_links = {"backlog", "drops", "wait", "marks", "losses"}
    found: dict[str, pd.DataFrame] = {}
    missing: list[str] = []
    probes: list[Probe] = []
    for quantity in wanted:
        names = links if quantity in of_links else flows
        recorded = result.traces.get(quantity)
        if recorded is not None and set(names) <= set(recorded["name"]):
            found[quantity] = recorded[recorded["name"].isin(names)]
        else:
            missing.append(quantity)
            # An event per packet has no samples.
            sampled_s = float(result.summary.get("simulated_s", 0.0)) / SAMPLES
            period = None if quantity in ("wait", "losses") else f"{max(1000, int(sampled_s * 1e9))} ns"
            kind = "links" if quantity in of_links else "flows"
            probes += _accepted(result.scenario, quantity, kind, names, period)
    if missing:
        again = result.repeated(probes)
        # A run in real time shows what it recorded.
        found |= (
            {name: result.traces[name] for name in missing if name in result.traces}
            if again is None
            else again
        )
    if not found:
        raise refusal(
            "quantity", ", ".join(wanted), "what a flow or link of this run has", problem="was not recorded"
        )
    import pandas as pd

    nothing = pd.DataFrame({"time_s": [], "name": [], "value": []})
    return {quantity: found.get(quantity, nothing) for quantity in wanted}


def _accepted(
    scenario: Scenario, quantity: str, kind: str, names: Sequence[str], period: str | None
) -> list[Probe]:
    """Return probes of a quantity for the flows or links that have it: a source of datagrams has no window."""
    accepted = []
    for name in names:
        probe = Probe(quantities=[quantity], period=period, **{kind: [name]})
        try:
            replace(scenario, probes=[probe])
        except ScenarioError:
            continue
        accepted.append(probe)
    return accepted


def _panel(result: RunResults, title: str, trace: pd.DataFrame, label: str, unit: str | None) -> Panel:
    """Return a panel of a trace, whose last values hold to the end of the run."""
    end = float(result.summary.get("simulated_s", trace["time_s"].max()))
    series: dict[str, Curve] = {}
    for name, rows in trace.groupby("name", sort=False):
        time, value = rows["time_s"].to_numpy(dtype=float), rows["value"].to_numpy(dtype=float)
        series[str(name)] = held_to(end, time, value)
    if len(series) == 1:
        # A single curve has no legend.
        title = f"{title}: {next(iter(series))}"
    return Panel(
        title=title, x_label="time", x_unit="s", y_label=label, y_unit=unit, series=series, steps=True
    )


def _rate(time: np.ndarray, size: np.ndarray) -> Curve:
    """Return the mean rate, Mbit/s, of bytes delivered so far, over windows of the same length."""
    if len(time) < 2 or time[-1] <= time[0]:
        return time, np.zeros_like(size)
    edges = np.linspace(time[0], time[-1], min(GOODPUT_WINDOWS, len(time) - 1) + 1)
    reached = size[np.searchsorted(time, edges, side="right") - 1]
    middle = (edges[:-1] + edges[1:]) / 2.0
    return middle, np.diff(reached) * 8e-6 / np.diff(edges)


def runs_picture(
    runs: ManyResults,
    x: str | None = None,
    y: str | None = None,
    hue: str | None = None,
    names: Sequence[str] | None = None,
) -> Picture:
    """Return the mean of a column of results against a parameter over many runs, as `dumbbell.Runs.plot` describes it."""
    y = "goodput_bps" if y is None else y
    varied = [name for name in runs.parameters.columns if name not in ("seed", "run")]
    x = x if x is not None else (varied[0] if varied else "name")
    frame = runs.flows if y in runs.flows.columns else runs.links
    if hue is None:
        spare = [name for name in [*varied, "name"] if name != x and len(set(frame[name])) > 1]
        hue = spare[0] if spare else None
    frame = _shown(runs, frame, {"x": x, "y": y, "hue": hue}, names)
    label, unit, places, ticks = _axis(x, list(dict.fromkeys(frame[x])))
    scale, y_unit = _scaled(y, frame[y])
    by = ["job", x] if hue is None else ["job", x, hue]
    per_run = frame.groupby(by, sort=False, dropna=False)[y].mean().mul(scale).reset_index()
    groups: list[tuple[Any, Any]] = [(y, per_run)]
    if hue is not None:
        groups = list(per_run.groupby(hue, sort=False, dropna=False))
    found = {str(group): _estimates(rows, x, y, places) for group, rows in groups}
    panel = Panel(
        title=f"{y} by {x}" + ("" if hue is None else f" and {hue}"),
        x_label=label, x_unit=unit, y_label=y.removesuffix("_bps").removesuffix("_s"), y_unit=y_unit,
        series={name: (table[:, 0], table[:, 1]) for name, table in found.items()},
        intervals={name: (table[:, 2], table[:, 3]) for name, table in found.items()}, ticks=ticks,
    )  # fmt: skip
    return Picture(panels=[panel], title=f"{len(runs)} runs, means with 95 % intervals")


def _shown(
    runs: ManyResults, frame: pd.DataFrame, chosen: Mapping[str, str | None], names: Sequence[str] | None
) -> pd.DataFrame:
    """Return the rows of the flows or links that count; refuse columns and names that are not there."""
    from pandas.api.types import is_numeric_dtype

    columns = list(dict.fromkeys([*frame.columns, *runs.flows.columns, *runs.links.columns]))
    for field, name in chosen.items():
        if name is not None and name not in frame.columns:
            raise refusal(field, name, ", ".join(columns), names=columns, problem="is no column")
    if not is_numeric_dtype(frame[chosen["y"]]):
        raise refusal("y", chosen["y"], "a column of numbers")
    if names is not None:
        wanted = [names] if isinstance(names, str) else names
        known = list(dict.fromkeys(frame["name"]))
        for name in wanted:
            if name not in known:
                raise refusal("names", name, ", ".join(map(str, known)), names=map(str, known))
        frame = frame[frame["name"].isin(wanted)]
    if frame.empty:
        raise refusal("runs", "no run", "at least one completed run", quoted=False)
    return frame


def _estimates(rows: pd.DataFrame, x: str, y: str, places: Mapping[Any, float]) -> np.ndarray:
    """Return place, mean, low and high for each value of the axis; no interval for one run."""
    from dumbbell.statistics import mean_interval

    found: list[tuple[float, float, float, float]] = []
    for value, some in rows.groupby(x, sort=False, dropna=False):
        sample = some[y].dropna().to_numpy(dtype=float)
        if len(sample) > 1:
            interval = mean_interval(sample)
            found.append((places[value], interval.estimate, interval.low, interval.high))
        elif len(sample):
            found.append((places[value], float(sample[0]), np.nan, np.nan))
    return np.array(sorted(found), dtype=float).reshape(-1, 4)


def _axis(name: str, values: Sequence[Any]) -> tuple[str, str | None, Mapping[Any, float], Sequence[str]]:
    """Return the label and the unit of an axis, the place of each value on it, and names for places without numbers."""
    if all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values):
        return name, None, {value: float(value) for value in values}, ()
    texts = [str(value) for value in values]
    split = [text.split() for text in texts]
    units = {part[1] for part in split if len(part) == 2}
    if len(units) == 1 and all(len(part) == 2 and _is_number(part[0]) for part in split):
        return name, units.pop(), {v: float(p[0]) for v, p in zip(values, split, strict=True)}, ()
    for read, unit, size in (
        (bits_per_second, "Mbit/s", 1e6),
        (nanoseconds, "ms", 1e6),
        (size_bytes, "kB", 1e3),
    ):
        try:
            return (
                name,
                unit,
                {value: read(text, name) / size for value, text in zip(values, texts, strict=True)},
                (),
            )
        except ScenarioError:
            continue
    return name, None, {value: float(place) for place, value in enumerate(values)}, texts


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _scaled(column: str, values: pd.Series[Any]) -> tuple[float, str | None]:
    """Return the factor to the unit of a column of results that suits a reader, and the unit."""
    if column.endswith("_bps"):
        return (1e-6, "Mbit/s") if values.max() >= 1e6 else (1e-3, "kbit/s")
    if column.endswith("_s"):
        return (1e3, "ms") if values.max() < 1.0 else (1.0, "s")
    return 1.0, {"bytes_delivered": "bytes"}.get(column, "packets" if column.endswith("_packets") else None)
