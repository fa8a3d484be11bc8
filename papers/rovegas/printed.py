"""The paper's numbers, read from ``printed.toml``.

[chan2004 §5-6]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def data() -> Mapping[str, Any]:
    """Return the whole file."""
    return tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))


def at_points(figure: str, quantity: str) -> dict[float, float]:
    """Return the printed values of a quantity by the points of its sweep.

    Parameters
    ----------
    figure
        As ``"fig-8"``.
    quantity
        As ``"ratio"``.
    """
    return {float(point): float(value) for point, value in data()[figure][quantity].items()}
