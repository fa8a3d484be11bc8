"""The rules of the kernel in the terms of scenarios, and how its defaults were matched, for the report."""

from __future__ import annotations

from typing import Any

from dumbbell.crossvalidation import Rule
from dumbbell.errors import refusal

__all__ = ["RULES", "TWINS", "VARIANTS", "table"]

TWINS = ("vegas", "newvegas", "vegasa", "code", "westwood", "westwoodp", "rovegas")
"""Congestion controls that the kernel has as eBPF twins."""

VARIANTS = ("reno", *TWINS)

# Mechanisms of Vegas on both sides. With SACK, a window is reduced once per recovery, which E asks for; C, D, H and J
# belong to the sender, which is the kernel's.
MECHANISMS = {name: "ABFI" for name in ("vegas", "newvegas", "vegasa", "code", "rovegas")}


def table(variant: str, **changes: Any) -> dict[str, Any]:
    """Return the ``tcp`` table that states the kernel's rules for a congestion control.

    Parameters
    ----------
    variant
        One of `VARIANTS`.
    changes
        Fields of the table to change.

    Raises
    ------
    ScenarioError
        The kernel has no such congestion control.
    """
    if variant not in VARIANTS:
        raise refusal("variant", variant, f"one of {', '.join(VARIANTS)}", names=VARIANTS)
    stated: dict[str, Any] = {
        "congestion": variant,
        "recovery": "sack",
        "mss": "1448 bytes",
        "headers": {"data": "52 bytes", "ack": "52 bytes", "sack_block": "8 bytes"},
        "timestamps": True,
        "handshake": True,
        "initial_window": "10 segments",
        "timer": {"minimum": "200 ms"},
        "window": {"reduction_base": "real-window"},
    }
    if variant in MECHANISMS:
        stated["mechanisms"] = MECHANISMS[variant]
        stated["congestion"] = {"name": variant, "increase": "at-once"}
    if variant == "rovegas":
        # The option takes 8 bytes of the payload.
        stated |= {"aqt": True, "mss": "1440 bytes"}
    return stated | changes


RULES: tuple[Rule, ...] = ()
