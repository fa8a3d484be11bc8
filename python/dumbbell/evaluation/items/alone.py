"""One algorithm among its own flows: RFC 9743 §5.1, and the response to losses of RFC 9743 §5.3.1."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dumbbell.evaluation.algorithm import Algorithm
from dumbbell.evaluation.item import Item
from dumbbell.evaluation.items.quantities import (
    COMPLETION_MEAN,
    COMPLETION_P95,
    DELAY_P95,
    DELAY_REPORTED,
    UTILIZATION_REPORTED,
    completions,
    flows_text,
    link,
    log_uniform,
    log_uniform_mean,
)
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import Case, Path, Study, Traffic, greedy, seconds
from dumbbell.judge.baseline import Limit
from dumbbell.judge.quantity import Quantity
from dumbbell.scenario import Bernoulli, DropTail, Flow, Forced, Link, Probe, Reroute, Scenario, Tcp, Uniform
from dumbbell.transports import Transport

# --- congestion collapse ---

PAYLOAD_BYTES = 1460.0
RAMP_RATE_BPS = 2e6
RAMP_RTT_S = 0.04
RAMP = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Losses of the ramp, percent."""
LOSS_STEP_S = 30.0
TOTAL_LOSS_S = 60.0
REST_S = 70.0
"""The time after the ramp covers a timeout that has backed off during the total loss."""


def _ramp(study: Study) -> tuple[tuple[int, ...], float]:
    """Return the losses of the ramp, percent, and the duration of a step, s."""
    return study.pick((0, 30, 60, 90, 100), RAMP), study.pick(10.0, LOSS_STEP_S)


def _ramp_scenario(study: Study, tcp: Tcp | Transport) -> Scenario:
    """Return one flow whose packets take links with more and more losses, and then the first one again."""
    losses, step = _ramp(study)
    rate, delay = f"{RAMP_RATE_BPS:.0f} bit/s", seconds(RAMP_RTT_S / 2.0)
    links = [
        Link(
            name=f"r1-r2-loss{loss}",
            from_="r1",
            to="r2",
            rate=rate,
            delay=delay,
            queue=DropTail(limit="20 packets"),
            impairments=[Bernoulli(probability=loss / 100.0)] if loss else None,
        )
        for loss in losses
    ]
    edges = [("s", "r1"), ("r1", "s"), ("r2", "d"), ("d", "r2")]
    fast = [Link(name=f"{a}-{b}", from_=a, to=b, rate="20 Mbit/s", delay="0 s") for a, b in edges]
    back = Link(name="r2-r1", from_="r2", to="r1", rate=rate, delay=delay)
    times = [step * number for number in range(1, len(losses))]
    end = times[-1] + TOTAL_LOSS_S
    reroutes = [
        Reroute(at=seconds(at), path=["s-r1", f"r1-r2-loss{loss}", "r2-d"])
        for at, loss in zip([*times, end], [*losses[1:], losses[0]], strict=True)
    ]
    flow = Flow(
        name="a0",
        from_="s",
        to="d",
        tcp=tcp,
        path=["s-r1", f"r1-r2-loss{losses[0]}", "r2-d"],
        reroutes=reroutes,
        start=Uniform(uniform=("0 s", "1 s")),
    )
    return Scenario(
        duration=seconds(end + REST_S),
        nodes=["s", "r1", "r2", "d"],
        links=[*links, back, *fast],
        flows=[flow],
        probes=[
            Probe(quantities=["seq_sent"], flows=["a0"]),
            Probe(quantities=["delivered"], flows=["a0"], period="100 ms"),
        ],
    )


