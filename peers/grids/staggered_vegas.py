"""Vegas flows that start one after another: each takes the existing queue for propagation delay, and the backlog grows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, measures, sampled
from dumbbell.crossvalidation.figures import overlays, ratio_figure
from dumbbell.judge.agreement import Agreed, compared, share
from dumbbell.scenario import Probe

from . import _bottlenecks as bottlenecks

FACTORS = ("network", "flows")
INTERVAL = "flows so far"


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The extent of the grid.

    Parameters
    ----------
    rates_mbps, delays_ms, flows
        Rates and one-way delays of the bottleneck, and numbers of flows.
    apart_s
        Time between two starts, s.
    replications
        Runs of each point.
    """

    rates_mbps: tuple[float, ...]
    delays_ms: tuple[float, ...]
    flows: tuple[int, ...]
    apart_s: float
    replications: int


FULL = Extent(rates_mbps=(4, 10, 20), delays_ms=(10, 30), flows=(4, 8), apart_s=15.0, replications=10)
SLOW = Extent(rates_mbps=(2, 4), delays_ms=(10, 30), flows=(4,), apart_s=15.0, replications=15)

# A start is drawn from this fraction of its interval; the measurement of an interval begins after it.
JITTER = 0.1

SAMPLE_S = 0.005
SHOWN_S = 0.5

MEASURE = Agreed(
    column="backlog",
    label="mean backlog between two starts",
    unit="packets",
    kind="ratio",
    bound=0.05,
    intervals="overlap",
    digits=2,
)
SHARE = share("jain", "Jain's index after the last start")


class StaggeredVegas:
    """Vegas flows, one after another."""

    name = "staggered-vegas"
    title = "Staggered Vegas flows"
    order = 70
    question = (
        "Does the backlog grow in the same way on both sides as Vegas flows start one after another, and are the "
        "shares of the last interval equal?"
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases, if the peer has Vegas."""
        if "vegas" not in peer.variants:
            return []
        extent = SLOW if bottlenecks.is_slow(peer) else FULL
        return [
            self._case(peer, rate, delay, count, number, extent)
            for rate in extent.rates_mbps
            for delay in extent.delays_ms
            for count in extent.flows
            for number in range(extent.replications)
        ]

    @staticmethod
    def _case(peer: Peer, rate: float, delay: float, count: int, number: int, extent: Extent) -> Case:
        # The buffer has room for the backlog of all flows and for overshoots of slow start.
        network = bottlenecks.Network(rate_mbps=rate, delay_ms=delay, buffer=400)
        place = f"{rate:g} Mbit/s, {delay:g} ms"
        point = f"{place}, {count} flows"
        key = f"{point}, run {number + 1}"
        drawn = bottlenecks.drawn(f"staggered, {key}", network, count, within_s=JITTER * extent.apart_s)
        starts = [flow * extent.apart_s + start for flow, start in enumerate(drawn.starts_s)]
        staggered = dataclasses.replace(drawn, starts_s=tuple(starts))
        names = [f"f{flow}" for flow in range(1, count + 1)]
        scenario = network.topology(drawn).scenario(
            name=key,
            rules="classic",
            duration=f"{count * extent.apart_s:g} s",
            measure_from=f"{(count - 1 + JITTER) * extent.apart_s:g} s",
            flows=staggered.flows([bottlenecks.tcp(peer, "vegas")] * count, names),
            probes=[
                Probe(quantities=["backlog"], links=[bottlenecks.BOTTLENECK], period=f"{SAMPLE_S * 1e3:g} ms")
            ],
        )
        return Case(
            key=key,
            point=point,
            factors=dict(zip(FACTORS, (place, count), strict=True)) | {"apart_s": extent.apart_s},
            scenario=scenario,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return the mean backlog of each interval, the backlog in short means, and how equal the last shares are."""
        count, apart_s = int(str(case.factors["flows"])), float(str(case.factors["apart_s"]))
        trace = run.traces["backlog"]
        times = np.arange(0.0, count * apart_s, SAMPLE_S) + SAMPLE_S / 2.0
        # An empty queue that no packet has reached has no records.
        backlog = np.nan_to_num(sampled(trace, times, bottlenecks.BOTTLENECK))
        means = [
            float(backlog[(times >= (flow + JITTER) * apart_s) & (times < (flow + 1) * apart_s)].mean())
            for flow in range(count)
        ]
        bins = backlog[: len(times) - len(times) % round(SHOWN_S / SAMPLE_S)]
        kept = bottlenecks.kept(case.scenario, run, flows=[str(name) for name in run.flows["name"]])
        return (
            kept
            | bottlenecks.fairness(kept["shares"])
            | {
                "backlogs": means,
                "shown": [
                    round(float(mean), 3) for mean in bins.reshape(-1, round(SHOWN_S / SAMPLE_S)).mean(axis=1)
                ],
                "shown_s": [
                    SHOWN_S * (place + 0.5) for place in range(len(bins) // round(SHOWN_S / SAMPLE_S))
                ],
            }
        )

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return in how many intervals the backlog agrees, and at how many points the last shares."""
        by_interval = measures.agreement(_intervals(results), [MEASURE], factors=(*FACTORS, INTERVAL))
        shares = measures.agreement(results, [SHARE], factors=FACTORS)
        points = pd.concat([by_interval.points, shares.points], ignore_index=True)
        return Agreement(criteria=(*by_interval.criteria, *shares.criteria), points=points)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return overlaid backlogs over time, the ratio over the number of flows, and both measures."""
        first = results.drop_duplicates("point")
        intervals = _intervals(results)
        return [
            measures.same_way(results, SHARE, by="network"),
            overlays(
                results,
                "shown",
                "shown_s",
                keys=list(first["key"]),
                label="backlog",
                unit="packets",
                caption=f"Backlog, means over {SHOWN_S:g} s, of the first replication of each point",
            ),
            ratio_figure(
                compared(intervals, MEASURE, factors=(*FACTORS, INTERVAL)),
                x=INTERVAL,
                x_label=INTERVAL,
                label=MEASURE.label,
                caption="Mean backlog between two starts over the number of flows, with intervals",
                by="network",
                bound=MEASURE.bound,
            ),
            *measures.blocks(intervals, MEASURE, factors=(*FACTORS, INTERVAL), by="network"),
            *measures.blocks(results, SHARE, factors=FACTORS, by="network"),
        ]


def _intervals(results: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each case, side and interval between two starts."""
    long = results.explode("backlogs", ignore_index=True)
    long[INTERVAL] = long.groupby(["key", "side"]).cumcount() + 1
    long["backlog"] = long["backlogs"].astype(float)
    suffix = ", interval " + long[INTERVAL].astype(str)
    long["key"], long["point"] = long["key"] + suffix, long["point"] + suffix
    long.attrs = dict(results.attrs)
    return long


GRID = StaggeredVegas()
