"""Differences of rules that remain when ns-3 is matched, each of which ns-3 can be run without.

The program has congestion controls that follow our rule where an attribute of theirs says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CONTROLS", "DIFFERENCES", "Difference", "remaining"]

CONTROLS = {"reno": "our_rules::NewReno", "vegas": "our_rules::Vegas", "westwoodp": "our_rules::Westwood"}
"""The program's controls under our rules, by our names."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A rule of ns-3 that is another one in ours.

    Parameters
    ----------
    aspect
        What it is about.
    ns3, ours
        The two rules.
    control
        Our name of the congestion control that it is a rule of.
    attribute
        The program's attribute that puts ours in its place.
    """

    aspect: str
    ns3: str
    ours: str
    control: str
    attribute: str

    @property
    def text(self) -> str:
        """Return both rules in a sentence."""
        return f"{self.aspect}: {self.ns3} in ns-3, {self.ours} in ours"


DIFFERENCES = (
    Difference(
        aspect="Halving",
        ns3="half of the pipe, a segment or two below the window",
        ours="half of the window",
        control="reno",
        attribute="our_rules::NewReno::Halving",
    ),
    Difference(
        aspect="Rounds of Vegas",
        ns3="a round of at most two samples ends with a step of NewReno",
        ours="each round ends with a check",
        control="vegas",
        attribute="our_rules::Vegas::Rounds",
    ),
    Difference(
        aspect="Losses of Vegas",
        ns3="the threshold is left where it is, and never below three quarters of a checked window",
        ours="a fast retransmission cuts a quarter, a timeout halves",
        control="vegas",
        attribute="our_rules::Vegas::Losses",
    ),
    Difference(
        aspect="Smallest round-trip time of Westwood+",
        ns3="the smallest of the smoothed ones, which begin with that of the short SYN",
        ours="the smallest of a segment",
        control="westwoodp",
        attribute="our_rules::Westwood::SmallestRtt",
    ),
    Difference(
        aspect="Samples of Westwood+",
        ns3="the end of a recovery counts what duplicates have told of once more",
        ours="each segment counts once, over the time its interval took",
        control="westwoodp",
        attribute="our_rules::Westwood::Samples",
    ),
)


def remaining(flows: Sequence[dict[str, Any]]) -> tuple[Difference, ...]:
    """Return the differences that concern the flows of a resolved scenario."""
    controls = {flow["tcp"]["congestion"]["name"] for flow in flows if "tcp" in flow}
    return tuple(one for one in DIFFERENCES if one.control in controls)
