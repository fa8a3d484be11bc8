"""Theoretical laws compared with the engine: queues, losses, shares and buffers. No other simulator is involved.

Every law has its tolerance in `LAWS`, as part of its statement: the measured value over the predicted one, with its whole
interval over replications, has to lie within it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell import models, plots, report, statistics, topologies
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer
from dumbbell.judge.criterion import Reached
from dumbbell.scenario import (
    Bernoulli,
    DelayedAck,
    DropTail,
    Flow,
    Link,
    OnOff,
    Poisson,
    Probe,
    Rfc6298Timer,
    Scenario,
    Source,
    Tcp,
    Uniform,
    Vegas,
)

Values = NDArray[np.float64]
Compare = Callable[[Observed], tuple[float, float]]

CONFIDENCE = 0.95
UNLIMITED = DropTail(limit="unlimited")

# Packets of 960 bytes of payload and 40 of header.
MSS_BYTES, PACKET_BYTES = 960, 1000
PACKET_BITS = 8 * PACKET_BYTES


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A point of a law.

    Parameters
    ----------
    label
        What is set, in words: ``"load 0.5"``.
    x
        The same as a number, for the figure.
    scenario
        The scenario.
    compare
        From one run, the measured and the predicted value. A prediction may use other measured quantities.
    replications
        How many runs give the interval; 1 where nothing is random.
    in_range
        Whether the law claims to hold here; a point beyond its range is shown, and not judged.
    family
        Which points lie on one curve with it.
    """

    label: str
    x: float
    scenario: Scenario
    compare: Compare
    replications: int = 10
    in_range: bool = True
    family: str = ""


@dataclass(frozen=True, kw_only=True)
class Law:
    """A law with its source and its tolerance.

    Parameters
    ----------
    name, formula, source
        Its content in words, its formula and its source.
    quantity, unit
        What is compared.
    x_label, log
        Axis of the figure, and whether both its axes are logarithmic; without an axis, what was measured is drawn against
        what was predicted.
    tolerance
        Largest relative error that counts as agreement.
    why
        Why so much is allowed, and where the law holds.
    settings
        Makes its points.
    """

    name: str
    formula: str
    source: str
    quantity: str
    unit: str
    x_label: str = ""
    log: bool = False
    tolerance: float
    why: str
    settings: Callable[[], list[Setting]]


# Queues with Poisson arrivals at one link of 8 Mbit/s: 1000 bytes take a millisecond.
QUEUE_RATE = 8e6
QUEUE_LOADS = (0.3, 0.5, 0.7, 0.8, 0.9)
QUEUE_LOADS_EXPONENTIAL = QUEUE_LOADS[:-1]
# A customer of exponential size is a burst of small packets at one instant, this many on average.
PIECES = 20
PIECE_BYTES = PACKET_BYTES // PIECES
SOURCE_GBPS = 8 * PIECE_BYTES


def _queue_setting(name: str, load: float, source: Source, compare: Compare) -> Setting:
    """Return the point of a queue at a load."""
    link = Link(name="a-b", from_="a", to="b", rate="8 Mbit/s", delay="1 ms", queue=UNLIMITED)
    flow = Flow(name="arrivals", from_="a", to="b", source=source)
    label = f"load {load:g}"
    scenario = Scenario(
        name=f"{name}, {label}",
        rules="classic",
        duration="1000 s",
        measure_from="10 s",
        nodes=["a", "b"],
        links=[link],
        flows=[flow],
    )
    return Setting(label=label, x=load, scenario=scenario, compare=compare)


def _fixed_sizes() -> list[Setting]:
    service = PACKET_BITS / QUEUE_RATE

    def setting(load: float) -> Setting:
        def compare(run: Observed) -> tuple[float, float]:
            link = run.links.iloc[0]
            # Little's law: those waiting over those served in a second.
            waiting = float(link["backlog_mean_packets"]) * service / float(link["utilization"])
            return 1e3 * waiting, 1e3 * load * service / (2.0 * (1.0 - load))

        source = Poisson(rate=f"{load * QUEUE_RATE:.0f} bit/s", packet=f"{PACKET_BYTES} bytes")
        return _queue_setting("M/D/1", load, source, compare)

    return [setting(load) for load in QUEUE_LOADS]


