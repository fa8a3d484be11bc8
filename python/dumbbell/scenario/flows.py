"""Flows of a scenario: between which hosts, when, over which path, and with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, External, Part, each, one_of, table
from dumbbell.scenario.sources import (
    Cbr,
    Frames,
    Greedy,
    Incast,
    Media,
    OnOff,
    Poisson,
    Source,
    Streaming,
    Tcplib,
    Transfer,
    Transfers,
    Video,
    Web,
)
from dumbbell.scenario.tcp import Congestion, Tcp


@dataclass(frozen=True, kw_only=True)
class Uniform(Part):
    """A time drawn uniformly, once a run.

    Parameters
    ----------
    uniform
        The earliest and the latest time.
    """

    uniform: tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Restart(Part):
    """A time in which a flow runs again.

    Parameters
    ----------
    start
        When it starts, a time after the stop before it.
    stop
        When it stops sending; never if not stated.
    """

    start: str
    stop: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reroute(Part):
    """A change of a flow's path.

    Parameters
    ----------
    at
        When; packets that have been sent stay on their path.
    path, reverse_path
        Names of the links from then on; unchanged if not given.
    """

    at: str
    path: Sequence[str] | None = None
    reverse_path: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Flow(Part):
    """A flow from one host to another.

    Parameters
    ----------
    name
        The flow's name, unique among flows.
    from_, to
        Names of its source and destination nodes.
    source
        Its traffic source; by default it always has data.
    tcp
        A variant's name, a `Tcp`, a congestion control such as `Vegas`, or one of your own: a `dumbbell.Control` or a
        `dumbbell.Library`, or its name, as ``"python:module.Class"`` or ``"library:aimd.so"``; absent for a source of datagrams.
    path, reverse_path
        Names of the links the data and the acknowledgements take; the default is the shortest path in hops.
    start
        When it starts: a time, or a `Uniform`.
    stop
        When it stops sending, a time after `start`.
    restarts
        Times after the stop in which it runs again, each with a new connection.
    reroutes
        Changes of its paths at ascending times.
    """

    readers: ClassVar = {
        "source": one_of(
            [
                Greedy,
                Transfer,
                Tcplib,
                Cbr,
                Poisson,
                OnOff,
                Video,
                Frames,
                Media,
                Transfers,
                Web,
                Streaming,
                Incast,
            ]
        ),
        "tcp": table(Tcp),
        "start": table(Uniform),
        "restarts": each(table(Restart)),
        "reroutes": each(table(Reroute)),
    }
    name: str
    from_: str
    to: str
    source: str | Source | Data | None = None
    tcp: str | Tcp | Congestion | External | None = None
    path: Sequence[str] | None = None
    reverse_path: Sequence[str] | None = None
    start: str | Uniform | None = None
    stop: str | None = None
    restarts: Sequence[Restart | Data] | None = None
    reroutes: Sequence[Reroute | Data] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.tcp, Congestion):
            object.__setattr__(self, "tcp", Tcp(congestion=self.tcp))
        elif isinstance(self.tcp, External):
            object.__setattr__(self, "tcp", Tcp(external=self.tcp))
