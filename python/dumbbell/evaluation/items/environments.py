"""Common environments: RFC 9743 §6."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dumbbell.evaluation.algorithm import Algorithm
from dumbbell.evaluation.item import Item
from dumbbell.evaluation.items.quantities import (
    DELAY_MEAN,
    DELAY_P95,
    GOODPUT,
    LOSS_REPORTED,
    UTILIZATION,
    link,
)
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Case, Path, Study, bdp_packets, greedy
from dumbbell.scenario import Bernoulli, Gilbert, Headers, Opportunities, Scenario, TwoState, Wifi

# --- tunnels ---

OUTER_HEADER = 60
"""Outer IPv4 and UDP headers with those of an encapsulation, bytes."""


def _tunnel(study: Study) -> Iterator[Case]:
    for loss in (0.0, 0.001):
        for role, algorithm in study.roles():
            tcp: dict[str, Any] = {"mss": "1360 bytes", "headers": Headers(data=f"{40 + OUTER_HEADER} bytes")}
            settings = {"impairments": [Bernoulli(probability=loss)]} if loss else {}
            yield Case(
                point=f"inner MTU 1400, outer loss {loss:.1%}",
                role=role,
                scenario=study.scenario(greedy(algorithm, 2, "a", **tcp), study.path(settings=settings)),
            )


TUNNEL = Item(
    name="tunnel",
    section="RFC 9743 §6.2",
    title="Tunnels",
    question="Do a smaller MTU and losses outside of the tunnel impair the algorithm more than the baselines?",
    cases=_tunnel,
    measure=link,
    limits=(UTILIZATION, DELAY_MEAN),
    excludes="ECN at the end of a tunnel (RFC 6040): packets of the engine have one header",
)

# --- wired paths ---


def _wired(study: Study) -> Iterator[Case]:
    rates = study.pick((2e6, 20e6, 100e6), (10e6, 100e6, 1000e6))
    rtts = study.pick((0.001, 0.04, 0.2), (0.001, 0.01, 0.1, 0.3))
    for rate in rates:
        duration = study.duration if rate < 500e6 else study.duration / 2.0
        for rtt in rtts:
            for role, algorithm in study.roles():
                path = Path(rate_bps=rate, rtt_s=rtt, buffer=max(20, bdp_packets(rate, rtt)))
                yield Case(
                    point=f"{rate / 1e6:g} Mbit/s, {1e3 * rtt:g} ms",
                    role=role,
                    x=1e3 * rtt,
                    panel=f"{rate / 1e6:g} Mbit/s",
                    scenario=path.scenario(
                        greedy(algorithm, 1, "a"), duration=duration, measure_from=duration / 4.0
                    ),
                )


WIRED = Item(
    name="wired",
    section="RFC 9743 §6.3",
    title="Wired paths",
    question="Does one flow use paths of different rates and round-trip times?",
    cases=_wired,
    measure=link,
    limits=(UTILIZATION, DELAY_P95),
    reports=(LOSS_REPORTED,),
    note="The buffer is 1 BDP, and at least 20 packets.",
    x_label="RTT [ms]",
    log_x=True,
)

# --- wireless paths ---

TRACE_MS = 10_000


def cellular(study: Study, run: int) -> Opportunities:
    """Return delivery opportunities of a rate that walks at random between 2 and 20 Mbit/s, every 100 ms."""
    random = study.generator("cellular", run)
    rate, rates = 10.0, []
    for _ in range(TRACE_MS // 100):
        rate = float(np.clip(rate * np.exp(random.normal(0.0, 0.2)), 2.0, 20.0))
        rates.append(rate)
    # An opportunity carries 1504 bytes.
    carried = np.cumsum(np.repeat(rates, 100)) * 1e3 / (8.0 * 1504.0)
    whole = np.floor(carried).astype(int)
    times = np.repeat(np.arange(1, TRACE_MS + 1), np.diff(whole, prepend=0))
    listed = [int(time) for time in times]
    if listed[-1] != TRACE_MS:
        listed.append(TRACE_MS)
    return Opportunities(times=listed)


def _cellular_scenario(study: Study, algorithm: Algorithm, run: int) -> Scenario:
    path = Path(rate_bps=10e6, rtt_s=study.rtt_s, buffer=bdp_packets(10e6, 0.2))
    return study.scenario(greedy(algorithm, 1, "a"), path, medium={"opportunities": cellular(study, run)})


def _wireless(study: Study) -> Iterator[Case]:
    impaired = [(f"random loss {loss:.1%}", Bernoulli(probability=loss)) for loss in (0.001, 0.01, 0.05)]
    bursts = [
        ("bursts of losses", TwoState(good="1 s", bad="50 ms", loss=0.3)),
        ("bursts of lost packets", Gilbert(p=0.001, r=0.2)),
    ]
    for point, impairment in [*impaired, *bursts]:
        for role, algorithm in study.roles():
            yield Case(
                point=point,
                role=role,
                scenario=study.scenario(
                    greedy(algorithm, 1, "a"), study.path(settings={"impairments": [impairment]})
                ),
            )
    for role, algorithm in study.roles():
        yield Case(
            point="cellular, 2 to 20 Mbit/s",
            role=role,
            scenario=partial(_cellular_scenario, study, algorithm),
            facts={"varies": 1.0},
        )
        yield Case(
            point="Wi-Fi",
            role=role,
            scenario=study.scenario(greedy(algorithm, 1, "a"), medium={"wifi": Wifi()}),
            facts={"varies": 1.0},
        )


def _wireless_measure(case: Case, record: Record) -> dict[str, float]:
    found = link(case, record) | {"goodput": record.goodput_bps("a")}
    if "varies" in case.facts:
        # The nominal rate says nothing about the time that a backlog takes, nor about what could have been sent.
        for name in ("delay_p95", "delay_p99", "utilization"):
            found.pop(name, None)
    return found


WIRELESS = Item(
    name="wireless",
    section="RFC 9743 §6.4",
    title="Wireless paths",
    question="Which goodput and delay does one flow have with losses of the medium, and on a link whose rate varies?",
    cases=_wireless,
    measure=_wireless_measure,
    limits=(
        replace(GOODPUT, breaks="gets less on wireless paths"),
        DELAY_MEAN,
    ),
    note="The rate of the cellular link is a seeded random walk, the same for all algorithms in a replication.",
)
