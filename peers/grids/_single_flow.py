"""One flow in the kernel and in the simulator, a grid for each congestion control.

Both sides draw nothing but start times, which they share. In real time, the kernel's runs still differ from each other,
because their packets are some microseconds late. Replications are therefore independent samples of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, measures, overlays
from dumbbell.judge.agreement import Agreed

from . import _one_link as networks

FACTORS = ("rate [Mbit/s]", "round trip [ms]", "buffer [BDP]", "buffer [packets]")

DURATION_S = 20.0
# The first slow start and its losses are over at most points.
FROM_S = 5.0


def _agreed(
    column: str, label: str, unit: str, *, bound: float, floor: float = 0.0, aim: float = 0.90, digits: int
) -> Agreed:
    """Return a quantity of independent samples of both sides."""
    return Agreed(
        column=column,
        label=label,
        unit=unit,
        bound=bound,
        floor=floor,
        aim=aim,
        paired=False,
        digits=digits,
    )


BACKLOG = _agreed("backlog", "mean backlog", "packets", bound=0.10, floor=0.5, digits=2)
RETRANSMITTED = _agreed("retransmitted", "segments sent again", "segments", bound=0.10, floor=3.0, digits=1)

QUANTITIES = (
    _agreed("goodput", "goodput", "Mbit/s", bound=0.01, aim=0.95, digits=3),
    _agreed("window", "mean window", "segments", bound=0.02, digits=2),
    BACKLOG,
    RETRANSMITTED,
)

MODERN_QUANTITIES = (
    _agreed("goodput", "goodput", "Mbit/s", bound=0.03, digits=3),
    BACKLOG,
    RETRANSMITTED,
)
"""Of CUBIC and BBR, fixed before the runs: wider for goodput, because BBR draws its phases at random."""

# Sampling of the windows that figures show.
SAMPLE_S = 0.1
SHOWN = ("3 Mbit/s, 40 ms", "10 Mbit/s, 20 ms", "10 Mbit/s, 100 ms", "30 Mbit/s, 40 ms")


class SingleFlow:
    """One flow of a congestion control.

    Parameters
    ----------
    variant
        Its name.
    order
        Place of the grid in the report.
    quantities
        What is to agree.
    runs
        Replications of a point.
    rules_of_path
        Whether the peer's table depends on the path.
    between_windows
        Whether the path is lengthened so that it holds half a packet more than whole ones.
    """

    def __init__(
        self,
        variant: str,
        order: int,
        quantities: Sequence[Agreed],
        *,
        runs: int,
        rules_of_path: bool = False,
        between_windows: bool = False,
    ) -> None:
        self.name = variant
        self.title = f"Single flows: {variant}"
        self.order = order
        self._variant = variant
        self._quantities = quantities
        self._runs = runs
        self._rules_of_path = rules_of_path
        self._between_windows = between_windows
        *labels, last = (quantity.label for quantity in self._quantities)
        self.question = (
            f"Does a single flow of {variant} have the same {', '.join(labels)} and {last} in the kernel as in the "
            f"simulator? At each of {len(networks.RATES_MBPS) * len(networks.RTTS_MS)} points, means of {runs} runs of "
            f"{DURATION_S:g} s are compared, from {FROM_S:g} s on."
        )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every path of `networks.covering`, several times."""
        if self._variant not in peer.variants:
            return []
        numbers = iter(range(self._runs * len(networks.covering())))
        return [
            self._case(peer, path, next(numbers), run)
            for path in networks.covering()
            for run in range(self._runs)
        ]

    def _case(self, peer: Peer, path: networks.Path, number: int, run: int) -> Case:
        place = f"{path.rate_mbps:g} Mbit/s, {path.rtt_ms:g} ms"
        point = f"{self._variant}, {place}, {path.buffer} packets"
        key = f"{point}, run {run + 1}"
        if self._between_windows:
            path = path.with_half_a_packet()
        of_path = (
            {"base_packets": path.base_packets, "packet_us": path.packet_us} if self._rules_of_path else {}
        )
        scenario = path.scenario(
            key,
            [peer.tcp(self._variant, **of_path)],
            starts_s=networks.starts_s(key, 1),
            duration_s=DURATION_S,
            from_s=FROM_S,
            probes=True,
        )
        # With a run number of its own, a case is in no group: runs of all rates are mixed, which fills the budget.
        return Case(
            key=key,
            point=point,
            factors=dict(
                zip(FACTORS, (path.rate_mbps, path.rtt_ms, path.buffer_bdp, path.buffer), strict=True)
            ),
            scenario=scenario,
            run=number,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return goodput, mean window, backlog and counts, and samples of the window."""
        kept = networks.reduced(case.scenario, run)
        samples = networks.whole_window(run, "f1").at(_times())
        return kept | {
            "goodput": kept["goodputs"][0],
            "window": kept["windows"][0],
            "samples": [None if np.isnan(sample) else int(sample) for sample in samples],
        }

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points each quantity agrees."""
        return measures.agreement(results, self._quantities, factors=FACTORS)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return both sides against each other for every quantity, and windows over time."""
        found: list[report.Block] = []
        for quantity in self._quantities:
            found += measures.blocks(results, quantity, factors=FACTORS, by=FACTORS[1], log=True)
        keys = [
            key
            for key in dict.fromkeys(results["key"])
            if key.endswith("run 1") and any(f", {place}, " in key for place in SHOWN)
        ]
        if keys:
            found.append(
                overlays(
                    results,
                    "samples",
                    _times(),
                    keys=keys,
                    label="window",
                    unit="segments",
                    caption="Windows of both sides over time, first runs of some points",
                )
            )
        return [*found, *networks.lateness(results)]


def _times() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the times of the samples, s."""
    return np.arange(0.5, round(DURATION_S / SAMPLE_S), dtype=np.float64) * SAMPLE_S
