"""Special environments: RFC 9743 §7."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dumbbell.evaluation.algorithm import Algorithm
from dumbbell.evaluation.item import Item
from dumbbell.evaluation.items.quantities import (
    COMPLETION_MEAN,
    COMPLETION_P95,
    DELAY_MEAN,
    DELAY_P95_REPORTED,
    GOODPUT,
    LOSS_REPORTED,
    UTILIZATION,
    completions,
    flows_text,
    link,
)
from dumbbell.evaluation.means import Need, registered
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Case, Path, Study, Traffic, bdp_packets, call, greedy, seconds
from dumbbell.judge.baseline import Limit
from dumbbell.judge.quantity import Quantity
from dumbbell.scenario import Cbr, LinkChange, Reorder, Scenario, Transfer

# --- active queue management ---

DISCIPLINES = ("red", "codel", "fqcodel", "pie", "fqpie", "cobalt", "dualpi2")


def _disciplines() -> list[str]:
    return [name for name in DISCIPLINES if name in registered("queues")]


def _with_ecn(algorithm: Algorithm, ecn: str) -> dict[str, Any] | None:
    """Return the fields of connections with ECN or without; none if the algorithm does not accept them.

    An algorithm that needs another kind of ECN than the classic one has its own.
    """
    if algorithm.accepts(ecn=ecn):
        return {"ecn": ecn}
    return {} if ecn != "off" else None


def _aqm(study: Study) -> Iterator[Case]:
    for ecn in ("off", "classic"):
        if _with_ecn(study.subject, ecn) is None:
            continue
        for name in _disciplines():
            for count in study.pick((4,), (1, 4, 20)):
                for role, algorithm in study.roles():
                    settings = _with_ecn(algorithm, ecn)
                    if settings is None:
                        continue
                    yield Case(
                        point=f"{name}, {'without ECN' if ecn == 'off' else 'ECN'}, {flows_text(count)}",
                        role=role,
                        scenario=study.scenario(
                            greedy(algorithm, count, "a", **settings), study.path(queue=name), delay=False
                        ),
                    )


AQM = Item(
    name="aqm",
    section="RFC 9743 §7.1, RFC 7928",
    title="Active queue management",
    question="Does the algorithm keep delay and utilization behind queue disciplines that manage the delay?",
    cases=_aqm,
    measure=link,
    limits=(UTILIZATION, DELAY_MEAN),
    reports=(
        LOSS_REPORTED,
        Quantity(column="mark_rate", most=1.0, label="share of marked packets", unit="%"),
    ),
    needs=(Need("queues", DISCIPLINES, "a queue discipline that manages the delay"),),
    partly=tuple(Need("queues", (name,), name) for name in DISCIPLINES),
    note="Disciplines have their default parameters.",
)

# --- circuit breakers ---

BREAKER_BPS = 4e6
BREAKER_LOSS = 0.1
"""Loss at which a circuit breaker stops."""
BREAKER_INTERVAL_S = 1.0
BREAKER_INTERVALS = 3
"""Intervals in a row above that loss; a choice of this project, long enough that a varying delay is no loss."""


def _circuit_breaker(study: Study) -> Iterator[Case]:
    for factor in study.pick((0.5, 1.0), (0.1, 0.5, 1.0)):
        for count in (1, 4):
            for role, algorithm in study.roles():
                yield Case(
                    point=f"{flows_text(count)}, {factor:g} BDP",
                    role=role,
                    scenario=study.scenario(
                        [*greedy(algorithm, count, "a"), call("cbr", BREAKER_BPS)],
                        study.path(factor),
                        delivered=["cbr"],
                        period=BREAKER_INTERVAL_S,
                        delay=False,
                    ),
                )


def _circuit_breaker_measure(_: Case, record: Record) -> dict[str, float]:
    edges = np.arange(1.0, record.duration_s + 1e-9, BREAKER_INTERVAL_S)
    arrived = record.delivered("cbr", edges)[0] * 8.0 / BREAKER_INTERVAL_S
    lost = np.maximum(1.0 - arrived / BREAKER_BPS, 0.0)
    in_a_row = np.lib.stride_tricks.sliding_window_view(lost, BREAKER_INTERVALS).min(axis=1)
    return {
        "sustained": float(in_a_row.max(initial=0.0)),
        "worst": float(lost.max(initial=0.0)),
        "loss": record.loss("cbr"),
    }


CIRCUIT_BREAKER = Item(
    name="circuit-breaker",
    section="RFC 9743 §7.2",
    title="Beside a circuit breaker",
    question="Does the algorithm cause losses for which a circuit breaker would stop a constant bit rate?",
    cases=_circuit_breaker,
    measure=_circuit_breaker_measure,
    limits=(
        Limit(
            column="sustained",
            most=1.0,
            label="loss of the constant bit rate in three seconds in a row",
            unit="%",
            bound=BREAKER_LOSS,
            breaks="triggers circuit breakers",
        ),
    ),
    reports=(
        Quantity(column="worst", most=1.0, label="loss in the worst second", unit="%"),
        Quantity(column="loss", most=1.0, label="loss rate", unit="%"),
    ),
    note="The breaker is evaluated after the run: it would stop if it lost 10 % in each of three seconds in a row.",
)

# --- varying delay ---


def _delay_changes(study: Study, kind: str) -> list[LinkChange]:
    """Return changes of the delay of the bottleneck by half of the round trip, over a period or in steps."""
    base = 0.45 * study.rtt_s
    if kind == "steps of 15 s":
        # Handovers of a constellation of satellites.
        random = np.random.Generator(np.random.PCG64(study.seed))
        times = np.arange(5.0, study.duration, 15.0 if not study.quick else 5.0)
        delays = [base + study.rtt_s * 0.5 * float(random.random()) for _ in times]
    else:
        period = float(kind.split()[-2])
        times = np.arange(period / 20.0, study.duration, period / 20.0)
        # A triangle from -1/2 to 1/2 of the round trip, in one direction.
        phase = (times / period) % 1.0
        swing = np.where(phase < 0.5, 4.0 * phase - 1.0, 3.0 - 4.0 * phase)
        delays = list(np.maximum(base + 0.5 * study.rtt_s * swing, 0.0))
    return [
        LinkChange(at=seconds(float(at)), delay=seconds(float(delay)))
        for at, delay in zip(times, delays, strict=True)
    ]


def _varying_delay(study: Study) -> Iterator[Case]:
    for kind in ("sawtooth of 1 s", "sawtooth of 10 s", "steps of 15 s"):
        changes = _delay_changes(study, kind)
        for role, algorithm in study.roles():
            yield Case(
                point=kind,
                role=role,
                scenario=study.scenario(
                    greedy(algorithm, 1, "a"), study.path(2.0, settings={"changes": changes})
                ),
            )


def _varying_delay_measure(case: Case, record: Record) -> dict[str, float]:
    again = record.of("a", "segments_retransmitted").sum()
    lost = record.of("a", "segments_lost").sum()
    sent = record.of("a", "segments_sent").sum()
    return link(case, record) | {"spurious": float(max(again - lost, 0.0) / sent) if sent else 0.0}


VARYING_DELAY = Item(
    name="varying-delay",
    section="RFC 9743 §7.3",
    title="Paths whose delay varies",
    question="Does the algorithm use a path whose round-trip time varies by half?",
    cases=_varying_delay,
    measure=_varying_delay_measure,
    limits=(
        UTILIZATION,
        Limit(
            column="spurious",
            most=1.0,
            label="spurious retransmissions",
            unit="%",
            factor=2.0,
            slack=0.01,
            breaks="retransmits what was not lost",
        ),
    ),
    note="Delays change in steps of a twentieth of a period; packets stay in order. In quick mode, handovers come every 5 s.",
)

# --- internet of things ---


def _iot(study: Study) -> Iterator[Case]:
    for rate in (20e3, 100e3):
        for mss in (100, 500):
            for role, algorithm in study.roles():
                tcp = algorithm.tcp(
                    mss=f"{mss} bytes", initial_window="1 segments", receive_buffer=f"{4 * mss} bytes"
                )
                size = 20_000 if rate > 50e3 else 5_000
                flows = [
                    Traffic(name=f"a{number}", tcp=tcp, source=Transfer(size=f"{size} bytes"))
                    for number in range(2)
                ]
                yield Case(
                    point=f"{rate / 1e3:g} kbit/s, segments of {mss} bytes",
                    role=role,
                    scenario=Path(rate_bps=rate, rtt_s=0.2, buffer=4).scenario(
                        flows, duration=60.0, delay=False
                    ),
                )


def _iot_measure(_: Case, record: Record) -> dict[str, float]:
    times = record.completion_s("a")
    return {"completion_mean": float(times.mean()), "apart": float(times.max() / times.min())}


IOT = Item(
    name="iot",
    section="RFC 9743 §7.4",
    title="Internet of things",
    question="How long do two small transfers take with windows of at most four segments on slow links?",
    cases=_iot,
    measure=_iot_measure,
    limits=(COMPLETION_MEAN,),
    reports=(Quantity(column="apart", label="longer by shorter transfer"),),
)

# --- high delay ---


def _high_delay(study: Study) -> Iterator[Case]:
    rate = 10e6
    for rtt in study.pick((0.3, 0.6), (0.3, 0.6, 1.3, 2.6)):
        for size in study.pick((1e6, 5e6), (1e6, 10e6, 30e6)):
            for role, algorithm in study.roles():
                flow = Traffic(name="a0", tcp=algorithm.tcp(), source=Transfer(size=f"{size:.0f} bytes"))
                yield Case(
                    point=f"{1e3 * rtt:g} ms, {size / 1e6:g} MB",
                    role=role,
                    x=1e3 * rtt,
                    panel=f"{size / 1e6:g} MB",
                    scenario=Path(rate_bps=rate, rtt_s=rtt, buffer=bdp_packets(rate, rtt)).scenario(
                        [flow], duration=study.pick(120.0, 300.0), delay=False
                    ),
                )


def _completion_measure(_: Case, record: Record) -> dict[str, float]:
    return completions(record, "a")


HIGH_DELAY = Item(
    name="high-delay",
    section="RFC 9743 §7.5",
    title="Paths with high delay",
    question="How long do transfers take at 10 Mbit/s over satellites and to the Moon?",
    cases=_high_delay,
    measure=_completion_measure,
    limits=(COMPLETION_MEAN,),
    x_label="RTT [ms]",
    log_x=True,
)

# --- misbehaving receivers, several paths ---


def _nothing(_: Study) -> Iterator[Case]:
    yield from ()


def _no_measure(_: Case, __: Record) -> dict[str, float]:
    return {}


MISBEHAVING = Item(
    name="misbehaving",
    section="RFC 9743 §7.6",
    title="Misbehaving nodes",
    question="Does a receiver that divides or anticipates acknowledgements, or hides marks, gain more than 10 %?",
    cases=_nothing,
    measure=_no_measure,
    limits=(),
    lacks="every receiver of the engine acknowledges what it has, once, and echoes every mark; none can be told to misbehave",
)
MULTIPATH = Item(
    name="multipath",
    section="RFC 9743 §7.10",
    title="Several paths",
    question="Do subflows on several paths share bottlenecks fairly?",
    cases=_nothing,
    measure=_no_measure,
    limits=(),
    lacks="a connection of the engine has one path at a time, and congestion controls are not coupled",
)

# --- reordering ---


def _reordering(study: Study) -> Iterator[Case]:
    for share in study.pick((0.01, 0.1), (0.001, 0.01, 0.1, 0.3)):
        for delay in study.pick((0.01, 0.04), (0.001, 0.01, 0.04)):
            settings = {"impairments": [Reorder(delay=seconds(delay), probability=share)]}
            for role, algorithm in study.roles():
                yield Case(
                    point=f"{share:.1%} early by {1e3 * delay:g} ms",
                    role=role,
                    x=100.0 * share,
                    panel=f"early by {1e3 * delay:g} ms",
                    scenario=study.scenario(greedy(algorithm, 1, "a"), study.path(settings=settings)),
                )


def _goodput_measure(case: Case, record: Record) -> dict[str, float]:
    return link(case, record) | {"goodput": record.goodput_bps("a")}


REORDERING = Item(
    name="reordering",
    section="RFC 9743 §7.7",
    title="Extreme reordering",
    question="Which goodput is left if packets arrive out of order?",
    cases=_reordering,
    measure=_goodput_measure,
    limits=(GOODPUT,),
    note="As in netem, all packets are delayed but some, which overtake those before them.",
    x_label="reordered packets [%]",
    log_x=True,
)

# --- transients ---


def _crowd(study: Study, algorithm: Algorithm, run: int) -> Scenario:
    """Return a long flow and many transfers that begin within a second."""
    random = study.generator("flash crowd", run)
    half = study.duration / 2.0
    crowd = [
        Traffic(
            name=f"crowd{number}",
            tcp=algorithm.tcp(),
            source=Transfer(size=f"{round(50_000 * float(random.exponential()) + 1500)} bytes"),
            start=(begin, begin),
        )
        for number, begin in enumerate(half + random.random(study.pick(40, 100)))
    ]
    return study.path().scenario(
        [*greedy(algorithm, 1, "a"), *crowd],
        duration=study.duration,
        measure_from=half,
        delivered=["a0"],
    )


def _transients(study: Study) -> Iterator[Case]:
    half = study.duration / 2.0
    for role, algorithm in study.roles():
        yield Case(
            point="flash crowd",
            role=role,
            scenario=partial(_crowd, study, algorithm),
            facts={"begin": half, "rate": study.rate_bps, "crowd": 1.0},
        )
        for point, start, stop in (
            ("75 % of the rate becomes free", (0.0, 0.02), half),
            ("75 % of the rate is taken", (half, half + 0.02), None),
        ):
            cbr = Traffic(
                name="cbr",
                tcp=None,
                source=Cbr(rate=f"{0.75 * study.rate_bps:.0f} bit/s", packet="1500 bytes"),
                start=start,
                stop=stop,
            )
            facts = {"begin": half, "rate": study.rate_bps}
            yield Case(
                point=point,
                role=role,
                scenario=study.path(1.2).scenario(
                    [*greedy(algorithm, 1, "a"), cbr],
                    duration=study.duration,
                    measure_from=half,
                    delivered=["a0"],
                ),
                facts=facts | ({"freed": 1.0} if stop else {"taken": 1.0}),
            )


def _transients_measure(case: Case, record: Record) -> dict[str, float]:
    facts = case.facts
    found = {"delay_p95": record.delay_p95_s, "drop_rate": record.drop_rate}
    if "crowd" in facts:
        found |= {"completion_p95": completions(record, "crowd")["completion_p95"]}
    if "freed" in facts:
        found["regained"] = record.time_to_share_s("a", 0.8, facts["rate"], begin=facts["begin"], step=0.5)
    if "taken" in facts:
        found["cross_loss"] = record.loss("cbr")
    return found


TRANSIENTS = Item(
    name="transients",
    section="RFC 9743 §7.8, tcpeval §5.3",
    title="Transients",
    question="What happens if a crowd of transfers arrives, or if other traffic of 75 % of the rate starts or stops?",
    cases=_transients,
    measure=_transients_measure,
    limits=(
        COMPLETION_P95,
        Limit(
            column="regained",
            label="time to 80 % of a rate that becomes free",
            unit="s",
            factor=1.5,
            slack=1.0,
            breaks="uses free capacity late",
        ),
        Limit(
            column="cross_loss",
            most=1.0,
            label="loss of the traffic that starts",
            unit="%",
            factor=2.0,
            slack=0.005,
            breaks="makes way late",
        ),
    ),
    reports=(
        DELAY_P95_REPORTED,
        LOSS_REPORTED,
    ),
)

# --- changes of the path ---


def _path_change(study: Study) -> Iterator[Case]:
    half = study.duration / 2.0
    slow = study.rate_bps / 10.0
    hop = 0.45 * study.rtt_s
    changes = {
        "rate x 0.1": ([LinkChange(at=seconds(half), rate=f"{slow:.0f} bit/s")], study.rate_bps, slow),
        "rate x 10": (
            [LinkChange(at=seconds(half), rate=f"{study.rate_bps:.0f} bit/s")],
            slow,
            study.rate_bps,
        ),
        "RTT x 5": (
            [LinkChange(at=seconds(half), delay=seconds(hop + 4.0 * study.rtt_s))],
            study.rate_bps,
            study.rate_bps,
        ),
        "RTT x 0.2": (
            [LinkChange(at=seconds(half), delay=seconds(hop - 0.4 * study.rtt_s))],
            study.rate_bps,
            study.rate_bps,
        ),
        "blackout of 2 s": (
            [
                LinkChange(at=seconds(half), rate="1 kbit/s"),
                LinkChange(at=seconds(half + 2.0), rate=f"{study.rate_bps:.0f} bit/s"),
            ],
            study.rate_bps,
            study.rate_bps,
        ),
    }
    for point, (listed, before, after) in changes.items():
        for role, algorithm in study.roles():
            path = Path(
                rate_bps=before,
                rtt_s=study.rtt_s,
                buffer=bdp_packets(study.rate_bps, study.rtt_s),
                settings={"changes": listed},
            )
            yield Case(
                point=point,
                role=role,
                scenario=path.scenario(
                    greedy(algorithm, 1, "a"),
                    duration=study.duration * 1.5,
                    measure_from=half,
                    delivered=["a0"],
                    delay=False,
                ),
                facts={"begin": half + (2.0 if "blackout" in point else 0.0), "rate": after},
            )


def _path_change_measure(case: Case, record: Record) -> dict[str, float]:
    facts = case.facts
    return {
        "adapted": record.time_to_share_s("a", 0.9, facts["rate"], begin=facts["begin"], step=0.5),
        "delay_mean": record.delay_mean_s,
        "drop_rate": record.drop_rate,
    }


PATH_CHANGE = Item(
    name="path-change",
    section="RFC 9743 §7.9",
    title="Sudden changes of the path",
    question="How long does a flow take to use 90 % of a path that changed?",
    cases=_path_change,
    measure=_path_change_measure,
    limits=(
        Limit(
            column="adapted",
            label="time to 90 % of the rate",
            unit="s",
            factor=1.5,
            slack=1.0,
            breaks="adapts late to a changed path",
        ),
    ),
    reports=(
        Quantity(column="delay_mean", label="mean queueing delay after the change", unit="ms"),
        Quantity(column="drop_rate", most=1.0, label="loss rate after the change", unit="%"),
    ),
    note="In a blackout, the link carries 1 kbit/s. A flow that does not reach 90 % counts with the rest of the run.",
)

# --- data centres ---


def _data_centre(study: Study) -> Iterator[Case]:
    rate = 1e9
    for rtt in (100e-6, 2e-3):
        for count in study.pick((32,), (8, 32, 64)):
            for role, algorithm in study.roles():
                flows = [
                    Traffic(
                        name=f"a{number}",
                        tcp=algorithm.tcp(),
                        source=Transfer(size="64000 bytes"),
                        start=(0.0, 100e-6),
                    )
                    for number in range(count)
                ]
                yield Case(
                    point=f"{count}:1, {1e3 * rtt:g} ms",
                    role=role,
                    scenario=Path(rate_bps=rate, rtt_s=rtt, buffer=250).scenario(
                        flows, duration=10.0, delay=False
                    ),
                )


def _data_centre_measure(_: Case, record: Record) -> dict[str, float]:
    return completions(record, "a") | {
        "drop_rate": record.drop_rate,
        "backlog": float(record.bottleneck["backlog_max_packets"]),
    }


DATA_CENTRE = Item(
    name="data-centre",
    section="RFC 9743 §7.11",
    title="Data centres",
    question="How long do transfers of 64 kB from many hosts to one take at 1 Gbit/s?",
    cases=_data_centre,
    measure=_data_centre_measure,
    limits=(COMPLETION_MEAN, COMPLETION_P95),
    reports=(
        LOSS_REPORTED,
        Quantity(column="backlog", label="longest queue", unit="packets"),
    ),
    note="The smallest timeout is 1 s (RFC 6298), as everywhere here; data centres use less.",
)