def _collapse(study: Study) -> Iterator[Case]:
    losses, step = _ramp(study)
    begin = step * (len(losses) - 1)
    count, rate = study.pick((100, 0.5e6), (200, 1e6))
    for role, algorithm in study.roles():
        yield Case(
            point="loss rising to 100 %",
            role=role,
            scenario=_ramp_scenario(study, algorithm.tcp()),
            facts={"begin": begin, "end": begin + TOTAL_LOSS_S, "high": begin - step},
        )
        path = Path(rate_bps=rate, rtt_s=study.rtt_s, buffer=50)
        yield Case(
            point=f"{count} flows on {rate / 1e6:g} Mbit/s",
            role=role,
            scenario=path.scenario(
                greedy(algorithm, count, "a"), duration=60.0, measure_from=10.0, delay=False
            ),
        )


def _collapse_measure(case: Case, record: Record) -> dict[str, float]:
    if not case.facts:
        carried = record.bottleneck["packets"] * PAYLOAD_BYTES
        return {"useful": float(record.of("a", "bytes_delivered").sum()) / carried if carried else 0.0}
    begin, end, high = (case.facts[name] for name in ("begin", "end", "high"))
    sent, _ = record.trace("seq_sent", "a0")
    # What was sent within the first two seconds may belong to the losses before.
    # Segments that leave together are one transmission.
    silent = np.unique(np.round(sent[(sent > begin + 2.0) & (sent < end)], 2))
    gaps = np.diff(silent)
    ratios = gaps[1:] / gaps[:-1]
    before = float(((sent > high) & (sent <= begin)).sum())
    times, delivered = record.trace("delivered", "a0")
    floor = delivered[times <= end].max(initial=0.0)
    resumed = times[(times > end) & (delivered > floor)]
    return {
        # A sender that sends fewer than three segments in a minute has backed off.
        "backoff": float(np.median(ratios)) if ratios.size else 2.0,
        "per_rtt": before / ((begin - high) / RAMP_RTT_S),
        "resumes": float(resumed[0] - end) if resumed.size else record.duration_s - end,
    }


COLLAPSE = Item(
    name="collapse",
    section="RFC 9743 §5.1.1",
    title="Congestion collapse",
    question="Does the sender back off when nothing arrives, and do many flows still deliver useful data?",
    cases=_collapse,
    measure=_collapse_measure,
    limits=(
        Limit(
            column="backoff",
            label="growth of the sending interval at 100 % loss",
            better="higher",
            bound=1.8,
            breaks="does not back off when all packets are lost",
        ),
        Limit(
            column="per_rtt",
            label="segments per RTT at 90 % loss",
            bound=1.0,
            breaks="sends more than a segment per RTT when 90 % of the packets are lost",
        ),
        Limit(
            column="useful",
            most=1.0,
            label="new data by all data on the bottleneck",
            unit="%",
            better="higher",
            bound=0.8,
            breaks="fills the bottleneck with retransmissions",
        ),
        Limit(
            column="resumes",
            label="time to the first new data after the loss",
            unit="s",
            factor=1.5,
            slack=5.0,
            breaks="resumes late after a loss of all packets",
        ),
    ),
    note="The ramp ends with one minute without any arrival. Packets then take a path without losses again.",
)

# --- bufferbloat ---


def _by_buffer(study: Study, counts: Sequence[int], factors: Sequence[float]) -> Iterator[Case]:
    """Yield some flows at bottlenecks whose buffers are multiples of the bandwidth-delay product."""
    for count in counts:
        for factor in factors:
            for role, algorithm in study.roles():
                yield Case(
                    point=f"{flows_text(count)}, {factor:g} BDP",
                    role=role,
                    x=factor,
                    panel=flows_text(count),
                    scenario=study.path(factor).scenario(
                        greedy(algorithm, count, "a"),
                        duration=study.duration * (1.0 if factor <= 5.0 else 2.0),
                        measure_from=study.warm_up,
                    ),
                )


def _bufferbloat(study: Study) -> Iterator[Case]:
    return _by_buffer(study, (1, 4), study.pick((0.5, 1.0, 5.0, 20.0), (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)))


