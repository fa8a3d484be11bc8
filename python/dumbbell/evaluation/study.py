"""What is evaluated against what, at which scale, and how an item states its cases."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from dumbbell.evaluation.algorithm import Algorithm
from dumbbell.quantities import written_time
from dumbbell.scenario import Cbr, DropTail, Flow, Greedy, Probe, Scenario, Tcp, Transfer, Uniform
from dumbbell.topologies import Topology, dumbbell
from dumbbell.transports import Transport

T = TypeVar("T")

SUBJECT = "subject"
"""The role of runs in which the evaluated algorithm is measured; those of baselines have their names."""

FULL_PACKET_BITS = 12_000.0

# Share of the shortest round trip that the propagation delay of the bottleneck takes, in either direction.
HOP_SHARE = 0.45

LEAST_REVERSE_BUFFER = 100
"""Packets that may wait for the reverse direction of a bottleneck if only acknowledgements take it."""

# Access links are this much faster than the bottleneck.
ACCESS_FACTOR = 10.0


def seconds(value: float) -> str:
    """Return a time in seconds as scenarios have it, to a microsecond."""
    return written_time(round(value * 1e6) * 1000)


def bdp_packets(rate_bps: float, rtt_s: float, factor: float = 1.0) -> int:
    """Return a multiple of the bandwidth-delay product in packets of 1500 bytes, at least 1."""
    return max(1, round(factor * rate_bps * rtt_s / FULL_PACKET_BITS))


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """A flow of a case.

    Parameters
    ----------
    name
        Its name; measures select flows by the beginning of their names.
    tcp
        Its connections; none for datagrams.
    source
        Its source.
    start
        Earliest and latest start, s; the start is drawn uniformly.
    stop
        When it stops, s; never by default.
    rtt_s
        Its round-trip propagation delay, s; that of the path by default.
    backward
        Whether it sends from right to left.
    """

    name: str
    tcp: Tcp | Transport | None
    source: Any = field(default_factory=Greedy)
    start: tuple[float, float] = (0.0, 1.0)
    stop: float | None = None
    rtt_s: float | None = None
    backward: bool = False

    def between(self, sender: str, receiver: str) -> Flow:
        """Return the flow of a scenario."""
        return Flow(
            name=self.name,
            from_=sender,
            to=receiver,
            tcp=self.tcp,
            source=self.source,
            start=_start(self.start),
            stop=None if self.stop is None else seconds(self.stop),
        )


def greedy(
    algorithm: Algorithm, count: int, prefix: str, *, rtt_s: float | None = None, **tcp: Any
) -> list[Traffic]:
    """Return flows that always have data and start within the first second.

    Parameters
    ----------
    algorithm
        Their congestion control.
    count
        Their number.
    prefix
        The beginning of their names.
    rtt_s
        Their round-trip propagation delay, s.
    **tcp
        Further fields of `Tcp`.
    """
    made = algorithm.tcp(**tcp)
    return [Traffic(name=f"{prefix}{number}", tcp=made, rtt_s=rtt_s) for number in range(count)]


def call(name: str, rate_bps: float) -> Traffic:
    """Return datagrams at a nearly constant rate, bit/s, in place of an adaptive call."""
    source = Cbr(rate=f"{rate_bps:.0f} bit/s", packet="1200 bytes", jitter=0.1)
    return Traffic(name=name, tcp=None, source=source, start=(0.0, 0.02))


@dataclass(frozen=True, kw_only=True)
class Path:
    """A bottleneck between two routers.

    Parameters
    ----------
    rate_bps
        Its rate, bit/s.
    rtt_s
        Round-trip propagation delay of flows that state none, s.
    buffer
        Packets that may wait; 1 BDP by default.
    queue
        Another queue discipline instead.
    reverse_rate_bps
        Rate of the reverse direction; the same by default.
    settings
        Further arguments of `dumbbell.topologies.dumbbell`, such as ``changes``.
    """

    rate_bps: float
    rtt_s: float
    buffer: int | None = None
    queue: Any = None
    reverse_rate_bps: float | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    def scenario(
        self,
        flows: Sequence[Traffic],
        *,
        duration: float,
        measure_from: float = 0.0,
        sample: Sequence[str] = (),
        delivered: Iterable[str] = (),
        period: float = 0.1,
        delay: bool = True,
        medium: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """Return the scenario of some flows on this path.

        Parameters
        ----------
        flows
            The flows.
        duration, measure_from
            End of the run and start of measurement, s.
        sample
            Further quantities to record of the flows of `delivered`.
        delivered
            Names of the flows whose deliveries are sampled.
        period
            The period of these samples, s.
        delay
            Whether the backlog of the bottleneck is sampled, for quantiles of the delay.
        medium
            Further fields of the bottleneck, such as delivery opportunities in place of its rate.
        """
        # Pairs of hosts by direction and round-trip time, the forward ones first.
        used = [(flow.backward, flow.rtt_s or self.rtt_s) for flow in flows]
        ends = sorted(dict.fromkeys(used), key=lambda end: end[0])
        shape = self._shape(ends)
        hosts = [ends.index(end) + 1 for end in used]
        made = [flow.between(f"s{host}", f"d{host}") for flow, host in zip(flows, hosts, strict=True)]
        probes = []
        if delay:
            step = seconds(min(0.01, duration / 1000.0))
            probes.append(Probe(quantities=["backlog"], links=["r1-r2"], period=step))
        if observed := list(delivered):
            probes.append(Probe(quantities=["delivered", *sample], flows=observed, period=seconds(period)))
        links = [replace(link, **(medium or {})) if link.name == "r1-r2" else link for link in shape.links]
        return Scenario(
            duration=seconds(duration),
            nodes=shape.nodes,
            links=links,
            flows=made,
            probes=probes or None,
            measure_from=seconds(measure_from) if measure_from else None,
        )

    def _shape(self, ends: Sequence[tuple[bool, float]]) -> Topology:
        """Return the network for pairs of hosts, each by its direction and its round-trip time, s."""
        backward = sum(back for back, _ in ends)
        limit = self.buffer if self.buffer is not None else bdp_packets(self.rate_bps, self.rtt_s)
        # A small buffer is to drop data, not acknowledgements.
        reverse_limit = limit if backward else max(limit, LEAST_REVERSE_BUFFER)
        reverse = self.reverse_rate_bps
        return dumbbell(
            pairs=len(ends) - backward,
            reverse_pairs=backward,
            rate=_rate(self.rate_bps),
            delay=_nanoseconds(HOP_SHARE * min(rtt for _, rtt in ends)),
            queue=DropTail(limit=f"{limit} packets") if self.queue is None else self.queue,
            reverse_rate=None if reverse is None else _rate(reverse),
            rtt=[_nanoseconds(rtt) for _, rtt in ends],
            access_rate=_rate(ACCESS_FACTOR * max(self.rate_bps, reverse or 0.0)),
            reverse_queue=DropTail(limit=f"{reverse_limit} packets"),
            **self.settings,
        )


def _rate(bps: float) -> str:
    return f"{round(bps)} bit/s"


def _nanoseconds(value: float) -> str:
    return written_time(round(value * 1e9))


def _start(start: tuple[float, float]) -> str | Uniform:
    earliest, latest = start
    if earliest == latest:
        return seconds(earliest)
    return Uniform(uniform=(seconds(earliest), seconds(latest)))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A configuration that runs once per replication.

    Parameters
    ----------
    point
        The situation, in words; cases of one point are compared.
    role
        `SUBJECT`, the name of a baseline, or another name that only derived measures use.
    scenario
        The scenario, or a function of the number of the replication that returns it.
    x
        Where the point is on the axis of the item's figure.
    panel
        The part of the figure that shows it.
    facts
        Numbers that measures need besides the run.
    """

    point: str
    role: str
    scenario: Scenario | Callable[[int], Scenario]
    x: float = float("nan")
    panel: str = ""
    facts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Study:
    """An algorithm, its baselines, and the scale of the evaluation.

    Parameters
    ----------
    subject
        The evaluated algorithm.
    baselines
        The algorithms it is compared with.
    quick
        Whether to use shorter runs at lower rates, at fewer points.
    seed
        Seed of all random numbers.
    runs
        Number of replications.
    against
        The baselines as they were stated; empty if they are the default.
    """

    subject: Algorithm
    baselines: tuple[Algorithm, ...]
    quick: bool
    seed: int
    runs: int
    against: tuple[str, ...] = ()

    def pick(self, quick: T, full: T) -> T:
        """Return the value of the scale."""
        return quick if self.quick else full

    @property
    def default_runs(self) -> int:
        """The number of replications of this scale."""
        return self.pick(3, 5)

    @property
    def rate_bps(self) -> float:
        """The rate of the default bottleneck, bit/s."""
        return self.pick(20e6, 50e6)

    @property
    def rtt_s(self) -> float:
        """The default round-trip propagation delay, s."""
        return 0.04

    @property
    def duration(self) -> float:
        """The default simulated time, s."""
        return self.pick(30.0, 60.0)

    @property
    def warm_up(self) -> float:
        """Time before measurement, s."""
        return self.pick(5.0, 10.0)

    def path(self, buffer_bdp: float = 1.0, **changes: Any) -> Path:
        """Return the default bottleneck.

        Parameters
        ----------
        buffer_bdp
            Its buffer in bandwidth-delay products.
        **changes
            Other fields of `Path`.
        """
        rate, rtt = changes.pop("rate_bps", self.rate_bps), changes.pop("rtt_s", self.rtt_s)
        return Path(rate_bps=rate, rtt_s=rtt, buffer=bdp_packets(rate, rtt, buffer_bdp), **changes)

    def scenario(self, flows: Sequence[Traffic], path: Path | None = None, **observed: Any) -> Scenario:
        """Return the scenario of some flows with the default duration and warm-up.

        Parameters
        ----------
        flows
            The flows.
        path
            Their path; the default bottleneck if none.
        **observed
            What is recorded, as `Path.scenario` takes it.
        """
        path = self.path() if path is None else path
        return path.scenario(flows, duration=self.duration, measure_from=self.warm_up, **observed)

    def accepts(self, **changes: Any) -> bool:
        """Return whether the engine accepts all algorithms with some fields of `Tcp`; see `Algorithm.accepts`."""
        return all(algorithm.accepts(**changes) for _, algorithm in self.roles())

    def roles(self) -> list[tuple[str, Algorithm]]:
        """Return the subject and the baselines with their roles."""
        return [(SUBJECT, self.subject), *((one.text, one) for one in self.baselines)]

    def labels(self) -> dict[str, str]:
        """Return what figures and tables call each role."""
        return {role: one.label for role, one in self.roles()}

    def generator(self, name: str, run: int) -> np.random.Generator:
        """Return the generator of drawn traffic: PCG64, seeded by the seed, a name and the number of the replication."""
        return np.random.Generator(np.random.PCG64([self.seed, run, zlib.crc32(name.encode())]))

    def transfers(
        self,
        name: str,
        run: int,
        *,
        load_bps: float,
        begin: float,
        end: float,
        tcp: Tcp | Transport,
        sizes: Callable[[np.random.Generator, int], Sequence[float]],
        mean_bytes: float,
        prefix: str = "short",
        rtts: Sequence[float] = (),
        backward: bool = False,
        small: Tcp | Transport | None = None,
    ) -> list[Traffic]:
        """Return transfers that arrive as a Poisson process; they do not depend on the algorithm.

        Parameters
        ----------
        name, run
            Name of the traffic, and the replication.
        load_bps
            Mean load in payload, bit/s.
        begin, end
            Time of arrivals, s.
        tcp
            Their connections.
        sizes
            Draws sizes in bytes.
        mean_bytes
            Their mean.
        prefix
            Beginning of their names.
        rtts
            Round-trip times to draw from, s.
        backward
            Whether they send from right to left.
        small
            Connections of a tenth of the transfers, with small segments.
        """
        random = self.generator(name, run)
        count = int(random.poisson(load_bps * (end - begin) / (8.0 * mean_bytes)))
        count = max(1, count)
        starts = np.sort(random.uniform(begin, end, count))
        drawn = sizes(random, count)
        paths = random.integers(0, max(1, len(rtts)), count)
        tenth = random.random(count) < 0.1
        return [
            Traffic(
                name=f"{prefix}{number}",
                tcp=small if small is not None and tenth[number] else tcp,
                source=Transfer(size=f"{max(1, round(drawn[number]))} bytes"),
                start=(float(starts[number]), float(starts[number])),
                rtt_s=rtts[paths[number]] if rtts else None,
                backward=backward,
            )
            for number in range(count)
        ]
