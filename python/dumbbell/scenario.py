"""Scenarios as data, and typed builders over it.

A `Scenario` is what every door of the laboratory takes: nodes, unidirectional links, flows, a duration, a
measurement window and probes. Its one schema is owned by the engine; the classes here only spell it with
types and documentation. A field that is left out (``None``) takes the engine's default, which ``dumbbell
list`` and ``dumbbell schema`` show.

Every quantity is written with its unit: times as ``"20 ms"``, rates as ``"1.6 Mbit/s"``, sizes as ``"1
MiB"``, ``"10 packets"`` or ``"2 segments"``. Wherever a builder is taken, the plain mapping of the same
form is taken too, so a component the engine knows and this file does not can still be named. A component
with all its defaults may be named by its name alone: ``queue="droptail"``.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import tomli_w

from dumbbell import _engine, addressing
from dumbbell.errors import refusal

__all__ = [
    "Bernoulli",
    "BsdTimer",
    "Cbr",
    "Congestion",
    "DelayedAck",
    "DropTail",
    "Flow",
    "Forced",
    "Greedy",
    "Impairment",
    "Link",
    "Node",
    "Part",
    "Poisson",
    "Probe",
    "Queue",
    "Rfc6298Timer",
    "Scenario",
    "Source",
    "Tcp",
    "Tcplib",
    "Timer",
    "Transfer",
    "Uniform",
    "Vegas",
]

Data = Mapping[str, Any]
Reader = Callable[[Any], Any]

# A scenario file is a few kilobytes; the bound keeps a device or a capture given by mistake from filling
# the memory.
LARGEST_FILE_BYTES = 64 * 1024 * 1024


def _plain(value: Any, path: str) -> Any:
    """Return `value` as the plain data TOML and JSON share; `path` names it in an error."""
    if isinstance(value, Part):
        return value.to_dict()
    for kind in (bool, int, str):
        if isinstance(value, kind):
            # Subclasses, as NumPy has them, become the plain type.
            return kind(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refusal(path, float(value), "a finite number")
        return float(value)
    if isinstance(value, Mapping):
        # What is None is not stated, as in the builders.
        return {
            str(key): _plain(item, f"{path}.{key}" if path else str(key))
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if callable(getattr(value, "item", None)):
        # A number out of a NumPy array or a pandas column.
        return _plain(value.item(), path)
    raise refusal(path, value, "text, a number, true or false, a list or a table")


def _one_of(classes: Sequence[type[Part]], tag: str = "kind") -> Reader:
    """Return the reader of a table whose `tag` names the class it stands for."""
    by_name = {cls.tag[1]: cls for cls in classes if cls.tag is not None}

    def read(value: Any) -> Any:
        cls = by_name.get(str(value.get(tag))) if isinstance(value, Mapping) else None
        if cls is None:
            return value
        return cls.from_dict({key: item for key, item in value.items() if key != tag})

    return read


def _each(reader: Reader) -> Reader:
    """Return the reader of a list of what `reader` reads."""
    return lambda value: tuple(reader(item) for item in value) if isinstance(value, list | tuple) else value


def _table(cls: type[Part]) -> Reader:
    """Return the reader of a table that may also be written in a short form, which is kept as it is."""
    return lambda value: cls.from_dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a scenario: frozen, keyword-only, its fields spelled as the engine's schema spells them.

    A trailing underscore in a field's name only avoids a word of Python: `from_` is ``from`` in the schema.
    """

    tag: ClassVar[tuple[str, str] | None] = None
    """The field and value that name the class in a table, as ``("kind", "droptail")``."""

    readers: ClassVar[Mapping[str, Reader]] = {}
    """How the fields are read that are parts themselves."""

    def __post_init__(self) -> None:
        # Lists become tuples, so that a frozen part cannot change through one of its fields.
        for item in fields(self):
            value = getattr(self, item.name) if item.init else None
            if isinstance(value, list):
                object.__setattr__(self, item.name, tuple(value))

    @classmethod
    def schema_fields(cls) -> tuple[str, ...]:
        """Return the names of the fields as the schema spells them."""
        return tuple(item.name.rstrip("_") for item in fields(cls) if item.init)

    @classmethod
    def from_dict(cls, data: Data) -> Self:
        """Return the part a plain table describes.

        Parameters
        ----------
        data
            The table, without the field of `tag`.

        Raises
        ------
        ScenarioError
            A field is not one of this class.
        """
        names = {item.name.rstrip("_"): item.name for item in fields(cls) if item.init}
        values: dict[str, Any] = {}
        for key, value in data.items():
            if key not in names:
                raise refusal(
                    key, value, ", ".join(names), names=names, problem=f"is no field of {cls.__name__}"
                )
            reader = cls.readers.get(names[key])
            values[names[key]] = reader(value) if reader is not None else value
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the plain table of the part: only what was stated, no defaults."""
        data: dict[str, Any] = {} if self.tag is None else {self.tag[0]: self.tag[1]}
        for item in fields(self):
            value = getattr(self, item.name) if item.init else None
            if value is not None:
                name = item.name.rstrip("_")
                data[name] = _plain(value, name)
        return data


@dataclass(frozen=True, kw_only=True)
class Node(Part):
    """A host or router.

    Parameters
    ----------
    name
        The node's name, unique among nodes.
    tick_phase
        Phase of the node's coarse clock: ``"random"`` (uniform over one tick, drawn per run) or a time.
    """

    name: str
    tick_phase: str | None = None


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
    """Something that loses packets on purpose; `Forced` and `Bernoulli` are two."""


@dataclass(frozen=True, kw_only=True)
class Forced(Impairment):
    """Drop stated data packets.

    Parameters
    ----------
    packets
        Which data packets to drop, counted from 1 as they enter the link.
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
    """

    readers: ClassVar = {}
    name: str
    from_: str
    to: str
    rate: str
    delay: str
    queue: str | Queue | Data | None = None
    impairments: Sequence[str | Impairment | Data] | None = None


class Source(Part):
    """What a flow has to send: `Greedy`, `Transfer`, `Tcplib`, `Cbr`, `Poisson`."""


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
    """Conversations of tcplib (TELNET, FTP, NNTP, SMTP) with Poisson arrivals, each its own TCP connection.

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
    """

    tag: ClassVar = ("kind", "cbr")
    rate: str | None = None
    packet: str | None = None


@dataclass(frozen=True, kw_only=True)
class Poisson(Source):
    """Datagrams of one size with exponential gaps.

    Parameters
    ----------
    rate
        Mean rate on the wire, as ``"500 kbit/s"``.
    packet
        Size of a datagram on the wire, as ``"1000 bytes"``.
    """

    tag: ClassVar = ("kind", "poisson")
    rate: str | None = None
    packet: str | None = None


class Timer(Part):
    """A retransmission timer; `BsdTimer` and `Rfc6298Timer` are two."""


@dataclass(frozen=True, kw_only=True)
class BsdTimer(Timer):
    """The coarse-tick estimator of BSD.

    Parameters
    ----------
    tick
        Period of the coarse clock.
    precision_fix
        Whether the two extra bits of precision of Brakmo and Peterson are kept.
    variation
        Multiple of the RTT variation in the timeout, 2 or 4.
    min_ticks, max_ticks
        Smallest and largest timeout, in ticks.
    initial
        Timeout before the first RTT sample, a time.
    """

    tag: ClassVar = ("kind", "bsd")
    tick: str | None = None
    precision_fix: bool | None = None
    variation: int | None = None
    min_ticks: int | None = None
    max_ticks: int | None = None
    initial: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rfc6298Timer(Timer):
    """The estimator of RFC 6298.

    Parameters
    ----------
    granularity
        Granularity of the clock, a time.
    whole_ticks
        Whether samples are whole ticks of the granularity, at least one, as in ns-2.
    minimum, maximum
        Bounds of the timeout, times.
    initial
        Timeout before the first RTT sample, a time.
    """

    tag: ClassVar = ("kind", "rfc6298")
    granularity: str | None = None
    whole_ticks: bool | None = None
    minimum: str | None = None
    maximum: str | None = None
    initial: str | None = None


@dataclass(frozen=True, kw_only=True)
class DelayedAck(Part):
    """Delayed acknowledgement.

    Parameters
    ----------
    segments
        An acknowledgement is sent at the latest after this many segments.
    timer
        An acknowledgement is sent at the latest after this time; the period of the fast clock if `on_tick`.
    on_tick
        Whether the delay ends with the host's next fast tick, as in BSD.
    """

    segments: int | None = None
    timer: str | None = None
    on_tick: bool | None = None


class Congestion(Part):
    """A congestion control with parameters, as `Vegas`. One without is named by its name alone."""


@dataclass(frozen=True, kw_only=True)
class Vegas(Congestion):
    """Vegas, released or corrected.

    Parameters
    ----------
    alpha, beta
        Bounds of the data kept queued in congestion avoidance, in segments, ``alpha <= beta``.
    gamma
        Bound of the data queued at which slow start ends, in segments.
    round_diff
        Whether the difference is rounded to whole segments.
    rtt
        Which RTT stands for the last round trip: ``"mean"``, ``"newest"`` or ``"minimum"``.
    numerator
        Which window the expected rate is computed from: ``"in-transit"``, ``"cwnd"`` or ``"ns2"``.
    fix_timeout, fix_base_rtt, fix_invariant
        The three corrections of [hengartner2000]; all on is the corrected Vegas, all off the released one.
    """

    tag: ClassVar = ("name", "vegas")
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    round_diff: bool | None = None
    rtt: str | None = None
    numerator: str | None = None
    fix_timeout: bool | None = None
    fix_base_rtt: bool | None = None
    fix_invariant: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Tcp(Part):
    """How a flow's sender and receiver behave.

    Parameters
    ----------
    variant
        A preset of congestion control and recovery: ``"tahoe"``, ``"reno"``, ``"newreno"``, ``"sack"``,
        ``"vegas"``.
    rules
        Base defaults of all other fields: ``"rfc"``, ``"bsd"`` or ``"ns2"``.
    congestion
        Congestion control: a name, or a builder such as `Vegas`.
    recovery
        Loss recovery: ``"tahoe"``, ``"reno"``, ``"newreno"`` or ``"sack"``.
    mss
        Payload of a full segment, a size.
    header, ack_size
        Bytes of headers around the payload, and of a pure acknowledgement, on the wire.
    initial_window, loss_window
        Window at the start, and after a timeout: sizes, as ``"2 segments"``.
    initial_ssthresh
        Slow-start threshold at the start, a size or ``"unlimited"``.
    receive_buffer, send_buffer
        Buffers of the receiver and the sender, sizes.
    timer
        Retransmission timer.
    timestamps
        Whether segments carry timestamps, which lets every acknowledgement give an RTT sample.
    delayed_ack
        ``"off"`` or a `DelayedAck`.
    limited_transmit
        Whether the first two duplicate acknowledgements release new segments.
    deflation_fix
        Whether the window is also deflated on leaving a recovery that saw exactly three duplicate
        acknowledgements.
    partial_ack
        The retransmission timer on partial acknowledgements: ``"impatient"`` or ``"slow-but-steady"``.
    careful
        Whether duplicate acknowledgements of data sent again after a timeout cause no fast retransmit.
    recovery_burst
        Most segments an acknowledgement releases during recovery; 0 for no bound.
    rescue
        Whether a recovery with SACK may send its newest segment again once, when nothing else may go.
    handshake
        Whether the connection opens with a three-way handshake.
    idle_restart
        Whether the window restarts after an idle period.
    window_growth
        How the window grows in congestion avoidance: in real numbers or in whole bytes, as ``"real"``.
    halving
        What is halved at a loss, as ``"flight"``.
    slow_start_at_ssthresh
        Whether a window equal to its threshold is still in slow start.
    extra_eighth
        Whether congestion avoidance adds an eighth of a segment per acknowledgement, as BSD did until 1994.
    mechanisms
        Which of Vegas's mechanisms A to J are on: their letters, as ``"ABCDEFG"``, or a table of switches.
    check_both
        Whether mechanism D checks both acknowledgements after a retransmission.
    """

    readers: ClassVar = {}
    variant: str | None = None
    rules: str | None = None
    congestion: str | Congestion | Data | None = None
    recovery: str | None = None
    mss: str | None = None
    header: str | None = None
    ack_size: str | None = None
    initial_window: str | None = None
    loss_window: str | None = None
    initial_ssthresh: str | None = None
    receive_buffer: str | None = None
    send_buffer: str | None = None
    timer: str | Timer | Data | None = None
    timestamps: bool | None = None
    delayed_ack: str | DelayedAck | None = None
    limited_transmit: bool | None = None
    deflation_fix: bool | None = None
    partial_ack: str | None = None
    careful: bool | None = None
    recovery_burst: int | None = None
    rescue: bool | None = None
    handshake: bool | None = None
    idle_restart: bool | None = None
    window_growth: str | None = None
    halving: str | None = None
    slow_start_at_ssthresh: bool | None = None
    extra_eighth: bool | None = None
    mechanisms: str | Mapping[str, bool] | None = None
    check_both: bool | None = None


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
class Flow(Part):
    """A flow from one host to another.

    Parameters
    ----------
    name
        The flow's name, unique among flows.
    from_, to
        Names of the nodes it goes between.
    source
        What it has to send; without one it always has data.
    tcp
        A variant's name or a `Tcp`; absent for a source of datagrams.
    path, reverse_path
        Names of the links the data and the acknowledgements take; the default is the shortest path in hops.
    start
        When it starts: a time, or a `Uniform`.
    stop
        When it stops sending, a time after `start`.
    """

    readers: ClassVar = {}
    name: str
    from_: str
    to: str
    source: str | Source | Data | None = None
    tcp: str | Tcp | None = None
    path: Sequence[str] | None = None
    reverse_path: Sequence[str] | None = None
    start: str | Uniform | None = None
    stop: str | None = None


@dataclass(frozen=True, kw_only=True)
class Probe(Part):
    """Records quantities over time.

    Parameters
    ----------
    quantities
        Of flows: ``cwnd``, ``ssthresh``, ``flight_size``, ``srtt``, ``rto``, ``base_rtt``, ``vegas_diff``,
        ``alpha``, ``bandwidth``, ``seq_sent``, ``seq_acked``; of links: ``backlog``, ``drops``.
    flows, links
        Names of what is observed; ``*`` for all.
    period
        Sampling period, a time; without it every change is recorded.
    """

    quantities: Sequence[str]
    flows: Sequence[str] | None = None
    links: Sequence[str] | None = None
    period: str | None = None


Link.readers = {"queue": _one_of([DropTail]), "impairments": _each(_one_of([Forced, Bernoulli]))}
Tcp.readers = {
    "congestion": _one_of([Vegas], "name"),
    "timer": _one_of([BsdTimer, Rfc6298Timer]),
    "delayed_ack": _table(DelayedAck),
}
Flow.readers = {
    "source": _one_of([Greedy, Transfer, Tcplib, Cbr, Poisson]),
    "tcp": _table(Tcp),
    "start": _table(Uniform),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario(Part):
    """A valid scenario.

    It is checked by the engine when it is made, so a `Scenario` that exists can be run. Two scenarios are
    equal when they mean the same, however they were written.

    Parameters
    ----------
    name
        What people call it.
    duration
        Upper bound of simulated time.
    nodes
        Hosts and routers; a name alone is a node with default settings.
    links
        Unidirectional links.
    flows
        Flows.
    probes
        What is recorded over time.
    stop_when_complete
        Names of flows; the run ends as soon as all of them have completed.
    measure_from, measure_until
        The measurement window, times from the start of the run; the default is the whole run.

    Raises
    ------
    ScenarioError
        A field, a unit, a value or a reference between parts is not accepted.
    """

    readers: ClassVar = {
        "nodes": _each(_table(Node)),
        "links": _each(_table(Link)),
        "flows": _each(_table(Flow)),
        "probes": _each(_table(Probe)),
    }
    name: str | None = None
    duration: str
    nodes: Sequence[Node | str | Data]
    links: Sequence[Link | Data]
    flows: Sequence[Flow | Data]
    probes: Sequence[Probe | Data] | None = None
    stop_when_complete: Sequence[str] | None = None
    measure_from: str | None = None
    measure_until: str | None = None
    canonical_json: str = field(init=False, repr=False)
    """The engine's canonical JSON text: every default stated, every unit in its base form."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "canonical_json", _normalize(self.to_dict()))

    def __eq__(self, other: object) -> bool:
        return self.canonical_json == other.canonical_json if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.canonical_json)

    @classmethod
    def from_dict(cls, data: Data) -> Self:
        """Return the scenario that plain data describes, as `to_dict` writes it.

        Raises
        ------
        ScenarioError
            The data is not a valid scenario.
        """
        if not isinstance(data, Mapping):
            raise refusal("scenario", data, "a table of fields")
        # The engine speaks first: its errors name the whole path of a field and a near miss.
        plain = _plain(data, "")
        _normalize(plain)
        return super().from_dict(plain)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a scenario from a TOML file.

        Raises
        ------
        ScenarioError
            The file is not TOML, or not a valid scenario.
        OSError
            The file cannot be read.
        """
        text = _read_text(Path(path))
        _engine.normalize(text, "toml")
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise refusal(
                str(path), str(error), "a TOML document", problem="stopped the reading", quoted=False
            ) from None
        return cls.from_dict(data)

    @classmethod
    def from_json(cls, path: str | Path) -> Self:
        """Read a scenario from a JSON file.

        Raises
        ------
        ScenarioError
            The file is not JSON, or not a valid scenario.
        OSError
            The file cannot be read.
        """
        text = _read_text(Path(path))
        _engine.normalize(text, "json")
        try:
            data = json.loads(text)
        except ValueError as error:
            raise refusal(
                str(path), str(error), "a JSON document", problem="stopped the reading", quoted=False
            ) from None
        return cls.from_dict(data)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a scenario from a file: JSON if its name ends in ``.json``, TOML otherwise.

        Raises
        ------
        ScenarioError
            The file is neither, or not a valid scenario.
        OSError
            The file cannot be read.
        """
        return cls.from_json(path) if Path(path).suffix.lower() == ".json" else cls.from_toml(path)

    def to_toml(self) -> str:
        """Return the scenario as a TOML document: what was stated, no defaults."""
        return tomli_w.dumps(self.to_dict())

    def to_json(self) -> str:
        """Return the scenario as a JSON document: what was stated, no defaults."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of the canonical form: equal for scenarios that mean the same."""
        return _engine.scenario_hash(self.canonical_json)

    def resolved(self) -> dict[str, Any]:
        """Return the scenario as plain data with every default stated; what has no default is left out."""
        return cast(dict[str, Any], _plain(json.loads(self.canonical_json), ""))

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the scenario with some values changed.

        Parameters
        ----------
        values
            New values by address. An address is a path of fields joined by dots; items of a list are
            addressed by their name, by their index from 0, or all at once by ``*``: ``links.r1-r2.delay``,
            ``probes.0.period``, ``flows.*.tcp.mechanisms.A``. ``None`` takes a field out, so that its
            default applies. A short form on the way (``tcp = "vegas"``, ``mechanisms = "ABC"``) is written
            out first.

        Raises
        ------
        ScenarioError
            An address leads nowhere, or the changed scenario is not valid.

        Examples
        --------
        >>> from dumbbell import Flow, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
        >>> vegas = Flow(name="fg", from_="s1", to="d1", tcp="vegas")
        >>> scenario = shape.scenario(duration="10 s", flows=[vegas])
        >>> changed = scenario.with_values({"links.r1-r2.delay": "20 ms", "flows.fg.tcp.mechanisms.B": False})
        >>> changed.resolved()["flows"][0]["tcp"]["mechanisms"]["B"]
        False
        """
        data = self.to_dict()
        resolved = self.resolved()
        for address, value in values.items():
            addressing.set_value(data, address, None if value is None else _plain(value, address), resolved)
        return type(self).from_dict(data)


def _normalize(data: dict[str, Any]) -> str:
    return _engine.normalize(json.dumps(data), "json")


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE_BYTES + 1)
    accepted = "a scenario as TOML or JSON text in UTF-8"
    if len(content) > LARGEST_FILE_BYTES:
        size = f"more than {LARGEST_FILE_BYTES} bytes"
        raise refusal(str(path), size, accepted, problem="are too many for a scenario", quoted=False)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise refusal(str(path), f"{len(content)} bytes", accepted, problem="are not text", quoted=False)
    return text