BUFFERBLOAT = Item(
    name="bufferbloat",
    section="RFC 9743 §5.1.2",
    title="Bufferbloat",
    question="How long is the queue of flows that always have data, by the size of the buffer?",
    cases=_bufferbloat,
    measure=link,
    limits=(DELAY_P95,),
    reports=(
        DELAY_REPORTED,
        UTILIZATION_REPORTED,
    ),
    x_label="buffer [BDP]",
    log_x=True,
)

# --- high loss ---


def _high_loss(study: Study) -> Iterator[Case]:
    factors = study.pick((0.1, 0.5, 1.0), (0.02, 0.1, 0.5, 1.0, 1.5, 2.0))
    return _by_buffer(study, study.pick((2, 10), (2, 5, 10, 50)), factors)


HIGH_LOSS = Item(
    name="high-loss",
    section="RFC 9743 §5.1.3",
    title="High packet loss",
    question="How much do flows of the algorithm lose in small buffers?",
    cases=_high_loss,
    measure=link,
    limits=(
        Limit(
            column="drop_rate",
            most=1.0,
            label="loss rate",
            unit="%",
            factor=2.0,
            slack=0.005,
            breaks="causes high losses in small buffers",
            strength="loses less than half of what the baselines lose in small buffers",
        ),
    ),
    reports=(UTILIZATION_REPORTED,),
    x_label="buffer [BDP]",
    log_x=True,
)

# --- fairness among own flows ---

DELTA = 0.1
"""Delta of the delta-fair convergence time, RFC 5166 §2.3."""


def _own_fairness(study: Study) -> Iterator[Case]:
    rtts = (1, 2, 4, 8)
    for role, algorithm in study.roles():
        for count in study.pick((2, 4), (2, 4, 16)):
            yield Case(
                point=f"{count} flows, same RTT",
                role=role,
                scenario=study.path().scenario(
                    greedy(algorithm, count, "a"),
                    duration=study.duration * 2.0,
                    measure_from=study.warm_up,
                    delay=False,
                ),
            )
        mixed = [
            Traffic(name=f"a{number}", tcp=algorithm.tcp(), rtt_s=factor * study.rtt_s / 2.0)
            for number, factor in enumerate(rtts)
        ]
        yield Case(
            point="4 flows, RTTs 1:2:4:8",
            role=role,
            scenario=study.path().scenario(
                mixed, duration=study.duration * 2.0, measure_from=study.warm_up, delay=False
            ),
        )
        second = study.duration / 3.0
        late = [
            Traffic(name=f"a{number}", tcp=algorithm.tcp(), start=(second * number, second * number + 1.0))
            for number in range(2)
        ]
        yield Case(
            point="2 flows, the second starts late",
            role=role,
            scenario=study.path().scenario(
                late, duration=3.0 * study.duration, delivered=["a0", "a1"], delay=False
            ),
            facts={"begin": second},
        )


def converged_s(record: Record, begin: float, *, step: float, hold: int, share: float) -> float:
    """Return the time after which two flows have shares within a ratio for some intervals, s; at most the rest of the run.

    Parameters
    ----------
    record
        The run; deliveries of two flows are sampled.
    begin
        When the second one starts, s.
    step
        Length of the intervals, s.
    hold
        Number of intervals for which the shares must hold.
    share
        The smaller share by the larger.
    """
    edges = np.arange(begin, record.duration_s + 1e-9, step)
    rates = record.delivered("a", edges)
    fair = rates.min(axis=0) >= share * np.maximum(rates.max(axis=0), 1.0)
    for number in range(fair.size - hold + 1):
        if fair[number : number + hold].all():
            return float(edges[number + 1] - begin)
    return record.duration_s - begin


def _own_fairness_measure(case: Case, record: Record) -> dict[str, float]:
    if "begin" in case.facts:
        ratio = (1.0 - DELTA) / (1.0 + DELTA)
        # Intervals of 2 s average over the window's oscillation; one of them is longer than 10 RTTs.
        return {"converged": converged_s(record, case.facts["begin"], step=2.0, hold=1, share=ratio)}
    goodputs = record.of("a", "goodput_bps")
    return {
        "jain": record.jain("a"),
        "epsilon": float(goodputs.min() / goodputs.max()) if goodputs.max() > 0.0 else 1.0,
    }


