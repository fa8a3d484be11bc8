"""Two flows of different congestion controls in the kernel and in the simulator, a grid for each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import (
    Agreement,
    Case,
    Observed,
    Peer,
    comparison_table,
    criterion,
    differences,
    scatter,
)

from . import _one_link as networks

FACTORS = ("rate [Mbit/s]", "round trip [ms]", "buffer [BDP]")

RATES_AND_RTTS = ((4, 60), (10, 40), (20, 20))
BUFFERS_BDP = (1.0, 3.0)

RUNS = 6
DURATION_S = 60.0
FROM_S = 10.0

CONFIDENCE = 0.90
AIM = 0.90
"""Required share of the points at which the intervals of both sides overlap: of pairs with an eBPF twin."""

KERNELS_AIM = 0.80
"""The same for two congestion controls of the kernel. BBR probes at random times."""


class Pair:
    """A flow of one congestion control beside a flow of another one.

    Parameters
    ----------
    base, variant
        Their names.
    aim
        Required share of the points at which the intervals of both sides overlap.
    order
        Place of the grid in the report.
    """

    def __init__(self, base: str, variant: str, *, aim: float, order: int) -> None:
        self.name = f"{base}-and-{variant}"
        self.title = f"Two flows: {base} and {variant}"
        self.order = order
        self.question = (
            f"Does a flow of {variant} beside one of {base} get the same share of the goodput in the kernel as in the "
            f"simulator? Both start within a second. At each point, {RUNS} runs of {DURATION_S:g} s are compared, from "
            f"{FROM_S:g} s on: the intervals of the mean shares, with {CONFIDENCE:.0%} confidence, are to overlap."
        )
        self._base = base
        self._variant = variant
        self._aim = aim

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every path, from several start times."""
        if not {self._base, self._variant} <= set(peer.variants):
            return []
        paths = [
            networks.Path(rate_mbps=rate, rtt_ms=rtt, buffer_bdp=buffer)
            for rate, rtt in RATES_AND_RTTS
            for buffer in BUFFERS_BDP
        ]
        return [
            self._case(peer, path, RUNS * place + run, run)
            for place, path in enumerate(paths)
            for run in range(RUNS)
        ]

    def _case(self, peer: Peer, path: networks.Path, number: int, run: int) -> Case:
        point = f"{self._variant}, {path.rate_mbps:g} Mbit/s, {path.rtt_ms:g} ms, {path.buffer} packets"
        key = f"{point}, run {run + 1}"
        scenario = path.scenario(
            key,
            [peer.tcp(name) for name in (self._base, self._variant)],
            starts_s=networks.starts_s(key, 2),
            duration_s=DURATION_S,
            from_s=FROM_S,
            probes=False,
        )
        # A run number of its own mixes the runs of all rates, which fills the budget.
        return Case(
            key=key,
            point=point,
            factors=dict(zip(FACTORS, (path.rate_mbps, path.rtt_ms, path.buffer_bdp), strict=True)),
            scenario=scenario,
            run=number,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return the share of the other flow in the goodput of both, and what `networks.reduced` returns."""
        kept = networks.reduced(case.scenario, run)
        base, other = kept["goodputs"]
        return kept | {"share": other / (base + other) if base + other > 0.0 else float("nan")}

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points the intervals of both shares overlap."""
        table = _compared(results)
        points = table.drop(columns=["n", "low", "high"]).rename(columns={"overlap": "agrees"})
        points["explanation"] = ""
        points.attrs = dict(results.attrs)
        name = f"shares with overlapping {CONFIDENCE:.0%} intervals"
        return Agreement(criteria=(criterion(name, table["overlap"], aim=self._aim),), points=points)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return the shares of both sides against each other, and all of them."""
        table = _compared(results)
        label = f"share of {self._variant}"
        return [
            scatter(
                table,
                label=label,
                by=FACTORS[0],
                caption=f"Share of {self._variant} beside {self._base}, means with {CONFIDENCE:.0%} intervals",
            ),
            comparison_table(
                table, caption=f"Share of {self._variant}", factors=FACTORS, quantity=label, digits=3
            ),
            *networks.lateness(results),
        ]


def _compared(results: pd.DataFrame) -> pd.DataFrame:
    """Return both mean shares with their intervals, for each point. The runs of both sides are independent samples."""
    return differences(results, "share", factors=FACTORS, paired=False, confidence=CONFIDENCE)
