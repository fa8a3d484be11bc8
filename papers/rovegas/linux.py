"""Connections of a kernel over asymmetric links and over a path that becomes longer, as an addition to the paper.

All results of the paper are simulated. Here real packets carry the option with the queueing time, and the emulated links update
it. The simulator runs the same scenarios. [chan2004 §2.2, §5]
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from dumbbell import Scenario
from dumbbell.papers import PlannedRun, Settings, Stage

from .assumptions import FORWARD_RATE_KBPS, OPTION_BYTES, Assumptions
from .evidence import PAPER
from .scenarios import alone, rerouted

VARIANTS = ("vegas", "rovegas")

ASYMMETRIES = (1, 2, 4, 8)
"""Asymmetric factors k."""

WAYS = ("delay", "path")
"""By what a path becomes longer, as in `rerouted`."""

ALONE, REROUTED = "linux-k", "ext-linux"
"""Experiments, as in keys and as names of scenarios."""

PACKET, HEADERS = 1500, 52

PLACE = Assumptions()


def payload(variant: str) -> int:
    """Return the payload of a packet of the kernel, bytes."""
    return PACKET - HEADERS - (OPTION_BYTES if variant == "rovegas" else 0)


def _tcp(variant: str) -> dict[str, Any]:
    congestion: dict[str, Any] = {
        "name": variant,
        "alpha": 1.0,
        "beta": 3.0,
        "gamma": PLACE.gamma,
        "round_diff": PLACE.round_diff,
        "rtt": PLACE.rtt,
        "numerator": PLACE.numerator,
        "increase": PLACE.increase,
    }
    if variant == "rovegas":
        congestion["base_rtt"] = PLACE.base_rtt
    return {
        "rules": "linux",
        "variant": variant,
        "congestion": congestion,
        # Linux has none of the mechanisms C, D and H of Vegas, and always E.
        "mechanisms": "ABFGI",
        "mss": f"{payload(variant)} bytes",
        "timer": {"minimum": PLACE.minimum_rto},
        "delayed_ack": "off",
    }


@cache
def asymmetric(variant: str, k: float, duration_s: float) -> Scenario:
    """Return one connection whose acknowledgements have a rate for one packet in k; the second half counts."""
    packets_per_second = 1000 * FORWARD_RATE_KBPS / (8 * PACKET)
    acknowledgement = PACKET - payload(variant)
    rate = packets_per_second / k * 8 * acknowledgement
    probes = [{"flows": ["c1"], "quantities": ["delivered", "cwnd"], "period": "1 s"}]
    values = {"flows.c1.tcp": _tcp(variant), "links.r2-r1.rate": f"{round(rate)} bit/s", "probes": probes}
    return alone(ALONE, variant, k, PLACE, duration_s=duration_s).with_values(values)


@cache
def longer(variant: str, way: str) -> Scenario:
    """Return one connection whose path is longer for a minute, see `rerouted`."""
    scenario = rerouted(REROUTED, variant, PLACE, base_rtt=PLACE.base_rtt, by=way)
    return scenario.with_values({"flows.c1.tcp": _tcp(variant)})


def stages(settings: Settings) -> list[Stage]:
    """Return the stages of the runs in real time."""
    length = 31.0 if settings.quick else 61.0
    return [
        Stage(name="asymmetric links", at_once=12, seconds=length),
        Stage(name="rerouting", at_once=12, seconds=181.0),
    ]


def plan(settings: Settings) -> list[PlannedRun]:
    """Return the runs in real time; quick mode has no rerouting."""
    return list(_planned(settings))


def _planned(settings: Settings) -> Iterator[PlannedRun]:
    quick = settings.quick
    parts: list[tuple[str, Scenario, str, int]] = []
    for variant in VARIANTS:
        for k in (1, 4) if quick else ASYMMETRIES:
            scenario = asymmetric(variant, k, 30.0 if quick else 60.0)
            parts.append((f"{ALONE}|{variant}|{k:g}", scenario, "asymmetric links", 2 if quick else 5))
        for way in () if quick else WAYS:
            parts.append((f"{REROUTED}|{variant}|{way}", longer(variant, way), "rerouting", 3))
    for key, scenario, stage, count in parts:
        for run in range(settings.runs or count):
            yield PlannedRun(
                key=f"{PAPER}|{key}", scenario=scenario, seed=settings.seed, run=run, stage=stage
            )
