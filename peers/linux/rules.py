"""The rules of the kernel in the terms of scenarios, and how its defaults were matched, for the report."""

from __future__ import annotations

from typing import Any

from dumbbell.crossvalidation import Rule
from dumbbell.errors import refusal

VARIANTS = ("reno", "cubic", "bbr")
"""Congestion controls of the kernel that ``rules = "linux"`` has as well."""


def table(variant: str, **changes: Any) -> dict[str, Any]:
    """Return the ``tcp`` table that states the kernel's rules for a congestion control.

    Parameters
    ----------
    variant
        One of `VARIANTS`.
    changes
        Fields of the table to change; the kernel follows none of them.

    Raises
    ------
    ScenarioError
        The kernel has no such congestion control.
    """
    if variant not in VARIANTS:
        raise refusal("variant", variant, f"one of {', '.join(VARIANTS)}", names=VARIANTS)
    return {"rules": "linux", "congestion": variant} | changes


def congestion(tcp: dict[str, Any], field: str) -> str:
    """Return the kernel's congestion control of a ``tcp`` table.

    Parameters
    ----------
    tcp
        The table.
    field
        Its path, for the error.

    Raises
    ------
    ScenarioError
        The table states more than the kernel can be told.
    """
    for name, value in tcp.items():
        if name not in ("rules", "congestion"):
            raise refusal(f"{field}.{name}", value, "nothing: the kernel follows its own rules")
    return str(tcp["congestion"])


RULES: tuple[Rule, ...] = (
    Rule(
        aspect="Clock",
        peer="User-mode Linux in simulated time. Timers of 1000 Hz tick at the same phase in every run; reading a clock takes "
        "256 ns.",
        matched="No phase or cost is matched. Differences of less than a microsecond do not add up on these paths.",
    ),
    Rule(
        aspect="Links",
        peer="Those of the simulator, in the same event loop: the same queues and drops.",
        matched="The same code.",
    ),
    Rule(
        aspect="Size of packets",
        peer="1448 bytes of payload, 20 of IP, 20 of TCP and 12 of timestamps; SACK blocks add 8 bytes each, and 4.",
        matched="The same, except that the first SACK block adds 8 bytes as well.",
    ),
    Rule(
        aspect="Receive buffer",
        peer="tcp_rmem = 4096 131072 6291456: it grows with the rate. While it grows, every segment is acknowledged "
        "(tcp_grow_window).",
        matched="Not matched: here every second segment is acknowledged after the first ones. Disagreements are traced by "
        "running ours with an acknowledgement for every segment.",
    ),
    Rule(
        aspect="Delayed acknowledgements, recovery, loss detection, timers, CUBIC, BBR",
        peer="The kernel's own.",
        matched='As `rules = "linux"` has them; `dumbbell cross-validate testbed` lists them.',
    ),
)
