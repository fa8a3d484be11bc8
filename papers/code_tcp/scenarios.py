"""The paper's scenarios, and which runs they need.

[chan2010 §4]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from dumbbell import Probe, Scenario, Uniform
from dumbbell.papers import PlannedRun, Settings

from . import algorithms
from .assumptions import BASE, VARIATIONS, Assumptions
from .network import BOTTLENECK, VARIANTS, Connection, network, tcp
from .printed import data

__all__ = [
    "BUFFERS",
    "EPSILONS",
    "EPSILON_RATE",
    "MIXES",
    "PHASES",
    "PHASE_RATES",
    "RATES",
    "RTTS",
    "START_SIZES",
    "Counts",
    "counts",
    "plan",
]

RATES = tuple(data()["table2"]["rates"])
"""Bottleneck rates of Fig. 9 and Table 2, Mbit/s; those of Fig. 9 are assumed to be those of Table 2."""

RTTS = tuple(range(50, 151, 10))
"""Swept base round-trip times of Figs. 10-13, ms; assumed."""

BUFFERS = tuple(range(10, 101, 10))
"""Buffers of Fig. 14, packets; assumed, and the paper's 60 is among them."""

MIXES = tuple(range(1, 10))
"""Numbers of Reno connections among the ten of Fig. 15; assumed."""

EPSILONS = (0.50, 0.55, 0.60, 0.64, 0.66, 0.68, 0.70, 0.72, 0.75, 0.80, 0.85)
EPSILON_RATE = 20
"""Where epsilon is swept, Mbit/s: windows there are about the 100 packets from which the fluid model holds."""

START_SIZES = (100, 200, 500, 1000, 2000)
"""Sizes of the short transfers, kB."""

PHASES = ((50.0, 50.0), (50.0, 51.2), (51.2, 50.0))
PHASE_RATES = (5, 10)
"""Base round-trip times of two connections that hardly differ, ms, and the rates they are tried at, Mbit/s."""

GAIN_BUFFERS = (10, 20, 30)
"""Small buffers at which solo transfers of Vegas and Reno are compared, packets."""

TRACED = {"fig2": "vegas", "fig3": "newvegas", "fig5": "code"}
"""The figures of windows against time beside Reno, with the variant of each."""

JOINED = {
    "fig16": (("code", "code"), 5, 20.0, 200.0),
    "fig17-vegas": (("vegas", "vegas"), 5, 50.0, 200.0),
    "fig17-code": (("code", "code"), 5, 50.0, 200.0),
    "mixed": (("code", "vegas"), 10, 50.0, 300.0),
    "together": (("code", "code"), 5, 0.0, 200.0),
}
"""Pairs of which the second joins the first: kinds, rate (Mbit/s), when it joins and when the run ends (s)."""

PERIOD_S = 0.05
"""Period at which windows against time are sampled, s."""

