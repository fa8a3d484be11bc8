"""Nodes and links of a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.impairments import IMPAIRMENTS, Impairment
from dumbbell.scenario.parts import Data, Part, each, one_of, table
from dumbbell.scenario.queues import QUEUES, Queue
from dumbbell.scenario.synthetic import SYNTHETIC_LINKS, SyntheticLink


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


@dataclass(frozen=True, kw_only=True)
class Outage(Part):
    """A time in which a link is down.

    Parameters
    ----------
    from_, until
        Its beginning and end.
    packets
        ``"drop"``: packets whose transmission ends in the meantime are lost; ``"hold"``: the transmitter stops, and
        the queue fills.
    """

    from_: str
    until: str
    packets: str | None = None


@dataclass(frozen=True, kw_only=True)
class Wifi(Part):
    """Aggregation of packets and half-duplex medium access, as on Wi-Fi. The rate is that of the physical layer.

    Parameters
    ----------
    aggregate
        Maximum number of packets in an aggregate, and of packets waiting for an earlier one.
    longest
        Air time after which no further packet joins an aggregate.
    difs, slot, contention
        Time that the medium must be idle, length of a slot, and largest number of slots to wait.
    overhead
        Preamble, gap and block acknowledgement of an aggregate.
    header
        Bytes that every packet takes besides its own.
    loss, retries
        Probability of losing a packet on the air, and number of times that it is sent again.
    reply
        Bytes that the other direction sends on the same medium per packet delivered.
    """

    aggregate: int | None = None
    longest: str | None = None
    difs: str | None = None
    slot: str | None = None
    contention: int | None = None
    overhead: str | None = None
    header: str | None = None
    loss: float | None = None
    retries: int | None = None
    reply: str | None = None


@dataclass(frozen=True, kw_only=True)
class LinkChange(Part):
    """A change of a link while the simulation runs.

    Parameters
    ----------
    at
        Time of the change; a packet in transmission continues at the new rate.
    rate, delay
        Rate and propagation delay from then on; unchanged if not given. Packets stay in order when the delay falls.
    """

    at: str
    rate: str | None = None
    delay: str | None = None


@dataclass(frozen=True, kw_only=True)
class Opportunities(Part):
    """Delivery opportunities of a link in place of its rate, repeated for as long as the run lasts.

    `dumbbell.traffic.opportunities_from_file` reads them from a trace of Mahimahi.

    Parameters
    ----------
    times
        Times of the opportunities in milliseconds, ascending; the last one is the length of the trace.
    size
        Bytes that an opportunity carries. Those that find no packet are lost.
    overhead
        Bytes that every packet takes besides its own.
    """

    times: Sequence[int]
    size: str | None = None
    overhead: str | None = None


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
        Transmission rate, above zero, as ``"1.6 Mbit/s"``. With `opportunities` or `trace`, the nominal rate
        for queue disciplines.
    delay
        Propagation delay, zero or more, as ``"50 ms"``.
    queue
        Queue discipline, as a builder, a name or a table.
    impairments
        Impairments of this link, applied in order.
    opportunities
        Delivery opportunities in place of the rate.
    wait_percentiles
        Whether results have percentiles of the queueing time (``wait_p50_s`` and so on).
    changes
        Changes of rate and delay at ascending times.
    outages
        Times in which the link is down, in order.
    trace
        A synthetic link in place of rate, opportunities, changes and outages.
    wifi
        Aggregation of packets as on Wi-Fi; the rate is that of the physical layer.
    """

    readers: ClassVar = {
        "queue": one_of(QUEUES),
        "impairments": each(one_of(IMPAIRMENTS)),
        "opportunities": table(Opportunities),
        "changes": each(table(LinkChange)),
        "outages": each(table(Outage)),
        "trace": one_of(SYNTHETIC_LINKS),
        "wifi": table(Wifi),
    }
    name: str
    from_: str
    to: str
    rate: str
    delay: str
    queue: str | Queue | Data | None = None
    impairments: Sequence[str | Impairment | Data] | None = None
    opportunities: Opportunities | Data | None = None
    wait_percentiles: bool | None = None
    changes: Sequence[LinkChange | Data] | None = None
    outages: Sequence[Outage | Data] | None = None
    trace: str | SyntheticLink | Data | None = None
    wifi: Wifi | Data | None = None