def _exponential_sizes() -> list[Setting]:
    piece = 8 * PIECE_BYTES / QUEUE_RATE
    # Mean of an exponential number rounded to the nearest, and zero raised to one; see the source's own rounding.
    pieces = math.exp(-0.5 / PIECES) / -math.expm1(-1.0 / PIECES) - math.expm1(-0.5 / PIECES)
    service = pieces * piece

    def setting(load: float) -> Setting:
        def compare(run: Observed) -> tuple[float, float]:
            link = run.links.iloc[0]
            # The waiting packets, and the mean residual service time. Poisson arrivals see time averages.
            work = float(link["backlog_mean_packets"]) * piece + float(link["utilization"]) * piece / 2.0
            return 1e3 * work, 1e3 * load * service / (1.0 - load)

        source = OnOff(
            rate=f"{SOURCE_GBPS} Gbit/s",
            packet=f"{PIECE_BYTES} bytes",
            on=f"{PIECES} ns",
            off=f"{1e9 * service / load:.0f} ns",
        )
        return _queue_setting("M/M/1", load, source, compare)

    return [setting(load) for load in QUEUE_LOADS_EXPONENTIAL]


# Losses on a link so fast that no queue forms; a round trip of 100 ms, a timeout of ten of them.
TIMEOUT_S = 1.0


def _lossy(name: str, loss: float, duration: int, **tcp: Any) -> Scenario:
    def link(start: str, end: str, impairments: Sequence[Bernoulli] = ()) -> Link:
        return Link(
            name=f"{start}-{end}",
            from_=start,
            to=end,
            rate="1 Gbit/s",
            delay="50 ms",
            queue=UNLIMITED,
            impairments=impairments,
        )

    timer = Rfc6298Timer(granularity="1 ms", minimum=f"{TIMEOUT_S:g} s", initial=f"{TIMEOUT_S:g} s")
    return Scenario(
        name=name,
        rules="classic",
        duration=f"{duration} s",
        measure_from="20 s",
        nodes=["a", "b"],
        links=[link("a", "b", [Bernoulli(probability=loss)]), link("b", "a")],
        flows=[
            Flow(
                name="flow",
                from_="a",
                to="b",
                tcp=Tcp(mss=f"{MSS_BYTES} bytes", timer=timer, initial_ssthresh="20 segments", **tcp),
            )
        ],
    )


def _sent_per_second(run: Observed) -> float:
    return float(run.flows.iloc[0]["throughput_bps"]) / PACKET_BITS


# The law is a limit for large windows and leaves out terms of one packet: 20 keep them at a twentieth.
LEAST_WINDOW = 20.0


def _inverse_root() -> list[Setting]:
    def setting(loss: float) -> Setting:
        def compare(run: Observed) -> tuple[float, float]:
            flow = run.flows.iloc[0]
            goodput = float(flow["goodput_bps"]) / (8 * MSS_BYTES)
            rtt = float(flow["rtt_mean_s"])
            return goodput, float(models.throughput.mathis(loss_rate=loss, rtt=rtt, losses="random"))

        window = float(models.throughput.mathis(loss_rate=loss, rtt=1.0, losses="random"))
        return Setting(
            label=f"p = {loss:g}",
            x=loss,
            scenario=_lossy(
                f"1/sqrt(p), {loss:g}",
                loss,
                1000,
                variant="sack",
                receive_buffer="20000 segments",
            ),
            compare=compare,
            in_range=window >= LEAST_WINDOW,
        )

    return [setting(loss) for loss in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)]


