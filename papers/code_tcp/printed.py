"""The paper's numbers, read from ``printed.toml``, and the intervals it computes.

[chan2010 tables 1-3]
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from dumbbell.statistics import Interval

COLUMNS = ("RV-Reno", "RV-Vegas", "RC-Reno", "RC-CODE")
"""Columns of Table 3: Reno against Vegas, and Reno against CODE."""


@cache
def data() -> Mapping[str, Any]:
    """Return the whole file."""
    return tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))


def interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Return the mean with the interval the paper uses, by the normal quantile.

    All twelve half-widths of Table 3 are z s / sqrt(n), with the sample's standard deviation s.
    """
    sample = np.asarray(values, dtype=np.float64)
    mean = float(sample.mean())
    if sample.size < 2:
        return Interval(estimate=mean, low=math.nan, high=math.nan, confidence=confidence, n=sample.size)
    half = float(stats.norm.ppf((1 + confidence) / 2)) * float(sample.std(ddof=1)) / math.sqrt(sample.size)
    return Interval(estimate=mean, low=mean - half, high=mean + half, confidence=confidence, n=sample.size)
