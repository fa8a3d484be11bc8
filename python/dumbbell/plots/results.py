"""Pictures of one run over time."""

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
from dumbbell.plots.capacity import Capacity, capacity_of
from dumbbell.plots.curves import held_to
from dumbbell.plots.naming import label_of
from dumbbell.plots.panel import Curve, Panel
from dumbbell.plots.picture import FORMATS, Picture
from dumbbell.plots.sheets import sheet_of
from dumbbell.plots.time_series import arriving
from dumbbell.scenario import Probe, Scenario

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# More curves in one panel cannot be told apart.
MOST_CURVES = 8
MOST_LINKS = 4

# Samples of a quantity that the run did not record, over the whole run.
SAMPLES = 1500
# Goodput needs more: a sample may count what has arrived since the one before.
DENSE = {"delivered": 6000}
# References that are farther above all curves than this factor are not drawn.
FARTHEST = 2.5
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


def run_picture(
    result: RunResults,
    quantity: str | None = None,
    names: Sequence[str] | None = None,
    style: str | None = None,
) -> Picture:
    """Return a run over time, or one probed quantity, as `dumbbell.Run.plot` describes it."""
    sheet_of(style)
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
        label = label_of(quantity) if quantity in known else quantity
        return Picture(panels=[_panel(result, quantity, trace, label, shown)], title=title, style=style)
    # A run in real time may have recorded only the window with its inflation, and cannot be repeated.
    is_inflated = "cwnd_base" not in result.traces and "cwnd" in result.traces and result.repeated([]) is None
    window = "cwnd" if is_inflated else "cwnd_base"
    found = _traces(result, [window, "backlog", "delivered", "drops"], flows, links)
    delivered = _panel(result, "goodput", found["delivered"], "goodput", "Mbit/s")
    goodput = {
        name: _rate(*curve, capacity_of(result.scenario, [name])) for name, curve in delivered.series.items()
    }
    capacity = capacity_of(result.scenario, flows)
    panels = [
        _with_references(
            _panel(result, "congestion window", found[window], "cwnd", "segments"), _held(capacity)
        ),
        _panel(result, "queue", found["backlog"], "backlog", "packets"),
        _with_references(replace(delivered, series=goodput, steps=False), _carried(capacity)),
        _panel(result, "losses", found["drops"], "packets dropped so far", None),
    ]
    return Picture(panels=[panel for panel in panels if panel.series], title=title, style=style)


def _held(capacity: Capacity | None) -> dict[str, float]:
    """Return what a path holds, in segments: without a queue, and with a full one."""
    if capacity is None:
        return {}
    bdp, buffer = capacity.bdp_segments, capacity.buffer_packets
    found = {f"BDP {bdp:.0f}": bdp}
    if math.isfinite(buffer) and buffer > 0.0:
        found[f"BDP + buffer {bdp + buffer:.0f}"] = bdp + buffer
    return found


def _carried(capacity: Capacity | None) -> dict[str, float]:
    """Return what a path carries, Mbit/s."""
    return {} if capacity is None else {f"link rate {capacity.rate_bps / 1e6:g}": capacity.rate_bps / 1e6}


def _with_references(panel: Panel, references: Mapping[str, float]) -> Panel:
    """Return a panel with references, unless they are far above all curves."""
    highest = max((float(np.nanmax(y, initial=0.0)) for _, y in panel.series.values()), default=0.0)
    return replace(
        panel, references={text: value for text, value in references.items() if value <= FARTHEST * highest}
    )


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
            sampled_s = float(result.summary.get("simulated_s", 0.0)) / DENSE.get(quantity, SAMPLES)
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


def _rate(time: np.ndarray, size: np.ndarray, capacity: Capacity | None) -> Curve:
    """Return the mean rate, Mbit/s, at which new data arrive, over windows of the same length: see `arriving`."""
    if len(time) < 2 or time[-1] <= time[0]:
        return time, np.zeros_like(size)
    edges = np.linspace(time[0], time[-1], min(GOODPUT_WINDOWS, len(time) - 1) + 1)
    middle = (edges[:-1] + edges[1:]) / 2.0
    most = math.inf if capacity is None else capacity.payload_bps
    return middle, arriving(time, size, edges, most) / 1e6
