"""Scenarios as data, and typed builders over it.

A `Scenario` is the input of every simulation: nodes, unidirectional links, flows, a duration, a measurement window
and probes. The engine owns its schema; the classes here add types and documentation. An omitted field (``None``)
has the engine's default, shown by ``dumbbell list`` and ``dumbbell schema``.

Every quantity is written with its unit: times as ``"20 ms"``, rates as ``"1.6 Mbit/s"``, sizes as ``"1
MiB"``, ``"10 packets"`` or ``"2 segments"``. The limit of a queue may also be a time or a multiple of the
bandwidth-delay product, as ``"50 ms"`` or ``"0.5 BDP"``. Wherever a builder is accepted, a plain mapping of the same form is
accepted too, so components known only to the engine can be used. A component with all its defaults may be given by
name: ``queue="droptail"``.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

from dumbbell import _engine, addressing
from dumbbell.arguments import file_path
from dumbbell.errors import ScenarioError, refusal
from dumbbell.external import canonical, with_controls
from dumbbell.files import read_input
from dumbbell.parts import Data as Data
from dumbbell.parts import Part as Part
from dumbbell.parts import plain
from dumbbell.scenario import builders, declared
from dumbbell.scenario.opportunities import with_traces
from dumbbell.scenario.units import suggest_unit
from dumbbell.shown import html_of
from dumbbell.transports import Transport

if TYPE_CHECKING:
    from dumbbell.documents import Form
    from dumbbell.scenario.builders import *  # noqa: F403 - the stub names them all
    from dumbbell.scenario.builders import Flow, Link, Node, Probe

# A scenario file is a few kilobytes; the bound keeps a device or a capture given by mistake from filling
# the memory.
LARGEST_FILE_BYTES = 64 * 1024 * 1024

SOURCES = "a Scenario, the name of a scenario file, or a table of fields"


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if not name.startswith("_") and name in declared.names():
        return getattr(builders, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["Data", "Part", "Scenario", *dir(builders)])


def _omitted() -> Any:
    """Return a field that is None if not given, but no attribute of the class: see `Scenario.__getattr__`."""
    return field(default_factory=lambda: None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario(Part):
    """A valid scenario.

    The engine validates it on creation, so every `Scenario` can be run. Two scenarios are equal if they have the
    same canonical form.

    Parameters
    ----------
    name
        Name for display.
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
    rules
        The environment of flows whose TCP states none, see `dumbbell list rules`: today's RFCs by default.
    delay_percentiles
        Whether the percentiles of round-trip times and of one-way delays are measured, for all flows.

    Raises
    ------
    ScenarioError
        A field, a unit, a value or a reference between parts is not accepted.
    """

    readers: ClassVar = {name: partial(declared.read, name) for name in ("nodes", "links", "flows", "probes")}
    name: str | None = _omitted()
    duration: str
    nodes: Sequence[Node | str | Data]
    links: Sequence[Link | Data]
    flows: Sequence[Flow | Data]
    probes: Sequence[Probe | Data] | None = _omitted()
    stop_when_complete: Sequence[str] | None = _omitted()
    measure_from: str | None = _omitted()
    measure_until: str | None = _omitted()
    rules: str | None = _omitted()
    delay_percentiles: bool | None = _omitted()
    stated: _engine.Stated = field(init=False, repr=False)
    """The scenario as the engine has read it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if "stated" not in self.__dict__:
            data = self.to_dict()
            completed = with_traces(data, Path()) or data
            stated = _stated(canonical(completed))
            self.__dict__["stated"] = stated
            if stated.has_short_forms():
                completed = _written_out(completed)
            if completed is not data:
                values = self.values_of({name: completed[name] for name in ("nodes", "links")})
                self.__dict__.update(values)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Parts of a document that only the engine has read are made when one is asked for.
            document = self.__dict__.get("_document")
            if document is None and name in self.__dict__:
                # Another thread has made them in the meantime.
                return self.__dict__[name]
            if document is None or name not in self.names().values():
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            data = _data_of(*document)
            made = self._of(_written_out(data) if self.stated.has_short_forms() else data, self.stated)
            self.__dict__.update(made.__dict__)
            self.__dict__.pop("_document", None)
            return made.__dict__[name]

    @cached_property
    def canonical_json(self) -> str:
        """The engine's canonical JSON text: every default stated, every unit in its base form."""
        return self.stated.canonical_json()

    def __eq__(self, other: object) -> bool:
        return self.canonical_json == other.canonical_json if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.canonical_json)

    @classmethod
    def of(cls, source: Scenario | Data | str | os.PathLike[str]) -> Scenario:
        """Return a scenario, whether it is one, plain data, or the name of a file.

        `dumbbell.run` and all others that take a scenario accept the same.

        Parameters
        ----------
        source
            A scenario, which is returned; a table of fields, see `from_dict`; or the name of a file, see `from_file`.

        Raises
        ------
        ScenarioError
            It is none of these, or no valid scenario.
        OSError
            The file cannot be read.
        """
        if isinstance(source, Scenario):
            return source
        if isinstance(source, Mapping):
            return cls.from_dict(source)
        if isinstance(source, str | os.PathLike):
            return cls.from_file(source)
        raise refusal("scenario", type(source).__name__, SOURCES, quoted=False)

    @classmethod
    def from_dict(cls, data: Data) -> Self:
        """Return the scenario that plain data describes, as `to_dict` writes it.

        A relative trace, as ``opportunities = {"file": "..."}`` of a link, counts from the working directory.

        Raises
        ------
        ScenarioError
            The data is not a valid scenario.
        OSError
            A trace that it names cannot be read.
        """
        if not isinstance(data, Mapping):
            raise refusal("scenario", type(data).__name__, "a table of fields", quoted=False)
        # The engine speaks first: its errors name the whole path of a field and a near miss.
        completed = _completed(plain(data, ""), Path())
        stated = _stated(canonical(completed))
        if not stated.has_short_forms():
            return cls._of(completed, stated)
        scenario = cls._of(_written_out(completed), stated)
        scenario.__dict__["_short"] = completed
        return scenario

    @classmethod
    def _of(cls, data: dict[str, Any], stated: _engine.Stated) -> Self:
        """Return the scenario of plain data that the engine has read."""
        scenario = cls.__new__(cls)
        scenario.__dict__["stated"] = stated
        cls.__init__(scenario, **cls.values_of(data))
        return scenario

    @classmethod
    def from_text(
        cls,
        text: str | bytes,
        *,
        form: Form | None = None,
        folder: str | os.PathLike[str] = ".",
        source: str = "text",
    ) -> Self:
        """Return the scenario that a TOML or JSON document describes.

        Parameters
        ----------
        text
            The document; bytes are read as UTF-8.
        form
            Its format; by default JSON if it begins with a brace, which no TOML document does.
        folder
            Where the traces are that links name as ``opportunities = { file = "..." }``.
        source
            What an error names, such as the file.

        Raises
        ------
        ScenarioError
            The text is not such a document, or not a valid scenario.

        Examples
        --------
        >>> from dumbbell import Flow, topologies
        >>> shape = topologies.dumbbell(pairs=1, rate="1.6 Mbit/s", delay="50 ms")
        >>> scenario = shape.scenario(duration="10 s", flows=[Flow(name="fg", from_="s1", to="d1", tcp="reno")])
        >>> Scenario.from_text(scenario.to_toml()) == scenario
        True
        """
        decoded = _decoded(text, source)
        if form is None:
            form = "json" if decoded.lstrip().startswith("{") else "toml"
        try:
            stated = _read(decoded, form)
        except ScenarioError as error:
            refused = error
        else:
            if stated.names_external():
                return cls.from_dict(_completed(_data_of(decoded, form), Path(folder)))
            scenario = cls.__new__(cls)
            scenario.__dict__.update(stated=stated, _document=(decoded, form))
            if stated.has_short_forms():
                scenario.__dict__["_short"] = _data_of(decoded, form)
            return scenario
        try:
            data = _data_of(decoded, form)
        except ScenarioError:
            raise refused from None
        # What it names may be outside of the engine: traces, controls.
        completed = _completed(data, Path(folder)) if isinstance(data, dict) else data
        if completed == data:
            raise refused
        return cls.from_dict(completed)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario from a TOML file; see `from_text`.

        Raises
        ------
        ScenarioError
            The file is not TOML, or not a valid scenario.
        OSError
            The file cannot be read.
        """
        return cls._from_file(path, "toml")

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario from a JSON file; see `from_text`, and `from_toml` for what is raised."""
        return cls._from_file(path, "json")

    @classmethod
    def _from_file(cls, path: str | os.PathLike[str], form: Form) -> Self:
        file = file_path("file", path)
        content = read_input(file, LARGEST_FILE_BYTES + 1)
        return cls.from_text(content, form=form, folder=file.parent, source=str(path))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario from a file: JSON if its name ends in ``.json``, TOML otherwise.

        Raises
        ------
        ScenarioError
            The file is neither, or not a valid scenario.
        OSError
            The file cannot be read.
        """
        file = file_path("file", path)
        return cls.from_json(file) if file.suffix.lower() == ".json" else cls.from_toml(file)

    def to_toml(self) -> str:
        """Return the scenario as a TOML document, without defaults."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    def to_json(self) -> str:
        """Return the scenario as a JSON document, without defaults."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Settings without effect, one sentence each: times after the end, probes of absent quantities.

        `dumbbell.run` and `dumbbell.run_many` warn of it.
        """
        return tuple(self.stated.warnings())

    @cached_property
    def derived_limits(self) -> tuple[str, ...]:
        """What limits of queues mean that are stated as times or multiples of the BDP, one sentence each.

        Examples
        --------
        >>> from dumbbell import DropTail, Flow, topologies
        >>> queue = DropTail(limit="1 BDP")
        >>> shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="40 ms", queue=queue, rtt="100 ms")
        >>> shape.scenario(duration="10 s", flows=[Flow(name="f", from_="s1", to="d1")]).derived_limits
        ('r1-r2: 1 BDP = 83 packets of 1500 bytes (10 Mbit/s x 100 ms)', 'r2-r1: 1 BDP = 83 packets of 1500 bytes \
(10 Mbit/s x 100 ms)')
        """
        return tuple(self.stated.derived_limits())

    @cached_property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of the canonical form: equal for scenarios that mean the same."""
        return self.stated.hash()

    def _repr_html_(self) -> str:
        return html_of(self)

    def resolved(self) -> dict[str, Any]:
        """Return the scenario as plain data with all defaults; fields without a default are omitted."""
        return cast(dict[str, Any], plain(json.loads(self.canonical_json), ""))

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the scenario with some values changed.

        Parameters
        ----------
        values
            New values by address. An address is a path of fields joined by dots; items of a list are
            addressed by their name, by their index from 0, or all at once by ``*``: ``links.r1-r2.delay``,
            ``probes.0.period``, ``flows.*.tcp.mechanisms.A``. ``None`` takes a field out, so that its
            default applies. A short form on the way (``tcp = "vegas"``, ``mechanisms = "ABC"``) is written
            out first. A `Transport` in the place of a flow's ``tcp`` becomes its ``transport``, and a ``tcp``
            replaces a transport. Members of a scenario's ``topology``, as ``topology.rtt``, are changed first.

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
        if not isinstance(values, Mapping):
            raise refusal("values", type(values).__name__, "a table of values by address", quoted=False)
        of_topology = {address: value for address, value in values.items() if _is_of_topology(address)}
        if of_topology:
            rest = {address: value for address, value in values.items() if address not in of_topology}
            changed = self._with_topology(of_topology)
            return changed.with_values(rest) if rest else changed
        data = self.to_dict()
        resolved = self.resolved()
        # A group of flows is one table here, and as many as it has flows there.
        before = accumulate((flow.get("count", 1) for flow in data["flows"]), initial=0)
        resolved["flows"] = [
            resolved["flows"][place] for place, _ in zip(before, data["flows"], strict=False)
        ]
        for address, value in values.items():
            if not isinstance(address, str):
                raise refusal("values", address, 'addresses such as "links.r1-r2.rate"')
            for place, new in _of_senders(address, value, values):
                addressing.set_value(data, place, None if new is None else plain(new, place), resolved)
        return type(self).from_dict(data)

    def _with_topology(self, values: Mapping[str, Any]) -> Self:
        """Return the scenario with other members of the topology that it was read with."""
        stated = self.__dict__.get("_short", {})
        if "topology" not in stated:
            accepted = "an address of nodes, links or flows: the scenario states no topology"
            address, value = next(iter(values.items()))
            raise refusal(address, value, accepted)
        data = copy.deepcopy(stated)
        if not isinstance(data["topology"], dict):
            data["topology"] = {"kind": data["topology"]}
        for address, value in values.items():
            addressing.set_value(data, address, None if value is None else plain(value, address))
        return type(self).from_dict(data)


def _is_of_topology(address: Any) -> bool:
    return isinstance(address, str) and address.partition(".")[0] == "topology"


def _of_senders(address: str, value: Any, values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return a change with the one that it implies: of ``tcp`` and ``transport``, a flow has one."""
    flow, _, field = address.rpartition(".")
    other = f"{flow}.transport"
    if field != "tcp" or "." not in flow or value is None:
        return [(address, value)]
    if isinstance(value, Transport):
        return [(address, None), (other, value)]
    return [(address, value)] if other in values else [(other, None), (address, value)]


