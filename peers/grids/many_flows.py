"""From two to a hundred equal flows on one bottleneck, from random start times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dumbbell import plots, report
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, measures
from dumbbell.crossvalidation.figures import ratio_figure
from dumbbell.crossvalidation.tables import peer_title
from dumbbell.judge.agreement import Agreed, compared, count, share

from . import _bottlenecks as bottlenecks
from ._measures import BACKLOG, RETRANSMITTED, TIMEOUTS

VARIANTS = ("reno", "newreno", "sack", "vegas")
FACTORS = ("variant", "flows", "buffer [packets per flow]")

# A flow's fair share is a megabit a second: five packets in a round trip without a queue.
MBPS_PER_FLOW = 1.0
DELAY_MS = 20.0
# Seeds the random draws: another text would change the start times and the results.
DRAWS = "crowds"
STARTS_S = 5.0
SETTLED_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The extent of the grid.

    Parameters
    ----------
    flows
        Numbers of flows, each with its number of replications.
    buffers
        Buffers, packets per flow.
    packets
        Approximate number of packets that the bottleneck carries in a run.
    shortest_s, longest_s
        Bounds of the duration of a run, s.
    """

    flows: dict[int, int]
    buffers: tuple[int, ...]
    packets: float
    shortest_s: float
    longest_s: float


# A run averages over its flows, so large numbers of flows need fewer replications.
FULL = Extent(
    flows={2: 30, 5: 30, 10: 30, 20: 30, 50: 5, 100: 5},
    buffers=(2, 8),
    packets=1e5,
    shortest_s=40.0,
    longest_s=200.0,
)
SLOW = Extent(flows={2: 20, 10: 20, 50: 5}, buffers=(2, 8), packets=2e4, shortest_s=30.0, longest_s=80.0)

SHARES = (
    share("jain", "Jain's index"),
    share("slowest", "share of the slowest quarter"),
    share("fastest", "share of the fastest quarter"),
    Agreed(column="total", label="total goodput", bound=0.05, intervals="overlap"),
)
COUNTS = (
    RETRANSMITTED,
    replace(TIMEOUTS, digits=1),
    BACKLOG,
    count("backlog_max", "largest backlog", unit="packets", digits=1),
)
MEASURES = (*SHARES, *COUNTS)


class ManyFlows:
    """Equal flows, few to many."""

    name = "many-flows"
    title = "Many flows"
    order = 40
    question = (
        "Do 2 to 100 equal flows share a bottleneck in the same way on both sides, with the same losses and "
        "queues? Shares are goodputs divided by the payload capacity of the link; means over random start times "
        "are compared."
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every variant, number of flows and buffer, from several start times."""
        extent = SLOW if bottlenecks.is_slow(peer) else FULL
        return [
            self._case(peer, variant, count, buffer, number, extent)
            for variant in VARIANTS
            if variant in peer.variants
            for count, replications in extent.flows.items()
            for buffer in extent.buffers
            for number in range(replications)
        ]

    @staticmethod
    def _case(peer: Peer, variant: str, count: int, buffer: int, number: int, extent: Extent) -> Case:
        network = bottlenecks.Network(
            rate_mbps=count * MBPS_PER_FLOW, delay_ms=DELAY_MS, buffer=count * buffer
        )
        point = f"{variant}, {count} flows, {buffer} packets each"
        key = f"{point}, run {number + 1}"
        drawn = bottlenecks.drawn(f"{DRAWS}, {key}", network, count, within_s=STARTS_S)
        carried_s = extent.packets * network.service_us / 1e6
        duration = round(min(max(carried_s, extent.shortest_s), extent.longest_s))
        names = [f"f{flow}" for flow in range(1, count + 1)]
        scenario = network.topology(drawn).scenario(
            name=key,
            rules="classic",
            duration=f"{duration} s",
            measure_from=f"{SETTLED_S:g} s",
            flows=drawn.flows([bottlenecks.tcp(peer, variant)] * count, names),
        )
        return Case(
            key=key,
            point=point,
            factors=dict(zip(FACTORS, (variant, count, buffer), strict=True)),
            scenario=scenario,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return how equal the shares are, and the counts of all flows together."""
        kept = bottlenecks.kept(case.scenario, run, flows=[flow.name for flow in _flows(case)])
        return kept | bottlenecks.fairness(kept["shares"])

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points shares, counts and backlogs agree."""
        return measures.agreement(results, MEASURES, factors=FACTORS)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return the shares of all flows by rank, every measure, and the ratios over the number of flows."""
        # The index is the most sensitive measure of the shares.
        found: list[report.Block] = [measures.same_way(results, SHARES[0], by="variant"), _by_rank(results)]
        for measure in SHARES:
            found += measures.blocks(results, measure, factors=FACTORS, by="variant")
        for measure in COUNTS:
            table = compared(results, measure, factors=FACTORS)
            found.append(
                ratio_figure(
                    table,
                    x="flows",
                    x_label="flows",
                    label=measure.label,
                    caption=f"{measure.label} over the number of flows, with intervals",
                    by="variant",
                    bound=measure.bound,
                    log_x=True,
                )
            )
            found += measures.blocks(results, measure, factors=FACTORS, by="variant", log=True, folded=True)
        return found


def _flows(case: Case) -> Sequence[Any]:
    return case.scenario.flows


def _by_rank(results: pd.DataFrame) -> report.Figure:
    """Draw the goodput of the flows by their rank, averaged over replications: a row for each variant."""
    variants = list(dict.fromkeys(results["variant"]))
    counts = sorted(set(results["flows"]))
    made, axes = plots.figure(len(variants), len(counts), width=2.7, height=2.3)
    least = min(results[FACTORS[2]])
    for line, variant in zip(axes, variants, strict=True):
        for ax, flows in zip(line, counts, strict=True):
            series = {}
            for side, title in (("ours", "Dumbbell"), ("peer", peer_title(results))):
                rows = results[
                    (results["variant"] == variant)
                    & (results["flows"] == flows)
                    & (results[FACTORS[2]] == least)
                    & (results["side"] == side)
                ]
                if rows.empty:
                    continue
                ordered = np.sort(np.array(rows["shares"].tolist(), dtype=np.float64), axis=1) * flows
                series[title] = (np.arange(1, flows + 1), ordered.mean(axis=0))
            if series:
                plots.lines(
                    series,
                    x_label="rank",
                    y_label="over the fair share",
                    title=f"{variant}, {flows} flows",
                    markers=flows <= 10,
                    ax=ax,
                )
                ax.set_ylim(bottom=0.0)
    return report.Figure(
        svg=plots.to_svg(made),
        caption=f"Goodput of the flows by rank, over their fair share, with {least} packets of buffer each; means over "
        "the replications",
    )


GRID = ManyFlows()
