"""Connections of a kernel: the scenarios of the experiments on Linux and of the uploads over the Internet.

The simulator runs the same scenarios. They state the environment of Linux, and of the main reading what it leaves open.
[chan2010 §4.6, §4.7]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings, Stage
from dumbbell.traffic import vbr

from .assumptions import BASE, Assumptions
from .network import Connection, delay_based, network
from .printed import data
from .scenarios import rate_point

GROUP = "linux"
"""Beginning of the keys of these runs."""

KINDS = ("vegas", "newvegas", "code")
"""The variants of Fig. 19."""

RATES = (5, 10, 20, 50)
"""Rates of Fig. 19, Mbit/s. The paper does not state them; these are some of Table 2's."""

UPLOADS = {
    "table3-S": "one bottleneck of 9 Mbit/s, shared by both",
    "table3-L": "each sender behind a link of the printed mean rate",
}
"""Readings of the path of Table 3, about which the paper says nothing."""

UPLOADED = ("vegas", "code")
"""The variants of Table 3."""

MSS, PACKET = 1448, 1500
FILE = 53_612_000
"""Bytes of an upload; a kilobyte is taken as 1000 bytes. [chan2010 §4.7]"""

SHARED_RATE, NOISE_RATE = 9.0, 20.0
NOISE = 0.4
"""Load of the random bursts on the shared link of ``table3-L``. Assumed: without noise Vegas would fill its own link."""

# Linux has none of the mechanisms C, D and H of Vegas, and always E. Its Vegas takes the least round-trip time of a round.
RULES = replace(BASE, mechanisms="ABFGI", rtt="minimum", cross=0.0)

START = {"uniform": ("0 s", "1 s")}
"""Both connections start at the same time, to a second. [chan2010 §4.6]"""


def tcp(kind: str, assumptions: Assumptions = RULES, *, delayed: bool = True) -> dict[str, Any]:
    """Return the ``tcp`` table of a connection of the kernel.

    Parameters
    ----------
    kind
        ``"reno"`` or one of `KINDS`.
    assumptions
        What the paper leaves open.
    delayed
        Whether the receiver delays acknowledgements, as Linux does unless told otherwise.
    """
    table: dict[str, Any] = {"rules": "linux"}
    if not delayed:
        table["delayed_ack"] = "off"
    if kind == "reno":
        return {**table, "congestion": "reno"}
    return {**table, "mechanisms": assumptions.mechanisms, "congestion": delay_based(kind, assumptions)}


@cache
def fig19(
    kind: str,
    rate: int,
    duration_s: float,
    from_s: float,
    assumptions: Assumptions = RULES,
    *,
    delayed: bool = True,
) -> Scenario:
    """Return a point of Fig. 19: a variant and Reno that share a bottleneck of 100 packets."""
    connections = [
        Connection(name="variant", tcp=tcp(kind, assumptions, delayed=delayed), start=START),
        Connection(name="reno", tcp=tcp("reno", delayed=delayed), start=START),
    ]
    return network(
        f"fig-19 {kind} {rate}",
        connections,
        assumptions,
        rate=rate,
        duration_s=duration_s,
        from_s=from_s,
        cross=False,
    )


@cache
def upload(reading: str, kind: str, size: int) -> Scenario:
    """Return a round of Table 3: uploads of a variant and of Reno that start together.

    Parameters
    ----------
    reading
        One of `UPLOADS`.
    kind
        ``"vegas"`` or ``"code"``.
    size
        Bytes of each file.
    """
    source = {"kind": "transfer", "size": f"{size} bytes"}
    connections = [
        Connection(name="variant", tcp=tcp(kind), start=START, source=source),
        Connection(name="reno", tcp=tcp("reno"), start=START, source=source),
    ]
    shared = reading == "table3-S"
    scenario = network(
        f"table-3 {reading[-1]} {kind}",
        connections,
        replace(RULES, delay_ms=5.0, cross=0.0 if shared else NOISE),
        rate=SHARED_RATE if shared else NOISE_RATE,
        duration_s=400.0,
        from_s=0.0,
        stop_when_complete=["variant", "reno"],
    )
    if shared:
        return scenario
    # Payload of the printed mean rate of Reno in rounds with CODE, in packets with headers.
    limit = data()["table3"]["mean"]["RC-Reno"] * 8000 * PACKET / MSS
    bursts = vbr(NOISE, f"{NOISE_RATE:g} Mbit/s", f"{NOISE_RATE:g} Mbit/s", "1000 bytes", "20 ms")
    changes: dict[str, Any] = {"flows.cross.source": bursts.to_dict()}
    for sender in ("s1-r1", "s2-r1"):
        changes[f"links.{sender}.rate"] = f"{round(limit)} bit/s"
        changes[f"links.{sender}.queue"] = {"kind": "droptail", "limit": "100 packets"}
    return scenario.with_values(changes)


EACH_ACKNOWLEDGED = "fig19-each"
"""Key of the runs of Fig. 19 in which the receiver acknowledges every segment."""

TABLE_3 = "Table 3"
QUICK_RATES = (10,)
QUICK_SHARE = 10


def _stage(rate: int) -> str:
    """Return the stage of a rate of Fig. 19: rates that go side by side alike."""
    return "Fig. 19, 5 and 10 Mbit/s" if rate <= 10 else f"Fig. 19, {rate} Mbit/s"


def beside(settings: Settings) -> list[PlannedRun]:
    """Return the runs of Fig. 9 that those of the kernel are compared with."""
    runs = settings.runs or (2 if settings.quick else 20)
    return [
        PlannedRun(
            key=f"base/fig9/{kind}/{rate}",
            scenario=rate_point(kind, rate, BASE),
            seed=settings.seed,
            run=run,
            stage="Fig. 9",
        )
        for rate in RATES
        for kind in KINDS
        for run in range(runs)
    ]


def stages(settings: Settings) -> list[Stage]:
    """Return the stages of the runs in real time."""
    length, upload_s = (41.0, 20.0) if settings.quick else (121.0, 110.0)
    many = {5: 8, 20: 5, 50: 4}
    found = [Stage(name=_stage(rate), at_once=count, seconds=length) for rate, count in many.items()]
    return [*found, Stage(name=TABLE_3, at_once=8, seconds=upload_s)]


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the runs in real time: a part of the paper's rates, with shorter and fewer runs."""
    return list(_planned(settings))


def _planned(settings: Settings) -> Iterator[PlannedRun]:
    quick = settings.quick
    points, uploads = (2, 2) if quick else (5, 5)
    duration_s, from_s = (40.0, 15.0) if quick else (120.0, 50.0)
    swept = [("fig19", kind, rate) for rate in (QUICK_RATES if quick else RATES) for kind in KINDS]
    # Whether each segment is acknowledged matters most of what is assumed.
    for figure, kind, rate in (*swept, (EACH_ACKNOWLEDGED, "code", QUICK_RATES[0])):
        scenario = fig19(kind, rate, duration_s, from_s, delayed=figure == "fig19")
        for run in range(settings.runs or points):
            yield PlannedRun(
                key=f"{GROUP}/{figure}/{kind}/{rate}",
                scenario=scenario,
                seed=settings.seed,
                run=run,
                stage=_stage(rate),
            )
    for reading in UPLOADS:
        for kind in UPLOADED:
            scenario = upload(reading, kind, FILE // QUICK_SHARE if quick else FILE)
            for run in range(settings.runs or uploads):
                yield PlannedRun(
                    key=f"{GROUP}/{reading}/{kind}",
                    scenario=scenario,
                    seed=settings.seed,
                    run=run,
                    stage=TABLE_3,
                )
