"""The scenarios of the paper: network, TCP variants, traffic, and which runs its tables need.

What the paper states is written here as it states it; what it leaves open is a field of `Assumptions` with the reason for
its value, so that the sensitivity section of the report can move it. [hengartner2000 §IV, §V, §VIII]
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell import Scenario

from .assumptions import MIXES, Assumptions
from .episodes import EVENTS

KB = 1024
"""Bytes in the paper's KB."""

TRANSFER = 1024 * KB
"""Bytes of the foreground transfer, 1 MB. [hengartner2000 §V]"""

PHASE_LETTERS = {"ss": "AG", "ca": "B", "rec": "CDEF"}
"""Which algorithms each phase of the three-factor design switches. [hengartner2000 §VIII.A]"""

ALIASES = {"reno": "cell000", "vegasfix": "cell111", "vegas-noca": "cell101", "vegas-onlyca": "cell010"}
"""Names of foregrounds that are cells of the three-factor design."""

BACKGROUNDS = ("reno", "vegasfix")

IMMEDIATE = "1000000 Gbit/s"
"""Rate between a host and its Ethernet, at which a packet takes no time."""

CONTROL_SEGMENT = 40
"""Bytes of a segment without data."""

FIGURE_2_STARTS_S = (0.0, 1.0, 2.0, 3.0, 4.0)


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
    changes: Mapping[str, Any] = field(default_factory=dict)


LOADS = {
    "low": Load(interarrival="100 ms"),
    "high": Load(interarrival="30 ms"),
    "wan": Load(interarrival="30 ms", queue="50 packets", changes={"rate": "1.5 Mbit/s", "delay": "400 ms"}),
}


def cell_letters(cell: str) -> str:
    """Return the letters of the mechanisms that a cell of the three-factor design switches on.

    Parameters
    ----------
    cell
        Levels of ss, ca, rec: ``"110"``.
    """
    chosen = [letters for bit, letters in zip(cell, PHASE_LETTERS.values(), strict=True) if bit == "1"]
    return "".join(sorted("".join(chosen)))


def _mechanisms(variant: str, assumptions: Assumptions) -> tuple[str, bool]:
    """Return the letters of the mechanisms of a variant of Vegas, and whether it is the corrected one."""
    if variant == "vegas":
        return "ABCDEFG" + assumptions.extra, False
    if ":" in variant:
        flavour, letters = variant.split(":")
        return letters, flavour == "fix"
    return cell_letters(ALIASES.get(variant, variant).removeprefix("cell")), True


def tcp(variant: str, assumptions: Assumptions, *, buffer: str = "128 KiB") -> dict[str, Any]:
    """Return the ``tcp`` table of a variant.

    Parameters
    ----------
    variant
        ``"reno"`` (plain Reno), ``"vegas"`` (as released), ``"vegasfix"``, another of `ALIASES`, ``"cellXYZ"``, or
        ``"fix:LETTERS"`` and ``"released:LETTERS"`` for any set of mechanisms.
    assumptions
        What the paper leaves open.
    buffer
        Send and receive buffer. The paper gives that of the measured transfer. [hengartner2000 §V]
    """
    common: dict[str, Any] = {
        "rules": "bsd",
        "recovery": {"kind": "reno", "deflation_fix": True},
        "mss": assumptions.mss,
        "headers": {"data": assumptions.header, "ack": "40 bytes"},
        "initial_window": "1 segment",
        "initial_ssthresh": assumptions.initial_ssthresh,
        "receive_buffer": buffer,
        "send_buffer": buffer,
        "timer": {
            "kind": "bsd",
            "tick": assumptions.tick,
            "precision_fix": True,
            "sample_origin": assumptions.sample_origin,
            "variation": assumptions.variation,
            "min_ticks": assumptions.min_ticks,
            "initial": assumptions.initial_rto,
        },
        "delayed_ack": "off",
        "nagle": assumptions.nagle,
        "handshake": assumptions.handshake,
    }
    if variant == "reno":
        return common | {"congestion": "reno"}
    letters, corrected = _mechanisms(variant, assumptions)
    return common | {
        "congestion": {
            "name": "vegas",
            "alpha": 1.0,
            "beta": 3.0,
            "gamma": assumptions.gamma,
            "increase": assumptions.increase,
            "fix_timeout": corrected,
            # Released Vegas ran without the reset as well. [hengartner2000 §VII.B]
            "fix_base_rtt": True,
            "fix_invariant": corrected,
            "hold_after_slow_start": assumptions.hold_after_slow_start,
        },
        "mechanisms": letters,
        "recovery": common["recovery"]
        | {
            "check_both": assumptions.check_both,
            "check_again": assumptions.check_again,
            "time_repairs": assumptions.time_repairs,
        },
    }


