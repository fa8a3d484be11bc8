"""The paper's scenarios, and which runs they need.

[chan2010 §4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from dumbbell import Probe, Scenario, Uniform

from .assumptions import BASE, Assumptions
from .network import BOTTLENECK, Connection, network, tcp
from .printed import data

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
"""The figures of windows against time with Reno, with the variant of each."""

JOINED = {
    "fig16": (("code", "code"), 5, 20.0, 200.0),
    "fig17-vegas": (("vegas", "vegas"), 5, 50.0, 200.0),
    "fig17-code": (("code", "code"), 5, 50.0, 200.0),
    "mixed": (("code", "vegas"), 10, 50.0, 300.0),
    "together": (("code", "code"), 5, 0.0, 200.0),
}
"""Pairs of which the second joins the first: kinds, rate (Mbit/s), when it joins and when the run ends (s)."""

QUIET = ("fig3", "fig5")
"""The figures of `TRACED` that are also run without cross traffic, for the rules of the algorithms: Table 1 assumes
round-trip times that hardly vary. [chan2010 §3.1]"""

PERIOD_S = 0.05
"""Period at which windows against time are sampled, s."""

START_RANGE = Uniform(uniform=("0 s", "25 s"))
"""Of the connections of Figs. 9-15; the range is stated, the law assumed. [chan2010 §4.1]"""


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
def homogeneous_point(kind: str, rate: int, assumptions: Assumptions, jittered: bool = True) -> Scenario:
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
def window_run(figure: str, assumptions: Assumptions) -> Scenario:
    """Return a run of Figs. 2, 3 and 5: a variant and Reno that start together, to a second."""
    kind = TRACED[figure]
    start = Uniform(uniform=("0 s", "1 s"))
    connections = [
        Connection(name="variant", tcp=tcp(kind, assumptions), start=start),
        Connection(name="reno", tcp=tcp("reno", assumptions)),
    ]
    probes = _sampled(("variant", "reno"), alpha=() if kind == "vegas" else ("variant",))
    return network(
        figure,
        connections,
        assumptions,
        rate=assumptions.window_rate,
        cross=assumptions.window_cross,
        probes=probes,
    )


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
    """Return a point of Fig. 9 with random starts only, with base round-trip times that hardly differ."""
    quiet = replace(BASE, cross=0.0)
    connections = [
        replace(connection, rtt_ms=rtt_ms)
        for connection, rtt_ms in zip(pair(kind, quiet), (variant_ms, reno_ms), strict=True)
    ]
    return network(f"phase {kind} {rate} {variant_ms:g} {reno_ms:g}", connections, quiet, rate=rate)


@cache
def short_transfer(kind: str, kilobytes: int, beside: bool, assumptions: Assumptions) -> Scenario:
    """Return a short transfer, alone or with one Reno connection that has run for at least 20 s."""
    source = {"kind": "transfer", "size": f"{kilobytes} kB"}
    start = Uniform(uniform=("20 s", "25 s"))
    connections = [Connection(name="short", tcp=tcp(kind, assumptions), start=start, source=source)]
    if beside:
        connections.append(Connection(name="reno", tcp=tcp("reno", assumptions)))
    return network(
        f"startup {kind} {kilobytes}",
        connections,
        assumptions,
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
