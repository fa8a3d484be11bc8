"""Nodes and links of a scenario, their queues, and what loses packets on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, Part, each, one_of, table

__all__ = ["Bernoulli", "DropTail", "Forced", "Impairment", "Link", "LinkChange", "Node", "Queue", "TwoState"]


@dataclass(frozen=True, kw_only=True)
class Node(Part):
    """A host or router.

    Parameters
    ----------
    name
        The node's name, unique among nodes.
    tick_phase
        Phase of the node's coarse clock: ``"random"`` (uniform over one tick, drawn per run) or a time.
    aqt
        Whether packets that the node sends learn how long they waited in its queues.
    """

    name: str
    tick_phase: str | None = None
    aqt: bool | None = None


class Queue(Part):
    """A queue discipline; `DropTail` is one."""


@dataclass(frozen=True, kw_only=True)
class DropTail(Queue):
    """First in, first out; an arrival that does not fit is dropped.

    Parameters
    ----------
    limit
        How much may wait, in ``packets`` or in ``bytes`` (``KiB`` and so on), or ``"unlimited"``.
    counts_service
        Whether the packet in transmission counts towards `limit`.
    """

    tag: ClassVar = ("kind", "droptail")
    limit: str | None = None
    counts_service: bool | None = None


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
        What moves the model on: ``"time"``; or packets once a dwell is over, where with ``"poll"`` the first one draws the
        next state, and with ``"packet"``, as in ns-2, each one does until the state has changed.
    """

    tag: ClassVar = ("kind", "twostate")
    good: str | None = None
    bad: str | None = None
    loss: float | None = None
    good_loss: float | None = None
    change: float | None = None
    clock: str | None = None


@dataclass(frozen=True, kw_only=True)
class LinkChange(Part):
    """A change of a link while the simulation runs.

    Parameters
    ----------
    at
        When; a packet in transmission goes on at the new rate.
    rate, delay
        Rate and propagation delay from then on; what is not stated stays. Packets stay in order when the delay falls.
    """

    at: str
    rate: str | None = None
    delay: str | None = None


@dataclass(frozen=True, kw_only=True)
class Link(Part):
    """A unidirectional link with a queue before it.

    Parameters
    ----------
    name
        The link's name, unique among links.
    from_, to
        Names of the nodes it joins.
    rate
        Transmission rate, above zero, as ``"1.6 Mbit/s"``.
    delay
        Propagation delay, zero or more, as ``"50 ms"``.
    queue
        Queue discipline.
    impairments
        What loses packets on this link, applied in order.
    changes
        Changes of rate and delay at ascending times.
    """

    readers: ClassVar = {
        "queue": one_of([DropTail]),
        "impairments": each(one_of([Forced, Bernoulli, TwoState])),
        "changes": each(table(LinkChange)),
    }
    name: str
    from_: str
    to: str
    rate: str
    delay: str
    queue: str | Queue | Data | None = None
    impairments: Sequence[str | Impairment | Data] | None = None
    changes: Sequence[LinkChange | Data] | None = None
