"""The scenarios of the paper: network, TCP variants, traffic, and which runs its tables need.

What the paper states is written here as it states it; what it leaves open is a field of `Assumptions` with the reason for
its value, so that the sensitivity section of the report can move it. [hengartner2000 §IV, §V, §VIII]
"""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell import Scenario, sensitivity
from dumbbell.papers import PlannedRun, Settings

from .printed import CELLS

__all__ = [
    "ALIASES",
    "BACKGROUNDS",
    "FIGURE_2_STARTS_S",
    "LOADS",
    "PHASE_LETTERS",
    "SENSITIVITY",
    "Assumptions",
    "Replications",
    "Variation",
    "calibrated",
    "calibration",
    "cell_letters",
    "experiment",
    "plan",
    "replications",
    "seven_cells",
    "stable_seed",
    "tcp",
]

KB = 1024
"""Bytes in the paper's KB."""

TRANSFER = 1024 * KB
"""Bytes of the foreground transfer, 1 MB. [hengartner2000 §V]"""

PHASE_LETTERS = {"ss": "AG", "ca": "B", "rec": "CDEF"}
"""Which algorithms each phase of the three-factor design switches. [hengartner2000 §VIII.A]"""

ALIASES = {"reno": "cell000", "vegasfix": "cell111", "vegas-noca": "cell101", "vegas-onlyca": "cell010"}
"""Names of foregrounds that are cells of the three-factor design."""

BACKGROUNDS = ("reno", "vegasfix")

