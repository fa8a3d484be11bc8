"""The classes of `dumbbell.scenario.builders`, made from the engine's schema, each when it is first used.

A class has the fields that the schema declares at its place, with their types, defaults and descriptions. What the schema
does not know is stated here: the name of each class, and what its instances accept beyond plain data.
`dumbbell.scenario.stub` writes the same classes for type checkers and editors.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from dataclasses import field, make_dataclass
from functools import cache, partial
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

from dumbbell.engine import catalogue, schema
from dumbbell.parts import Data, External, Part
from dumbbell.transports import Transport

MODULE = "dumbbell.scenario.builders"
"""The module that has the classes, for pickles."""


class FlowPart(Part):
    """A flow; a congestion control given as its ``tcp`` stands for a `Tcp` that has it, a `Transport` for its transport."""

    def __post_init__(self) -> None:
        super().__post_init__()
        tcp = self.__dict__["tcp"]
        if isinstance(tcp, Transport) and self.__dict__["transport"] is None:
            self.__dict__.update(tcp=None, transport=tcp)
            return
        if isinstance(tcp, External):
            self.__dict__["tcp"] = part("Tcp")(external=tcp)
        elif isinstance(tcp, family("Congestion")):
            self.__dict__["tcp"] = part("Tcp")(congestion=tcp)


class TcpPart(Part):
    """Rules of TCP; a control given as ``external`` stands for what it states."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.__dict__["external"], External):
            self.__dict__["external"] = self.__dict__["external"].stated()


class Declared(NamedTuple):
    """A class of parts that the schema has at one place.

    Parameters
    ----------
    place
        Fields on the way from a scenario to the part, joined by dots.
    about
        The first sentence of its documentation.
    base
        The class that it derives from.
    """

    place: str
    about: str
    base: type[Part] = Part


class Family(NamedTuple):
    """Alternatives of the schema at the same places, one class for each kind.

    Parameters
    ----------
    places
        As that of a `Declared`.
    about
        The documentation of their base class.
    irregular
        The names of classes by kind that differ from the name of the kind, in capitals and with `suffix`.
    suffix
        What the names of all classes end with.
    tag
        The field that names the kind.
    registry
        The part of the catalogue with summaries of the kinds, if they are not those of the schema.
    """

    places: tuple[str, ...]
    about: str
    irregular: Mapping[str, str] = MappingProxyType({})
    suffix: str = ""
    tag: str = "kind"
    registry: str | None = None

    def class_name(self, kind: str) -> str:
        """Return the name of the class of a kind."""
        return self.irregular.get(kind, kind.capitalize() + self.suffix)


PARTS = {
    "Node": Declared("nodes", "A host or router."),
    "Link": Declared("links", "A unidirectional link with a queue before it."),
    "LinkChange": Declared("links.changes", "A change of a link while the simulation runs."),
    "Outage": Declared("links.outages", "A time in which a link is down."),
    "Wifi": Declared("links.wifi", "Aggregation of packets and half-duplex medium access, as on Wi-Fi."),
    "Opportunities": Declared(
        "links.opportunities",
        "Delivery opportunities of a link in place of its rate, repeated for as long as the run lasts.\n\n"
        "`dumbbell.traffic.opportunities_from_file` reads them from a trace of Mahimahi.",
    ),
    "Flow": Declared("flows", "A flow from one host to another.", FlowPart),
    "Uniform": Declared("flows.start", "A time drawn uniformly, once a run."),
    "Restart": Declared("flows.restarts", "A time in which a flow runs again."),
    "Reroute": Declared("flows.reroutes", "A change of a flow's path."),
    "Messages": Declared(
        "flows.messages", "Limits of what a source of datagrams writes over TCP or another transport."
    ),
    "Tcp": Declared(
        "flows.tcp",
        "How a flow's sender and receiver behave.\n\n"
        "In a field that is a table, omitted members keep the values of `rules` and `variant`.",
        TcpPart,
    ),
    "WindowRules": Declared("flows.tcp.window", "How a congestion window grows and is reduced."),
    "Headers": Declared("flows.tcp.headers", "Bytes that headers add on the wire."),
    "Pacing": Declared(
        "flows.tcp.pacing", "Pacing of a window whose congestion control has no rate of its own."
    ),
    "DelayedAck": Declared("flows.tcp.delayed_ack", "Delayed acknowledgement."),
    "Reading": Declared("flows.tcp.reading", "How the application of a receiver reads."),
    "Probe": Declared("probes", "Records quantities over time."),
}

