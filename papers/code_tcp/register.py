"""The register of the paper's claims, and outcomes that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.claims import Outcome, Register
from dumbbell.report.numbers import number

from .evidence import Evidence
from .printed import interval

Measure = Callable[[Evidence], Outcome]

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))

claim = REGISTER.claim


def mean_of(values: ArrayLike, note: str = "") -> Outcome:
    """Return the mean of repetitions with its 90 % interval."""
    found = interval(values, 0.90)
    return Outcome(measured=found.estimate, low=found.low, high=found.high, note=note)


def listed(points: Sequence[float], values: ArrayLike) -> str:
    """Return values with the points they belong to, for reading."""
    pairs = zip(points, np.asarray(values, dtype=np.float64), strict=True)
    return ", ".join(f"{point:g}: {number(float(value))}" for point, value in pairs)