def _completed(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the data of a scenario with the traces and the controls that it names, by files of a folder."""
    return with_controls(with_traces(data, folder) or data, folder)


def _data_of(text: str, form: Form) -> Any:
    """Return what a document contains, without defaults."""
    return json.loads(_engine.json_of(text, form))


def _written_out(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a scenario with nodes and links one by one in place of short forms."""
    return cast(dict[str, Any], json.loads(_engine.written_out(json.dumps(data))))


def _stated(data: dict[str, Any]) -> _engine.Stated:
    """Return what the engine reads from plain data."""
    try:
        return _read(json.dumps(data), "json")
    except ValueError:
        # The engine only knows the place in a text that nobody wrote.
        _refuse_unwritable(data, "")
        raise


def _read(text: str, form: Form) -> _engine.Stated:
    """Return what the engine reads from a document; an error suggests the unit that was meant."""
    try:
        return _engine.Stated(text, form)
    except ScenarioError as error:
        suggest_unit(error)
        raise


def _refuse_unwritable(value: Any, path: str) -> None:
    """Refuse a text that is not Unicode, or a number that no field can have."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_unwritable(key, path)
            _refuse_unwritable(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_unwritable(item, f"{path}[{index}]")
    elif isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            shown = ascii(value)
            raise refusal(path or "scenario", shown, "text of Unicode characters", quoted=False) from None
    elif isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise refusal(path or "scenario", value, "a number of at most 64 bits")


def _decoded(content: str | bytes, source: str) -> str:
    """Return the text of a document."""
    accepted = "a scenario as TOML or JSON text in UTF-8"
    if len(content) > LARGEST_FILE_BYTES:
        size = f"more than {LARGEST_FILE_BYTES} bytes"
        raise refusal(source, size, accepted, problem="is too large for a scenario", quoted=False)
    try:
        text = (content if isinstance(content, bytes) else content.encode()).decode("utf-8-sig")
    except UnicodeError:
        text = "\0"
    if "\0" in text:
        raise refusal(source, f"{len(content)} bytes", accepted, problem="are not text", quoted=False)
    return text