FAMILIES = {
    "Queue": Family(
        ("links.queue",),
        "A queue discipline. It may also be given by its name, or as a table with its name as ``kind``.",
        {
            "droptail": "DropTail",
            "codel": "CoDel",
            "fqcodel": "FqCoDel",
            "fqpie": "FqPie",
            "dualpi2": "DualPi2",
            "tokenbucket": "TokenBucket",
        },
    ),
    "Impairment": Family(
        ("links.impairments",),
        "What happens to packets on a link besides queueing: losses, delays, reordering and duplicates.",
        {"twostate": "TwoState", "corrloss": "CorrelatedLoss"},
    ),
    "SyntheticLink": Family(
        ("links.trace",),
        "A synthetic link that changes by itself.\n\n"
        "It determines rate, delay and losses; its delay is in addition to that of the link. With a ``seed``, it is the\n"
        "same in every run.",
        {"mmwave": "MmWave"},
    ),
    "Source": Family(
        ("flows.source",),
        "A traffic source.\n\n"
        "Over TCP: `Greedy`, `Transfer`, `Tcplib`, and the workloads `Transfers`, `Web`, `Streaming`, `Incast`. As\n"
        "datagrams: `Cbr`, `Poisson`, `OnOff`, `Video`, `Frames`, `Media`, `Ping`.",
        {"onoff": "OnOff"},
    ),
    "Sizes": Family(
        ("flows.source.sizes", "flows.source.document"),
        "A distribution of the sizes of transfers, in bytes of payload. It may also be given by its name, as\n"
        '``"websearch"``.',
        {"websearch": "WebSearchSizes"},
        "Sizes",
    ),
    "Arrivals": Family(("flows.source.arrivals",), "When transfers arrive.", suffix="Arrivals"),
    "Timer": Family(("flows.tcp.timer",), "A retransmission timer.", suffix="Timer"),
    "Recovery": Family(
        ("flows.tcp.recovery",),
        "A loss recovery with parameters. One without is named by its name alone.",
        {
            "newreno": "NewRenoRecovery",
            "ns2sack": "Ns2SackRecovery",
            "ns2vegas": "Ns2VegasRecovery",
            "ns3sack": "Ns3SackRecovery",
        },
        "Recovery",
    ),
    "Congestion": Family(
        ("flows.tcp.congestion",),
        "A congestion control with parameters. One without is named by its name alone.",
        {
            "newvegas": "NewVegas",
            "vegasa": "VegasA",
            "vegasl": "VegasLinux",
            "nsvegas": "NsVegas",
            "westwoodl": "WestwoodLinux",
            "westwoodp": "WestwoodPlus",
            "rovegas": "RoVegas",
            "highspeed": "HighSpeed",
            "ledbatpp": "LedbatPlusPlus",
        },
        tag="name",
        registry="algorithms",
    ),
}

_PART_AT = {declared.place: name for name, declared in PARTS.items()}
_FAMILY_AT = {place: name for name, found in FAMILIES.items() for place in found.places}


@cache
def kinds() -> dict[str, tuple[str, str]]:
    """Return the family and the kind of each class of a kind, by its name."""
    return {
        found.class_name(kind): (name, kind)
        for name, found in FAMILIES.items()
        for table in _tables(_at(found.places[0]))
        if (kind := table["properties"].get(found.tag, {}).get("const")) is not None
    }


@cache
def names() -> frozenset[str]:
    """Return the names of all classes."""
    return frozenset([*PARTS, *FAMILIES, *kinds()])


def family(name: str) -> type[Part]:
    """Return the base class of a family."""
    with _MAKING:
        return _family(name)


def part(name: str) -> type[Any]:
    """Return a class of parts."""
    with _MAKING:
        return _part(name)


def class_of(name: str) -> type[Part]:
    """Return the class with this name."""
    return family(name) if name in FAMILIES else part(name)


_MAKING = RLock()
"""Held while a class is made, so that there is one of each name."""


@cache
def _family(name: str) -> type[Part]:
    return type(name, (Part,), {"__doc__": FAMILIES[name].about, "__module__": MODULE})