def _with_timeouts() -> list[Setting]:
    def setting(loss: float, window: int, per_ack: int) -> Setting:
        def compare(run: Observed) -> tuple[float, float]:
            flow = run.flows.iloc[0]
            # A sequence of timeouts is one loss indication; a fraction 1 - p of the timeouts begins a sequence.
            indications = float(flow["fast_retransmits"]) + (1.0 - loss) * float(flow["timeouts"])
            predicted = models.throughput.padhye(
                loss_rate=indications / float(flow["segments_sent"]),
                rtt=float(flow["rtt_mean_s"]),
                rto=TIMEOUT_S,
                window_limit=window,
                segments_per_ack=per_ack,
            )
            return _sent_per_second(run), float(predicted)

        bound = f"window at most {window}" if window < UNBOUNDED else ""
        delayed = "delayed acknowledgements" if per_ack == 2 else ""
        family = bound or delayed
        label = f"p = {loss:g}, {family}" if family else f"p = {loss:g}"
        return Setting(
            label=label,
            x=loss,
            scenario=_lossy(
                f"Padhye, {label}",
                loss,
                2000,
                variant="reno",
                receive_buffer=f"{window} segments",
                delayed_ack=DelayedAck(segments=2, timer="100 ms") if per_ack == 2 else "off",
            ),
            compare=compare,
            family=family,
        )

    free = [setting(loss, UNBOUNDED, 1) for loss in (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)]
    bounded = [setting(loss, 12, 1) for loss in (1e-3, 1e-2)]
    delayed = [setting(loss, UNBOUNDED, 2) for loss in (1e-3, 1e-2)]
    return [*free, *bounded, *delayed]


UNBOUNDED = 20_000


# Vegas flows with an empty link at their first packets, so that each measures its base RTT.
VEGAS_RATE = 10e6
BETWEEN_STARTS_MS = 7
QUEUED = 3.0
SAMPLING = "20 ms"


@dataclass(frozen=True, kw_only=True)
class Vegases:
    """Vegas flows over one bottleneck.

    Parameters
    ----------
    rtts_ms
        Round-trip propagation delay of each.
    limits
        Share of the bottleneck's rate that the access link of each has; above 1 it limits nothing.
    """

    rtts_ms: tuple[int, ...]
    limits: tuple[float, ...]

    @property
    def label(self) -> str:
        """The flows in words."""
        spread = (
            f"{min(self.rtts_ms)}-{max(self.rtts_ms)} ms"
            if len(set(self.rtts_ms)) > 1
            else f"{self.rtts_ms[0]} ms"
        )
        limited = ", ".join(f"{limit:g}" for limit in self.limits if limit < 1.0)
        return f"{len(self.rtts_ms)} flows, {spread}" + (f", access limited to {limited}" if limited else "")

    def max_min(self) -> list[float]:
        """Return the max-min fair shares by progressive filling."""
        shares = [0.0] * len(self.limits)
        left, open_flows = 1.0, sorted(range(len(shares)), key=lambda flow: self.limits[flow])
        while open_flows:
            flow = open_flows.pop(0)
            shares[flow] = min(self.limits[flow], left / (len(open_flows) + 1))
            left -= shares[flow]
        return shares

    def scenario(self, name: str, *, order: Sequence[int]) -> Scenario:
        """Return the scenario in which flows start in some order."""
        count = len(self.rtts_ms)
        shape = topologies.dumbbell(
            pairs=count,
            rate=f"{VEGAS_RATE:.0f} bit/s",
            delay="5 ms",
            queue=UNLIMITED,
            access_rate=[f"{limit * VEGAS_RATE:.0f} bit/s" for limit in self.limits],
            rtt=[f"{rtt} ms" for rtt in self.rtts_ms],
        )
        tcp = Tcp(
            variant="vegas",
            congestion=Vegas(alpha=QUEUED, beta=QUEUED),
            mss=f"{MSS_BYTES} bytes",
            receive_buffer="20000 segments",
        )
        flows = [
            Flow(
                name=f"f{number + 1}",
                from_=f"s{number + 1}",
                to=f"d{number + 1}",
                tcp=tcp,
                start=_start(order[number]),
            )
            for number in range(count)
        ]
        probe = Probe(quantities=["cwnd", "base_rtt"], flows=["*"], period=SAMPLING)
        return shape.scenario(
            name=name,
            rules="classic",
            duration="200 s",
            measure_from=f"{VEGAS_MEASURED_S:g} s",
            flows=flows,
            probes=[probe],
        )


