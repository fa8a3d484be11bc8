"""The register of the paper's claims, and outcomes that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.claims import Register
from dumbbell.judge.estimate import Outcome
from dumbbell.report.numbers import number

from .evidence import Evidence

Measure = Callable[[Evidence], Outcome]

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))

claim, estimate = REGISTER.claim, REGISTER.estimate


def listed(points: Sequence[float], values: ArrayLike) -> str:
    """Return values with the points they belong to, for reading."""
    pairs = zip(points, np.asarray(values, dtype=np.float64), strict=True)
    return ", ".join(f"{point:g}: {number(float(value))}" for point, value in pairs)
