"""Captures whose path is known, drawn at random: the truth against which `dumbbell.fit` is measured.

A case is a scenario with one measured flow, whose sender is captured. Each is drawn from a seed and a number, so that
anybody makes the same captures again. Seed 1 is for development; other seeds are held out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dumbbell.errors import refusal
from dumbbell.scenario import Scenario

DEVELOPMENT_SEED = 1

KINDS = ("clean", "loss", "codel", "fqcodel", "pie", "policer", "competitors", "receiver")
"""What is drawn: a drop-tail queue alone, with random loss, other disciplines, competitors, a small receive window."""

STACKS = ("simulator", "linux", "testbed")
"""What sends: the engine's TCP under ``rules = "linux"``, Linux 6.12 in simulated time (``docs/kernel.md``), or the running
kernel in real time (``docs/testbed.md``), which needs root."""

# Names under the stacks; the Vegas and Westwood of Linux differ from those of the papers, of which the testbed has twins.
CONTROLS: Mapping[str, tuple[str, ...]] = {
    "simulator": ("reno", "cubic", "bbr", "bbr3", "vegas", "westwoodp", "htcp", "bic", "highspeed", "scalable", "veno",
                  "illinois", "yeah", "hybla", "compound"),
    "linux": ("reno", "cubic", "bbr", "vegas", "westwood", "htcp", "bic", "highspeed", "scalable", "veno", "illinois",
              "yeah", "hybla"),
    "testbed": ("reno", "cubic", "bbr", "vegas", "westwoodp"),
}  # fmt: skip

# Half of the flows have the controls that most hosts have.
COMMON = ("cubic", "reno", "bbr")

# Bytes of a full packet: segments of 1448 bytes with timestamps.
PACKET = 1500

# A case ends after about this many packets, or after this time, s.
MOST_PACKETS, LONGEST_S, SHORTEST_S = 15_000, 20.0, 4.0
# Rates are drawn up to this, bit/s.
HIGHEST_BPS = 100e6

# In real time, links carry at most 200 Mbit/s, hosts at most 60 Mbit/s on time, and no receive window can be set.
REAL_LINK_BPS, REAL_HIGHEST_BPS, REAL_S = 200e6, 60e6, 8.0
REAL_KINDS = tuple(kind for kind in KINDS if kind != "receiver")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario with one measured flow, ``flow``, sent by the node ``a``.

    Parameters
    ----------
    kind, stack
        One of `KINDS` and of `STACKS`.
    control
        Congestion control of the measured flow, by its name in the stack.
    rate_bps, base_rtt_s
        Rate of the bottleneck; sum of the propagation delays there and back.
    buffer_packets
        Limit of the drop-tail queue in packets that wait; ``None`` for other disciplines.
    discipline
        Kind of the bottleneck's queue.
    loss
        Probability of random loss.
    competitors
        Number of flows beside the measured one.
    scenario
        The scenario.
    """

    kind: str
    stack: str
    control: str
    rate_bps: float
    base_rtt_s: float
    buffer_packets: int | None
    discipline: str
    loss: float
    competitors: int
    scenario: Scenario
    seed: int
    details: Mapping[str, Any] = field(default_factory=dict)

    def with_control(self, control: str) -> Scenario:
        """Return the scenario with another control of the measured flow."""
        data = self.scenario.to_dict()
        data["flows"][0] = _flow("flow", "a", self.stack, control, self.details.get("sysctl")) | {
            name: value for name, value in data["flows"][0].items() if name in {"start", "source"}
        }
        return Scenario.of(data)