def _start(place: int) -> Uniform:
    """Return the start of a flow: drawn from the most part of its own slot."""
    begin = BETWEEN_STARTS_MS * place
    return Uniform(uniform=(f"{begin} ms", f"{begin + BETWEEN_STARTS_MS - 2} ms"))


VEGAS_MEASURED_S = 50.0
VEGAS_REPLICATIONS = 5


def _measured(run: Observed, quantity: str) -> pd.DataFrame:
    """Return the samples of a quantity within the measurement window: a row for each flow, a column for each sample."""
    trace = run.traces[quantity]
    return trace[trace["time_s"] >= VEGAS_MEASURED_S].pivot_table(
        index="name", columns="time_s", values="value"
    )


FREE = 10.0
GATHERINGS = (
    Vegases(rtts_ms=(100,) * 4, limits=(FREE,) * 4),
    Vegases(rtts_ms=(40, 80, 120, 160), limits=(FREE,) * 4),
    Vegases(rtts_ms=(40, 55, 70, 85, 100, 115, 130, 145), limits=(FREE,) * 8),
    Vegases(rtts_ms=(100,) * 4, limits=(0.1, FREE, FREE, FREE)),
    Vegases(rtts_ms=(40, 80, 120, 160, 60), limits=(0.05, 0.1, FREE, FREE, FREE)),
)


def _orders(flows: Vegases) -> list[int]:
    """Return the order of starts, drawn for each gathering."""
    drawn = np.random.default_rng([len(flows.rtts_ms), sum(flows.rtts_ms)])
    return [int(place) for place in drawn.permutation(len(flows.rtts_ms))]


def _max_min_shares() -> list[Setting]:
    found = []
    for flows in GATHERINGS:
        scenario = flows.scenario(f"max-min, {flows.label}", order=_orders(flows))
        by_share: dict[float, list[int]] = {}
        for number, share in enumerate(flows.max_min()):
            by_share.setdefault(round(share, 9), []).append(number)
        for share, numbers in by_share.items():
            for number in numbers:

                def compare(run: Observed, number: int = number, share: float = share) -> tuple[float, float]:
                    payload_rate = VEGAS_RATE * MSS_BYTES / PACKET_BYTES
                    return float(run.flows.iloc[number]["goodput_bps"]) / payload_rate, share

                found.append(
                    Setting(
                        label=f"{flows.label}: flow {number + 1} ({flows.rtts_ms[number]} ms)",
                        x=share,
                        scenario=scenario,
                        compare=compare,
                        replications=VEGAS_REPLICATIONS,
                    )
                )
    return found


def _window_sums() -> list[Setting]:
    def setting(flows: Vegases) -> Setting:
        def compare(run: Observed) -> tuple[float, float]:
            # A fraction of a packet is not sent.
            windows = np.floor(_measured(run, "cwnd")).mean(axis=1)
            base_rtts = _measured(run, "base_rtt").mean(axis=1)
            rates = run.flows.set_index("name")["throughput_bps"] / PACKET_BITS
            pipes = float((rates * base_rtts).sum())
            queued = float(run.links["backlog_mean_packets"].sum())
            return float(windows.sum()), pipes + queued

        return Setting(
            label=flows.label,
            x=float(sum(flows.rtts_ms)) / len(flows.rtts_ms),
            scenario=flows.scenario(f"window sum, {flows.label}", order=_orders(flows)),
            compare=compare,
            replications=VEGAS_REPLICATIONS,
        )

    return [setting(flows) for flows in GATHERINGS]


# One Reno flow at 8 Mbit/s, 50 ms: a product of 51 packets.
SAWTOOTH_RATE = 1000.0
SAWTOOTH_ACCESS = 1e9