OWN_FAIRNESS = Item(
    name="own-fairness",
    section="RFC 9743 §5.1.4",
    title="Fairness among its own flows",
    question="Do flows of the algorithm share a bottleneck evenly, and how fast does a new flow get its share?",
    cases=_own_fairness,
    measure=_own_fairness_measure,
    limits=(
        Limit(
            column="jain",
            most=1.0,
            label="Jain's index of the goodputs",
            better="higher",
            slack=-0.1,
            breaks="shares a bottleneck unevenly among its own flows",
        ),
        Limit(
            column="converged",
            label="0.1-fair convergence time",
            unit="s",
            factor=2.0,
            slack=2.0,
            breaks="converges slowly to fair shares",
        ),
    ),
    reports=(Quantity(column="epsilon", most=1.0, label="smallest by largest goodput"),),
    note=(
        "The convergence time of RFC 5166 §2.3 counts from the start of the second flow, in intervals of 2 s. Flows that do "
        "not converge count with the rest of the run."
    ),
)

# --- short flows ---

SMALL, LARGE = 10e3, 1000e3


def short_flows(
    study: Study, run: int, load: float, tcp: Tcp | Transport, *, duration: float
) -> list[Traffic]:
    """Return transfers of 10 kB to 1 MB, log-uniform, that arrive as a Poisson process."""
    return study.transfers(
        f"short flows {load:g}",
        run,
        load_bps=load * study.rate_bps,
        begin=study.warm_up,
        end=duration - 2.0,
        tcp=tcp,
        sizes=log_uniform(SMALL, LARGE),
        mean_bytes=log_uniform_mean(SMALL, LARGE),
    )


def _short_flows_scenario(study: Study, load: float, long: int, algorithm: Algorithm, run: int) -> Scenario:
    flows = short_flows(study, run, load, algorithm.tcp(), duration=study.duration)
    flows += greedy(algorithm, long, "long")
    return study.scenario(flows)


def _short_flows(study: Study) -> Iterator[Case]:
    for load in study.pick((0.2, 0.6), (0.2, 0.4, 0.6)):
        for long in (0, 1):
            for role, algorithm in study.roles():
                beside = "with a long flow" if long else "alone"
                yield Case(
                    point=f"{beside}, load {load:.0%}",
                    role=role,
                    x=100.0 * load,
                    panel=beside,
                    scenario=partial(_short_flows_scenario, study, load, long, algorithm),
                )


def _short_flows_measure(_: Case, record: Record) -> dict[str, float]:
    found = completions(record, "short") | {"delay_mean": record.delay_mean_s}
    if record.of("long", "goodput_bps").size:
        found["long"] = record.goodput_bps("long")
    return found


SHORT_FLOWS = Item(
    name="short-flows",
    section="RFC 9743 §5.1.5",
    title="Short flows",
    question="How long do transfers of 10 kB to 1 MB take, alone and beside a long flow of the same algorithm?",
    cases=_short_flows,
    measure=_short_flows_measure,
    limits=(
        COMPLETION_MEAN,
        COMPLETION_P95,
        Limit(
            column="long",
            label="goodput of the long flow",
            unit="Mbit/s",
            better="higher",
            factor=0.75,
            breaks="lets short flows displace a long one",
        ),
    ),
    reports=(DELAY_REPORTED,),
    note="A transfer that is not complete at the end counts with its age.",
    x_label="load [%]",
)

# --- response to losses ---

LOSSES = (0.0003, 0.001, 0.003, 0.01, 0.03)
GROWTH_S = 10.0
GROWTH_RTT_S = 0.1
GROWTH_START = 50
GROWTH_ROUNDS = 60
RECOVERED = 6
"""RTTs after a loss in which a recovery ends."""


