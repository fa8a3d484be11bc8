"""The paper's numbers, read from ``printed.toml`` [grieco2004]."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SITES = ("ucla", "uppsala", "parma")
"""The servers of the live measurements, as in the paper's section 4."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """The printed results of the uploads to one server.

    Parameters
    ----------
    dates
        Days of the sessions.
    uploads
        Number of files of each session.
    megabytes
        Size of a file of each session, MB.
    gain
        Least and largest gain of Westwood+ over New Reno, %.
    pipe
        Smallest and largest product of goodput and minimum RTT, segments of 1500 bytes.
    rtt_ms
        Least RTT seen, ms.
    """

    dates: tuple[str, ...]
    uploads: tuple[int, ...]
    megabytes: tuple[float, ...]
    gain: tuple[float, float]
    pipe: tuple[float, float]
    rtt_ms: float


@cache
def data() -> Mapping[str, Any]:
    """Return the whole file."""
    return tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))


def table_1(variant: str) -> tuple[float, ...]:
    """Return a row of Table I: goodput in the four intervals, Mbit/s."""
    return tuple(map(float, data()["table-1"][variant]))


def final_sequence_numbers(variant: str) -> tuple[float, float]:
    """Return the smallest and the largest final sequence number of 20 connections, segments."""
    least, largest = data()["final-sequence-numbers"][variant]
    return float(least), float(largest)


def gains(figure: str) -> tuple[float, ...]:
    """Return the ends of the range of gains that the text gives for a figure, %."""
    return tuple(map(float, data()["gains"][figure]))


@cache
def site(name: str) -> Site:
    """Return the printed results of one server's sessions."""
    entry = data()["live"][name]
    return Site(
        dates=tuple(entry["dates"]),
        uploads=tuple(entry["uploads"]),
        megabytes=tuple(map(float, entry["megabytes"])),
        gain=(float(entry["gain"][0]), float(entry["gain"][1])),
        pipe=(float(entry["pipe"][0]), float(entry["pipe"][1])),
        rtt_ms=float(entry["rtt_ms"]),
    )
