"""One flow over a link with losses in bad periods or independent losses; each side draws its own losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer, measures
from dumbbell.crossvalidation.figures import ratio_figure
from dumbbell.judge.agreement import Agreed, compared, count, share
from dumbbell.scenario import Bernoulli, Impairment, TwoState

from . import _bottlenecks as bottlenecks
from ._measures import BACKLOG, RETRANSMITTED, TIMEOUTS

VARIANTS = ("reno", "newreno", "sack", "vegas", "westwood", "westwoodp")
FACTORS = ("variant", "losses", "lost in the mean [%]")

# A slow wireless hop with a long round trip, and a buffer of its bandwidth-delay product.
NETWORK = bottlenecks.Network(rate_mbps=2.0, delay_ms=50.0, buffer=25)
STARTS_S, SETTLED_S = 1.0, 10.0
# With 60 replications hardly any of about two hundred comparisons exceeds its bound by chance; with 20, one in thirty did.
DURATION_S, REPLICATIONS = 210.0, 60
SLOW_DURATION_S, SLOW_REPLICATIONS = 90.0, 16


@dataclass(frozen=True, kw_only=True)
class Channel:
    """How a link loses packets.

    Parameters
    ----------
    kind
        Its name in the ``impairments`` of a peer.
    label
        In words.
    impairment
        The impairment of a scenario.
    mean
        Mean loss probability over the states of a link that is always busy.
    """

    kind: str
    label: str
    impairment: Impairment
    mean: float


def _two_state(bad_ms: float, loss: float) -> Channel:
    """Return a channel with good periods of one second; at the end of a period, the state changes with probability 1/2."""
    return Channel(
        kind="twostate",
        label=f"{bad_ms:g} ms bad after 1 s good, {100 * loss:g} % lost in it",
        # In ns-2, the model advances by packets.
        impairment=TwoState(good="1 s", bad=f"{bad_ms:g} ms", loss=loss, change=0.5, clock="packet"),
        mean=loss * bad_ms / (1000.0 + bad_ms),
    )


def _bernoulli(loss: float) -> Channel:
    label = f"each with probability {loss:g}"
    return Channel(kind="bernoulli", label=label, impairment=Bernoulli(probability=loss), mean=loss)


CHANNELS = (
    *(_two_state(bad, loss) for bad in (10.0, 100.0, 400.0) for loss in (0.1, 0.5)),
    *(_bernoulli(loss) for loss in (0.003, 0.01, 0.03)),
)

MEASURES = tuple(
    replace(measure, paired=False)
    for measure in (
        share("total", "share of the link"),
        # With independent samples, the uncertainty of the ratio of small goodputs exceeds 5 %.
        Agreed(column="total", label="goodput", bound=0.05, intervals="equal"),
        count("lost", "packets lost by the channel", digits=1),
        RETRANSMITTED,
        TIMEOUTS,
        BACKLOG,
    )
)


class TwoStateLoss:
    """Losses of a wireless channel."""

    name = "two-state-loss"
    title = "Losses in bad periods"
    order = 60
    question = (
        "Do flows get the same goodput on both sides over a channel with losses in bad periods, or with "
        "independent losses? Each side draws the losses of a replication separately, so that means of independent "
        "samples are compared."
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every variant over every channel that the peer has, with several seeds."""
        slow = bottlenecks.is_slow(peer)
        # A peer without some of them lists those it has.
        known = getattr(peer, "impairments", ("bernoulli", "twostate"))
        return [
            self._case(peer, variant, channel, number, SLOW_DURATION_S if slow else DURATION_S)
            for variant in VARIANTS
            if variant in peer.variants
            for channel in CHANNELS
            if channel.kind in known
            for number in range(SLOW_REPLICATIONS if slow else REPLICATIONS)
        ]

    @staticmethod
    def _case(peer: Peer, variant: str, channel: Channel, number: int, duration_s: float) -> Case:
        point = f"{variant}, {channel.label}"
        key = f"{point}, run {number + 1}"
        drawn = bottlenecks.drawn(f"losses, {key}", NETWORK, 1, within_s=STARTS_S)
        scenario = NETWORK.topology(drawn, impairments=[channel.impairment]).scenario(
            name=key,
            rules="classic",
            duration=f"{duration_s:g} s",
            measure_from=f"{SETTLED_S:g} s",
            flows=drawn.flows([bottlenecks.tcp(peer, variant)], ["flow"]),
        )
        return Case(
            key=key,
            point=point,
            factors=dict(zip(FACTORS, (variant, channel.label, 100.0 * channel.mean), strict=True)),
            scenario=scenario,
            run=number,
        )

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return goodput, losses and counts of the flow."""
        lost = run.links.loc[run.links["name"] == bottlenecks.BOTTLENECK, "drops_impairment"]
        return bottlenecks.kept(case.scenario, run, flows=("flow",)) | {"lost": float(lost.iloc[0])}

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return at how many points goodput, losses and counts agree."""
        return measures.agreement(results, MEASURES, factors=FACTORS)

    def sections(self, results: pd.DataFrame, _agreement: Agreement) -> Sequence[report.Block]:
        """Return the ratio of goodputs over the mean loss, and every measure."""
        found: list[report.Block] = [
            ratio_figure(
                compared(results, MEASURES[1], factors=FACTORS),
                x=FACTORS[2],
                x_label="mean loss",
                x_unit="%",
                label="goodput",
                caption="Goodput over the mean loss of the channel, with intervals",
                by="variant",
                bound=MEASURES[1].bound,
                log_x=True,
            )
        ]
        for measure in MEASURES:
            found += measures.blocks(
                results,
                measure,
                factors=FACTORS,
                by="variant",
                log=True,
                folded=measure.intervals == "equal",
            )
        return found


GRID = TwoStateLoss()
