"""Synthetic links, which change by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Part


class SyntheticLink(Part):
    """A synthetic link that changes by itself: `Lte`, `MmWave`, `Starlink` or `Geo`.

    It determines rate, delay and losses; its delay is in addition to that of the link. With a ``seed``, it is the same
    in every run.
    """


@dataclass(frozen=True, kw_only=True)
class Lte(SyntheticLink):
    """A cellular link of the fourth generation: a rate that fades, bursts of delivery opportunities, and gaps.

    Parameters
    ----------
    rate
        Mean rate outside of gaps.
    variation, correlation
        Coefficient of variation of the rate per second, and correlation of its logarithm with the second before.
    peak
        Maximum rate of a second, as a multiple of the mean.
    burst
        Mean number of opportunities in a burst.
    gap_every, gap_median, gap_spread
        Mean time between gaps, median of their lengths, and standard deviation of the logarithm of the length.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "lte")
    rate: str | None = None
    variation: float | None = None
    correlation: float | None = None
    peak: float | None = None
    burst: float | None = None
    gap_every: str | None = None
    gap_median: str | None = None
    gap_spread: float | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class MmWave(SyntheticLink):
    """A cellular link at millimetre waves, with and without line of sight.

    Parameters
    ----------
    line_of_sight, blocked
        Lowest and highest rate in both states.
    stay
        Shortest and longest stay in a state.
    variation
        Largest deviation of a slot from the level of its stay, as a fraction.
    slot
        Length of a slot with one rate.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "mmwave")
    line_of_sight: Sequence[str] | None = None
    blocked: Sequence[str] | None = None
    stay: Sequence[str] | None = None
    variation: float | None = None
    slot: str | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Starlink(SyntheticLink):
    """A link over satellites in low orbit that are reassigned periodically.

    Parameters
    ----------
    rate, rate_step
        Mean rate, and its largest step up or down, as a fraction.
    rtt
        Smallest and largest round-trip time; half of it is the delay of a link.
    period, first
        Time between reassignments, and time of the first.
    burst_probability, burst
        Probability of losses after a reassignment, and their shortest and longest time.
    loss
        Probability of losing a packet at any other time.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "starlink")
    rate: str | None = None
    rate_step: float | None = None
    rtt: Sequence[str] | None = None
    period: str | None = None
    first: str | None = None
    burst_probability: float | None = None
    burst: Sequence[str] | None = None
    loss: float | None = None
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Geo(SyntheticLink):
    """A link over a geostationary satellite.

    Parameters
    ----------
    rate, delay
        Mean rate, and delay to the satellite and down again.
    variation, correlation
        Coefficient of variation of the rate per second, and correlation of its logarithm with the second before.
    seed
        Seed of the trace; if not given, it differs from run to run.
    """

    tag: ClassVar = ("kind", "geo")
    rate: str | None = None
    delay: str | None = None
    variation: float | None = None
    correlation: float | None = None
    seed: int | None = None


SYNTHETIC_LINKS = (Lte, MmWave, Starlink, Geo)
"""The synthetic links that have a builder."""
