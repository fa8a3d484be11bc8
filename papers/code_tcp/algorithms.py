"""Scenarios in which one rule of an algorithm shows at a time: solo connections, scripted losses, a guest.

[chan2010 §2, §3]

A guest is a Reno connection that grows by a packet a round trip for half a minute, in a queue that never overflows, and then
leaves: round-trip times rise and fall again without a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dumbbell import Forced, Probe, Scenario

from .assumptions import BASE
from .network import BOTTLENECK, VARIANTS, Connection, network, tcp

GUEST_S = (10.0, 40.0)
"""Start and stop of the guest, s."""

LOST = 3000
"""Number of the packet that scripted losses begin with; the window has long settled by then."""

LOST_BESIDE_GUEST = 15000
"""Number of the variant's packet that is lost while a guest grows."""

# The window of a solo Vegas connection at 10 Mbit/s, 66 packets, and the two that duplicate ACKs let through before the
# retransmission.
RETRANSMITTED = 68


def _solo(name: str, kind: str, probes: list[Probe], **settings: Any) -> Scenario:
    table = tcp(kind, BASE) | settings.pop("tcp", {})
    return network(
        name,
        [Connection(name="variant", tcp=table)],
        settings.pop("assumptions", BASE),
        rate=settings.pop("rate", 10),
        duration_s=settings.pop("duration_s", 30.0),
        from_s=0.0,
        cross=False,
        probes=probes,
        **settings,
    )


def _changes(*quantities: str, flow: str = "variant") -> Probe:
    return Probe(flows=[flow], quantities=list(quantities))


def _with_guest(kind: str, lost: int | None = None) -> Scenario:
    """Return a variant with a guest, and with one of the variant's packets lost before the bottleneck."""
    guest = tcp("reno", BASE) | {"initial_ssthresh": "2 segments"}
    quantities = ["cwnd", "vegas_diff", "base_rtt", "seq_sent", "seq_acked"]
    if kind != "vegas":
        quantities.append("alpha")
    scenario = network(
        f"guest {kind}",
        [
            Connection(name="variant", tcp=tcp(kind, BASE)),
            Connection(name="guest", tcp=guest, start=f"{GUEST_S[0]:g} s"),
        ],
        BASE,
        rate=10,
        duration_s=60.0,
        from_s=0.0,
        buffer=2000,
        cross=False,
        probes=[_changes(*quantities)],
    )
    changes: dict[str, Any] = {"flows.guest.stop": f"{GUEST_S[1]:g} s"}
    if lost is not None:
        changes["links.s1-r1.impairments"] = [{"kind": "forced", "packets": [lost]}]
    return scenario.with_values(changes)


def scenarios() -> Mapping[str, Scenario]:
    """Return the scenarios by name."""
    sampled = [
        Probe(flows=["variant"], quantities=["cwnd"], period="10 ms"),
        Probe(links=[BOTTLENECK], quantities=["backlog"], period="10 ms"),
    ]
    made = {
        "reno-growth": _solo(
            "reno growth",
            "reno",
            sampled,
            tcp={"initial_ssthresh": "20 segments"},
            buffer=2000,
        ),
        "vegas-start": _solo(
            "vegas start",
            "vegas",
            [_changes("cwnd")],
            rate=100,
            duration_s=10.0,
            assumptions=replace(BASE, access_rate="1 Gbit/s"),
        ),
        # A pipe of four packets and a window of three: a loss brings two duplicate ACKs and no third.
        "vegas-early": _solo(
            "vegas early",
            "vegas",
            [_changes("cwnd")],
            rate=0.5,
            tcp={"receive_buffer": "3 segments"},
            impairments=[Forced(packets=[100])],
        ),
        "vegas-loss": _solo(
            "vegas loss", "vegas", [_changes("cwnd", "tcp_events")], impairments=[Forced(packets=[LOST])]
        ),
        "vegas-two-losses": _solo(
            "vegas two losses", "vegas", [_changes("cwnd")], impairments=[Forced(packets=[LOST, LOST + 10])]
        ),
        "vegas-lost-again": _solo(
            "vegas lost again",
            "vegas",
            [_changes("cwnd", "tcp_events")],
            impairments=[Forced(packets=[LOST, LOST + RETRANSMITTED])],
        ),
        "vegas-timeout": _solo(
            "vegas timeout",
            "vegas",
            [_changes("cwnd", "ssthresh")],
            impairments=[Forced(packets=list(range(LOST, LOST + 70)))],
        ),
    }
    for kind in VARIANTS:
        made[f"guest-{kind}"] = _with_guest(kind)
    for kind in ("newvegas", "code"):
        made[f"loss-{kind}"] = _with_guest(kind, LOST_BESIDE_GUEST)
    return made
