"""Intervals that hold as often as they say: split-conformal scaling [lei2018] by captures of known paths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from dumbbell.inference.estimate import Estimate
from dumbbell.inference.fitting import Explained

LEVEL = 0.9
"""The share of captures whose intervals contain the truth."""

KINDS = ("full queue", "random loss", "active queue management", "policer", "competitors", "no loss")
"""Kinds of capture, by what a fit says; each has factors of its own."""

PARAMETERS = ("rate_bps", "base_rtt_s", "buffer_packets", "burst_bytes")
"""What has the spread of accepted paths as its interval, wider by calibration."""

LOSS = "loss"
"""Random loss has the interval of a proportion, wider by calibration."""

FILE = "calibration.json"


@dataclass(frozen=True)
class Interval:
    """A value and its interval of 90 %, both in the unit of the parameter; `high` is infinite for a lower bound."""

    value: float
    low: float
    high: float

    def contains(self, truth: float) -> bool:
        """Return whether a value is inside, up to rounding."""
        return self.low * (1.0 - 1e-6) <= truth <= self.high * (1.0 + 1e-6)


def kind_of(found: Estimate, best: Explained) -> str:
    """Return which of `KINDS` a capture is."""
    if best.path.discipline == "policer":
        return "policer"
    if best.path.discipline != "droptail":
        return "active queue management"
    if best.path.competitors or (found.competes and found.has_overflowed):
        return "competitors"
    if best.path.buffer_packets is None and not best.path.forced:
        return "no loss"
    return "random loss" if best.path.forced else "full queue"


def scale(parameter: str, value: float) -> float:
    """Return what a factor is multiplied by: the value, and of a buffer at least 8 packets, of which one is 12 %."""
    return max(value, 8.0) if parameter == "buffer_packets" else value


def spread(explained: Sequence[Explained], parameter: str) -> tuple[float, float]:
    """Return the smallest and the largest value among paths that explain a capture equally well."""
    values = [value for one in explained if (value := parameter_of(one, parameter)) is not None]
    return min(values), max(values)


def parameter_of(one: Explained, parameter: str) -> float | None:
    """Return a parameter of a path; ``None`` if it has no such parameter."""
    path = one.path
    if parameter == "rate_bps":
        return path.bottleneck_bps
    if parameter == "burst_bytes":
        return path.burst_bytes if path.discipline == "policer" else None
    value = getattr(path, parameter)
    return None if value is None else float(value)


def interval(kind: str, parameter: str, value: float, low: float, high: float) -> Interval:
    """Return the interval of a parameter: the spread of accepted paths, wider by the factor of the kind of capture."""
    wider = factors()[kind].get(parameter, 0.0) * scale(parameter, value)
    return Interval(value, max(0.0, low - wider), high + wider)


def score(parameter: str, truth: float, value: float, low: float, high: float) -> float:
    """Return how much wider, in units of `scale`, a spread would have to be to contain the truth."""
    return max(0.0, low - truth, truth - high) / scale(parameter, value)


def quantile(scores: Sequence[float]) -> float:
    """Return the factor that contains the truth of a new capture of the same kind with probability `LEVEL` [lei2018]."""
    ordered = np.sort(np.asarray(scores, np.float64))
    return float(ordered[min(len(ordered) - 1, int(np.ceil((len(ordered) + 1) * LEVEL)) - 1)])


@cache
def factors() -> Mapping[str, Mapping[str, float]]:
    """Return the factors by kind of capture and parameter, as `calibration.json` has them."""
    text = resources.files("dumbbell.inference").joinpath(FILE).read_text(encoding="utf-8")
    found: dict[str, dict[str, float]] = json.loads(text)["factors"]
    return found
