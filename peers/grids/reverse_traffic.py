"""Flows in both directions: data shares both queues with the acknowledgements of the opposite direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, measures
from dumbbell.judge.agreement import share

from . import _bottlenecks as bottlenecks
from ._measures import BACKLOG, RETRANSMITTED, TIMEOUTS

VARIANTS = ("reno", "newreno", "sack", "vegas", "westwood", "westwoodp")
FACTORS = ("variant", "forward", "reverse", "buffer [packets]")

# Flows in the forward and in the reverse direction.
MIXES = ((1, 1), (1, 5), (5, 5))
BUFFERS = (20, 50)
RATE_MBPS, DELAY_MS = 10.0, 20.0
STARTS_S, SETTLED_S, DURATION_S = 5.0, 15.0, 75.0
REPLICATIONS = 30

# For a peer with expensive runs: the same points at a fifth of the rate, so that a run has a fifth of the packets.
SLOW_RATE_MBPS, SLOW_REPLICATIONS, SLOW_MIXES, SLOW_BUFFERS = 2.0, 12, ((1, 1), (1, 5)), (20,)

REVERSED = "r2-r1"

MEASURES = (
    share("total", "forward share"),
    share("total_reverse", "reverse share"),
    share("jain", "Jain's index, forward"),
    share("jain_reverse", "Jain's index, reverse"),
    RETRANSMITTED,
    TIMEOUTS,
    replace(BACKLOG, label="mean backlog, forward"),
    replace(BACKLOG, label="mean backlog, reverse", column="backlog_mean_reverse"),
)


class ReverseTraffic:
    """Flows of one variant in both directions."""

    name = "reverse-traffic"
    title = "Reverse traffic"
    order = 50
    question = (
        "Does data in the opposite direction, which delays, compresses and drops acknowledgements, affect flows "
        "in the same way on both sides? Shares are goodputs divided by the payload capacity of the link in that "
        "direction."
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every variant, mix of directions and buffer, from several start times."""
        slow = bottlenecks.is_slow(peer)
        return [
            self._case(peer, variant, mix, buffer, number, SLOW_RATE_MBPS if slow else RATE_MBPS)
            for variant in VARIANTS
            if variant in peer.variants
            for mix in (SLOW_MIXES if slow else MIXES)
            for buffer in (SLOW_BUFFERS if slow else BUFFERS)
            for number in range(SLOW_REPLICATIONS if slow else REPLICATIONS)
        ]

    @staticmethod
    def _case(peer: Peer, variant: str, mix: tuple[int, int], buffer: int, number: int, rate: float) -> Case:
        forward, reverse = mix
        network = bottlenecks.Network(rate_mbps=rate, delay_ms=DELAY_MS, buffer=buffer)
        point = f"{variant}, {forward} forward, {reverse} back, {buffer} packets"
        key = f"{point}, run {number + 1}"
        count = forward + reverse
        drawn = bottlenecks.drawn(f"reverse, {key}", network, count, within_s=STARTS_S)
        names = [*_names("f", forward), *_names("b", reverse)]
        scenario = network.topology(drawn, reverse=reverse).scenario(
            name=key,
            rules="classic",
            duration=f"{DURATION_S:g} s",
            measure_from=f"{SETTLED_S:g} s",
            flows=drawn.flows([bottlenecks.tcp(peer, variant)] * count, names),
        )
        return Case(
            key=key,
            point=point,
            factors=dict(zip(FACTORS, (variant, forward, reverse, buffer), strict=True)),
            scenario=scenario,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return shares and backlog of each direction, and the counts of both together."""
        kept: dict[str, dict[str, Any]] = {}
        for letter, link in (("f", bottlenecks.BOTTLENECK), ("b", REVERSED)):
            names = [str(name) for name in run.flows["name"] if str(name).startswith(letter)]
            found = bottlenecks.kept(case.scenario, run, flows=names, link=link)
            kept[letter] = found | bottlenecks.fairness(found["shares"])
        there, back = kept["f"], kept["b"]
        both = {name: there[name] + back[name] for name in ("retransmitted", "timeouts")}
        reverse = {
            f"{name}_reverse": back[name]
            for name in ("shares", "total", "jain", "backlog_mean", "backlog_max")
        }
        return there | reverse | both

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points shares, counts and backlogs agree."""
        return measures.agreement(results, MEASURES, factors=FACTORS)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return every measure of both sides against each other."""
        found: list[report.Block] = [measures.same_way(results, MEASURES[0], by="variant")]
        found += [
            block
            for measure in MEASURES
            for block in measures.blocks(
                results,
                measure,
                factors=FACTORS,
                by="variant",
                log=measure.kind == "ratio",
                folded=measure.intervals == "equal",
            )
        ]
        return found


def _names(letter: str, count: int) -> list[str]:
    return [f"{letter}{flow}" for flow in range(1, count + 1)]


GRID = ReverseTraffic()