FIGURE_2_STARTS_S = (0.0, 1.0, 2.0, 3.0, 4.0)


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open, with our choice.

    Parameters
    ----------
    rate, delay
        Bottleneck of Fig. 1, which survives only as a caption. 200 KB/s is the rate of the simulator's example network of
        the same shape; 50 ms one way is what the original Vegas papers are remembered to use, and of the values tried it
        alone agrees with every statement on Fig. 2.
    access_rate, access_delay
        The Ethernets at both sides.
    counts_service
        Whether the ten packets of a router's queue include the one in transmission. The simulator queues waiting messages.
    mss, header
        A segment of 1.4 KB is read as 1400 bytes of payload, plus 40 bytes of headers on the wire.
    tick, min_ticks, initial_rto, tick_phase
        The coarse clock of BSD.
    initial_ssthresh
        Slow-start threshold of a new connection: the largest window without scaling.
    variation
        Multiple of the RTT variation in the coarse timeout. Stated by the paper: 4.
    extra
        Which of the mechanisms H and I run in released Vegas: the defaults of the release.
    gamma
        Queued segments at which Vegas leaves slow start: the value of the x-kernel and of ns-2.
    check_both
        Whether mechanism D checks the second acknowledgement even if the first check did not fire.
    handshake
        Whether connections open with a handshake, as the implementations that the simulator runs do.
    warm_up_s
        How long the background runs before the foreground starts; the start is uniform in the second that follows.
    conversation_cap
        Most bytes one background conversation sends.
    size_multiplier
        Factor on the sizes of all background items.
    time_limit_s
        When a run ends at the latest. High load is more than the bottleneck carries, so that a transfer can starve: one that
        has not finished by then counts with what it delivered.
    """

    rate: str = "1.6 Mbit/s"
    delay: str = "50 ms"
    access_rate: str = "10 Mbit/s"
    access_delay: str = "0.1 ms"
    counts_service: bool = False
    mss: str = "1400 bytes"
    header: str = "40 bytes"
    tick: str = "500 ms"
    min_ticks: int = 2
    initial_rto: str = "3 s"
    tick_phase: str = "random"
    initial_ssthresh: str = "64 KiB"
    variation: int = 4
    extra: str = "HI"
    gamma: float = 1.0
    check_both: bool = False
    handshake: bool = True
    warm_up_s: float = 10.0
    conversation_cap: str | None = "1 MB"
    size_multiplier: float = 1.0
    time_limit_s: float = 200.0


@dataclass(frozen=True, kw_only=True)
class Load:
    """A load of the paper.

    Parameters
    ----------
    interarrival
        Mean time between the starts of two background conversations.
    queue
        Limit of the routers' queues.
    changes
        What else differs from the usual network.
    """

    interarrival: str
    queue: str = "10 packets"
    changes: Mapping[str, str] = field(default_factory=dict)


LOADS = {
    "low": Load(interarrival="100 ms"),
    "high": Load(interarrival="30 ms"),
    "wan": Load(interarrival="30 ms", queue="50 packets", changes={"rate": "1.5 Mbit/s", "delay": "400 ms"}),
}


@cache
def calibration() -> Mapping[str, Any]:
    """Return the frozen calibration of the background, with the scan it was chosen from."""
    return tomllib.loads(Path(__file__).with_name("calibration.toml").read_text(encoding="utf-8"))


@cache
def calibrated() -> Assumptions:
    """Return our assumptions with the calibrated background."""
    chosen = calibration()["chosen"]
    return Assumptions(
        conversation_cap=chosen["conversation_cap"],
        warm_up_s=float(chosen["warm_up_s"]),
    )


def cell_letters(cell: str) -> str:
    """Return the letters of the mechanisms that a cell of the three-factor design switches on.

    Parameters
    ----------
    cell
        Levels of ss, ca, rec: ``"110"``.
    """
    chosen = [letters for bit, letters in zip(cell, PHASE_LETTERS.values(), strict=True) if bit == "1"]
    return "".join(sorted("".join(chosen)))


def tcp(variant: str, assumptions: Assumptions) -> dict[str, Any]:
    """Return the ``tcp`` table of a variant.

    Parameters
    ----------
    variant
        ``"reno"`` (plain Reno), ``"vegas"`` (as released), ``"vegasfix"``, another of `ALIASES`, ``"cellXYZ"``, or
        ``"fix:LETTERS"`` and ``"released:LETTERS"`` for any set of mechanisms.
    assumptions
        What the paper leaves open.
    """
    common: dict[str, Any] = {
        "rules": "bsd",
        "recovery": {"kind": "reno", "deflation_fix": True},
        "mss": assumptions.mss,
        "headers": {"data": assumptions.header, "ack": "40 bytes"},
        "initial_window": "1 segment",
        "initial_ssthresh": assumptions.initial_ssthresh,
        "receive_buffer": "128 KiB",
        "send_buffer": "128 KiB",
        "timer": {
            "kind": "bsd",
            "tick": assumptions.tick,
            "precision_fix": True,
            "variation": assumptions.variation,
            "min_ticks": assumptions.min_ticks,
            "initial": assumptions.initial_rto,
        },
        "delayed_ack": "off",
        "handshake": assumptions.handshake,
    }
    if variant == "reno":
        return common | {"congestion": "reno"}
    corrected = True
    if variant == "vegas":
        letters, corrected = "ABCDEFG" + assumptions.extra, False
    elif ":" in variant:
        flavour, letters = variant.split(":")
        corrected = flavour == "fix"
    else:
        letters = cell_letters(ALIASES.get(variant, variant).removeprefix("cell"))
    return common | {
        "congestion": {
            "name": "vegas",
            "alpha": 1.0,
            "beta": 3.0,
            "gamma": assumptions.gamma,
            "fix_timeout": corrected,
            "fix_base_rtt": corrected,
            "fix_invariant": corrected,
        },
        "mechanisms": letters,
        "recovery": common["recovery"] | {"check_both": assumptions.check_both},
    }


def network(
    assumptions: Assumptions,
    *,
    queue: str,
    hosts: Sequence[tuple[str, str]],
    impairments: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return nodes and links of Fig. 1: pairs of hosts on both sides of two routers.

    Parameters
    ----------
    assumptions
        Rates and delays.
    queue
        Limit of the routers' queues.
    hosts
        Pairs of hosts, left and right.
    impairments
        Impairments by link.
    """
    links: list[dict[str, Any]] = []

    def join(left: str, right: str, rate: str, delay: str, queues: tuple[str, str]) -> None:
        for source, target, limit in ((left, right, queues[0]), (right, left, queues[1])):
            name = f"{source}-{target}"
            link: dict[str, Any] = {
                "name": name,
                "from": source,
                "to": target,
                "rate": rate,
                "delay": delay,
                "queue": {"kind": "droptail", "limit": limit, "counts_service": assumptions.counts_service},
            }
            if impairments and name in impairments:
                link["impairments"] = impairments[name]
            links.append(link)

    for left, right in hosts:
        # Hosts are infinitely fast; only routers drop.
        join(left, "r1", assumptions.access_rate, assumptions.access_delay, ("unlimited", queue))
        join("r2", right, assumptions.access_rate, assumptions.access_delay, (queue, "unlimited"))
    join("r1", "r2", assumptions.rate, assumptions.delay, (queue, queue))
    names = [host for pair in hosts for host in pair] + ["r1", "r2"]
    return {
        "nodes": [{"name": name, "tick_phase": assumptions.tick_phase} for name in names],
        "links": links,
    }


# Many configurations share a scenario, and the engine checks every new one.
_MADE: dict[tuple[str, str, str, Assumptions], Scenario] = {}


