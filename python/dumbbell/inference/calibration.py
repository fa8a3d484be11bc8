"""Intervals that hold as often as they say: split-conformal scaling [lei2018] by captures of known paths."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from dumbbell.inference.estimate import STILL_S, Estimate
from dumbbell.inference.fitting import Explained

LEVEL = 0.9
"""The share of captures whose intervals contain the truth."""

HOSTS = ("simulated", "real")
"""Hosts that answer at once, and those whose delays vary; each have factors of their own."""

KINDS = ("full queue", "random loss", "active queue management", "policer", "competitors", "no loss")
"""Kinds of capture, by what a fit says; each has factors of its own."""

PARAMETERS = ("rate_bps", "base_rtt_s", "buffer_packets", "burst_bytes")
"""What has the spread of accepted paths as its interval, wider by calibration."""

BOUND = "buffer_bound"
"""The lower bound of a buffer that never overflowed: delays of hosts look like a queue."""

LOSS = "loss"
"""Random loss has the interval of a proportion, wider by calibration."""

PREDICTED = ("goodput_bps", "queueing_s")
"""What is predicted of a change has the range over accepted paths as its interval, wider by calibration."""

NONE_BELOW = 0.2
"""A capture is of none of the controls tried if fewer than this share of captures of known ones are as far from their truth."""

OPTIONS = 24 / 1500
"""Hosts differ in the options of a request for a connection: its size is known up to this share of a packet."""

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


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a capture is like: what its factors depend on.

    Parameters
    ----------
    kind, hosts
        One of `KINDS` and of `HOSTS`.
    noise_s, serialization_s
        How much delays of hosts vary, and the time of a full packet on the bottleneck.
    """

    kind: str
    hosts: str
    noise_s: float
    serialization_s: float

    def scale(self, parameter: str, value: float) -> float:
        """Return what a factor is multiplied by, in the unit of the parameter.

        It is the value, and of a buffer at least 8 packets, of which one is 12 %; of a predicted queueing time at least
        half a packet. With real hosts, it is how much their delays vary: for a base round-trip time that itself, for
        a rate the same share of it as of a packet.
        """
        if parameter in {"buffer_packets", BOUND}:
            return max(value, 8.0)
        if parameter == "queueing_s":
            return value + 0.5 * self.serialization_s
        if self.hosts == "real" and self.kind not in LOOSE:
            if parameter == "base_rtt_s":
                return self.noise_s
            if parameter == "rate_bps":
                return value * self.noise_s / self.serialization_s
        return value


LOOSE = ("policer", "competitors")
"""Kinds whose errors are not those of hosts."""


def setting_of(found: Estimate, best: Explained, packet_bits: float) -> Setting:
    """Return what a capture is like."""
    hosts = "simulated" if found.noise_s < STILL_S else "real"
    return Setting(
        kind=kind_of(found, best),
        hosts=hosts,
        noise_s=found.noise_s,
        serialization_s=packet_bits / found.rate_bps,
    )


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


def interval(setting: Setting, parameter: str, value: float, low: float, high: float) -> Interval:
    """Return the interval of a parameter: the spread of accepted paths, wider by the factor of the kind of capture."""
    wider = factor(setting, parameter) * setting.scale(parameter, value)
    if parameter == "base_rtt_s":
        wider = max(wider, OPTIONS * setting.serialization_s)
    return Interval(value, max(0.0, low - wider), high + wider)


def factor(setting: Setting, parameter: str) -> float:
    """Return the factor of a parameter for such captures; 0 if it has none."""
    found: float = _calibrated()["factors"][setting.hosts][setting.kind].get(parameter, 0.0)
    return found


def score(setting: Setting, parameter: str, truth: float, value: float, low: float, high: float) -> float:
    """Return how much wider, in units of `Setting.scale`, a spread would have to be to contain the truth."""
    return max(0.0, low - truth, truth - high) / max(setting.scale(parameter, value), 1e-12)


def known_as_far(setting: Setting, distance: float) -> tuple[int, int]:
    """Return how many captures of known controls, of the same kind, were as far from their truth, and of how many."""
    distances = _calibrated()["distances"][setting.hosts][setting.kind]
    return sum(one >= distance for one in distances), len(distances)


def quantile(scores: Sequence[float]) -> float:
    """Return the factor that contains the truth of a new capture of the same kind with probability `LEVEL` [lei2018]."""
    ordered = np.sort(np.asarray(scores, np.float64))
    return float(ordered[min(len(ordered) - 1, int(np.ceil((len(ordered) + 1) * LEVEL)) - 1)])


@cache
def _calibrated() -> Mapping[str, Any]:
    """Return factors and distances by hosts, kind and parameter, as `calibration.json` has them."""
    text = resources.files("dumbbell.inference").joinpath(FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
