"""The senders of a scenario in words: which rules of TCP its flows have beside their congestion controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.scenario import Scenario

MOST_FLOWS = 1000
"""A scenario with more flows is not described: its flows are compared with each other."""

MOST_NAMES = 4


def senders(scenario: Scenario) -> tuple[str, ...]:
    """Return a line for each different sender of a scenario; nothing for flows over other transports or without TCP.

    Parameters
    ----------
    scenario
        A scenario; one with more than `MOST_FLOWS` flows gives nothing.

    Examples
    --------
    >>> from dumbbell import Flow, topologies
    >>> flow = Flow(name="f", from_="s1", to="d1", tcp="bbr")
    >>> shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")
    >>> senders(shape.scenario(duration="10 s", flows=[flow]))
    ('all flows: recovery rack, initial window 10 segments, delayed ACKs, timestamps',)
    """
    if len(scenario.flows) > MOST_FLOWS:
        return ()
    names: dict[str, list[str]] = {}
    for flow in scenario.resolved()["flows"]:
        if tcp := flow.get("tcp"):
            names.setdefault(described(tcp), []).append(flow["name"])
    if len(names) == 1:
        return tuple(f"all flows: {words}" for words in names)
    return tuple(f"{_listed(flows)}: {words}" for words, flows in names.items())


def described(tcp: Mapping[str, Any]) -> str:
    """Return the sender of a complete ``tcp`` table in words.

    Parameters
    ----------
    tcp
        The table, as `Scenario.resolved` has it.
    """
    slow_start = tcp["window"]["slow_start"]["name"]
    parts = [
        f"recovery {tcp['recovery']['kind']}",
        f"slow start {slow_start}" if slow_start != "standard" else "",
        f"initial window {tcp['initial_window']}",
        "every segment acknowledged" if tcp["delayed_ack"] == "off" else "delayed ACKs",
        "timestamps" if tcp["timestamps"] else "",
        f"ECN {tcp['ecn']}" if tcp["ecn"] != "off" else "",
    ]
    return ", ".join(filter(None, parts))


def _listed(names: list[str]) -> str:
    shown = names[:MOST_NAMES]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")