START_RANGE = Uniform(uniform=("0 s", "25 s"))
"""Of the connections of Figs. 9-15; the range is stated, the law assumed. [chan2010 §4.1]"""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Replications.

    Parameters
    ----------
    sweeps
        Of each point of Figs. 9-15 and of Table 2; 20 in the paper.
    windows
        Of the scenarios with windows against time.
    short
        Of each short transfer.
    phases
        Of each pair of base round-trip times that hardly differ.
    moved
        Of each point with a moved assumption.
    rtts
        Swept round-trip times of Figs. 10-13.
    moved_rates, moved_rtts, moved_buffers, moved_mixes
        The points at which moved assumptions are tried.
    variations
        Names of the moves that are tried.
    """

    sweeps: int
    windows: int
    short: int
    phases: int
    moved: int
    rtts: tuple[int, ...]
    moved_rates: tuple[int, ...]
    moved_rtts: tuple[int, ...]
    moved_buffers: tuple[int, ...]
    moved_mixes: tuple[int, ...]
    variations: tuple[str, ...]


def counts(settings: Settings) -> Counts:
    """Return the replications for some settings."""
    if settings.quick:
        return Counts(
            sweeps=settings.runs or 2,
            windows=settings.runs or 4,
            short=settings.runs or 2,
            phases=2,
            moved=2,
            rtts=(50, 80, 110, 150),
            moved_rates=(10, 30),
            moved_rtts=(),
            moved_buffers=(),
            moved_mixes=(),
            variations=("quiet", "jitter-alone", "halving"),
        )
    return Counts(
        sweeps=settings.runs or 20,
        windows=settings.runs or 20,
        short=settings.runs or 20,
        phases=5,
        moved=4,
        rtts=RTTS,
        moved_rates=(5, 10, 20, 30, 40, 50),
        moved_rtts=(50, 90, 130),
        moved_buffers=(10, 20, 40, 60, 80, 100),
        moved_mixes=(1, 3, 5, 7, 9),
        variations=tuple(variation.name for variation in VARIATIONS),
    )


def pair(kind: str, assumptions: Assumptions, **changes: object) -> list[Connection]:
    """Return a variant and Reno with random starts."""
    return [
        Connection(name="variant", tcp=tcp(kind, assumptions, **changes), start=START_RANGE),
        Connection(name="reno", tcp=tcp("reno", assumptions), start=START_RANGE),
    ]


@cache
def rate_point(kind: str, rate: int, assumptions: Assumptions) -> Scenario:
    """Return a point of Fig. 9."""
    return network(f"fig-9 {kind} {rate}", pair(kind, assumptions), assumptions, rate=rate)


@cache
def rtt_point(kind: str, panel: str, rtt_ms: int, assumptions: Assumptions) -> Scenario:
    """Return a point of Figs. 10-13: panel a sweeps Reno's base round-trip time, panel b the variant's."""
    variant, reno = pair(kind, assumptions)
    fixed = 2 * assumptions.delay_ms + 4 * assumptions.access_ms
    times = {"a": (fixed, float(rtt_ms)), "b": (float(rtt_ms), fixed)}[panel]
    connections = [replace(c, rtt_ms=time) for c, time in zip((variant, reno), times, strict=True)]
    return network(
        f"fig-10 {kind} {times[0]:g} {times[1]:g}",
        connections,
        assumptions,
        rate=assumptions.rtt_rate,
        jitter=assumptions.cross > 0,
    )


@cache
def buffer_point(kind: str, buffer: int, assumptions: Assumptions) -> Scenario:
    """Return a point of Fig. 14."""
    return network(
        f"fig-14 {kind} {buffer}",
        pair(kind, assumptions),
        assumptions,
        rate=assumptions.buffer_rate,
        buffer=buffer,
    )


@cache
def mix_point(kind: str, reno: int, assumptions: Assumptions) -> Scenario:
    """Return a point of Fig. 15: ten connections, so many of them Reno."""
    connections = [
        Connection(name=f"reno{n}", tcp=tcp("reno", assumptions), start=START_RANGE)
        for n in range(1, reno + 1)
    ] + [
        Connection(name=f"variant{n}", tcp=tcp(kind, assumptions), start=START_RANGE)
        for n in range(reno + 1, 11)
    ]
    return network(f"fig-15 {kind} {reno}", connections, assumptions, rate=assumptions.mix_rate)


@cache
def alike_point(kind: str, rate: int, assumptions: Assumptions, jittered: bool = True) -> Scenario:
    """Return a cell of Table 2: ten connections of a kind in the network of Fig. 15, started together.

    Without `jittered` nothing is random: no cross traffic, and starts equal to the nanosecond instead of to a tenth of a second.
    """
    start = Uniform(uniform=("0 s", "0.1 s")) if jittered else "0 s"
    connections = [
        Connection(name=f"variant{n}", tcp=tcp(kind, assumptions), start=start) for n in range(1, 11)
    ]
    return network(f"table-2 {kind} {rate}", connections, assumptions, rate=rate, cross=jittered)


def _sampled(flows: Sequence[str], *, alpha: Sequence[str] = ()) -> list[Probe]:
    """Return probes of windows, deliveries and the queue at `PERIOD_S`, and of what jumps when it does."""
    period = f"{1000 * PERIOD_S:g} ms"
    probes = [
        Probe(flows=list(flows), quantities=["cwnd", "delivered"], period=period),
        Probe(links=[BOTTLENECK], quantities=["backlog"], period=period),
    ]
    if alpha:
        probes.append(Probe(flows=list(alpha), quantities=["alpha"]))
    return probes


@cache
def window_run(figure: str, assumptions: Assumptions, cross: bool = False) -> Scenario:
    """Return a run of Figs. 2, 3 and 5: a variant and Reno that start together, to a second."""
    kind = TRACED[figure]
    start = Uniform(uniform=("0 s", "1 s"))
    connections = [
        Connection(name="variant", tcp=tcp(kind, assumptions), start=start),
        Connection(name="reno", tcp=tcp("reno", assumptions)),
    ]
    probes = _sampled(("variant", "reno"), alpha=() if kind == "vegas" else ("variant",))
    return network(figure, connections, assumptions, rate=10, cross=cross, probes=probes)


@cache
def newcomer_run(figure: str, assumptions: Assumptions) -> Scenario:
    """Return a run in which a second connection joins a first, at a time that is random within a second."""
    kinds, rate, second_s, duration_s = JOINED[figure]
    second = Uniform(uniform=(f"{second_s:g} s", f"{second_s + 1:g} s")) if second_s else "0 s"
    connections = [
        Connection(name="first", tcp=tcp(kinds[0], assumptions)),
        Connection(name="second", tcp=tcp(kinds[1], assumptions), start=second),
    ]
    alpha = [name for name, kind in zip(("first", "second"), kinds, strict=True) if kind != "vegas"]
    return network(
        figure,
        connections,
        assumptions,
        rate=rate,
        duration_s=duration_s,
        from_s=0.75 * duration_s,
        cross=False,
        probes=_sampled(("first", "second"), alpha=alpha),
    )


@cache
def epsilon_point(epsilon: float) -> Scenario:
    """Return a point of the sweep of epsilon: Fig. 9 at one rate."""
    return network(f"epsilon {epsilon}", pair("code", BASE, epsilon=epsilon), BASE, rate=EPSILON_RATE)


@cache
def phase_point(kind: str, rate: int, variant_ms: float, reno_ms: float) -> Scenario:
    """Return a point of Fig. 9 in which nothing is random but the starts, with base round-trip times that hardly differ."""
    quiet = replace(BASE, cross=0.0)
    connections = [
        replace(connection, rtt_ms=rtt_ms)
        for connection, rtt_ms in zip(pair(kind, quiet), (variant_ms, reno_ms), strict=True)
    ]
    return network(f"phase {kind} {rate} {variant_ms:g} {reno_ms:g}", connections, quiet, rate=rate)


@cache
def short_transfer(kind: str, kilobytes: int, beside: bool) -> Scenario:
    """Return a short transfer, alone or beside one Reno connection that has run for at least 20 s."""
    source = {"kind": "transfer", "size": f"{kilobytes} kB"}
    start = Uniform(uniform=("20 s", "25 s"))
    connections = [Connection(name="short", tcp=tcp(kind, BASE), start=start, source=source)]
    if beside:
        connections.append(Connection(name="reno", tcp=tcp("reno", BASE)))
    return network(
        f"startup {kind} {kilobytes}",
        connections,
        BASE,
        rate=10,
        duration_s=200.0,
        from_s=0.0,
        cross=beside,
        stop_when_complete=["short"],
    )


@cache
def solo_transfer(kind: str, buffer: int) -> Scenario:
    """Return a transfer of 1 MB alone at a small buffer."""
    source = {"kind": "transfer", "size": "1 MB"}
    return network(
        f"gain {kind} {buffer}",
        [Connection(name="short", tcp=tcp(kind, BASE), source=source)],
        BASE,
        rate=10,
        duration_s=200.0,
        from_s=0.0,
        buffer=buffer,
        cross=False,
        stop_when_complete=["short"],
    )


def _repeated(key: str, scenario: Scenario, runs: int, seed: int, stage: str) -> Iterator[PlannedRun]:
    for run in range(runs):
        yield PlannedRun(key=key, scenario=scenario, seed=seed, run=run, stage=stage)


def _sweeps(
    group: str,
    assumptions: Assumptions,
    figures: Sequence[str],
    count: Counts,
    runs: int,
    seed: int,
    stages: bool,
) -> Iterator[PlannedRun]:
    """Return the runs of Figs. 2, 3, 5, 9-18 and Table 2 for one reading."""

    def repeated(key: str, scenario: Scenario, stage: str) -> Iterator[PlannedRun]:
        return _repeated(f"{group}/{key}", scenario, runs, seed, stage if stages else "sensitivity")

    rates, rtts = (RATES, count.rtts) if stages else (count.moved_rates, count.moved_rtts)
    buffers, mixes = (BUFFERS, MIXES) if stages else (count.moved_buffers, count.moved_mixes)
    for kind in VARIANTS:
        if "fig9" in figures:
            for rate in rates:
                yield from repeated(f"fig9/{kind}/{rate}", rate_point(kind, rate, assumptions), "Fig. 9")
        if "fig14" in figures:
            for buffer in buffers:
                yield from repeated(
                    f"fig14/{kind}/{buffer}", buffer_point(kind, buffer, assumptions), "Fig. 14"
                )
        if "fig15" in figures:
            for reno in mixes:
                yield from repeated(f"fig15/{kind}/{reno}", mix_point(kind, reno, assumptions), "Fig. 15")
        if "table2" in figures and kind != "vegasa" and rates:
            for rate in rates:
                yield from repeated(f"table2/{kind}/{rate}", alike_point(kind, rate, assumptions), "Table 2")
    traced = count.windows if stages else runs
    for figure in TRACED if "windows" in figures else ():
        yield from _repeated(
            f"{group}/{figure}",
            window_run(figure, assumptions),
            traced,
            seed,
            "windows" if stages else "sensitivity",
        )
    for figure in ("fig16", "fig17-vegas", "fig17-code", "mixed") if "pairs" in figures else ():
        yield from _repeated(
            f"{group}/{figure}",
            newcomer_run(figure, assumptions),
            traced,
            seed,
            "windows" if stages else "sensitivity",
        )
    if "rtt" in figures:
        for kind in (*VARIANTS, "reno"):
            for panel in "ab":
                for rtt in rtts:
                    yield from repeated(
                        f"rtt-{panel}/{kind}/{rtt}", rtt_point(kind, panel, rtt, assumptions), "Figs. 10-13"
                    )


def _details(count: Counts, seed: int) -> Iterator[PlannedRun]:
    """Return the runs of the algorithms, of the analysis, and of the claims made in words."""
    for name, scenario in algorithms.scenarios().items():
        yield from _repeated(f"algorithm/{name}", scenario, 1, seed, "algorithms")
    yield from _repeated("fig5-cross", window_run("fig5", BASE, cross=True), count.windows, seed, "windows")
    yield from _repeated("base/together", newcomer_run("together", BASE), 1, seed, "windows")
    for kind in ("code", "reno"):
        for rate in PHASE_RATES:
            for variant_ms, reno_ms in PHASES:
                key = f"phase/{kind}/{rate}/{variant_ms:g}-{reno_ms:g}"
                scenario = phase_point(kind, rate, variant_ms, reno_ms)
                yield from _repeated(key, scenario, count.phases, seed, "phases")
    for epsilon in EPSILONS:
        yield from _repeated(f"epsilon/{epsilon}", epsilon_point(epsilon), count.sweeps, seed, "epsilon")
    for kind in ("reno", "code"):
        for size in START_SIZES:
            for beside in (False, True):
                key = f"startup/{kind}/{size}/{'beside' if beside else 'alone'}"
                yield from _repeated(
                    key, short_transfer(kind, size, beside), count.short if beside else 1, seed, "transfers"
                )
    for kind in ("reno", "vegas"):
        for buffer in GAIN_BUFFERS:
            yield from _repeated(f"gain/{kind}/{buffer}", solo_transfer(kind, buffer), 1, seed, "transfers")
    for kind in ("vegas", "newvegas", "code"):
        for rate in RATES:
            yield from _repeated(
                f"together/{kind}/{rate}", alike_point(kind, rate, BASE, jittered=False), 1, seed, "Table 2"
            )


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the runs to make."""
    count = counts(settings)
    every = ("fig9", "rtt", "fig14", "fig15", "table2", "windows", "pairs")
    runs = list(_sweeps("base", BASE, every, count, count.sweeps, settings.seed, True))
    runs += _details(count, settings.seed)
    for variation in VARIATIONS:
        if variation.name in count.variations:
            runs += _sweeps(
                variation.name,
                variation.assumptions,
                variation.figures,
                count,
                count.moved,
                settings.seed,
                False,
            )
    return runs
