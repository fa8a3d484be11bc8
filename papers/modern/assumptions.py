"""What the statements leave open, and how it is moved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell import engine, sensitivity


def newest_recovery() -> str:
    """Return the loss recovery of today that the engine has: RACK-TLP, or the scoreboard of RFC 6675."""
    known = {entry["name"] for entry in engine.catalogue()["recoveries"]}
    return "rack" if "rack" in known else "sack"


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the statements leave open, with the values chosen here.

    Parameters
    ----------
    recovery
        Loss recovery of flows under the rules of the RFCs.
    linux
        Fields of TCP that differ from the environment of Linux in the experiments with Linux.
    start_s
        Flows that share a bottleneck start within this time, s.
    """

    recovery: str = field(default_factory=newest_recovery)
    linux: tuple[tuple[str, Any], ...] = ()
    start_s: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """A variation of one assumption.

    Parameters
    ----------
    moved
        The assumptions with it.
    stages
        The stages of the plan that it affects.
    """

    moved: Assumptions
    stages: tuple[str, ...]


VARIATIONS: Sequence[Variation] = (
    Variation(
        name="every-ack",
        assumption="acknowledgements in the experiments with Linux",
        value="of every segment",
        moved=replace(Assumptions(), linux=(("delayed_ack", "off"),)),
        stages=("models", "sharing", "evaluation"),
    ),
    Variation(
        name="sack",
        assumption="loss recovery in the experiments with Linux",
        value="by reports above a hole (RFC 6675)",
        moved=replace(Assumptions(), linux=(("recovery", {"kind": "sack", "prr": True}),)),
        stages=("models", "sharing"),
    ),
    Variation(
        name="late-start",
        assumption="starts of flows that share a bottleneck",
        value="within 10 s",
        moved=replace(Assumptions(), start_s=10.0),
        stages=("sharing",),
    ),
)
"""The moves, one assumption at a time."""