def _sawtooth() -> list[Setting]:
    # Transmission times of the ACK on the reverse link, and on four fast access links.
    fixed_delay = 0.050 + 0.040 / SAWTOOTH_RATE + 2 * (PACKET_BITS + 320) / SAWTOOTH_ACCESS
    link = models.altman.Bottleneck(service_rate=SAWTOOTH_RATE, fixed_delay=fixed_delay)

    def setting(buffer: int) -> Setting:
        def compare(run: Observed) -> tuple[float, float]:
            used = float(run.links.loc[run.links["name"] == "r1-r2", "utilization"].iloc[0])
            return used, min(1.0, models.altman.fluid_reno(link, float(buffer)).throughput / SAWTOOTH_RATE)

        shape = topologies.dumbbell(
            pairs=1,
            rate="8 Mbit/s",
            delay="24 ms",
            queue=DropTail(limit=f"{buffer} packets"),
            access_rate=f"{SAWTOOTH_ACCESS:.0f} bit/s",
            access_delay="0.5 ms",
        )
        tcp = Tcp(
            variant="reno",
            mss=f"{MSS_BYTES} bytes",
            initial_ssthresh="20 segments",
            receive_buffer="20000 segments",
        )
        flow = Flow(name="flow", from_="s1", to="d1", tcp=tcp)
        return Setting(
            label=f"buffer of {buffer} packets, {buffer / link.bdp:.2f} of the product",
            x=float(buffer),
            scenario=shape.scenario(
                name=f"sawtooth, {buffer} packets",
                rules="classic",
                duration="400 s",
                measure_from="60 s",
                flows=[flow],
            ),
            compare=compare,
            replications=1,
        )

    return [setting(buffer) for buffer in (5, 10, 15, 20, 30, 40, 50, 75, 100)]


LAWS = (
    Law(
        name="M/D/1 waiting",
        formula="W = ρ s / (2 (1 - ρ)), with the load ρ and the service time s",
        source="[jain1991 chapter 31]",
        quantity="mean waiting time",
        unit="ms",
        x_label="load",
        tolerance=0.03,
        why="An exact law: the tolerance covers the interval for at least a million arrivals.",
        settings=_fixed_sizes,
    ),
    Law(
        name="M/M/1 waiting",
        formula="W = ρ s / (1 - ρ)",
        source="[jain1991 chapter 31]",
        quantity="mean waiting time",
        unit="ms",
        x_label="load",
        tolerance=0.05,
        why=(
            f"An exact law, with twice the waiting time and longer correlations than M/D/1. Exponential customers are bursts of "
            f"{PIECES} small packets on average that arrive within nanoseconds; an arrival waits for all the work it finds."
        ),
        settings=_exponential_sizes,
    ),
    Law(
        name="1/sqrt(p) law",
        formula="B = 1.31 / (RTT sqrt(p)), for independent losses",
        source="[mathis1997 §2]",
        quantity="goodput",
        unit="segments/s",
        x_label="probability of loss",
        log=True,
        tolerance=0.10,
        why=(
            f"The limit for large windows, which ignores terms of one packet and the round trips of recovery: windows of "
            f"at least {LEAST_WINDOW:g} packets are its range here. SACK, so that recoveries need no timeout."
        ),
        settings=_inverse_root,
    ),
    Law(
        name="Padhye's formula",
        formula="`dumbbell.models.throughput.padhye` of the loss indications counted, T0 = 1 s = 10 RTT",
        source="[padhye1998 equation 31]",
        quantity="send rate",
        unit="segments/s",
        x_label="probability of loss",
        log=True,
        tolerance=0.20,
        why=(
            "Its constant is that of regular losses, sqrt(3/2), seven percent below that of random ones, and it takes the "
            "rest of a round as lost with the first loss, which each loss on its own does not do."
        ),
        settings=_with_timeouts,
    ),
    Law(
        name="max-min shares of Vegas",
        formula="rates of flows that keep equally many packets queued at the same link are equal, others are limited elsewhere",
        source="[brakmo1995 §3.2]",
        quantity="share of the link",
        unit="",
        tolerance=0.10,
        why=(
            f"alpha = beta = {QUEUED:g}: the window oscillates by one packet around a backlog of three, and the "
            "phases of the flows determine the direction of the error. Each flow starts on an empty link and knows its base RTT."
        ),
        settings=_max_min_shares,
    ),
    Law(
        name="windows = pipes + queue",
        formula="the sum of the windows is the sum of rate times base RTT, and what waits in queues",
        source="[aithellal2000]",
        quantity="sum of the windows in whole packets",
        unit="packets",
        tolerance=0.01,
        why="Little's law, exact for flows without losses: the tolerance covers the sampling of the window at 20 ms.",
        settings=_window_sums,
    ),
    Law(
        name="utilisation from the buffer",
        formula="`dumbbell.models.altman.fluid_reno`: a sawtooth from half of BDP + buffer to all of it",
        source="[aithellal2000]",
        quantity="utilisation",
        unit="",
        x_label="buffer [packets]",
        tolerance=0.02,
        why="A fluid sawtooth of whole windows whose recovery takes one round.",
        settings=_sawtooth,
    ),
)


