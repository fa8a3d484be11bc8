"""Measurements of others that stand beside ours, read from ``published.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))


def bbr_shares(mbps: float, rtt_ms: float) -> dict[float, np.ndarray]:
    """Return the measured shares of one BBRv1 flow against one CUBIC flow on a path.

    Parameters
    ----------
    mbps, rtt_ms
        Rate and base round-trip time of the path.

    Returns
    -------
    dict
        The share in each run, from 0 to 1, by the buffer in bandwidth-delay products; empty if the path was not measured.
    """
    shares = {}
    for row in _data()["bbr_against_cubic"]:
        if (row["mbps"], row["rtt_ms"]) == (mbps, rtt_ms):
            bbr, cubic = np.array(row["bbr"]), np.array(row["cubic"])
            shares[float(row["buffer"])] = bbr / (bbr + cubic)
    return shares
