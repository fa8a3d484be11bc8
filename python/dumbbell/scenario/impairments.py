"""Impairments of links: losses, delays, reordering and duplicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Part


class Impairment(Part):
    """Something that loses packets on purpose; `Forced`, `Bernoulli` and `TwoState` are three."""


@dataclass(frozen=True, kw_only=True)
class Forced(Impairment):
    """Drop stated data packets.

    Parameters
    ----------
    packets
        Which data packets to drop, counted from 1 as they enter the link; a SYN is none.
    """

    tag: ClassVar = ("kind", "forced")
    packets: Sequence[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Bernoulli(Impairment):
    """Drop each packet independently with one probability.

    Parameters
    ----------
    probability
        Probability of a drop, from 0 to 1.
    """

    tag: ClassVar = ("kind", "bernoulli")
    probability: float | None = None


@dataclass(frozen=True, kw_only=True)
class TwoState(Impairment):
    """Lose packets in bad periods: two states with fixed dwell times, the next state drawn at the end of each.

    Parameters
    ----------
    good, bad
        Dwell times in the two states, times of at least 1 us; the link starts in the good one.
    loss, good_loss
        Probability of losing a packet in the bad and in the good state, from 0 to 1.
    change
        Probability that the bad state follows a dwell, whichever state that was.
    clock
        What advances the model: ``"time"``, or packets after a dwell: with ``"poll"`` the first packet draws the
        next state; with ``"packet"``, as in ns-2, each packet does until the state has changed.
    """

    tag: ClassVar = ("kind", "twostate")
    good: str | None = None
    bad: str | None = None
    loss: float | None = None
    good_loss: float | None = None
    change: float | None = None
    clock: str | None = None


@dataclass(frozen=True, kw_only=True)
class CorrelatedLoss(Impairment):
    """Drop packets at random with correlated draws, as netem does. Correlation lowers the fraction lost.

    Parameters
    ----------
    probability
        Nominal probability of a drop, from 0 to 1.
    correlation
        Weight of the previous number in each random number, from 0, below 1.
    """

    tag: ClassVar = ("kind", "corrloss")
    probability: float | None = None
    correlation: float | None = None


@dataclass(frozen=True, kw_only=True)
class Gilbert(Impairment):
    """Lose packets by the model of Gilbert and Elliott, as netem does: a fraction (p loss + r good_loss)/(p + r).

    Parameters
    ----------
    p, r
        Probabilities that a packet is the last one of the good and of the bad state.
    loss, good_loss
        Probability of losing a packet in the bad and in the good state: 1-h and 1-k of the model.
    """

    tag: ClassVar = ("kind", "gilbert")
    p: float | None = None
    r: float | None = None
    loss: float | None = None
    good_loss: float | None = None


@dataclass(frozen=True, kw_only=True)
class Markov(Impairment):
    """Lose packets by a Markov chain of four states, as netem does.

    The states are a gap period (1), packets that arrive within a burst (2), losses of a burst (3) and isolated losses
    in a gap period (4).

    Parameters
    ----------
    p13, p31
        Probabilities that a burst begins and ends.
    p32, p23
        Probabilities that packets arrive within a burst, and that its losses continue.
    p14
        Probability of an isolated loss.
    """

    tag: ClassVar = ("kind", "markov")
    p13: float | None = None
    p31: float | None = None
    p32: float | None = None
    p23: float | None = None
    p14: float | None = None


@dataclass(frozen=True, kw_only=True)
class Jitter(Impairment):
    """Delay each packet by a random time, as netem does. Packets overtake each other unless a rate is given.

    Parameters
    ----------
    delay
        Mean delay, in addition to the propagation delay of the link.
    jitter
        Half of the range of a uniform delay, otherwise its standard deviation.
    distribution
        ``"uniform"``, ``"normal"``, ``"pareto"`` or ``"paretonormal"``.
    correlation
        Weight of the previous number in each random number, of which hardly any is left in the delays.
    rate
        Rate at which delayed packets leave, in order.
    limit
        Maximum number of packets that are delayed at a time; further ones are lost.
    """

    tag: ClassVar = ("kind", "jitter")
    delay: str | None = None
    jitter: str | None = None
    distribution: str | None = None
    correlation: float | None = None
    rate: str | None = None
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class Reorder(Impairment):
    """Delay all packets except for some, which overtake those before them, as netem does.

    Parameters
    ----------
    delay
        Delay of the others, in addition to the propagation delay of the link.
    probability
        Probability that a packet is sent at once.
    correlation
        Weight of the previous number in each random number.
    gap
        Minimum distance of two packets sent at once, counted in packets.
    """

    tag: ClassVar = ("kind", "reorder")
    delay: str | None = None
    probability: float | None = None
    correlation: float | None = None
    gap: int | None = None


@dataclass(frozen=True, kw_only=True)
class Duplicate(Impairment):
    """Deliver some packets twice. At most one impairment of a link may do so.

    Parameters
    ----------
    probability
        Probability that a packet is copied.
    correlation
        Weight of the previous number in each random number.
    """

    tag: ClassVar = ("kind", "duplicate")
    probability: float | None = None
    correlation: float | None = None


IMPAIRMENTS = (Forced, Bernoulli, TwoState, CorrelatedLoss, Gilbert, Markov, Jitter, Reorder, Duplicate)
"""The impairments that have a builder."""