def case(seed: int, number: int, *, stack: str = "linux", kind: str | None = None) -> Case:
    """Return a case.

    Rates and delays are log-uniform over 2 to 100 Mbit/s and 5 to 150 ms, buffers over 0.2 to 4 bandwidth-delay products,
    losses over 0.01 to 1 %. On the testbed, rates end at 60 Mbit/s and every case takes 8 s.

    Parameters
    ----------
    seed, number
        What it is drawn from.
    stack
        One of `STACKS`.
    kind
        One of `KINDS`; by default they take turns by their number.

    Raises
    ------
    ScenarioError
        There is no such stack or kind.
    """
    if stack not in STACKS:
        raise refusal("stack", stack, " or ".join(STACKS), names=STACKS)
    is_real = stack == "testbed"
    kinds = REAL_KINDS if is_real else KINDS
    chosen = kinds[number % len(kinds)] if kind is None else kind
    if chosen not in kinds:
        raise refusal("kind", chosen, ", ".join(kinds), names=kinds)
    draw = np.random.default_rng([seed, number, STACKS.index(stack), KINDS.index(chosen)])
    highest = REAL_HIGHEST_BPS if is_real else HIGHEST_BPS
    rate = round(float(np.exp(draw.uniform(np.log(2e6), np.log(highest)))), -3)
    rtt = round(float(np.exp(draw.uniform(np.log(5e-3), np.log(150e-3)))), 5)
    bdp = rate * rtt / 8 / PACKET
    buffer = max(2, round(bdp * float(np.exp(draw.uniform(np.log(0.2), np.log(4.0))))))
    control = str(draw.choice(CONTROLS[stack] if draw.random() < 0.5 else COMMON))
    duration = REAL_S if is_real else float(np.clip(MOST_PACKETS * PACKET * 8 / rate, SHORTEST_S, LONGEST_S))
    found: dict[str, Any] = {"details": {}, "loss": 0.0, "competitors": 0, "discipline": "droptail"}
    queue, link_rate = _queue(chosen, rate, buffer, bdp, draw)
    found["discipline"] = queue["kind"]
    if chosen == "loss":
        found["loss"] = round(float(np.exp(draw.uniform(np.log(1e-4), np.log(1e-2)))), 6)
    sysctl = None
    if chosen == "receiver":
        window = int(max(8 * 1460, draw.uniform(0.2, 0.9) * (bdp + buffer) * 1448))
        # Half of the receive buffer is the window (tcp_adv_win_scale = 1).
        sysctl = {"net.ipv4.tcp_rmem": f"4096 {2 * window} {2 * window}"} if stack == "linux" else window
        found["details"] = {"sysctl": sysctl, "window_bytes": window}
    others = []
    if chosen == "competitors":
        found["competitors"] = int(draw.integers(1, 4))
        others = [
            _competitor(place, duration, draw, "a" if is_real else "c")
            for place in range(found["competitors"])
        ]
    flow = _flow("flow", "a", stack, control, sysctl) | {"source": {"kind": "greedy"}}
    flow["start"] = f"{draw.uniform(0.0, 0.2) * duration:.3f} s" if chosen == "competitors" else "0 s"
    scenario = Scenario.of(
        {
            "name": f"{chosen} {seed}-{number}",
            "duration": f"{duration:.3f} s",
            "rules": "linux",
            **(_real if is_real else _network)(link_rate, rtt, queue, found["loss"]),
            "flows": [flow, *others],
        }
    )
    limit = buffer if found["discipline"] == "droptail" else None
    return Case(
        kind=chosen, stack=stack, control=control, rate_bps=rate, base_rtt_s=rtt, buffer_packets=limit, scenario=scenario,
        seed=seed * 1000 + number, **found,
    )  # fmt: skip


def _queue(
    kind: str, rate: float, buffer: int, bdp: float, draw: np.random.Generator
) -> tuple[dict[str, Any], float]:
    """Return the queue of the bottleneck and the rate of its link, bit/s."""
    if kind == "policer":
        burst = int(max(15_000, draw.uniform(0.2, 2.0) * bdp * PACKET))
        return {"kind": "policer", "rate": f"{rate:.0f} bit/s", "burst": f"{burst} bytes"}, 10 * rate
    if kind in {"codel", "fqcodel", "pie"}:
        return {"kind": kind} | ({"strict": True} if kind != "pie" else {}), rate
    return {"kind": "droptail", "limit": f"{buffer} packets"}, rate


def _network(rate: float, rtt: float, queue: Mapping[str, Any], loss: float) -> dict[str, Any]:
    """Return nodes and links: fast links around a bottleneck, which has half of the delay."""
    fast = {"rate": "10 Gbit/s", "delay": "0 s"}
    links = [
        {"name": "access", "from": "a", "to": "r", **fast},
        {"name": "other-access", "from": "c", "to": "r", **fast},
        _bottleneck("r", rate, rtt, queue, loss),
        {"name": "back", "from": "b", "to": "r", "rate": "10 Gbit/s", "delay": _half(rtt)},
        {"name": "home", "from": "r", "to": "a", **fast},
        {"name": "other-home", "from": "r", "to": "c", **fast},
    ]
    return {"nodes": ["a", "c", "r", "b"], "links": links}


def _real(rate: float, rtt: float, queue: Mapping[str, Any], loss: float) -> dict[str, Any]:
    """Return nodes and links of a testbed, whose links begin at the hosts."""
    back = {"name": "back", "from": "b", "to": "a", "rate": f"{REAL_LINK_BPS:.0f} bit/s", "delay": _half(rtt)}
    return {
        "nodes": ["a", "b"],
        "links": [_bottleneck("a", min(rate, REAL_LINK_BPS), rtt, queue, loss), back],
    }


def _bottleneck(begin: str, rate: float, rtt: float, queue: Mapping[str, Any], loss: float) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": "bottleneck",
        "from": begin,
        "to": "b",
        "rate": f"{rate:.0f} bit/s",
        "delay": _half(rtt),
    }
    return (
        made
        | {"queue": queue}
        | ({"impairments": [{"kind": "bernoulli", "probability": loss}]} if loss else {})
    )


def _half(rtt: float) -> str:
    return f"{rtt / 2 * 1e6:.3f} us"


def _flow(name: str, node: str, stack: str, control: str, limit: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "from": node, "to": "b"}
    if stack != "linux":
        tcp = {"congestion": control}
        return made | {"tcp": tcp if limit is None else tcp | {"receive_buffer": f"{limit} bytes"}}
    transport = {"name": "linux", "tree": "6.12", "congestion": control, "sysctl": limit or {}}
    return made | {"transport": transport}


def _competitor(place: int, duration: float, draw: np.random.Generator, node: str) -> dict[str, Any]:
    control = str(draw.choice(COMMON))
    start = f"{draw.uniform(0.0, 0.3) * duration:.3f} s"
    return _flow(f"other-{place + 1}", node, "simulator", control, None) | {
        "start": start,
        "source": {"kind": "greedy"},
    }
