"""A fitted scenario as TOML, with intervals as comments beside the values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.inference.calibration import Interval

if TYPE_CHECKING:
    from dumbbell.inference.fitted import Fit

_SHOWN = {"rate_bps": (1e-6, "Mbit/s"), "base_rtt_s": (1e3, "ms"), "buffer_packets": (1.0, "packets"),
          "loss": (100.0, "%"), "burst_bytes": (1e-3, "kB")}  # fmt: skip

NAMES = {"rate_bps": "rate", "base_rtt_s": "base round-trip time", "buffer_packets": "buffer", "loss": "random loss",
         "burst_bytes": "burst"}  # fmt: skip
"""What parameters are called."""


def shown(name: str, interval: Interval) -> str:
    """Return a parameter with its interval and unit, as ``"10 Mbit/s (9.9 to 10.1)"``.

    Examples
    --------
    >>> shown("rate_bps", Interval(1e7, 9.9e6, 1.01e7))
    '10 Mbit/s (9.9 to 10.1)'
    >>> shown("buffer_packets", Interval(40.0, 40.0, float("inf")))
    'at least 40 packets'
    """
    factor, unit = _SHOWN[name]
    if not np.isfinite(interval.high):
        return f"at least {_number(interval.low * factor)} {unit}"
    low, high = _number(interval.low * factor), _number(interval.high * factor)
    value = _number(interval.value * factor)
    return f"{value} {unit} ({low} to {high})"


def _number(value: float) -> str:
    return f"{value:.5g}"


def to_toml(fit: Fit) -> str:
    """Return the scenario of a fit as TOML, with comments."""
    head = [
        "Fitted to a capture: the scenario that explains it best. Intervals of 90 % are beside the values.",
        f"Distance {fit.distance:.3f}; {len(fit.accepted)} of {fit.simulations} simulations explain it about as well.",
    ]
    named = ", ".join(f"{one.control} ({one.likelihood:.2f})" for one in fit.controls)
    head.append(f"Algorithm, by relative likelihood: {named or 'none of those tried'}.")
    head += [f"{text[0].upper()}{text[1:]}." for text in fit.flags]
    text = "".join(f"# {line}\n" for line in head) + "\n" + fit.scenario.to_toml()
    for name, pattern in _places(fit).items():
        if name in fit.intervals:
            comment = f"  # {NAMES[name]}: {shown(name, fit.intervals[name])}"
            text = re.sub(f"({pattern})", rf"\1{comment}", text, count=1, flags=re.MULTILINE)
    return text


def _places(fit: Fit) -> dict[str, str]:
    """Return the line of each parameter, as a pattern: the link of the bottleneck is the first one."""
    policed = fit.discipline == "policer"
    line = r"(?:\[links\.queue\]\n(?:.*\n)*?rate = .*|^queue = .*)$" if policed else r"^rate = .*$"
    return {
        "rate_bps": line,
        "base_rtt_s": r"^delay = .*$",
        "buffer_packets": r"^(?:queue|kind) = .*droptail.*$",
        "loss": r"^.*bernoulli.*$",
        "burst_bytes": r"^burst = .*$",
    }