def network(
    assumptions: Assumptions,
    *,
    queue: str,
    hosts: Sequence[tuple[str, str]],
    impairments: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return nodes and links of Fig. 1: pairs of hosts on both sides of two routers.

    A shared Ethernet carries one packet at a time in each direction.

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

    # Hosts are infinitely fast; only routers drop.
    routers = ["r1", "r2"]
    left_side, right_side = "r1", "r2"
    rate, delay, limit = assumptions.access_rate, assumptions.access_delay, queue
    if assumptions.shared_ethernet:
        left_side, right_side = "e1", "e2"
        routers += [left_side, right_side]
        join(left_side, "r1", rate, delay, ("unlimited", queue))
        join("r2", right_side, rate, delay, (queue, "unlimited"))
        rate, delay, limit = IMMEDIATE, "0 s", "unlimited"
    for left, right in hosts:
        join(left, left_side, rate, delay, ("unlimited", limit))
        join(right_side, right, rate, delay, (limit, "unlimited"))
    join("r1", "r2", assumptions.rate, assumptions.delay, (queue, queue))
    names = [host for pair in hosts for host in pair] + routers
    return {
        "nodes": [{"name": name, "tick_phase": assumptions.tick_phase} for name in names],
        "links": links,
    }


def access_links(host: str, assumptions: Assumptions) -> tuple[str, str]:
    """Return the names of the links that only a host of the left side uses, away from it and towards it."""
    other = "e1" if assumptions.shared_ethernet else "r1"
    return f"{host}-{other}", f"{other}-{host}"


def _control_rate(interarrival: str, assumptions: Assumptions) -> str:
    """Return the rate of the control segments of conversations that start with a mean gap, given in ms or s."""
    amount, unit = interarrival.split()
    gap_s = float(amount) * {"ms": 1e-3, "s": 1.0}[unit]
    return f"{assumptions.control_segments * CONTROL_SEGMENT * 8 / gap_s:.0f} bit/s"


def _control(interarrival: str, assumptions: Assumptions) -> list[dict[str, Any]]:
    """Return the flow of the control segments of the conversations, which the engine's connections do not send."""
    if assumptions.control_segments == 0:
        return []
    rate = _control_rate(interarrival, assumptions)
    source = {"kind": "poisson", "rate": rate, "packet": f"{CONTROL_SEGMENT} bytes"}
    return [{"name": "control", "from": "h2", "to": "h4", "source": source}]


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
        "mix": MIXES[assumptions.mix],
    }
    if assumptions.conversation_cap is not None:
        source["conversation_cap"] = assumptions.conversation_cap
    start = assumptions.warm_up_s
    limit = assumptions.far_time_limit_s if load == "wan" else assumptions.time_limit_s
    _MADE[identity] = Scenario.from_dict(
        {
            "name": f"vegas-revisited {foreground} {background} {load}",
            "duration": f"{start + limit:g} s",
            "rules": "classic",
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
                {
                    "name": "bg",
                    "from": "h2",
                    "to": "h4",
                    "tcp": tcp(background, place, buffer=assumptions.background_buffer),
                    "source": source,
                },
                *_control(setting.interarrival, assumptions),
            ],
            "probes": [{"flows": ["fg"], "quantities": [EVENTS]}],
        }
    )
    return _MADE[identity]


def stable_seed(seed: int, name: str) -> int:
    """Return a seed for a configuration: a hash of the seed of the reproduction and the configuration's name."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest())


SWEEP = ("1 s", "400 ms", "200 ms", "100 ms", "60 ms", "30 ms")
"""Mean gaps between background conversations, from low to high load, for the comparison with earlier work."""


def preset_vegas(load: str, assumptions: Assumptions) -> Scenario:
    """Return a Vegas transfer whose sender is the engine's preset, with nothing switched by hand."""
    data = experiment("fix:ABCDEFGHI", "reno", load, assumptions).to_dict()
    table = data["flows"][0]["tcp"]
    for name in ("congestion", "recovery", "mechanisms"):
        table.pop(name)
    table["variant"] = "vegas"
    return Scenario.from_dict(data)


def sweep(variant: str, gap: str, assumptions: Assumptions) -> Scenario:
    """Return a transfer in the WAN against Reno conversations that arrive with a mean gap of choice.

    The earlier work used an emulated WAN. [hengartner2000 §III]
    """
    changes = {"flows.bg.source.interarrival": gap}
    if assumptions.control_segments:
        changes["flows.control.source.rate"] = _control_rate(gap, assumptions)
    return experiment(variant, "reno", "wan", assumptions).with_values(changes)
