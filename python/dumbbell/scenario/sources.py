"""Traffic sources of flows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.scenario.parts import Data, Part, one_of


class Source(Part):
    """A traffic source.

    Over TCP: `Greedy`, `Transfer`, `Tcplib`, and the workloads `Transfers`, `Web`, `Streaming`, `Incast`. As datagrams:
    `Cbr`, `Poisson`, `OnOff`, `Video`, `Frames`, `Media`.
    """


class Sizes(Part):
    """A distribution of the sizes of transfers, in bytes of payload.

    `FixedSizes`, `UniformSizes`, `ExponentialSizes`, `ParetoSizes`, `LognormalSizes`, `EmpiricalSizes`, and published
    ones: `WebSearchSizes`, `MiningSizes`, `HadoopSizes`, `CacheSizes`. A distribution may also be given by its name,
    as ``"websearch"``.
    """


class Arrivals(Part):
    """When transfers arrive: `PoissonArrivals`, `LoadArrivals`, `RegularArrivals` or `ClosedArrivals`."""


@dataclass(frozen=True, kw_only=True)
class FixedSizes(Sizes):
    """One size.

    Parameters
    ----------
    size
        The size, as ``"100 kB"``.
    """

    tag: ClassVar = ("kind", "fixed")
    size: str | None = None


@dataclass(frozen=True, kw_only=True)
class UniformSizes(Sizes):
    """Equally likely sizes between two bounds.

    Parameters
    ----------
    min, max
        Smallest and largest size.
    """

    tag: ClassVar = ("kind", "uniform")
    min: str | None = None
    max: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExponentialSizes(Sizes):
    """Exponential sizes.

    Parameters
    ----------
    mean
        Mean size.
    """

    tag: ClassVar = ("kind", "exponential")
    mean: str | None = None


@dataclass(frozen=True, kw_only=True)
class ParetoSizes(Sizes):
    """Sizes with a power law between two bounds.

    Parameters
    ----------
    min, max
        Smallest and largest size.
    shape
        Exponent of the tail; the smaller, the heavier.
    """

    tag: ClassVar = ("kind", "pareto")
    min: str | None = None
    max: str | None = None
    shape: float | None = None


@dataclass(frozen=True, kw_only=True)
class LognormalSizes(Sizes):
    """Sizes whose logarithm is normal.

    Parameters
    ----------
    median
        Median size; the mean is larger by the factor exp(sigma^2 / 2).
    sigma
        Standard deviation of the natural logarithm.
    """

    tag: ClassVar = ("kind", "lognormal")
    median: str | None = None
    sigma: float | None = None


@dataclass(frozen=True, kw_only=True)
class EmpiricalSizes(Sizes):
    """A cumulative distribution by points, with equally likely sizes between two points.

    Parameters
    ----------
    sizes
        Sizes of the points, ascending.
    shares
        Share of the transfers up to each size, ascending to 1.
    """

    tag: ClassVar = ("kind", "empirical")
    sizes: Sequence[str] | None = None
    shares: Sequence[float] | None = None


@dataclass(frozen=True, kw_only=True)
class WebSearchSizes(Sizes):
    """Flows of a web search cluster [alizadeh2010]: mean 1.67 MB, half below 71 kB.

    Parameters
    ----------
    scale
        Factor on all sizes, to fit them to slower links.
    """

    tag: ClassVar = ("kind", "websearch")
    scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class MiningSizes(Sizes):
    """Flows of a data mining cluster [greenberg2009]: mean 7.5 MB, half of one packet.

    Parameters
    ----------
    scale
        Factor on all sizes, to fit them to slower links.
    """

    tag: ClassVar = ("kind", "mining")
    scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class HadoopSizes(Sizes):
    """Flows of a Hadoop cluster of Facebook [roy2015]: mean 120 kB, half of at most 700 bytes.

    Parameters
    ----------
    scale
        Factor on all sizes, to fit them to slower links.
    """

    tag: ClassVar = ("kind", "hadoop")
    scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class CacheSizes(Sizes):
    """Flows of cache followers of Facebook [roy2015]: mean 0.9 MB, half of at most 19 kB.

    Parameters
    ----------
    scale
        Factor on all sizes, to fit them to slower links.
    """

    tag: ClassVar = ("kind", "cache")
    scale: float | None = None


@dataclass(frozen=True, kw_only=True)
class PoissonArrivals(Arrivals):
    """A Poisson process.

    Parameters
    ----------
    interval
        Mean time between two arrivals.
    """

    tag: ClassVar = ("kind", "poisson")
    interval: str | None = None


@dataclass(frozen=True, kw_only=True)
class LoadArrivals(Arrivals):
    """A Poisson process whose mean load is a share of a rate.

    Parameters
    ----------
    load
        Arrivals per second times the mean size, over `capacity`. Headers and retransmissions come on top.
    capacity
        Rate to which the load refers, as ``"10 Mbit/s"``.
    """

    tag: ClassVar = ("kind", "load")
    load: float | None = None
    capacity: str | None = None


@dataclass(frozen=True, kw_only=True)
class RegularArrivals(Arrivals):
    """One arrival per interval, the first one at the start of the flow.

    Parameters
    ----------
    interval
        Time between two arrivals.
    """

    tag: ClassVar = ("kind", "regular")
    interval: str | None = None


@dataclass(frozen=True, kw_only=True)
class ClosedArrivals(Arrivals):
    """Users that each pause after the end of a transfer before they begin the next one.

    Parameters
    ----------
    users
        Number of users.
    pause
        Mean of the exponential pause before every transfer.
    """

    tag: ClassVar = ("kind", "closed")
    users: int | None = None
    pause: str | None = None


_SIZES = one_of(
    [
        FixedSizes,
        UniformSizes,
        ExponentialSizes,
        ParetoSizes,
        LognormalSizes,
        EmpiricalSizes,
        WebSearchSizes,
        MiningSizes,
        HadoopSizes,
        CacheSizes,
    ]
)
_ARRIVALS = one_of([PoissonArrivals, LoadArrivals, RegularArrivals, ClosedArrivals])


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


@dataclass(frozen=True, kw_only=True)
class Media(Source):
    """Real-time media in datagrams whose rate adapts to loss and delay, in the manner of [carlucci2016].

    Parameters
    ----------
    rate, min, max
        Rate on the wire at the start, and its bounds, as ``"500 kbit/s"``.
    packet
        Size of a datagram on the wire, as ``"1200 bytes"``.
    interval, report
        Time between two reports of the receiver, and their size on the wire.
    threshold
        Queueing delay above which the rate decreases, a time.
    decrease
        Rate after a decrease over the rate received, above 0 and below 1.
    increase
        Factor of the increase in one second.
    high_loss, low_loss
        Share lost above which the rate decreases, and below which it increases.
    """

    tag: ClassVar = ("kind", "media")
    rate: str | None = None
    min: str | None = None
    max: str | None = None
    packet: str | None = None
    interval: str | None = None
    report: str | None = None
    threshold: str | None = None
    decrease: float | None = None
    increase: float | None = None
    high_loss: float | None = None
    low_loss: float | None = None


@dataclass(frozen=True, kw_only=True)
class Transfers(Source):
    """Transfers that arrive over time, each on its own TCP connection.

    Parameters
    ----------
    arrivals
        When they arrive; the default is a Poisson process.
    sizes
        Their sizes: a `Sizes`, or a name such as ``"websearch"``.
    count
        Number of transfers; the default is no limit.
    most_open
        Transfers in progress at the same time; a further arrival is refused, and counted in ``transfers_refused``.
    """

    tag: ClassVar = ("kind", "transfers")
    readers: ClassVar = {"arrivals": _ARRIVALS, "sizes": _SIZES}
    arrivals: str | Arrivals | Data | None = None
    sizes: str | Sizes | Data | None = None
    count: int | None = None
    most_open: int | None = None


@dataclass(frozen=True, kw_only=True)
class Web(Source):
    """Web pages: a document, its objects over several persistent connections, and a pause of the user.

    Parameters
    ----------
    document
        Size of the document that begins a page.
    objects
        Number of further objects of a page.
    sizes
        Sizes of these objects.
    connections
        Number of connections that a page uses at most.
    pause
        Mean of the exponential pause between two pages.
    count
        Number of pages; the default is no limit.
    """

    tag: ClassVar = ("kind", "web")
    readers: ClassVar = {"document": _SIZES, "sizes": _SIZES}
    document: str | Sizes | Data | None = None
    objects: int | None = None
    sizes: str | Sizes | Data | None = None
    connections: int | None = None
    pause: str | None = None
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class Streaming(Source):
    """Adaptive video in segments over one TCP connection; the buffer determines the bitrate [huang2014].

    Parameters
    ----------
    bitrates
        Bitrates of the video, ascending, as ``"750 kbit/s"``.
    segment
        Duration of a segment.
    reservoir, cushion
        Buffer below which the lowest bitrate is chosen, and the buffer beyond it over which the bitrate rises to the
        highest.
    buffer
        Largest buffer, a time.
    startup
        Buffer with which playback begins, at the start and after a stall.
    count
        Number of segments; the default is no limit.
    """

    tag: ClassVar = ("kind", "streaming")
    bitrates: Sequence[str] | None = None
    segment: str | None = None
    reservoir: str | None = None
    cushion: str | None = None
    buffer: str | None = None
    startup: str | None = None
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class Incast(Source):
    """Requests that many senders answer at the same time, each over its own connection of the flow.

    Parameters
    ----------
    senders
        Number of senders.
    sizes
        Sizes of the answers.
    pause
        Time from the end of a request to the next one.
    persistent
        Whether connections are kept from one request to the next.
    count
        Number of requests; the default is no limit.
    """

    tag: ClassVar = ("kind", "incast")
    readers: ClassVar = {"sizes": _SIZES}
    senders: int | None = None
    sizes: str | Sizes | Data | None = None
    pause: str | None = None
    persistent: bool | None = None
    count: int | None = None
