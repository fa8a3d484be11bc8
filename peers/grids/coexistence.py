"""Two flows on one bottleneck: Reno with each other variant, over bandwidth and buffer, from random start times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dumbbell import plots, report
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, measures
from dumbbell.crossvalidation.tables import peer_title
from dumbbell.judge.agreement import compared, share

from . import _bottlenecks as bottlenecks
from ._measures import BACKLOG, RETRANSMITTED, TIMEOUTS

# The base is the first of these that the peer has.
BASES = ("reno", "newreno", "sack")

# Compared in other grids: they differ from Reno and NewReno only in recovery.
LEFT_OUT = ("tahoe", "sack")

FACTORS = ("variant", "rate [Mbit/s]", "buffer [packets]")

STARTS_S = 5.0

# Seeds the random draws: another text would change the start times and the results.
DRAWS = "pairs"


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The extent of the grid.

    Parameters
    ----------
    rates_mbps
        Rates of the bottleneck, Mbit/s.
    buffers
        Buffers of the bottleneck, packets.
    replications
        Random start times at each point.
    packets
        Approximate number of packets that the bottleneck carries in a run; determines its duration.
    shortest_s
        Minimum duration of a run, s.
    """

    rates_mbps: tuple[float, ...]
    buffers: tuple[int, ...]
    replications: int
    packets: float
    shortest_s: float


FULL = Extent(rates_mbps=(2, 5, 10, 20), buffers=(10, 20, 50), replications=20, packets=1e5, shortest_s=60.0)
# At about twenty thousand packets per second of CPU time, two cores take minutes.
SLOW = Extent(rates_mbps=(2, 5), buffers=(10, 50), replications=20, packets=3e4, shortest_s=50.0)

# This fraction of a run is excluded as warm-up.
SETTLING = 0.25

MEASURES = (
    share("share", "share of the other variant"),
    share("share_base", "share of the base flow"),
)
FURTHER = (RETRANSMITTED, TIMEOUTS, BACKLOG)


class Coexistence:
    """Reno with each other variant."""

    name = "coexistence"
    title = "Coexistence of two flows"
    order = 30
    question = (
        "Do two flows of different variants share a bottleneck in the same way on both sides? A flow's share is "
        "its goodput divided by the payload capacity of the link; means over random start times are compared with "
        "their 95 % intervals."
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every partner at every rate and buffer, from several start times."""
        extent = SLOW if bottlenecks.is_slow(peer) else FULL
        base = next((name for name in BASES if name in peer.variants), None)
        if base is None:
            return []
        partners = [name for name in peer.variants if name not in (base, *LEFT_OUT)]
        return [
            self._case(peer, base, partner, rate, buffer, number, extent)
            for partner in partners
            for rate in extent.rates_mbps
            for buffer in extent.buffers
            for number in range(extent.replications)
        ]

    @staticmethod
    def _case(
        peer: Peer, base: str, partner: str, rate: float, buffer: int, number: int, extent: Extent
    ) -> Case:
        network = bottlenecks.Network(rate_mbps=rate, delay_ms=20.0, buffer=buffer)
        point = f"{base} and {partner}, {rate:g} Mbit/s, {buffer} packets"
        key = f"{point}, run {number + 1}"
        drawn = bottlenecks.drawn(f"{DRAWS}, {key}", network, 2, within_s=STARTS_S)
        duration = round(max(extent.shortest_s, extent.packets * network.service_us / 1e6))
        scenario = network.topology(drawn).scenario(
            name=key,
            rules="classic",
            duration=f"{duration} s",
            measure_from=f"{SETTLING * duration:g} s",
            flows=drawn.flows([bottlenecks.tcp(peer, name) for name in (base, partner)], ["base", "other"]),
        )
        return Case(
            key=key,
            point=point,
            factors=dict(zip(FACTORS, (f"{base} and {partner}", rate, buffer), strict=True)),
            scenario=scenario,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return the shares of both flows, and the counts of both together."""
        kept = bottlenecks.kept(case.scenario, run, flows=("base", "other"))
        return kept | {"share_base": kept["shares"][0], "share": kept["shares"][1]}

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points the shares agree."""
        return measures.agreement(results, MEASURES, factors=FACTORS)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return shares of both sides against each other and over the rate, and all further measures."""
        found: list[report.Block] = [measures.same_way(results, MEASURES[0], by="variant")]
        found += measures.blocks(results, MEASURES[0], factors=FACTORS, by="variant")
        found.append(_over_rate(results))
        found += measures.blocks(results, MEASURES[1], factors=FACTORS, by="variant", folded=True)
        for measure in FURTHER:
            found += measures.blocks(results, measure, factors=FACTORS, by="variant", log=True, folded=True)
        return found


def _over_rate(results: pd.DataFrame) -> report.Figure:
    """Draw the other variant's share over the rate of the link: a row for each pair, a column for each buffer."""
    table = compared(results, MEASURES[0], factors=FACTORS)
    variants, buffers = (list(dict.fromkeys(table[name])) for name in (FACTORS[0], FACTORS[2]))
    made, axes = plots.figure(len(variants), len(buffers), width=4.0, height=2.6)
    for line, variant in zip(axes, variants, strict=True):
        for ax, buffer in zip(line, buffers, strict=True):
            rows = table[(table[FACTORS[0]] == variant) & (table[FACTORS[2]] == buffer)]
            plots.sweep(
                {
                    title: (rows[FACTORS[1]], rows[side], rows[f"{side}_low"], rows[f"{side}_high"])
                    for side, title in (("ours", "Dumbbell"), ("peer", peer_title(results)))
                },
                x_label="rate",
                x_unit="Mbit/s",
                y_label="share of the other",
                log_x=True,
                title=f"{variant}, {buffer} packets",
                ax=ax,
            )
            ax.set_ylim(0.0, 1.0)
    return report.Figure(
        svg=plots.to_svg(made),
        caption="Share of the other variant against the base flow, over the rate of the link",
    )


GRID = Coexistence()
