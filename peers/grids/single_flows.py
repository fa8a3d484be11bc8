"""One flow on a bottleneck: every variant over bandwidth, delay and buffer, its window compared sample by sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import report, topologies
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, sampled
from dumbbell.crossvalidation.distances import distances
from dumbbell.crossvalidation.figures import overlays, scatter
from dumbbell.crossvalidation.tables import points_table
from dumbbell.judge.criterion import counted, criterion
from dumbbell.judge.pairs import ratios, within
from dumbbell.scenario import DropTail, Flow, Probe, Tcp

from . import _bottlenecks as bottlenecks

FACTORS = ("variant", "rate [packets/s]", "delay [ms]", "buffer [packets]")


@dataclass(frozen=True, kw_only=True)
class Extent:
    """The extent of the grid, and what is compared.

    Parameters
    ----------
    services_log2
        How many packets the bottleneck sends in a second, as powers of two: a packet then takes a binary fraction of a
        second, and times of departures and arrivals that are equal stay so in floating point.
    delays_ms
        Propagation delays of the bottleneck, ms.
    buffers
        Packets that may wait there.
    duration_s
        How long a run lasts, s.
    goodput
        The largest distance of the ratio of goodputs from 1 that counts as agreement.
    aim
        Share of the points that are to agree on it.
    windows
        Whether windows are compared, too.
    """

    services_log2: tuple[int, ...]
    delays_ms: tuple[float, ...]
    buffers: tuple[int, ...]
    duration_s: float
    goodput: float
    aim: float
    windows: bool


FULL = Extent(
    services_log2=(7, 8, 10, 12),
    delays_ms=(4.87, 24.37, 93.61),
    buffers=(6, 15, 40, 100),
    duration_s=80.0,
    goodput=0.01,
    aim=0.95,
    windows=True,
)
# A peer with expensive runs differs in many details: only goodputs are compared.
SLOW = Extent(
    services_log2=(7, 8, 10),
    delays_ms=(4.87, 24.37, 93.61),
    buffers=(6, 15, 40, 100),
    duration_s=60.0,
    goodput=0.05,
    aim=0.90,
    windows=False,
)

PHASE = "3.7 ms"
SAMPLE_S = 0.1
BOUND_SEGMENTS = 1.0
SAMPLES_AIM = 0.99


def extent_of(peer: Peer) -> Extent:
    """Return the extent of the grid for a peer."""
    return SLOW if bottlenecks.is_slow(peer) else FULL


class SingleFlows:
    """One flow."""

    name = "single-flows"
    title = "Single flows"
    order = 20
    question = (
        "Does a single flow have the same window and the same goodput on both sides, for any rate, delay and "
        "buffer of its bottleneck?"
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every variant at every rate, delay and buffer."""
        extent = extent_of(peer)
        return [
            self._case(peer, variant, service, delay, buffer, extent)
            for variant in peer.variants
            for service in extent.services_log2
            for delay in extent.delays_ms
            for buffer in extent.buffers
        ]

    @staticmethod
    def _case(peer: Peer, variant: str, service_log2: int, delay: float, buffer: int, extent: Extent) -> Case:
        packets = 2**service_log2
        rate = bottlenecks.PACKET_BITS * packets
        point = f"{variant}, {packets} packets/s, {delay:g} ms, {buffer} packets"
        shape = topologies.dumbbell(
            pairs=1,
            rate=f"{rate} bit/s",
            delay=f"{delay:g} ms",
            queue=DropTail(limit=f"{buffer} packets"),
            access_rate=f"{8 * rate} bit/s",
        )
        flow = Flow(
            name="f",
            from_="s1",
            to="d1",
            tcp=Tcp.from_dict(bottlenecks.tcp(peer, variant)),
            start="0 s",
        )
        scenario = shape.scenario(
            name=point,
            rules="classic",
            duration=f"{extent.duration_s:g} s",
            flows=[flow],
            probes=[Probe(quantities=["cwnd", "cwnd_base"], flows=["f"])] if extent.windows else [],
        )
        return Case(
            key=point,
            point=point,
            factors=dict(zip(FACTORS, (variant, packets, delay, buffer), strict=True)),
            scenario=scenario.with_values({"nodes.s1.tick_phase": PHASE}),
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return goodput, counts, and the available samples of the window with and without its inflation."""
        at = _times(case)
        kept = bottlenecks.kept(case.scenario, run, flows=["f"])
        return {
            "goodput_bps": float(run.flows["goodput_bps"].iloc[0]),
            **{name: kept[name] for name in ("retransmitted", "timeouts", "drops", "backlog_mean")},
            **{
                quantity: sampled(run.traces[quantity], at).round(3).tolist()
                if quantity in run.traces
                else []
                for quantity in ("cwnd", "cwnd_base")
            },
        }

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points the goodputs agree, and at how many samples the windows do."""
        windows = _windows(results)
        extent = FULL if len(windows) else SLOW
        table = ratios(results, "goodput_bps", factors=FACTORS)
        near = within(table, extent.goodput)
        criteria = [criterion(f"goodput within {extent.goodput:.0%}", near, aim=extent.aim)]
        points = table.drop(columns=["n", "low", "high"]).rename(columns={"ratio": "goodput ratio"})
        for column in ("retransmitted", "timeouts"):
            sides = results.pivot_table(index="point", columns="side", values=column)
            for side in ("ours", "peer"):
                points[f"{column}, {side}"] = points["point"].map(sides[side])
        agrees = near
        if len(windows):
            by_point = windows.set_index("point")
            share = points["point"].map(by_point["share"])
            criteria += [
                counted(
                    f"window within {BOUND_SEGMENTS:g} segment",
                    int(windows["within"].sum()),
                    int(windows["n"].sum()),
                    aim=SAMPLES_AIM,
                ),
                criterion(
                    f"window within {BOUND_SEGMENTS:g} segment at {SAMPLES_AIM:.0%} of the samples",
                    share >= SAMPLES_AIM,
                    aim=extent.aim,
                ),
            ]
            points["windows within"] = share
            points["largest distance"] = points["point"].map(by_point["largest"])
            agrees = near & (share >= SAMPLES_AIM)
        points["agrees"] = agrees
        points["explanation"] = ""
        points.attrs = dict(results.attrs)
        return Agreement(criteria=tuple(criteria), points=points)

    def sections(self, results: pd.DataFrame, agreement: Agreement) -> Sequence[report.Block]:
        """Return goodputs against each other, windows of both sides overlaid, and all points."""
        table = ratios(results, "goodput_bps", factors=FACTORS)
        found: list[report.Block] = [
            scatter(
                table,
                label="goodput",
                unit="Mbit/s",
                scale=1e-6,
                by="variant",
                bound=(FULL if len(_windows(results)) else SLOW).goodput,
                log=True,
                caption="Goodput of single flows, one point each",
            )
        ]
        keys = [
            key
            for key in dict.fromkeys(results["key"])
            if key.endswith("256 packets/s, 24.37 ms, 15 packets")
        ]
        for quantity, label in (("cwnd_base", "window without inflation"), ("cwnd", "window")):
            shown = [key for key in keys if all(len(row) for row in results[results["key"] == key][quantity])]
            if shown:
                length = len(results[results["key"] == shown[0]][quantity].iloc[0])
                found.append(
                    overlays(
                        results,
                        quantity,
                        _sample_times(length),
                        keys=shown,
                        label=label,
                        unit="segments",
                        caption=f"Congestion {label} over time on both sides",
                    )
                )
        apart = agreement.points[~agreement.points["agrees"]]
        listed = points_table(agreement.points, caption="Every point")
        found.append(
            report.Details(
                title=f"All {len(agreement.points)} points, {len(apart)} of them disagree", blocks=[listed]
            )
        )
        return found


def _sample_times(count: int) -> NDArray[np.float64]:
    """Return the times of some samples, s."""
    return SAMPLE_S * (np.arange(count, dtype=np.float64) + 0.5)


def _times(case: Case) -> NDArray[np.float64]:
    duration = float(case.scenario.duration.split()[0])
    return _sample_times(int(duration / SAMPLE_S))


def _windows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the distance of the windows, for each case in which both sides report one."""
    kept = []
    for quantity in ("cwnd_base", "cwnd"):
        known = results.groupby("key", sort=False)[quantity].transform(
            lambda rows: all(len(row) for row in rows)
        )
        rows = results[known.astype(bool)]
        if len(rows):
            kept.append(distances(rows, quantity, bound=BOUND_SEGMENTS))
    if not kept:
        return pd.DataFrame(columns=["point", "share", "within", "n", "largest"])
    # A peer shows one of the two for a variant.
    return pd.concat(kept, ignore_index=True).drop_duplicates("point")


GRID = SingleFlows()
