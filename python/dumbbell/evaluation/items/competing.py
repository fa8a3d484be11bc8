"""The algorithm beside others: RFC 9743 §5.2 and §5.3.2, and harm [ware2019]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dumbbell.evaluation.algorithm import INITIAL_WINDOW, Algorithm
from dumbbell.evaluation.item import Item
from dumbbell.evaluation.items.alone import short_flows
from dumbbell.evaluation.items.quantities import (
    COMPLETION_MEAN,
    COMPLETION_P95,
    DELAY_MEAN,
    DELAY_P95_REPORTED,
    completions,
    link,
)
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import SUBJECT, Case, Path, Study, Traffic, bdp_packets, call, greedy
from dumbbell.judge.baseline import Limit
from dumbbell.judge.quantity import Quantity
from dumbbell.scenario import DelayedAck, Scenario

SOLO = "_solo"
"""The role of runs of a baseline alone, which only derived quantities use."""

STARVED = 0.1
"""A flow below this share of its fair share starves."""

# --- shares and harm ---


def _settings(study: Study) -> list[tuple[int, float, float, bool]]:
    """Return flows per side, buffer in BDP, round-trip time in s, and whether one side joins the other later."""
    if study.quick:
        together = [(1, 0.5, 0.04), (1, 1.0, 0.04), (1, 4.0, 0.04), (1, 1.0, 0.16), (4, 1.0, 0.04)]
        joining = [(1, 1.0, 0.04)]
    else:
        together = [
            (1, buffer, rtt) for rtt in (0.01, 0.04, 0.16) for buffer in (0.1, 0.5, 1.0, 2.0, 4.0, 16.0)
        ] + [(count, buffer, 0.04) for count in (2, 8) for buffer in (0.5, 1.0, 4.0)]
        joining = [(1, buffer, 0.04) for buffer in (0.5, 1.0, 4.0)]
    return [(*one, False) for one in together] + [(*one, True) for one in joining]


def _coexistence(study: Study) -> Iterator[Case]:
    # Sawteeth of long round trips need longer runs.
    for baseline in study.baselines:
        for count, buffer, rtt, joins in _settings(study):
            duration = study.duration * (2.0 if joins or rtt * buffer > 0.08 else 1.0)
            # Who starts with the others keeps for long what slow start gave. Who joins has to gain its share: it begins in
            # congestion avoidance, as in the suite's ramp-up.
            settings: dict[str, Any] = {"initial_ssthresh": INITIAL_WINDOW} if joins else {}
            if not all(one.accepts(**settings) for one in (study.subject, baseline)):
                continue
            begin = study.duration / 2.0 if joins else 0.0
            measured = begin + study.warm_up
            which = f"beside {baseline.text}, {'joining, ' if joins else ''}{count}:{count}"
            point, panel = f"{which}, {buffer:g} BDP, {1e3 * rtt:g} ms", f"{which}, {1e3 * rtt:g} ms"
            others = greedy(baseline, count, "b")
            sides: list[tuple[str, Sequence[Traffic]]] = [
                (SUBJECT, greedy(study.subject, count, "a", **settings)),
                (baseline.text, greedy(baseline, count, "a", **settings)),
                (SOLO, []),
            ]
            for role, side in sides:
                flows = [*(replace(flow, start=(begin, begin + 1.0)) for flow in side), *others]
                yield Case(
                    point=point,
                    role=role,
                    x=buffer,
                    panel=panel,
                    scenario=study.path(buffer, rtt_s=rtt).scenario(
                        flows,
                        duration=duration,
                        measure_from=measured,
                        delivered=[flow.name for flow in flows],
                        period=1.0,
                    ),
                    facts={"begin": measured, "rtt": rtt, "allowed": study.pick(15.0, 30.0)},
                )


def _coexistence_measure(case: Case, record: Record) -> dict[str, float]:
    own, other = record.goodput_bps("a"), record.goodput_bps("b")
    found = {
        "goodput_other": other,
        "delay_p95": record.delay_p95_s,
        "rtt_p95": case.facts["rtt"] + record.delay_p95_s,
        "loss_other": record.loss("b"),
    }
    if case.role == SOLO:
        return found
    fair = (own + other) / max(1, len(record.flows))
    begin = case.facts["begin"]
    starved, starving = (
        record.longest_below_s(side, STARVED * fair / 8.0, begin=begin, end=record.duration_s, step=1.0)
        / case.facts["allowed"]
        for side in ("b", "a")
    )
    share = 2.0 * own / (own + other) if own + other > 0.0 else 0.0
    return found | {"share": share, "starved": starved, "starving": starving}


def mean_harm(solo: Any, beside: Any, *, more_is_better: bool) -> Any:
    """Return the harm [ware2019 §4] to a quantity: the share of the solo value that is lost, or of the value that is added.

    Parameters
    ----------
    solo
        The quantity without the other flows.
    beside
        The quantity beside them.
    more_is_better
        Whether more of it is better, as of goodput.

    Examples
    --------
    >>> float(mean_harm(10.0, 4.0, more_is_better=True)), float(mean_harm(50.0, 100.0, more_is_better=False))
    (0.6, 0.5)
    """
    lost, whole = (solo - beside, solo) if more_is_better else (beside - solo, beside)
    return np.where(whole > 0.0, np.maximum(lost, 0.0) / np.where(whole > 0.0, whole, 1.0), 0.0)


def _harm(results: pd.DataFrame) -> pd.DataFrame:
    """Add the harm to goodput, to the 95th percentile of the round-trip time, and to the loss rate."""
    alone = results[results["role"] == SOLO].set_index(["point", "run"])
    keys = pd.MultiIndex.from_frame(results[["point", "run"]])
    derived = results.copy()
    for column, source, more in (
        ("harm", "goodput_other", True),
        ("harm_rtt", "rtt_p95", False),
        ("harm_loss", "loss_other", False),
    ):
        solo = alone[source].reindex(keys).to_numpy()
        derived[column] = mean_harm(solo, results[source].to_numpy(), more_is_better=more)
    return derived


COEXISTENCE = Item(
    name="coexistence",
    section="RFC 9743 §5.2.1",
    title="Beside existing algorithms",
    question="Does the algorithm take more from flows of a baseline than these take from each other, and does it get its share?",
    cases=_coexistence,
    measure=_coexistence_measure,
    derive=_harm,
    limits=(
        Limit(
            column="share",
            label="share of the fair share",
            unit="%",
            better="higher",
            factor=0.5,
            breaks="gives way beside the baselines",
            trait="timid",
        ),
        Limit(
            column="harm",
            most=1.0,
            label="harm to the goodput of the others",
            slack=0.1,
            breaks="takes more than its share",
            trait="unfair",
        ),
        Limit(
            column="harm_rtt",
            most=1.0,
            label="harm to the 95th percentile of the others' RTT",
            slack=0.1,
            breaks="delays others more than they delay each other",
        ),
        Limit(
            column="starved",
            label="longest starvation of a flow of the others by that allowed",
            slack=1.0,
            grave=True,
            breaks="starves others",
            trait="unfair",
        ),
    ),
    reports=(
        Quantity(column="starving", label="longest starvation of an own flow by that allowed"),
        Quantity(column="harm_loss", most=1.0, label="harm to the loss rate of the others"),
        Quantity(column="loss_other", most=1.0, label="loss rate of the others", unit="%"),
        DELAY_P95_REPORTED,
    ),
    note=(
        "Harm is that of Ware et al. (HotNets 2019): (solo - beside) / solo for goodput, (beside - solo) / beside for delay and "
        "loss. The limit is the harm that a baseline does to itself under the same conditions. The rows of a baseline are a "
        "baseline beside itself. A flow starves in seconds in which it delivers less than 10 % of its fair share; 30 s in a row "
        "are allowed, in quick mode 15 s. The side that joins starts after half of the run, without slow start."
    ),
    x_label="buffer [BDP]",
    log_x=True,
)

# --- real-time traffic ---

CALL_BPS = 2e6


def _real_time(study: Study) -> Iterator[Case]:
    for factor in study.pick((1.0, 5.0), (0.5, 1.0, 2.0, 5.0, 10.0)):
        for role, algorithm in study.roles():
            flows = [*greedy(algorithm, 1, "a"), call("call", CALL_BPS)]
            yield Case(
                point=f"{factor:g} BDP",
                role=role,
                x=factor,
                scenario=study.scenario(flows, study.path(factor)),
            )


def _real_time_measure(case: Case, record: Record) -> dict[str, float]:
    return link(case, record) | {"call_loss": record.loss("call"), "goodput": record.goodput_bps("a")}


REAL_TIME = Item(
    name="real-time",
    section="RFC 9743 §5.2.2",
    title="Beside real-time traffic",
    question="What delay and what loss does one flow cause to a call of 2 Mbit/s?",
    cases=_real_time,
    measure=_real_time_measure,
    limits=(
        Limit(
            column="delay_p95",
            label="95th percentile of the queueing delay of the call",
            unit="ms",
            factor=1.25,
            slack=0.002,
            breaks="delays calls more than the baselines do",
        ),
        Limit(
            column="call_loss",
            most=1.0,
            label="loss rate of the call",
            unit="%",
            factor=2.0,
            slack=0.005,
            breaks="causes losses in calls",
        ),
    ),
    reports=(Quantity(column="goodput", label="goodput of the flow", unit="Mbit/s"),),
    note="The call is a constant bit rate with jitter in place of an adaptive one.",
    x_label="buffer [BDP]",
    log_x=True,
)

# --- long flows beside short flows of others ---


def _mixed_scenario(
    study: Study, load: float, algorithm: Algorithm, baseline: Algorithm, run: int
) -> Scenario:
    flows = short_flows(study, run, load, baseline.tcp(), duration=study.duration)
    flows += greedy(algorithm, 1, "long")
    return study.scenario(flows)


def _mixed(study: Study) -> Iterator[Case]:
    for baseline in study.baselines:
        for load in study.pick((0.2, 0.5), (0.2, 0.4, 0.6)):
            for role, algorithm in ((SUBJECT, study.subject), (baseline.text, baseline)):
                yield Case(
                    point=f"short flows {baseline.text}, load {load:.0%}",
                    role=role,
                    x=100.0 * load,
                    panel=f"short flows: {baseline.text}",
                    scenario=partial(_mixed_scenario, study, load, algorithm, baseline),
                )


def _mixed_measure(case: Case, record: Record) -> dict[str, float]:
    return completions(record, "short") | link(case, record) | {"long": record.goodput_bps("long")}


MIXED = Item(
    name="mixed",
    section="RFC 9743 §5.2.3",
    title="A long flow beside short flows of others",
    question="How long do transfers of a baseline take beside a long flow of the algorithm?",
    cases=_mixed,
    measure=_mixed_measure,
    limits=(COMPLETION_MEAN, COMPLETION_P95, DELAY_MEAN),
    reports=(Quantity(column="long", label="goodput of the long flow", unit="Mbit/s"),),
    x_label="load [%]",
)

# --- incremental deployment ---

CROWD = 20


def _side(algorithm: Algorithm, first: int, count: int, prefix: str) -> list[Traffic]:
    return [Traffic(name=f"{prefix}{number}", tcp=algorithm.tcp()) for number in range(first, first + count)]


def _deployment(study: Study) -> Iterator[Case]:
    for baseline in study.baselines:
        for percent in (10, 50, 90):
            new = CROWD * percent // 100
            for role, algorithm in ((SUBJECT, study.subject), (baseline.text, baseline)):
                flows = _side(algorithm, 0, new, "a") + _side(baseline, new, CROWD - new, "b")
                yield Case(
                    point=f"{percent} % new, the others {baseline.text}",
                    role=role,
                    x=percent,
                    panel=f"the others: {baseline.text}",
                    scenario=study.scenario(flows, delay=False),
                )
    for segments in (2, 8, 64):
        delayed_ack = DelayedAck(segments=segments, timer="40 ms")
        if not study.accepts(delayed_ack=delayed_ack):
            continue
        for role, algorithm in study.roles():
            sparse = algorithm.tcp(delayed_ack=delayed_ack)
            path = Path(
                rate_bps=study.rate_bps, rtt_s=study.rtt_s, buffer=bdp_packets(study.rate_bps, study.rtt_s)
            )
            yield Case(
                point=f"an ACK for {segments} segments",
                role=role,
                x=segments,
                panel="segments per ACK",
                scenario=study.scenario([Traffic(name="a0", tcp=sparse)], path, delay=False),
            )


def _deployment_measure(_: Case, record: Record) -> dict[str, float]:
    others = record.of("b", "goodput_bps")
    if not others.size:
        return {"utilization": record.utilization}
    everyone = record.of("", "goodput_bps").mean()
    own = record.of("a", "goodput_bps").mean()
    return {
        "share": float(own / everyone) if everyone else 0.0,
        "share_other": float(others.mean() / everyone) if everyone else 0.0,
    }


DEPLOYMENT = Item(
    name="deployment",
    section="RFC 9743 §5.3.2",
    title="Incremental deployment",
    question="Do few new flows among many old ones, and few old among many new ones, get their shares?",
    cases=_deployment,
    measure=_deployment_measure,
    limits=(
        Limit(
            column="share_other",
            label="mean share of old flows by the fair share",
            unit="%",
            better="higher",
            factor=0.75,
            breaks="displaces flows of the baselines",
            trait="unfair",
        ),
        Limit(
            column="share",
            label="mean share of new flows by the fair share",
            unit="%",
            better="higher",
            factor=0.5,
            breaks="gets little beside many flows of the baselines",
            trait="timid",
        ),
        Limit(
            column="utilization",
            most=1.0,
            label="utilization with few ACKs",
            unit="%",
            better="higher",
            factor=0.9,
            breaks="needs many ACKs",
        ),
    ),
    excludes="a wrong negotiation of ECN: both ends of a flow have the same feedback of marks",
    x_label="new flows [%], or segments per ACK",
)