def _response(study: Study) -> Iterator[Case]:
    for loss in study.pick(LOSSES[1:], LOSSES):
        for role, algorithm in study.roles():
            path = Path(
                rate_bps=study.pick(50e6, 100e6),
                rtt_s=0.1,
                settings={"impairments": [Bernoulli(probability=loss)]},
            )
            yield Case(
                point=f"random loss {100.0 * loss:g} %",
                role=role,
                x=100.0 * loss,
                scenario=study.scenario(greedy(algorithm, 1, "a"), path, delay=False),
            )
    start: dict[str, Any] = {"initial_ssthresh": f"{GROWTH_START} segments"}
    for role, algorithm in study.roles() if study.accepts(**start) else ():
        # No queue, and no losses but one.
        path = Path(
            rate_bps=400e6,
            rtt_s=GROWTH_RTT_S,
            settings={"impairments": [Forced(packets=[LOST_PACKET])]},
        )
        flows = greedy(algorithm, 1, "a", **start)
        yield Case(
            point="one loss on an idle path",
            role=role,
            scenario=path.scenario(
                flows,
                duration=2.0 * GROWTH_S,
                delivered=["a0"],
                sample=["cwnd"],
                period=GROWTH_RTT_S / 4.0,
                delay=False,
            ),
            facts={"window": 1.0},
        )


LOST_PACKET = 8000
"""The packet lost on the idle path; a Reno flow sends it after about ten seconds."""


def _response_measure(case: Case, record: Record) -> dict[str, float]:
    if "window" not in case.facts:
        return {"goodput": record.goodput_bps("a")}
    if not record.of("a", "segments_lost").sum():
        # The flow was too slow to send the packet that is lost.
        return {}
    times, window = record.trace("cwnd", "a0")
    rounds = np.arange(1.0, record.duration_s, GROWTH_RTT_S)
    at = window[np.maximum(np.searchsorted(times, rounds, side="right") - 1, 0)]
    fall = int(np.argmin(np.diff(at)))
    # Half a second later the recovery is over.
    lowest = float(at[fall : fall + RECOVERED].min())
    kept = lowest / max(float(at[fall]), 1e-9)
    found = {
        "smoothness": 1.0 - kept,
        "responsiveness": math.log(0.5) / math.log(min(max(kept, 1e-6), 1.0 - 1e-6)),
    }
    after = at[fall + RECOVERED : fall + RECOVERED + GROWTH_ROUNDS]
    return found | ({"aggressiveness": float(np.diff(after).max())} if after.size > 1 else {})


RESPONSE = Item(
    name="response",
    section="RFC 9743 §5.3.1, RFC 5166 §2.2",
    title="Response to congestion",
    question="Which rate does a flow keep under random losses, how fast does it grow, and how much does a loss take away?",
    cases=_response,
    measure=_response_measure,
    limits=(
        Limit(
            column="goodput",
            label="goodput under random losses",
            unit="Mbit/s",
            factor=1.5,
            breaks="keeps a higher rate under losses than the baselines",
        ),
        Limit(
            column="responsiveness",
            label="congestion events until the window is halved",
            factor=2.0,
            breaks="hardly reduces its window at a loss",
        ),
        Limit(
            column="aggressiveness",
            label="largest growth of the window per RTT after a loss",
            unit="segments",
            factor=3.0,
            slack=2.0,
            breaks="grows much faster than the baselines",
        ),
    ),
    reports=(
        Quantity(
            column="smoothness",
            most=1.0,
            label="share of the window that a loss takes",
            unit="%",
        ),
    ),
    note=(
        "RFC 2914 asks for a rate that conforms under comparable conditions. The number of congestion events until the "
        "window is halved follows from the reduction by one: ln 0.5 / ln(1 - reduction). A higher rate under random "
        "losses is no fault on a path whose losses are not congestion; it is one if they are."
    ),
    x_label="random loss [%]",
    log_x=True,
)
