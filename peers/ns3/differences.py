"""Remaining differences of rules after matching ns-3, each of which can be switched off in ns-3.

The program has congestion controls that follow our rule where an attribute of theirs says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import counterparts

CONTROLS = {**counterparts.CONTROLS, "westwoodp": "our_rules::Westwood"}
"""Controls under our rules, by our names: the program's own where they differ."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A rule of ns-3 that is another one in ours.

    Parameters
    ----------
    aspect
        What it is about.
    ns3, ours
        The two rules.
    statement
        The setting that makes the program follow our rule.
    control
        Our name of the congestion control that it is a rule of; none if it is one of every flow.
    """

    aspect: str
    ns3: str
    ours: str
    statement: str
    control: str | None = None

    @property
    def text(self) -> str:
        """Return both rules in a sentence."""
        return f"{self.aspect}: {self.ns3} in ns-3, {self.ours} in ours"


DIFFERENCES = (
    Difference(
        aspect="Smallest round-trip time of Westwood+",
        ns3="the minimum of the smoothed ones, which start with that of the short SYN",
        ours="the minimum of a segment",
        statement="attribute our_rules::Westwood::SmallestRtt true",
        control="westwoodp",
    ),
    Difference(
        aspect="Samples of Westwood+",
        ns3="the end of a recovery counts data reported by duplicate ACKs again",
        ours="each segment counts once, divided by the length of its interval",
        statement="attribute our_rules::Westwood::Samples true",
        control="westwoodp",
    ),
    Difference(
        aspect="Timer in recovery",
        ns3="only the first partial acknowledgement restarts it",
        ours="each one does",
        statement="restarts-timer",
    ),
    Difference(
        aspect="Reports at a timeout",
        ns3="remembered",
        ours="forgotten",
        statement="forgets-reports",
    ),
)


def remaining(flows: Sequence[dict[str, Any]]) -> tuple[Difference, ...]:
    """Return the differences that concern the flows of a resolved scenario."""
    controls = {flow["tcp"]["congestion"]["name"] for flow in flows if "tcp" in flow}
    return tuple(one for one in DIFFERENCES if one.control is None or one.control in controls)
