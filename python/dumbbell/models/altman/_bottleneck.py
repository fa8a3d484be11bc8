"""Parameters of the model and their accepted values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dumbbell.errors import refusal
from dumbbell.models._checks import one_not_negative, one_of, one_positive

Phase: TypeAlias = Literal["constant", "growth", "reno-slow-start", "vegas-doubling", "vegas-constant"]
Slot: TypeAlias = Literal["doubling", "constant"]

PHASES = ("constant", "growth", "reno-slow-start", "vegas-doubling", "vegas-constant")
SLOTS = ("doubling", "constant")

MAX_WINDOW = 1_000_000
"""Largest window that is followed packet by packet, packets; a larger one is refused."""

# Windows and round-trip times that should be equal may differ in their last digits.
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, slots=True)
class Bottleneck:
    """The shared bottleneck and the delay around it.

    Attributes
    ----------
    service_rate : float
        mu, packets/s, greater than 0.
    exogenous_rate : float
        lambda, constant rate of the other traffic, packets/s, at least 0 and less than mu.
    fixed_delay : float
        d, round-trip time without queueing and service, s, at least 0.
    service : {"mu", "nu"}
        How a packet's own service counts in the smallest round-trip time: 1 / mu, which is what a packet
        meets in an empty system, or 1 / nu, the other reading of the paper. Windows of the two differ by
        lambda / mu, less than a packet.

    Raises
    ------
    ScenarioError
        If a value lies outside its range.

    Examples
    --------
    >>> link = Bottleneck(service_rate=100.0, exogenous_rate=20.0, fixed_delay=0.5)
    >>> link.available_rate, link.base_rtt, round(link.bdp, 9)
    (80.0, 0.51, 40.8)
    """

    service_rate: float
    exogenous_rate: float = 0.0
    fixed_delay: float = 0.0
    service: Literal["mu", "nu"] = field(default="mu")

    def __post_init__(self) -> None:
        one_positive("service_rate", self.service_rate, "packets/s")
        if one_not_negative("exogenous_rate", self.exogenous_rate, "packets/s") >= self.service_rate:
            accepted = (
                f"one number of packets/s of at least 0 and less than service_rate, {self.service_rate:g}"
            )
            raise refusal("exogenous_rate", self.exogenous_rate, accepted)
        one_not_negative("fixed_delay", self.fixed_delay, "seconds")
        one_of("service", self.service, ("mu", "nu"))

    @property
    def available_rate(self) -> float:
        """Rate left to the source, $nu = mu - lambda$, packets/s."""
        return self.service_rate - self.exogenous_rate

    @property
    def load(self) -> float:
        """Load by the exogenous traffic, $lambda / mu$, without unit, at least 0 and less than 1."""
        return self.exogenous_rate / self.service_rate

    @property
    def base_rtt(self) -> float:
        """T, smallest round-trip time, s: $d + 1 / mu$, or $d + 1 / nu$ with `service` "nu"."""
        return self.fixed_delay + 1.0 / (self.service_rate if self.service == "mu" else self.available_rate)

    @property
    def bdp(self) -> float:
        """Bandwidth-delay product that the source sees, $x = nu T$, packets."""
        return self.available_rate * self.base_rtt


def refuse_beyond(field: str, value: float, window: float) -> None:
    """Reject parameters that would require too many windows."""
    if window > MAX_WINDOW:
        raise refusal(field, value, f"a value that keeps windows at or below {MAX_WINDOW} packets")


def at_most(value: float, limit: float) -> bool:
    """Whether `value` <= `limit`, where both may differ in their last digits."""
    return value <= limit * (1.0 + ROUNDING)