def experiment(foreground: str, background: str, load: str, assumptions: Assumptions) -> Scenario:
    """Return the scenario of a cell of the paper's tables: a 1 MB transfer against tcplib conversations.

    Parameters
    ----------
    foreground, background
        Variants, see `tcp`.
    load
        A name of `LOADS`.
    assumptions
        What the paper leaves open.
    """
    identity = (foreground, background, load, assumptions)
    if identity in _MADE:
        return _MADE[identity]
    setting = LOADS[load]
    place = replace(assumptions, **setting.changes)
    source: dict[str, Any] = {
        "kind": "tcplib",
        "interarrival": setting.interarrival,
        "size_multiplier": assumptions.size_multiplier,
    }
    if assumptions.conversation_cap is not None:
        source["conversation_cap"] = assumptions.conversation_cap
    start = assumptions.warm_up_s
    _MADE[identity] = Scenario.from_dict(
        {
            "name": f"vegas-revisited {foreground} {background} {load}",
            "duration": f"{start + assumptions.time_limit_s:g} s",
            "stop_when_complete": ["fg"],
            **network(place, queue=setting.queue, hosts=[("h1", "h3"), ("h2", "h4")]),
            "flows": [
                {
                    "name": "fg",
                    "from": "h1",
                    "to": "h3",
                    "start": {"uniform": [f"{start:g} s", f"{start + 1:g} s"]},
                    "tcp": tcp(foreground, place),
                    "source": {"kind": "transfer", "size": f"{TRANSFER} bytes"},
                },
                {"name": "bg", "from": "h2", "to": "h4", "tcp": tcp(background, place), "source": source},
            ],
        }
    )
    return _MADE[identity]


