"""How runs, scenarios and topologies show themselves in a notebook."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.errors import ScenarioError
from dumbbell.plots.asked import ManyResults
from dumbbell.plots.grammar import runs_picture
from dumbbell.plots.look import to_svg
from dumbbell.plots.results import RunResults, run_picture
from dumbbell.plots.table import readable
from dumbbell.printable import printable

if TYPE_CHECKING:
    import pandas as pd

    from dumbbell.plots.picture import Picture
    from dumbbell.scenario import Scenario
    from dumbbell.topologies.network import Topology

# A notebook shows a result without being asked to; a run with more events is not repeated for its picture.
MOST_EVENTS = 3_000_000
MOST_ROWS = 20

FLOWS = (
    "name",
    "goodput_bps",
    "bytes_delivered",
    "segments_retransmitted",
    "timeouts",
    "completion_s",
    "rtt_mean_s",
)
LINKS = (
    "name",
    "utilization",
    "packets",
    "drops_queue",
    "drops_early",
    "drops_impairment",
    "marks",
    "wait_mean_s",
)


def run_html(result: RunResults, link: str = "") -> str:
    """Return a run: its picture, flows and links, and a link that repeats it in the lab, if there is one."""
    events = result.summary.get("events")
    recorded = any("value" in table.column_names for table in result.arrow_traces.values())
    picture = ""
    if recorded or (events is not None and events <= MOST_EVENTS):
        try:
            picture = _image(run_picture(result))
        except ScenarioError as error:
            picture = f"<p>{_text(str(error))}</p>"
    else:
        picture = f"<p>{events} events: <code>plot()</code> repeats the run to draw it.</p>"
    head = f"{result.scenario.name or 'unnamed scenario'}: seed {result.seed}, run {result.run}"
    lab = (
        f'<p><a href="{html.escape(link)}" target="_blank" rel="noopener">Open in the lab</a></p>'
        if link
        else ""
    )
    return _block(head, picture, lab, _table(result.flows, FLOWS), _table(result.links, LINKS))


def runs_html(runs: ManyResults) -> str:
    """Return many runs: their picture, and the means of each point."""
    if not len(runs):
        return _block(repr(runs))
    varied = [name for name in runs.parameters.columns if name not in ("seed", "run")]
    means = runs.flows.groupby([*varied, "name"], sort=False, dropna=False)
    shown = [name for name in FLOWS if name != "name"]
    try:
        image = _image(runs_picture(runs))
    except ScenarioError as error:
        # More may vary than a figure shows without being asked.
        image = f"<p>{_text(str(error))}</p>"
    return _block(
        f"{len(runs)} of {len(runs.jobs)} runs: means",
        image,
        _table(means[shown].mean().reset_index(), (*varied, *FLOWS)),
    )


def scenario_html(scenario: Scenario) -> str:
    """Return a scenario: a drawing of its network, and its flows."""
    import pandas as pd

    flows = [
        {
            "flow": flow["name"],
            "from": flow["from"],
            "to": flow["to"],
            "tcp": _short(flow.get("tcp") or flow.get("transport")),
            "source": _short(flow.get("source")),
            "start": _short(flow.get("start")),
        }
        for flow in scenario.to_dict()["flows"]
    ]
    head = f"{scenario.name or 'unnamed scenario'}: {scenario.duration}"
    return _block(head, topology_html(scenario), _table(pd.DataFrame(flows), tuple(flows[0])))


def topology_html(network: Topology | Scenario) -> str:
    """Return the drawing of a network."""
    from dumbbell.topologies.drawing import draw

    # The drawing shrinks with the page instead of being cut.
    return to_svg(draw(network)).replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)


def _short(value: Any) -> str:
    """Return the name of a part of a scenario."""
    if isinstance(value, dict):
        for key in ("variant", "kind", "congestion"):
            if key in value:
                return _short(value[key]) if key == "congestion" else str(value[key])
        if "name" in value:
            return str(value["name"])
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else str(value)


def _block(head: str, *parts: str) -> str:
    return f"<div><p><b>{_text(head)}</b></p>{''.join(parts)}</div>"


def _text(text: str) -> str:
    return html.escape(printable(text))


def _image(picture: Picture) -> str:
    data = base64.b64encode(picture._repr_png_()).decode()
    text = html.escape(picture.title)
    return f'<img alt="{text}" style="max-width:100%" src="data:image/png;base64,{data}">'


def _table(frame: pd.DataFrame, columns: Sequence[str]) -> str:
    """Return some columns of a frame for people, without those that are empty."""
    chosen = frame[[name for name in columns if name in frame.columns]].dropna(axis="columns", how="all")
    rest = f"<p>and {len(chosen) - MOST_ROWS} more rows</p>" if len(chosen) > MOST_ROWS else ""
    table: str = readable(chosen.head(MOST_ROWS)).to_html(index=False, border=0)
    return f'<div style="overflow-x:auto">{table}</div>{rest}'
