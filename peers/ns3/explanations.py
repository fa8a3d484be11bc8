"""Which stated difference of rules a disagreement is traced to.

A cause names the rule, the scenarios and losses that it needs, and the side on which it makes each measure larger. What
is larger on the other side is not traced to it, nor is a measure that the rule says nothing of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dumbbell import Scenario

__all__ = ["explanation"]

# Measures that a larger window makes larger.
GROWING = (
    "goodput",
    "share of the link",
    "total goodput",
    "packets lost by the channel",
    "segments sent again",
    "mean backlog",
)

HALVING = "Halving: ns-3 halves what is in the pipe at a loss, a segment or two less than the window"
HANDSHAKE = (
    "Handshake: the smallest round-trip time of Westwood+ is that of the short SYN in ns-3, so its threshold is "
    "a segment lower"
)
COUNTED_TWICE = (
    "Westwood+: what duplicate acknowledgements told of is counted again at the end of a recovery in ns-3, and "
    "a loss soon after finds a threshold of up to twice the link's share"
)
RESTING = (
    "Vegas: ns-3 grows as NewReno in rounds of at most two samples, and so begins otherwise; a window then comes to rest "
    "with another backlog between alpha and beta"
)


def explanation(disagreement: Mapping[str, Any], scenario: Scenario, runs: pd.DataFrame) -> str:
    """Return what a disagreement is traced to, or an empty text.

    Parameters
    ----------
    disagreement
        A row of a grid's points: ``ours`` and ``peer``, and ``measure`` where the grid has several.
    scenario
        That of one case of the point.
    runs
        The reduced runs of the point on both sides, with ``retransmitted``.
    """
    measure = str(disagreement.get("measure", "goodput"))
    ours_is_larger = float(disagreement["ours"]) > float(disagreement["peer"])
    data = scenario.resolved()
    congestions = [flow["tcp"]["congestion"] for flow in data["flows"]]
    controls = {congestion["name"] for congestion in congestions}
    if _has_two_ways(data):
        return ""
    if controls == {"vegas"} and not runs["retransmitted"].any():
        backlog = abs(float(disagreement["ours"]) - float(disagreement["peer"]))
        between = sum(congestion["beta"] - congestion["alpha"] for congestion in congestions)
        return RESTING if "backlog" not in measure or backlog <= between else ""
    if not (runs["retransmitted"] > 0.0).all():
        return ""
    grows = measure.startswith(GROWING)
    if controls == {"reno"}:
        # Smaller windows have more timeouts.
        bears_out = ours_is_larger if grows else measure == "timeouts" and not ours_is_larger
        return HALVING if bears_out else ""
    if controls == {"westwoodp"}:
        if any(link["impairments"] for link in data["links"]):
            larger = grows or measure == "timeouts"
            return COUNTED_TWICE if larger and not ours_is_larger else ""
        return HANDSHAKE if grows and ours_is_larger else ""
    return ""


def _has_two_ways(data: Mapping[str, Any]) -> bool:
    """Return whether senders are on both sides of the bottleneck."""
    senders = {flow["from"] for flow in data["flows"]}
    return len({link["to"] for link in data["links"] if link["from"] in senders}) > 1