def stable_seed(seed: int, name: str) -> int:
    """Return a seed for a configuration: a hash of the seed of the reproduction and the configuration's name."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest())


@dataclass(frozen=True, kw_only=True)
class Replications:
    """Runs per configuration of each group.

    The paper's number is 50 for the tables. It gives none for the other designs; small differences between released and
    corrected Vegas need many paired runs. A run at high load costs about twenty times one at low load.

    Parameters
    ----------
    table
        Tables I to XII.
    pair
        Configurations compared run by run with common random numbers, by load.
    seven
        Cells of the 2^7 design, by load.
    ten
        Cells of the 2^10 design (low load, Reno background).
    validation, sweep
        Comparisons of implementations, and of loads.
    sensitivity
        Configurations with an assumption moved, by load; a load that is not named is not run again.
    """

    table: int
    pair: Mapping[str, int]
    seven: Mapping[str, int]
    ten: int
    validation: int
    sweep: int
    sensitivity: Mapping[str, int]


def replications(settings: Settings) -> Replications:
    """Return the number of replications of each group of runs."""
    if settings.quick:
        table = settings.runs or 10
        return Replications(
            table=table,
            pair={"low": 4 * table, "high": table},
            seven={"low": 2, "high": 2},
            ten=1,
            validation=2,
            sweep=4,
            sensitivity={"low": 2},
        )
    table = settings.runs or 50
    return Replications(
        table=table,
        pair={"low": 8 * table, "high": 2 * table},
        seven={"low": max(2, table // 2), "high": max(2, table // 10)},
        ten=2,
        validation=10,
        sweep=20,
        sensitivity={"low": min(8, table), "high": 2},
    )


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """One open assumption moved, for the sensitivity section.

    Parameters
    ----------
    changes
        The changed fields of `Assumptions`.
    """

    changes: Mapping[str, Any]


SENSITIVITY = (
    Variation(
        name="cap-half",
        assumption="background size cap",
        value="half the calibrated one",
        changes={"conversation_cap": 0.5},
    ),
    Variation(
        name="cap-double",
        assumption="background size cap",
        value="twice the calibrated one",
        changes={"conversation_cap": 2.0},
    ),
    Variation(
        name="cap-none", assumption="background size cap", value="none", changes={"conversation_cap": None}
    ),
    Variation(
        name="size-half",
        assumption="background size multiplier",
        value="half of ours",
        changes={"size_multiplier": 0.5},
    ),
    Variation(
        name="size-double",
        assumption="background size multiplier",
        value="twice ours",
        changes={"size_multiplier": 2.0},
    ),
    Variation(name="warm-10", assumption="warm-up", value="10 s", changes={"warm_up_s": 10.0}),
    Variation(name="warm-30", assumption="warm-up", value="30 s", changes={"warm_up_s": 30.0}),
    Variation(name="warm-60", assumption="warm-up", value="60 s", changes={"warm_up_s": 60.0}),
    Variation(
        name="phase-0", assumption="tick phase", value="0 on every host", changes={"tick_phase": "0 s"}
    ),
    Variation(name="rto-1", assumption="minimum RTO", value="1 tick", changes={"min_ticks": 1}),
    Variation(name="rto-4", assumption="minimum RTO", value="4 ticks", changes={"min_ticks": 4}),
    Variation(
        name="tick-100", assumption="coarse tick", value="100 ms", changes={"tick": "100 ms", "min_ticks": 2}
    ),
    Variation(name="rto-first-6", assumption="first RTO", value="6 s", changes={"initial_rto": "6 s"}),
    Variation(name="delay-20", assumption="bottleneck delay", value="20 ms", changes={"delay": "20 ms"}),
    Variation(name="delay-30", assumption="bottleneck delay", value="30 ms", changes={"delay": "30 ms"}),
    Variation(name="delay-70", assumption="bottleneck delay", value="70 ms", changes={"delay": "70 ms"}),
    Variation(
        name="service",
        assumption="queue limit",
        value="counts the packet in service",
        changes={"counts_service": True},
    ),
    Variation(
        name="extra-none", assumption="H and I in released Vegas", value="both off", changes={"extra": ""}
    ),
    Variation(
        name="extra-h", assumption="H and I in released Vegas", value="H alone", changes={"extra": "H"}
    ),
    Variation(
        name="extra-i", assumption="H and I in released Vegas", value="I alone", changes={"extra": "I"}
    ),
    Variation(
        name="ssthresh-none",
        assumption="initial ssthresh",
        value="unlimited",
        changes={"initial_ssthresh": "unlimited"},
    ),
    Variation(
        name="ssthresh-16",
        assumption="initial ssthresh",
        value="16 KiB",
        changes={"initial_ssthresh": "16 KiB"},
    ),
    Variation(
        name="mss-1460", assumption="payload of a segment", value="1460 bytes", changes={"mss": "1460 bytes"}
    ),
    Variation(
        name="check-both",
        assumption="checks of mechanism D",
        value="both acknowledgements",
        changes={"check_both": True},
    ),
    Variation(name="handshake", assumption="handshake", value="none", changes={"handshake": False}),
)


def varied(variation: Variation, base: Assumptions) -> Assumptions:
    """Return assumptions with one of them moved. A number for the cap is a factor on the calibrated one."""
    changes = dict(variation.changes)
    cap = changes.get("conversation_cap")
    if isinstance(cap, float):
        changes["conversation_cap"] = f"{cap * cap_bytes(base):.0f} bytes"
    if "size_multiplier" in changes:
        changes["size_multiplier"] = base.size_multiplier * changes["size_multiplier"]
    return replace(base, **changes)


def cap_bytes(assumptions: Assumptions) -> float:
    """Return the cap on a background conversation, bytes; infinite without one."""
    if assumptions.conversation_cap is None:
        return float("inf")
    amount, unit = assumptions.conversation_cap.split()
    return float(amount) * {"bytes": 1, "kB": 1e3, "MB": 1e6, "KiB": 1024, "MiB": 1024**2}[unit]


def seven_cells() -> list[str]:
    """Return the letters that are on in each cell of the 2^7 design, A slowest."""
    return [
        "".join(letter for letter, on in zip("ABCDEFG", levels, strict=True) if on)
        for levels in itertools.product((False, True), repeat=7)
    ]


def ten_cells() -> list[str]:
    """Return the letters that are on in each cell of the 2^10 design, A slowest."""
    return [
        "".join(letter for letter, on in zip("ABCDEFGHIJ", levels, strict=True) if on)
        for levels in itertools.product((False, True), repeat=10)
    ]


def table_configurations() -> Iterator[tuple[str, str, str]]:
    """Yield foreground, background and load of every configuration of the tables."""
    for load, background, cell in itertools.product(LOADS, BACKGROUNDS, CELLS):
        yield f"cell{cell}", background, load
    yield from released_configurations()


def released_configurations() -> Iterator[tuple[str, str, str]]:
    """Yield the configurations that have released Vegas in the foreground or the background."""
    for load in ("low", "high"):
        yield "cell000", "vegas", load
        yield "vegas", "reno", load
        yield "vegas", "vegas", load


def pair_configurations() -> Iterator[tuple[str, str, str]]:
    """Yield the configurations whose small differences are judged on many runs with common random numbers."""
    for load in ("low", "high"):
        for foreground, background in (
            ("cell000", "reno"),
            ("cell000", "vegas"),
            ("vegas", "reno"),
            ("vegas", "vegas"),
            ("cell111", "reno"),
            ("cell111", "vegasfix"),
        ):
            yield foreground, background, load


SWEEP = ("1 s", "400 ms", "200 ms", "100 ms", "60 ms", "30 ms")
"""Mean gaps between background conversations, from low to high load, for the comparison with earlier work."""


STAGES = {
    "table": "tables",
    "pair": "paired runs",
    "seven": "seven factors",
    "ten": "ten factors",
    "validation": "validation",
    "sweep": "sweep of loads",
}
"""What progress and run times call the groups of runs, by the first part of their keys."""


def plan(settings: Settings) -> list[PlannedRun]:
    """Return every run that goes into the table of results."""
    counts = replications(settings)
    base = calibrated()
    runs: list[PlannedRun] = []

    def add(key: str, scenario: Scenario, seed_name: str, count: int) -> None:
        seed = stable_seed(settings.seed, seed_name)
        stage = STAGES.get(key.split("/", 1)[0], "sensitivity")
        runs.extend(
            PlannedRun(key=key, scenario=scenario, seed=seed, run=run, stage=stage) for run in range(count)
        )

    for foreground, background, load in table_configurations():
        name = f"{foreground}|{background}|{load}"
        # Every configuration draws its own random numbers: the model of the factorial design assumes independent errors.
        add(f"table/{name}", experiment(foreground, background, load, base), f"table/{name}", counts.table)
    for foreground, background, load in pair_configurations():
        # Common random numbers within a load: the same arrivals meet every variant.
        name = f"{foreground}|{background}|{load}"
        add(f"pair/{name}", experiment(foreground, background, load, base), f"pair/{load}", counts.pair[load])
    for load in ("low", "high"):
        older = replace(base, variation=2)
        add(
            f"pair/reno-2var|reno|{load}",
            experiment("cell000", "reno", load, older),
            f"pair/{load}",
            counts.pair[load],
        )
    without_f = experiment("cell000", f"released:ABCDEG{base.extra}", "high", base)
    add("pair/cell000|vegas-nof|high", without_f, "pair/high", counts.pair["high"])
    for load, background in itertools.product(("low", "high"), BACKGROUNDS):
        for letters in seven_cells():
            name = f"{letters or 'none'}|{background}|{load}"
            scenario = experiment(f"fix:{letters}", background, load, base)
            add(f"seven/{name}", scenario, f"seven/{name}", counts.seven[load])
    for letters in ten_cells():
        name = f"{letters or 'none'}|reno|low"
        add(f"ten/{name}", experiment(f"fix:{letters}", "reno", "low", base), f"ten/{name}", counts.ten)
    for load, background in itertools.product(("low", "high"), BACKGROUNDS):
        for variant in ("reno", "cell000"):
            name = f"{background}|{load}"
            scenario = experiment(variant, background, load, base)
            add(f"validation/{variant}|{name}", scenario, f"validation/{name}", counts.validation)
    for load in ("low", "high"):
        for label, scenario in (
            ("preset", preset_vegas(load, base)),
            ("switches", experiment("fix:ABCDEFGHI", "reno", load, base)),
        ):
            add(f"validation/{label}|reno|{load}", scenario, f"validation/vegas|{load}", counts.validation)
    for gap in SWEEP:
        for variant in ("cell000", "cell111"):
            add(f"sweep/{variant}|{gap}", sweep(variant, gap, base), f"sweep/{gap}", counts.sweep)
    for variation in SENSITIVITY:
        moved = varied(variation, base)
        only_released = set(variation.changes) == {"extra"}
        configurations = released_configurations() if only_released else table_configurations()
        for foreground, background, load in configurations:
            if load not in counts.sensitivity:
                continue
            name = f"{foreground}|{background}|{load}"
            scenario = experiment(foreground, background, load, moved)
            # The seeds of the tables' runs: what differs is the assumption.
            add(f"{variation.name}/{name}", scenario, f"table/{name}", counts.sensitivity[load])
    return runs


def preset_vegas(load: str, assumptions: Assumptions) -> Scenario:
    """Return a Vegas transfer whose sender is the engine's preset, with nothing switched by hand."""
    data = experiment("fix:ABCDEFGHI", "reno", load, assumptions).to_dict()
    table = data["flows"][0]["tcp"]
    for name in ("congestion", "recovery", "mechanisms"):
        table.pop(name)
    table["variant"] = "vegas"
    return Scenario.from_dict(data)


def sweep(variant: str, gap: str, assumptions: Assumptions) -> Scenario:
    """Return a transfer against Reno conversations that arrive with a mean gap of choice."""
    return experiment(variant, "reno", "low", assumptions).with_values({"flows.bg.source.interarrival": gap})
