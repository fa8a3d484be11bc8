"""The network of the paper and its scenarios, with what the paper leaves open as `Assumptions`.

One TCP source and constant-rate traffic share a drop-tail queue; data and acknowledgements each take half of the fixed
delay d. The first word of a scenario's name is its experiment, which determines its reduction (`reduction`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from dumbbell import (
    Bernoulli,
    Cbr,
    DropTail,
    Flow,
    Forced,
    Frames,
    Link,
    Poisson,
    Probe,
    Rfc6298Timer,
    Scenario,
    Tcp,
    Uniform,
    Vegas,
    Video,
)
from dumbbell.scenario import Source

from .assumptions import Assumptions, Mover
from .grid import Setting

PACKET = 500
"""Size of a packet on the wire, bytes."""

HEADER = 40
PAYLOAD = PACKET - HEADER

BOTTLENECK = "r-d"

# Packets of the sources reach the queue back to back; no other link delays them.
SOURCE_RATES = 1000.0
FAST = "1000 Gbit/s"
UNLIMITED = DropTail(limit="unlimited")

# Longer than any run: losses are found by duplicate acknowledgements alone.
NO_TIMEOUT = Rfc6298Timer(minimum="100000 s", maximum="200000 s", initial="100000 s")
COARSE_TIMEOUT = Rfc6298Timer(minimum="1 s", maximum="60 s", initial="3 s")

# A threshold that is never reached, so that slow start continues.
NEVER = 1e6


LARGEST_SLOW_START = 1024
"""Largest window of the runs in slow start, packets."""


def of_phase(setting: Setting, run: int, runs: int, assumptions: Assumptions) -> Setting:
    """Return the row with the fixed delay of one of several runs.

    Most fixed delays of the grid are whole numbers of service times, so that a packet of the acknowledgement-clocked source
    reaches a busy queue right after another one has left it, and finds room. Runs of which the phase is spread have delays
    that lie evenly within one service time around that of the row.

    Parameters
    ----------
    setting
        The row.
    run, runs
        Number of the run, from 0, and how many there are.
    assumptions
        Whether delays are spread.
    """
    if assumptions.phase != "spread":
        return setting
    offset = ((run + 0.5) / runs - 0.5) / setting.service_rate
    return replace(setting, fixed_delay=setting.fixed_delay + offset)


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def _rate(packets: float) -> str:
    return f"{round(packets * PACKET * 8)} bit/s"


def _network(
    setting: Setting, assumptions: Assumptions, buffer: str, sources: Sequence[str]
) -> tuple[list[str], list[Link]]:
    """Return nodes and links: each source has a separate link to the queue, and one for acknowledgements."""
    half = _time(setting.fixed_delay / 2.0)
    links = [
        Link(
            name=BOTTLENECK,
            from_="r",
            to="d",
            rate=_rate(setting.service_rate),
            delay="0 s",
            queue=DropTail(limit=buffer, counts_service=assumptions.counts_service),
        ),
        Link(name="x-r", from_="x", to="r", rate=FAST, delay="0 s", queue=UNLIMITED),
    ]
    for name in sources:
        access = _rate(SOURCE_RATES * setting.service_rate)
        links += [
            Link(name=f"{name}-r", from_=name, to="r", rate=access, delay=half, queue=UNLIMITED),
            Link(name=f"d-{name}", from_="d", to=name, rate=FAST, delay=half, queue=UNLIMITED),
        ]
    return ["r", "d", "x", *sources], links


def _exogenous(setting: Setting, assumptions: Assumptions) -> list[Flow]:
    """Return the flow of the exogenous traffic, if there is any."""
    if not setting.exogenous_rate:
        return []
    rate, packet = _rate(setting.exogenous_rate), f"{PACKET} bytes"
    source: Source = {
        "jittered": Cbr(rate=rate, packet=packet, jitter=1.0),
        "constant": Cbr(rate=rate, packet=packet),
        "poisson": Poisson(rate=rate, packet=packet),
    }[assumptions.exogenous]
    gap = _time(1.0 / setting.exogenous_rate)
    return [_datagrams(source, start=Uniform(uniform=("0 s", gap)))]


def _datagrams(source: Source, start: Uniform | str = "0 s") -> Flow:
    return Flow(name="x", from_="x", to="d", path=["x-r", BOTTLENECK], source=source, start=start)


def _greedy(tcp: Tcp, name: str = "s", begin: Uniform | str = "0 s") -> Flow:
    path = [f"{name}-r", BOTTLENECK]
    return Flow(name=name, from_=name, to="d", path=path, reverse_path=[f"d-{name}"], tcp=tcp, start=begin)


def _tcp(assumptions: Assumptions, congestion: str | Vegas = "reno", **settings: object) -> Tcp:
    """Return TCP with acknowledgements for every packet and no limit by the receiver, in congestion avoidance."""
    fields: dict[str, object] = {
        "congestion": congestion,
        "recovery": {"kind": "newreno", "partial_ack": assumptions.partial_ack, "max_burst": 4},
        "mss": f"{PAYLOAD} bytes",
        "headers": {"data": f"{HEADER} bytes", "ack": "1 bytes"},
        "initial_window": "1 segments",
        "initial_ssthresh": "1 segments",
        "limited_transmit": False,
        "window": {"reduction_base": assumptions.reduction_base, "grow_when": "always"},
        "idle_restart": False,
        "timer": NO_TIMEOUT,
    }
    return Tcp.from_dict(fields | settings)


def _vegas(setting: Setting, assumptions: Assumptions, mechanisms: str, **settings: object) -> Tcp:
    """Return Vegas that halves as Reno does and has the mechanisms named: A, detection in slow start; B, in avoidance."""
    window = Vegas(
        alpha=setting.alpha,
        beta=setting.beta,
        gamma=setting.gamma,
        numerator=assumptions.numerator,
        increase=assumptions.increase,
    )
    if "A" in mechanisms:
        settings = {"initial_ssthresh": "unlimited"} | settings
    return _tcp(assumptions, window, mechanisms=mechanisms, **settings)


def _steady_time(setting: Setting) -> float:
    """Return a time after which Vegas is certainly steady, s: 2.5 nu T + 150 round-trip times."""
    link = setting.link
    return (2.5 * link.bdp + 150.0) * (link.base_rtt + setting.alpha / link.available_rate)


MEASURED_SHARE = 0.3
"""Share of a run of Vegas, at its end, over which averages are taken."""

MEASURED_PACKETS = 4000
"""Least packets of the source in that share: a packet more or less is 0.025 % of the throughput."""


def steady(setting: Setting, assumptions: Assumptions) -> Scenario:
    """Return Vegas with slow start and an unlimited buffer, long enough to become steady."""
    rate = setting.link.available_rate
    duration = max(_steady_time(setting), MEASURED_PACKETS / rate / MEASURED_SHARE)
    nodes, links = _network(setting, assumptions, "unlimited", ["s"])
    return Scenario(
        name=f"steady {setting.id}",
        rules="classic",
        duration=_time(duration),
        measure_from=_time((1.0 - MEASURED_SHARE) * duration),
        nodes=nodes,
        links=links,
        flows=[
            _greedy(_vegas(setting, assumptions, "AB", timestamps=True)),
            *_exogenous(setting, assumptions),
        ],
        probes=[
            Probe(flows=["s"], quantities=["cwnd", "ssthresh"]),
            Probe(flows=["s"], quantities=["srtt"], period=_time(setting.link.base_rtt / 4.0)),
        ],
    )


def _sampled(setting: Setting) -> list[Probe]:
    """Return the probes from which complete cycles are extracted."""
    # Not a whole part of the round-trip time, so that samples fall everywhere in a service time.
    period = _time(setting.link.base_rtt / 8.03)
    return [Probe(flows=["s"], quantities=["cwnd", "flight_size", "seq_acked", "ssthresh"], period=period)]


def cycles(
    setting: Setting,
    assumptions: Assumptions,
    count: int,
    *,
    buffer: int | None = None,
    variant: Mover = "reno",
) -> Scenario:
    """Return a source in congestion avoidance with several cycles from loss to loss.

    Parameters
    ----------
    setting, assumptions
        The row, and what the paper leaves open.
    count
        Whole cycles to measure; three go before them.
    buffer
        B, packets; the row's by default.
    variant
        Reno; the same with its window grown by a whole packet once per generation, which is Vegas with thresholds that are
        never reached; or Vegas with the row's.
    """
    place = replace(setting, buffer=setting.buffer if buffer is None else buffer)
    half = max(1, min(math.floor(place.cycle.loss_window / 2.0), place.buffer // 2))
    window = f"{half} segments"
    if variant == "reno":
        tcp = _tcp(assumptions, initial_window=window)
    else:
        by_generation = replace(place, alpha=NEVER, beta=NEVER), replace(assumptions, increase="at-once")
        thresholds, grown = (place, assumptions) if variant == "vegas" else by_generation
        # A window of one packet is the slow start of the spread increase and would not grow.
        tcp = _vegas(thresholds, grown, "B", initial_window=f"{max(2, half)} segments")
    nodes, links = _network(place, assumptions, f"{place.buffer} packets", ["s"])
    # To the first loss the window grows through its whole range instead of the upper half.
    duration = (count + 6.0) * place.fluid_reno.duration + 20.0 * place.link.base_rtt
    return Scenario(
        name=f"cycles {variant} {place.id} {place.buffer}",
        rules="classic",
        duration=_time(duration),
        nodes=nodes,
        links=links,
        flows=[_greedy(tcp), *_exogenous(place, assumptions)],
        probes=_sampled(place),
    )


def standing(setting: Setting, assumptions: Assumptions, window: int) -> Scenario:
    """Return a source whose window is limited by the receiver, with an unlimited buffer."""
    rtt = max(setting.link.base_rtt, window / setting.link.available_rate)
    nodes, links = _network(setting, assumptions, "unlimited", ["s"])
    size = f"{window} segments"
    return Scenario(
        name=f"slots standing {setting.id} {window}",
        rules="classic",
        duration=_time(60.0 * rtt),
        nodes=nodes,
        links=links,
        flows=[
            _greedy(_tcp(assumptions, receive_buffer=size, initial_window=size)),
            *_exogenous(setting, assumptions),
        ],
        probes=[Probe(flows=["s"], quantities=["seq_sent", "seq_acked"])],
    )


def start(
    setting: Setting,
    assumptions: Assumptions,
    variant: Literal["growth", "growth-by-generation", "reno-slow-start", "vegas-slow-start"],
) -> Scenario:
    """Return a source that begins with one packet and an unlimited buffer, to look at its mini-slots.

    Parameters
    ----------
    setting, assumptions
        The row, and what the paper leaves open.
    variant
        Congestion avoidance, growing with every acknowledgement or by a whole packet per generation; slow start of Reno, or
        of Vegas without an end.
    """
    link = setting.link
    if variant.startswith("growth"):
        last = 3.0 * link.bdp
        duration = last * (link.base_rtt + last / link.available_rate / 2.0)
    else:
        duration = 2.5 * LARGEST_SLOW_START / link.available_rate + 24.0 * link.base_rtt
    never = replace(setting, alpha=NEVER, beta=NEVER, gamma=NEVER)
    limit = f"{LARGEST_SLOW_START} segments"
    tcp = {
        "growth": _tcp(assumptions),
        "growth-by-generation": _vegas(never, replace(assumptions, increase="at-once"), "B"),
        "reno-slow-start": _tcp(assumptions, initial_ssthresh="unlimited", receive_buffer=limit),
        "vegas-slow-start": _vegas(never, assumptions, "A", receive_buffer=limit),
    }[variant]
    nodes, links = _network(setting, assumptions, "unlimited", ["s"])
    return Scenario(
        name=f"slots {variant} {setting.id}",
        rules="classic",
        duration=_time(duration),
        nodes=nodes,
        links=links,
        flows=[_greedy(tcp), *_exogenous(setting, assumptions)],
        probes=[Probe(flows=["s"], quantities=["seq_sent", "seq_acked"])],
    )


def threshold(setting: Setting, assumptions: Assumptions, buffer: int) -> Scenario:
    """Return Vegas in congestion avoidance with a small buffer, to see whether it continues to lose packets."""
    return connections(setting, assumptions, buffer, 1)


def connections(setting: Setting, assumptions: Assumptions, buffer: int, flows: int) -> Scenario:
    """Return several Vegas connections in congestion avoidance with a small buffer.

    They begin within one smallest round-trip time, with windows so small that each sees the empty queue.
    """
    names = ["s"] if flows == 1 else [f"s{number}" for number in range(1, flows + 1)]
    nodes, links = _network(setting, assumptions, f"{buffer} packets", names)
    # With a few packets of buffer a window can be too small for three duplicate acknowledgements.
    tcp = _vegas(setting, assumptions, "B", initial_window="2 segments", timer=COARSE_TIMEOUT)
    begin = Uniform(uniform=("0 s", _time(setting.link.base_rtt)))
    return Scenario(
        name=f"threshold {setting.id} {buffer} {flows}",
        rules="classic",
        duration=_time(_steady_time(setting)),
        nodes=nodes,
        links=links,
        flows=[*(_greedy(tcp, name, begin) for name in names), *_exogenous(setting, assumptions)],
        probes=[Probe(flows=names, quantities=["cwnd"])],
    )


def evolution_seconds(setting: Setting) -> float:
    """Return how long the runs of Fig. 1 last, s."""
    return 4.0 * setting.fluid_reno.duration


def evolution(setting: Setting, assumptions: Assumptions, variant: Literal["reno", "vegas"]) -> Scenario:
    """Return Fig. 1: one initial slow start, then congestion avoidance, in a queue with the row's buffer.

    Reno's slow start ends at half of its loss window, as the figure draws it.
    """
    nodes, links = _network(setting, assumptions, f"{setting.buffer} packets", ["s"])
    half = math.floor(setting.cycle.loss_window / 2.0)
    tcp = (
        _tcp(assumptions, initial_ssthresh=f"{half} segments")
        if variant == "reno"
        else _vegas(setting, assumptions, "AB")
    )
    return Scenario(
        name=f"evolution {variant} {setting.id}",
        rules="classic",
        duration=_time(evolution_seconds(setting)),
        nodes=nodes,
        links=links,
        flows=[_greedy(tcp), *_exogenous(setting, assumptions)],
        probes=[Probe(flows=["s"], quantities=["cwnd", "seq_sent", "seq_acked"])],
    )


VIDEO_SECONDS = 300.0


def video(
    setting: Setting,
    assumptions: Assumptions,
    variant: Literal["reno", "vegas"],
    frames: Sequence[str] | None,
) -> Scenario:
    """Return Fig. 3: the exogenous traffic is video, a frame every fixed time cut into packets.

    Parameters
    ----------
    setting, assumptions
        Rates, delay, buffer and thresholds, and what else the paper leaves open.
    variant
        Which source.
    frames
        Sizes of the frames; ``None`` for the engine's synthetic video of the same mean rate.
    """
    packet, rate = f"{PACKET} bytes", _rate(setting.exogenous_rate)
    source: Source = (
        Video(rate=rate, frame_rate=24.0, packet=packet)
        if frames is None
        else Frames(sizes=frames, frame_rate=24.0, packet=packet)
    )
    tcp = (
        _tcp(assumptions, timer=COARSE_TIMEOUT)
        if variant == "reno"
        else _vegas(setting, assumptions, "AB", timer=COARSE_TIMEOUT)
    )
    nodes, links = _network(setting, assumptions, f"{setting.buffer} packets", ["s"])
    return Scenario(
        name=f"video {variant} {setting.id}",
        rules="classic",
        duration=_time(VIDEO_SECONDS),
        nodes=nodes,
        links=links,
        flows=[_greedy(tcp), _datagrams(source)],
        probes=[Probe(flows=["s"], quantities=["cwnd"], period="200 ms")],
    )


LOSSY_RTT_S = 0.1
LOSSY_PACKETS = 100_000


def long_transfer(probability: float, *, periodic: bool) -> Scenario:
    """Return Reno on a fast link that loses packets on purpose, for the laws of throughput.

    Parameters
    ----------
    probability
        Share of packets that is lost.
    periodic
        Whether losses are equally spaced instead of random.
    """
    gap = round(1.0 / probability)
    impairment = (
        Forced(packets=list(range(gap, LOSSY_PACKETS + 1, gap)))
        if periodic
        else Bernoulli(probability=probability)
    )
    half = _time(LOSSY_RTT_S / 2.0)
    # Less time than the periodic law needs for all packets: the list of losses must not end before the run.
    duration = 0.8 * LOSSY_PACKETS * LOSSY_RTT_S / math.sqrt(1.5 / probability)
    return Scenario(
        name=f"law {'periodic' if periodic else 'random'} {probability:g}",
        rules="classic",
        duration=_time(duration),
        nodes=["s", "d"],
        links=[
            Link(
                name="s-d",
                from_="s",
                to="d",
                rate=FAST,
                delay=half,
                queue=UNLIMITED,
                impairments=[impairment],
            ),
            Link(name="d-s", from_="d", to="s", rate=FAST, delay=half, queue=UNLIMITED),
        ],
        flows=[
            Flow(
                name="s",
                from_="s",
                to="d",
                tcp=_tcp(Assumptions(), initial_ssthresh="8 segments", timer=COARSE_TIMEOUT),
            )
        ],
        probes=[Probe(flows=["s"], quantities=["rto"], period="1 s")],
    )
