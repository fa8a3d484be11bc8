"""A fitted scenario as TOML, with intervals as comments beside the values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from dumbbell.inference.calibration import Interval
from dumbbell.scenario import Scenario

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


def to_toml(
    scenario: Scenario, discipline: str, intervals: Mapping[str, Interval], head: Sequence[str]
) -> str:
    """Return a fitted scenario as TOML, with sentences above it and the interval beside each value."""
    text = "".join(f"# {line}\n" for line in head) + "\n" + scenario.to_toml()
    for name, pattern in _places(discipline).items():
        if name in intervals:
            comment = f"  # {NAMES[name]}: {shown(name, intervals[name])}"
            text = re.sub(f"({pattern})", rf"\1{comment}", text, count=1, flags=re.MULTILINE)
    return text


def _places(discipline: str) -> dict[str, str]:
    """Return the line of each parameter, as a pattern: the link of the bottleneck is the first one."""
    policed = discipline == "policer"
    line = r"(?:\[links\.queue\]\n(?:.*\n)*?rate = .*|^queue = .*)$" if policed else r"^rate = .*$"
    return {
        "rate_bps": line,
        "base_rtt_s": r"^delay = .*$",
        "buffer_packets": r"^(?:queue|kind) = .*droptail.*$",
        "loss": r"^.*bernoulli.*$",
        "burst_bytes": r"^burst = .*$",
    }