class TheoryGrid:
    """The engine compared with formulas."""

    name = "theory"
    title = "Theory"
    order = 90
    question = "Do queues, losses, shares and buffers follow theoretical laws within stated tolerances?"
    sides = ("ours",)

    def __init__(self, laws: Sequence[Law] = LAWS) -> None:
        self._laws = tuple(laws)

    @functools.cached_property
    def _settings(self) -> dict[str, tuple[Law, Setting]]:
        return {f"{law.name}: {made.label}": (law, made) for law in self._laws for made in law.settings()}

    def cases(self, _peer: Peer | None = None) -> list[Case]:
        """Return the cases; they are the same for every peer."""
        return [
            Case(
                key=f"{point}, run {number}",
                point=point,
                factors={"law": law.name, "setting": setting.label},
                scenario=setting.scenario,
                run=number,
            )
            for point, (law, setting) in self._settings.items()
            for number in range(setting.replications)
        ]

    def thin(self, cases: Sequence[Case], share: float) -> list[Case]:
        """Return the replications up to a share of all, at least three; every law stays."""
        kept = {
            point: min(setting.replications, max(3, round(share * setting.replications)))
            for point, (_, setting) in self._settings.items()
        }
        return [case for case in cases if case.run < kept[case.point]]

    def reduce(self, case: Case, run: Observed) -> dict[str, Any]:
        """Return measured and predicted values of all settings that a scenario serves."""
        compared = {
            point: setting.compare(run)
            for point, (_, setting) in self._settings.items()
            if setting.scenario == case.scenario
        }
        return {"compared": {point: list(pair) for point, pair in compared.items()}}

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return, for each law, the settings at which the measured value agrees with the predicted one."""
        points = pd.DataFrame(
            [self._judged(str(point), rows) for point, rows in results.groupby("point", sort=False)]
        )
        return Agreement(criteria=tuple(_criteria(self._laws, points)), points=points)

    def _judged(self, point: str, rows: pd.DataFrame) -> dict[str, Any]:
        law, setting = self._settings[point]
        pairs = np.array([compared[point] for compared in rows["compared"]], dtype=np.float64)
        measured, predicted = pairs[:, 0], pairs[:, 1]
        ratio, low, high = _ratio(measured, predicted)
        nearest = (low, high) if math.isfinite(low) else (ratio, ratio)
        within = all(abs(end - 1.0) <= law.tolerance for end in nearest)
        return {
            "point": point,
            "law": law.name,
            "setting": setting.label,
            "measured": float(measured.mean()),
            "predicted": float(predicted.mean()),
            "ratio": ratio,
            "low": low,
            "high": high,
            "n": len(pairs),
            "x": setting.x,
            "family": setting.family,
            "in_range": setting.in_range,
            "agrees": within or not setting.in_range,
            "explanation": "" if setting.in_range else "beyond the range of the law, not evaluated",
        }

    def sections(self, _results: pd.DataFrame, agreement: Agreement) -> Sequence[report.Block]:
        """Return a paragraph, a table and a figure for each law."""
        blocks: list[report.Block] = []
        for law in self._laws:
            points = agreement.points[agreement.points["law"] == law.name]
            if not points.empty:
                blocks += [_statement(law), _table(law, points), _figure(law, points)]
        return blocks


def _ratio(measured: Values, predicted: Values) -> tuple[float, float, float]:
    """Return the ratio of measured to predicted; with its interval if there are several runs."""
    if len(measured) < 2:
        return float(measured[0] / predicted[0]), math.nan, math.nan
    interval = statistics.paired_ratio(measured, predicted, confidence=CONFIDENCE)
    return interval.estimate, interval.low, interval.high


def _criteria(laws: Sequence[Law], points: pd.DataFrame) -> list[Reached]:
    found = []
    for law in laws:
        judged = points[(points["law"] == law.name) & points["in_range"]]
        if judged.empty:
            continue
        share = float(judged["agrees"].mean())
        found.append(
            Reached(
                name=f"{law.name}: {law.quantity} within {100 * law.tolerance:g} %",
                wanted="at every setting, with its whole interval",
                measured=f"{100 * share:.0f} % ({int(judged['agrees'].sum())} of {len(judged)})",
                share=share,
                aim=1.0,
                holds=share >= 1.0,
            )
        )
    return found


def _statement(law: Law) -> report.Text:
    return report.Text(
        paragraphs=[
            f"{law.name}, {law.source}: {law.formula}. Tolerance {100 * law.tolerance:g} %. {law.why}"
        ]
    )


def _table(law: Law, points: pd.DataFrame) -> report.Table:
    def row(point: Mapping[Any, Any]) -> list[report.Cell | str]:
        tone: report.Tone = "" if not point["in_range"] else "good" if point["agrees"] else "bad"
        interval = (
            f"{100 * (point['low'] - 1):+.2f} to {100 * (point['high'] - 1):+.2f} %"
            if math.isfinite(point["low"])
            else "one run"
        )
        return [
            str(point["setting"]),
            f"{point['measured']:.4g}",
            f"{point['predicted']:.4g}",
            report.Cell(text=f"{100 * (point['ratio'] - 1):+.2f} %", detail=interval, tone=tone),
            f"{100 * law.tolerance:g} %" if point["in_range"] else "beyond the range",
            f"{point['n']}",
        ]

    unit = f" [{law.unit}]" if law.unit else ""
    return report.Table(
        caption=f"{law.name}: {law.quantity}{unit}",
        columns=[
            *report.Column.words("setting"),
            *report.Column.numbers(
                "measured", "predicted", "error of the measured value", "tolerance", "runs"
            ),
        ],
        rows=[row(point) for point in points.to_dict("records")],
        note=f"Intervals at {100 * CONFIDENCE:g} % over replications, of the ratio of both.",
    )


def _figure(law: Law, points: pd.DataFrame) -> report.Figure:
    made, axes = plots.figure()
    if not law.x_label:
        plots.scatter_against(
            points["predicted"],
            points["measured"],
            label=law.quantity,
            unit=law.unit or None,
            ax=axes[0, 0],
        )
    else:
        curves: dict[str | tuple[str, str], tuple[Values, Values, Values, Values]] = {}
        for family in sorted(set(points["family"])):
            rows = points[points["family"] == family].sort_values("x", kind="stable")
            suffix = f", {family}" if family else ""
            x, measured, predicted, low, high = (
                rows[name].to_numpy(dtype=np.float64)
                for name in ("x", "measured", "predicted", "low", "high")
            )
            nothing = np.full(len(rows), np.nan)
            curves[f"measured{suffix}"] = (x, measured, predicted * low, predicted * high)
            curves[f"formula{suffix}"] = (x, predicted, nothing, nothing)
        plots.sweep(
            curves,
            x_label=law.x_label,
            y_label=law.quantity,
            y_unit=law.unit or None,
            log_x=law.log,
            log_y=law.log,
            ax=axes[0, 0],
        )
    return report.Figure(svg=plots.to_svg(made), caption=f"{law.name}, measured and by formula")


GRID = TheoryGrid()
