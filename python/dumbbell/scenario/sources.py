"""Traffic sources of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Part

__all__ = ["Cbr", "Frames", "Greedy", "OnOff", "Poisson", "Source", "Tcplib", "Transfer", "Video"]


class Source(Part):
    """A traffic source.

    Over TCP: `Greedy`, `Transfer`, `Tcplib`. As datagrams: `Cbr`, `Poisson`, `OnOff`, `Video`, `Frames`.
    """


@dataclass(frozen=True, kw_only=True)
class Greedy(Source):
    """Always has data to send."""

    tag: ClassVar = ("kind", "greedy")


@dataclass(frozen=True, kw_only=True)
class Transfer(Source):
    """Sends one item and ends.

    Parameters
    ----------
    size
        Size of the item, as ``"1 MiB"``.
    """

    tag: ClassVar = ("kind", "transfer")
    size: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tcplib(Source):
    """Conversations of tcplib (TELNET, FTP, NNTP, SMTP) with Poisson arrivals, each on its own TCP connection.

    Parameters
    ----------
    interarrival
        Mean time between the starts of two conversations.
    conversation_cap
        Most bytes one conversation sends; the default is no cap.
    size_multiplier
        Factor on the sizes of all items, above zero.
    mix
        Weights of the four kinds of conversation, by the names ``telnet``, ``ftp``, ``nntp``, ``smtp``.
    """

    tag: ClassVar = ("kind", "tcplib")
    interarrival: str | None = None
    conversation_cap: str | None = None
    size_multiplier: float | None = None
    mix: Mapping[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Cbr(Source):
    """Datagrams at a constant bit rate.

    Parameters
    ----------
    rate
        Rate on the wire, as ``"500 kbit/s"``.
    packet
        Size of a datagram on the wire, as ``"1000 bytes"``.
    jitter
        Share of a datagram's gap over which its time is uniformly spread, from 0 to 1.
    ecn
        ECN codepoint of the datagrams: ``"not-ect"``, ``"ect0"`` or ``"ect1"``.
    """

    tag: ClassVar = ("kind", "cbr")
    rate: str | None = None
    packet: str | None = None
    jitter: float | None = None
    ecn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Poisson(Source):
    """Datagrams of one size with exponential gaps.

    Parameters
    ----------
    rate
        Mean rate on the wire, as ``"500 kbit/s"``.
    packet
        Size of a datagram on the wire, as ``"1000 bytes"``.
    ecn
        ECN codepoint of the datagrams: ``"not-ect"``, ``"ect0"`` or ``"ect1"``.
    """

    tag: ClassVar = ("kind", "poisson")
    rate: str | None = None
    packet: str | None = None
    ecn: str | None = None


@dataclass(frozen=True, kw_only=True)
class OnOff(Source):
    """Datagrams of one size in exponential bursts with exponential pauses.

    Parameters
    ----------
    rate
        Rate on the wire within a burst, as ``"500 kbit/s"``.
    packet
        Size of a datagram on the wire, as ``"1000 bytes"``.
    on, off
        Mean length of a burst and of a pause, times. A burst is rounded to whole datagrams, at least one.
    ecn
        ECN codepoint of the datagrams: ``"not-ect"``, ``"ect0"`` or ``"ect1"``.
    """

    tag: ClassVar = ("kind", "onoff")
    rate: str | None = None
    packet: str | None = None
    on: str | None = None
    off: str | None = None
    ecn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Video(Source):
    """Synthetic video: a frame every fixed time, of random size with a heavy tail and a long memory [garrett1994 §4].

    Parameters
    ----------
    rate
        Mean rate on the wire, as ``"5 Mbit/s"``.
    frame_rate
        Frames per second.
    packet
        Largest datagram on the wire, as ``"1000 bytes"``.
    shape
        Shape of the gamma distribution of the body.
    tail, slope
        Share of the frames in the Pareto tail, above 0 and below 0.5, and the tail's slope.
    memory
        Fractional differencing, from 0 and below 0.5; the Hurst parameter is 1/2 more.
    smallest, largest
        Smallest and largest frame over the mean one.
    ecn
        ECN codepoint of the datagrams: ``"not-ect"``, ``"ect0"`` or ``"ect1"``.
    """

    tag: ClassVar = ("kind", "video")
    rate: str | None = None
    frame_rate: float | None = None
    packet: str | None = None
    shape: float | None = None
    tail: float | None = None
    slope: float | None = None
    memory: float | None = None
    smallest: float | None = None
    largest: float | None = None
    ecn: str | None = None


@dataclass(frozen=True, kw_only=True)
class Frames(Source):
    """Video frames of stated sizes at a constant frame rate; after the last frame, the sequence repeats.

    Parameters
    ----------
    sizes
        Size of every frame on the wire, as ``"1234 bytes"``.
    frame_rate
        Frames per second.
    packet
        Largest datagram on the wire, as ``"1000 bytes"``.
    start_frame
        Frame it starts with, counted from 0.
    ecn
        ECN codepoint of the datagrams: ``"not-ect"``, ``"ect0"`` or ``"ect1"``.
    """

    tag: ClassVar = ("kind", "frames")
    sizes: Sequence[str] | None = None
    frame_rate: float | None = None
    packet: str | None = None
    start_frame: int | None = None
    ecn: str | None = None
