"""The common TCP evaluation suite, draft-irtf-iccrg-tcpeval-01, with seeded synthetic sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dumbbell.evaluation.algorithm import Algorithm
from dumbbell.evaluation.item import Item
from dumbbell.evaluation.items.quantities import DELAY_MEAN, LOSS, LOSS_REPORTED, UTILIZATION, link
from dumbbell.evaluation.record import Record
from dumbbell.evaluation.study import SUBJECT, Case, Path, Study, Traffic, bdp_packets
from dumbbell.judge.baseline import Limit
from dumbbell.judge.quantity import Quantity
from dumbbell.quantities import written_time
from dumbbell.scenario import DropTail, Flow, Greedy, Probe, Scenario, Tcp, Uniform
from dumbbell.topologies import parking_lot
from dumbbell.transports import Transport

DRAFT = "draft-irtf-iccrg-tcpeval-01"

EDGE_RTTS = tuple(sorted(2e-3 * (left + right) for left in (0, 12, 25) for right in (2, 37, 75)))
"""Round-trip times of the nine pairs of hosts without the central link, s."""

SHAPE = 1.2
"""Shape of the Pareto distribution of session sizes."""
SPREAD = 300.0
"""The largest by the smallest session."""

SESSIONS = (60, 250)
"""Mean number of sessions of a run: quick and full."""


def sizes(mean_bytes: float, random: np.random.Generator, count: int) -> Sequence[float]:
    """Return sizes of a bounded Pareto distribution with a mean, bytes."""
    uniform = random.random(count)
    unit = (1.0 - uniform * (1.0 - SPREAD**-SHAPE)) ** (-1.0 / SHAPE)
    return [float(size) for size in unit * mean_bytes / mean_of_unit()]


def mean_of_unit() -> float:
    """Return the mean of the bounded Pareto distribution whose smallest value is 1.

    It is the integral of x a x^(-a-1) / (1 - L^-a) from 1 to L.
    """
    return float(SHAPE / (SHAPE - 1.0) * (1.0 - SPREAD ** (1.0 - SHAPE)) / (1.0 - SPREAD**-SHAPE))


def sessions(
    study: Study,
    name: str,
    run: int,
    tcp: Algorithm,
    *,
    rate_bps: float,
    load: float,
    duration: float,
    rtts: Sequence[float],
    prefix: str,
    backward: bool = False,
) -> list[Traffic]:
    """Return sessions of a load that arrive as a Poisson process; a tenth of them has segments of 496 bytes."""
    mean = load * rate_bps * duration / 8.0 / study.pick(*SESSIONS)
    return study.transfers(
        name,
        run,
        load_bps=load * rate_bps,
        begin=0.0,
        end=duration,
        tcp=tcp.tcp(),
        small=tcp.tcp(mss="496 bytes"),
        sizes=partial(sizes, mean),
        mean_bytes=mean,
        prefix=prefix,
        rtts=rtts,
        backward=backward,
    )


# --- networks ---


@dataclass(frozen=True)
class Network:
    """A network of the suite, as it is run.

    Parameters
    ----------
    name
        Its name.
    rate_bps, reverse_bps
        Rates of the central link, bit/s.
    central_s
        One-way delay of the central link, s.
    buffer_s
        Its buffer at its rate, s.
    duration
        Simulated time, s: quick and full.
    edges
        Round-trip times of the edges, s.
    slower
        Factor on the rates in quick mode.
    """

    name: str
    rate_bps: float
    reverse_bps: float
    central_s: float
    buffer_s: float
    duration: tuple[float, float]
    edges: tuple[float, ...] = EDGE_RTTS
    slower: float = 1.0

    def path(self, study: Study) -> tuple[Path, list[float], float]:
        """Return the central link, the round-trip times of the pairs, and the duration of a run."""
        factor = study.pick(self.slower, 1.0)
        rate = self.rate_bps * factor
        rtts = [edge + 2.0 * self.central_s for edge in self.edges]
        buffer = max(4, round(self.buffer_s * rate / 12_000.0))
        path = Path(rate_bps=rate, rtt_s=rtts[0], buffer=buffer, reverse_rate_bps=self.reverse_bps * factor)
        return path, rtts, study.pick(*self.duration)


NETWORKS = (
    Network("data centre", 1e9, 1e9, 0.0, 0.010, (2.0, 5.0), (40e-6, 220e-6, 400e-6), 0.1),
    Network("access", 100e6, 100e6, 0.002, 0.100, (20.0, 60.0), slower=0.2),
    Network("trans-oceanic", 1e9, 1e9, 0.065, 0.100, (20.0, 20.0), slower=0.03),
    Network("geostationary satellite", 40e6, 4e6, 0.300, 0.100, (40.0, 100.0), slower=0.5),
    Network("dial-up", 64e3, 64e3, 0.005, 1.250, (300.0, 1000.0)),
)


def _network_scenario(
    study: Study, network: Network, load: float, algorithm: Algorithm, run: int
) -> Scenario:
    path, rtts, duration = network.path(study)
    flows = sessions(
        study,
        f"{network.name} {load:g}",
        run,
        algorithm,
        rate_bps=path.rate_bps,
        load=load,
        duration=duration,
        rtts=rtts,
        prefix="a",
    )
    flows += sessions(
        study,
        f"{network.name} {load:g} back",
        run,
        algorithm,
        rate_bps=path.reverse_rate_bps or path.rate_bps,
        load=0.5 * load,
        duration=duration,
        rtts=rtts,
        prefix="back",
        backward=True,
    )
    return path.scenario(flows, duration=duration, measure_from=duration / 5.0, delay=False)


def _networks(study: Study) -> Iterator[Case]:
    for network in NETWORKS:
        for load in study.pick((0.6, 1.1), (0.6, 0.85, 1.1)):
            for role, algorithm in study.roles():
                yield Case(
                    point=f"{network.name}, load {load:.0%}",
                    role=role,
                    x=100.0 * load,
                    panel=network.name,
                    scenario=partial(_network_scenario, study, network, load, algorithm),
                )


SUITE_NETWORKS = Item(
    name="tcpeval-networks",
    section="tcpeval §4.4",
    title="Networks of the common evaluation suite",
    question="How are utilization, losses and delay of the central link with sessions of many sizes and round-trip times?",
    cases=_networks,
    measure=link,
    limits=(UTILIZATION, LOSS, DELAY_MEAN),
    note=(
        f"{DRAFT}. The recorded sessions of the suite are not available. Sessions arrive as a Poisson process, with bounded "
        "Pareto sizes (shape 1.2) whose mean gives the load, and with half of the load in the reverse direction. Runs are "
        "shorter than those of the draft; in quick mode, rates are lower as well. The wireless LAN of the suite is not included."
    ),
    x_label="load [%]",
)

# --- delay and throughput ---


def _access_scenario(study: Study, buffer: float, algorithm: Algorithm, run: int) -> Scenario:
    path, rtts, duration = NETWORKS[1].path(study)
    limit = bdp_packets(path.rate_bps, 0.1, buffer)
    flows = sessions(
        study,
        "delay and throughput",
        run,
        algorithm,
        rate_bps=path.rate_bps,
        load=0.85,
        duration=duration,
        rtts=rtts,
        prefix="a",
    )
    narrowed = Path(rate_bps=path.rate_bps, rtt_s=path.rtt_s, buffer=limit)
    return narrowed.scenario(flows, duration=duration, measure_from=duration / 5.0, delay=False)


def _delay(study: Study) -> Iterator[Case]:
    for buffer in study.pick((0.1, 0.5, 2.0), (0.1, 0.2, 0.5, 1.0, 2.0)):
        for role, algorithm in study.roles():
            yield Case(
                point=f"{buffer:.0%} of the BDP",
                role=role,
                x=100.0 * buffer,
                scenario=partial(_access_scenario, study, buffer, algorithm),
            )


SUITE_DELAY = Item(
    name="tcpeval-delay",
    section="tcpeval §5.1",
    title="Delay and throughput by buffer",
    question="How do throughput, losses and delay at a load of 85 % depend on the buffer?",
    cases=_delay,
    measure=link,
    limits=(UTILIZATION, LOSS, DELAY_MEAN),
    note=f"{DRAFT}, access network; the BDP is that of 100 ms.",
    x_label="buffer [% of the BDP]",
    log_x=True,
)

# --- ramp-up ---


def _ramp_up_scenario(study: Study, existing: float, new: float, algorithm: Algorithm, run: int) -> Scenario:
    rate = 10e6
    duration = study.duration * 2.0
    background = sessions(
        study,
        "ramp-up",
        run,
        study.baselines[0],
        rate_bps=rate,
        load=0.5,
        duration=duration,
        rtts=[existing],
        prefix="back",
        backward=True,
    )
    begin = duration / 4.0
    tcp = algorithm.tcp(initial_ssthresh="10 segments")
    flow = Traffic(name="a0", tcp=tcp, start=(begin, begin + 0.1), rtt_s=new)
    old = Traffic(name="b0", tcp=study.baselines[0].tcp(), rtt_s=existing)
    path = Path(rate_bps=rate, rtt_s=min(existing, new), buffer=bdp_packets(rate, 0.08))
    return path.scenario(
        [flow, old, *background], duration=duration, delivered=["a0"], period=0.05, delay=False
    )


RAMP_BYTES = (150e3, 1500e3)


def _ramp_up(study: Study) -> Iterator[Case]:
    for existing, new in ((0.08, 0.08), (0.12, 0.03), (0.03, 0.12)):
        for role, algorithm in study.roles():
            yield Case(
                point=f"RTTs {1e3 * existing:g} ms, new {1e3 * new:g} ms",
                role=role,
                scenario=partial(_ramp_up_scenario, study, existing, new, algorithm),
                facts={"begin": study.duration / 2.0},
            )


def _ramp_up_measure(case: Case, record: Record) -> dict[str, float]:
    times, delivered = record.trace("delivered", "a0")
    begin = case.facts["begin"]
    found = {}
    for column, wanted in zip(("time_150k", "time_1500k"), RAMP_BYTES, strict=True):
        reached = times[delivered >= wanted]
        found[column] = float(reached[0] - begin) if reached.size else record.duration_s - begin
    return found


SUITE_RAMP_UP = Item(
    name="tcpeval-ramp-up",
    section="tcpeval §5.2",
    title="Ramp-up time",
    question="How long does a new flow without slow start take to send 150 kB and 1.5 MB beside an existing flow?",
    cases=_ramp_up,
    measure=_ramp_up_measure,
    limits=(
        Limit(
            column="time_1500k",
            label="time to 1.5 MB",
            unit="s",
            factor=1.5,
            slack=0.5,
            breaks="ramps up slowly beside an existing flow",
        ),
    ),
    reports=(Quantity(column="time_150k", label="time to 150 kB", unit="s"),),
    note=(
        f"{DRAFT}, central link of 10 Mbit/s with half of its load in the reverse direction. The existing flow is the first "
        "baseline."
    ),
)

# --- impact on standard TCP ---


def _impact_scenario(
    study: Study, load: float, baseline: Algorithm, algorithm: Algorithm, run: int
) -> Scenario:
    path, rtts, duration = NETWORKS[1].path(study)
    camps = [(baseline, "b"), (algorithm, "a")]
    flows: list[Traffic] = []
    for camp, prefix in camps:
        # Both camps have sessions of the same sizes and times.
        flows += sessions(
            study,
            f"impact {load:g}",
            run,
            camp,
            rate_bps=path.rate_bps,
            load=load / 2.0,
            duration=duration,
            rtts=rtts,
            prefix=prefix,
        )
    return path.scenario(flows, duration=duration, measure_from=duration / 5.0, delay=False)


def _impact(study: Study) -> Iterator[Case]:
    for baseline in study.baselines:
        for load in (0.5, 1.0):
            for role, algorithm in ((SUBJECT, study.subject), (baseline.text, baseline)):
                yield Case(
                    point=f"beside {baseline.text}, load {load:.0%}",
                    role=role,
                    scenario=partial(_impact_scenario, study, load, baseline, algorithm),
                )


def _impact_measure(_: Case, record: Record) -> dict[str, float]:
    window = 0.8 * record.duration_s
    return {
        "throughput_other": float(record.of("b", "bytes_delivered").sum()) * 8.0 / window,
        "throughput": float(record.of("a", "bytes_delivered").sum()) * 8.0 / window,
        "completion_other": float(record.completion_s("b").mean()),
        "completion": float(record.completion_s("a").mean()),
    }


SUITE_IMPACT = Item(
    name="tcpeval-impact",
    section="tcpeval §6.1",
    title="Impact on standard TCP",
    question="What do sessions of a baseline lose if the same number of other sessions use the algorithm?",
    cases=_impact,
    measure=_impact_measure,
    limits=(
        Limit(
            column="throughput_other",
            label="throughput of the baseline's sessions",
            unit="Mbit/s",
            better="higher",
            factor=0.8,
            breaks="takes throughput from sessions of the baselines",
        ),
        Limit(
            column="throughput",
            label="throughput of its own sessions",
            unit="Mbit/s",
            better="higher",
            factor=0.8,
            breaks="gives throughput away to sessions of the baselines",
        ),
        Limit(
            column="completion_other",
            label="mean completion time of the baseline's sessions",
            unit="s",
            factor=1.5,
            breaks="delays sessions of the baselines",
        ),
    ),
    reports=(Quantity(column="completion", label="mean completion time of its own sessions", unit="s"),),
    note=f"{DRAFT}, access network. Both camps have sessions of the same sizes and times.",
)

# --- fairness of two flows ---


def _fairness(study: Study) -> Iterator[Case]:
    rate = study.rate_bps
    duration = 2.0 * study.duration
    rtts = study.pick((0.01, 0.04, 0.16), (0.01, 0.02, 0.04, 0.08, 0.16))
    for buffer in study.pick((0.5, 2.0), (0.25, 0.5, 1.0, 2.0)):
        for first in ("same", "160 ms"):
            for rtt in rtts:
                if first != "same" and rtt == 0.16:
                    continue
                for role, algorithm in study.roles():
                    flows = [
                        Traffic(
                            name=f"a{number}",
                            tcp=algorithm.tcp(),
                            rtt_s=rtt if first == "same" or number else 0.16,
                            start=(0.0, duration / 10.0),
                        )
                        for number in range(2)
                    ]
                    kind = "same RTT" if first == "same" else "beside 160 ms"
                    path = Path(rate_bps=rate, rtt_s=rtt, buffer=bdp_packets(rate, 0.1, buffer))
                    yield Case(
                        point=f"{1e3 * rtt:g} ms, {kind}, {buffer:.0%} of the BDP",
                        role=role,
                        x=1e3 * rtt,
                        panel=f"{kind}, {buffer:.0%}",
                        scenario=path.scenario(
                            flows, duration=duration, measure_from=duration / 5.0, delay=False
                        ),
                    )


def _fairness_measure(_: Case, record: Record) -> dict[str, float]:
    first, second = record.of("a", "goodput_bps")
    return {
        "ratio": float(min(first, second) / max(first, second, 1.0)),
        "drop_rate": record.drop_rate,
    }


SUITE_FAIRNESS = Item(
    name="tcpeval-fairness",
    section="tcpeval §6.2",
    title="Fairness of two flows",
    question="How different are the goodputs of two flows with the same and with different round-trip times?",
    cases=_fairness,
    measure=_fairness_measure,
    limits=(
        Limit(
            column="ratio",
            most=1.0,
            label="smaller by larger goodput",
            better="higher",
            factor=0.75,
            slack=-0.05,
            breaks="shares a link less evenly between two flows than the baselines",
        ),
    ),
    reports=(LOSS_REPORTED,),
    note=f"{DRAFT}; buffers are shares of the BDP at 100 ms.",
    x_label="RTT [ms]",
    log_x=True,
)

# --- parking lot ---

HOPS = 3


def _parking_lot_scenario(study: Study, tcp: Tcp | Transport) -> Scenario:
    rate = study.pick(10e6, 100e6)
    shape = parking_lot(
        hops=HOPS,
        rate=f"{rate:.0f} bit/s",
        delay="10 ms",
        queue=DropTail(limit=f"{bdp_packets(rate, 0.06)} packets"),
        rtt=written_time(60_000_000 + 1_000),
        access_rate=f"{10.0 * rate:.0f} bit/s",
    )
    flows = [
        Flow(
            name="long" if number == 0 else f"hop{number}",
            from_=f"s{number + 1}",
            to=f"d{number + 1}",
            tcp=tcp,
            source=Greedy(),
            start=Uniform(uniform=("0 s", "1 s")),
        )
        for number in range(HOPS + 1)
    ]
    return shape.scenario(
        duration=f"{study.duration * 2.0} s",
        measure_from=f"{study.warm_up} s",
        flows=flows,
        probes=[Probe(quantities=["backlog"], links=["r1-r2"], period="10 ms")],
    )


def _parking_lot(study: Study) -> Iterator[Case]:
    for role, algorithm in study.roles():
        yield Case(
            point=f"{HOPS} bottlenecks", role=role, scenario=_parking_lot_scenario(study, algorithm.tcp())
        )


def _parking_lot_measure(_: Case, record: Record) -> dict[str, float]:
    hop = float(record.of("hop", "goodput_bps").mean())
    return {"ratio": record.goodput_bps("long") / hop if hop else 0.0, "utilization": record.utilization}


SUITE_PARKING_LOT = Item(
    name="tcpeval-parking-lot",
    section="tcpeval §6.3",
    title="Several bottlenecks",
    question="What does a flow over three bottlenecks get beside flows over one each, all with an RTT of 60 ms?",
    cases=_parking_lot,
    measure=_parking_lot_measure,
    limits=(
        Limit(
            column="ratio",
            most=1.0,
            label="goodput over three hops by that over one",
            better="higher",
            factor=0.5,
            slack=-0.02,
            breaks="starves flows over several bottlenecks",
        ),
        UTILIZATION,
    ),
    note=f"{DRAFT}, with one long-lived flow per pair instead of sessions.",
)