@cache
def _part(name: str) -> type[Any]:
    declared = PARTS.get(name)
    tag = None if declared is not None else tag_of(name)
    base = declared.base if declared is not None else family(kinds()[name][0])
    members = members_of(name)
    place = place_of(name)
    cls = make_dataclass(
        name,
        [
            (member.attribute, Any) if member.required else (member.attribute, Any, field(default=None))
            for member in members
        ],
        bases=(base,),
        namespace={
            "__doc__": documentation(name),
            "tag": tag,
            "readers": {
                member.attribute: partial(read, inner)
                for member in members
                if class_at(inner := f"{place}.{member.name}") is not None
            },
        },
        frozen=True,
        kw_only=True,
    )
    cls.__module__ = MODULE
    return cls


def read(place: str, value: Any) -> Any:
    """Return the part, or the list of parts, that plain data at a place of a scenario describes.

    Parameters
    ----------
    place
        As that of a `Declared`.
    value
        The data; a short form, which is no table, is returned unchanged.

    Raises
    ------
    ScenarioError
        A part does not have a field that is stated.
    """
    if isinstance(value, list | tuple):
        return tuple(read(place, item) for item in value)
    if not isinstance(value, Mapping):
        return value
    if place in _PART_AT:
        return part(_PART_AT[place]).from_dict(value)
    found = FAMILIES[_FAMILY_AT[place]]
    name = found.class_name(str(value.get(found.tag)))
    if name not in kinds():
        return value
    return part(name).from_dict({key: item for key, item in value.items() if key != found.tag})


class Member(NamedTuple):
    """A field of a class: its name in the schema and in Python, what the schema says, and whether it must be given."""

    name: str
    attribute: str
    schema: Mapping[str, Any]
    required: bool


def tag_of(name: str) -> tuple[str, str] | None:
    """Return the field and the value that name the kind of a class in a table."""
    if name in PARTS:
        return None
    of, kind = kinds()[name]
    return FAMILIES[of].tag, kind


def place_of(name: str) -> str:
    """Return the place of a class in a scenario; see `Declared.place`."""
    return PARTS[name].place if name in PARTS else FAMILIES[kinds()[name][0]].places[0]


def class_at(place: str) -> str | None:
    """Return the name of the class, or of the base class of a family, at a place of a scenario."""
    return _PART_AT.get(place) or _FAMILY_AT.get(place)


def base_of(name: str) -> str:
    """Return the name of the base class of a class, as users know it."""
    return "Part" if name in PARTS else kinds()[name][0]


def members_of(name: str) -> list[Member]:
    """Return the fields of a class in the order of the schema; those of a kind have defaults, which the engine knows."""
    found, tag = _table(name), tag_of(name)
    required = set(found["required"]) if tag is None else set()
    return [
        Member(member, f"{member}_" if keyword.iskeyword(member) else member, node, member in required)
        for member, node in found["properties"].items()
        if tag is None or member != tag[0]
    ]


def documentation(name: str) -> str:
    """Return the docstring of a class."""
    about, members = _summary(name), members_of(name)
    if not members:
        return about
    lines = [f"{member.attribute}\n    {_about(member)}" for member in members]
    return "\n".join([about, "", "Parameters", "----------", *lines])


def _summary(name: str) -> str:
    if name in PARTS:
        return PARTS[name].about
    of, kind = kinds()[name]
    registry = FAMILIES[of].registry
    if registry is None:
        return str(_table(name)["description"])
    return next(str(entry["summary"]) for entry in catalogue()[registry] if entry["name"] == kind)


def _about(member: Member) -> str:
    text = str(member.schema.get("description", ""))
    default = member.schema.get("default")
    if isinstance(default, str | int | float) and default != "":
        shown = str(default).lower() if isinstance(default, bool) else default
        text += f" Default: {shown}."
    source = member.schema.get("x-source", "-")
    return text if source == "-" else f"{text} {source}"


@cache
def _schema() -> Data:
    return schema()


def _table(name: str) -> Data:
    """Return the table of the schema that a class is made from."""
    tag = tag_of(name)
    tables = _tables(_at(place_of(name)))
    if tag is None:
        return next(tables)
    return next(table for table in tables if table["properties"].get(tag[0], {}).get("const") == tag[1])


def _at(place: str) -> Data:
    """Return what the schema says at a place."""
    node: Data = _schema()
    for step in place.split("."):
        node = next(table["properties"][step] for table in _tables(node) if step in table["properties"])
    return node


def _tables(node: Data) -> Iterator[Data]:
    """Yield the tables that a node of the schema accepts, alone or in a list."""
    if "properties" in node:
        yield node
    for inner in (*node.get("anyOf", ()), *([node["items"]] if "items" in node else ())):
        yield from _tables(inner)
