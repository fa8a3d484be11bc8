"""An algorithm by its name and parameters, as ``"vegas:alpha=2"``, or one of the user's, and the connections that use it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from dumbbell import transports
from dumbbell.control import Control
from dumbbell.engine import catalogue
from dumbbell.errors import ScenarioError, refusal
from dumbbell.external import changed, made, title
from dumbbell.parts import External
from dumbbell.permission import PREFIXES
from dumbbell.scenario import Flow, Link, Scenario, Tcp
from dumbbell.transports import Transport

INITIAL_WINDOW = "10 segments"
"""RFC 6928 §2, for every connection of an evaluation."""

RULES = "classic"
"""The environment of every connection."""

RECOVERY = "sack"
"""Loss recovery of algorithms that accept it."""

FORM = "a name, or a name with parameters, such as vegas:alpha=2,beta=4"


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """A congestion control or TCP variant.

    Parameters
    ----------
    name
        Its name in the registry, or as scenarios name one of the user's.
    parameters
        Its parameters that differ from the defaults.
    text
        Name and parameters as the command line takes them.
    label
        Name and parameters as figures and tables show them.
    external
        The control, if it is one of the user's.
    transport
        The transport of its flows, if it is not the engine's TCP.
    """

    name: str
    parameters: Mapping[str, Any]
    text: str
    label: str
    external: External | None = None
    transport: Transport | None = None

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def recovery(self) -> str:
        """The loss recovery in words: SACK, or the one that the algorithm or its transport brings."""
        return "SACK" if self._accepts_sack else "its own recovery"

    @property
    def _accepts_sack(self) -> bool:
        return self.external is not None or (self.transport is None and _accepts_sack(self.name))

    def accepts(self, **changes: Any) -> bool:
        """Return whether the engine accepts this algorithm with some fields of `Tcp`."""
        try:
            _smallest(self.tcp(**changes))
        except ScenarioError:
            return False
        return True

    def tcp(self, **changes: Any) -> Tcp | Transport:
        """Return connections with this algorithm: the rules of `RULES`, an initial window of 10 segments, SACK if it is accepted.

        Parameters
        ----------
        **changes
            Further fields of `Tcp`.

        Raises
        ------
        ScenarioError
            The algorithm has another transport, which does not take these fields.
        """
        if self.transport is not None:
            for field, value in changes.items():
                raise refusal(field, value, f"nothing: {self.transport.name} has its own rules")
            return self.transport
        settings: dict[str, Any] = {"rules": RULES, "initial_window": INITIAL_WINDOW, **changes}
        if self.external is not None:
            return Tcp(external=self.external, **{"recovery": RECOVERY, **settings})
        if self.name not in _algorithms():
            return Tcp(variant=self.name, **settings)
        congestion = {"name": self.name, **self.parameters}
        if self._accepts_sack:
            settings.setdefault("recovery", RECOVERY)
        return Tcp(congestion=congestion, **settings)


def algorithm(text: str | External | type[Control], field: str = "algorithm") -> Algorithm:
    """Return the algorithm that a text names, or that is given.

    Parameters
    ----------
    text
        A name of the registry, optionally with parameters: ``"vegas:alpha=2,beta=4"``; a transport with its congestion
        control, ``"quinn:bbr"``, also with parameters; ``"python:module.Class"`` or ``"library:aimd.so"``, also with
        parameters; or a `dumbbell.Control` or `dumbbell.Library`.
    field
        Where the text was found, for the error.

    Raises
    ------
    ScenarioError
        The name or a parameter is unknown, or a value is not accepted.

    Examples
    --------
    >>> algorithm("vegas:alpha=2").parameters
    {'alpha': 2}
    """
    if isinstance(text, type) and issubclass(text, Control):
        text = text()
    if isinstance(text, External):
        return _of_user(text)
    if text.startswith(PREFIXES):
        # A path may have colons.
        before, _, after = text.rpartition(":")
        name, rest = (before, after) if "=" in after else (text, "")
        return _of_user(made(name, written_parameters(rest, field, text), field))
    name, _, rest = text.strip().partition(":")
    if name in transports.parameters():
        return _over(name, rest, field, text)
    known = _algorithms()
    names = [*known, *(one for one in _variants() if one not in known)]
    if name not in names:
        carried = ", ".join(f"{one}:NAME" for one in transports.parameters())
        own = "or one of your own: python:module.Class or library:FILE"
        choices = f"{', '.join(names)}; over another transport: {carried}; {own}"
        raise refusal(field, name, choices, names=names, problem="is not registered")
    parameters = written_parameters(rest, field, text)
    _refuse_unknown(parameters, known.get(name, ()), f"{field}.{name}")
    written = _text(name, parameters)
    return _accepted(Algorithm(name=name, parameters=parameters, text=written, label=written))


def _over(name: str, rest: str, field: str, text: str) -> Algorithm:
    """Return a congestion control of another transport, written as ``quinn:bbr`` or ``quinn:bbr,mtu=1400 bytes``."""
    first, comma, others = rest.partition(",")
    if first and "=" not in first:
        rest = f"{transports.CONGESTION}={first}{comma}{others}"
    parameters = written_parameters(rest, field, text)
    _refuse_unknown(parameters, transports.parameters()[name], f"{field}.{name}")
    shown = {key: value for key, value in parameters.items() if key != transports.CONGESTION}
    title = ":".join(
        [name, *([str(parameters[transports.CONGESTION])] if len(shown) < len(parameters) else [])]
    )
    label = ",".join([title, *(f"{key}={_written(value)}" for key, value in shown.items())])
    made = Transport(name, **parameters)
    return _accepted(Algorithm(name=name, parameters=parameters, text=label, label=label, transport=made))


def _refuse_unknown(parameters: Mapping[str, Any], accepted: Sequence[str], field: str) -> None:
    for key in parameters:
        if key not in accepted:
            listed = ", ".join(accepted) or "none for this name"
            raise refusal(field, key, listed, names=accepted, problem="is not a parameter")


def _of_user(external: External) -> Algorithm:
    """Return a congestion control of the user's."""
    name, parameters = external.stated()["name"], changed(external)
    label = _text(title(external), parameters)
    return _accepted(
        Algorithm(
            name=name, parameters=parameters, text=_text(name, parameters), label=label, external=external
        )
    )


def _accepted(algorithm: Algorithm) -> Algorithm:
    """Return an algorithm that the engine accepts; the engine says what it does not."""
    _smallest(algorithm.tcp())
    return algorithm


def _text(name: str, parameters: Mapping[str, Any]) -> str:
    shown = ",".join(f"{key}={_written(value)}" for key, value in parameters.items())
    return f"{name}:{shown}" if shown else name


def written_parameters(rest: str, field: str, text: str) -> dict[str, Any]:
    """Return parameters that are written as ``"alpha=2,beta=4"``.

    Parameters
    ----------
    rest
        The parameters.
    field, text
        Where they were found, and the whole text there, for the error.

    Raises
    ------
    ScenarioError
        They are not of this form.
    """
    parameters: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key or not value:
            raise refusal(field, text, FORM)
        parameters[key] = _value(value)
    return parameters


def _value(text: str) -> Any:
    """Return a number, a truth value or a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@cache
def _algorithms() -> dict[str, tuple[str, ...]]:
    """Return the names of the parameters of each registered congestion control."""
    return {
        entry["name"]: tuple(parameter["name"] for parameter in entry["parameters"])
        for entry in catalogue()["algorithms"]
    }


@cache
def _variants() -> tuple[str, ...]:
    return tuple(entry["name"] for entry in catalogue()["variants"])


@cache
def _accepts_sack(name: str) -> bool:
    """Return whether the engine accepts an algorithm with the recovery of `RECOVERY`."""
    if name not in _algorithms():
        return False
    try:
        _smallest(Tcp(rules=RULES, congestion=name, recovery=RECOVERY))
    except ScenarioError:
        return False
    return True


def _smallest(tcp: Tcp | Transport) -> Scenario:
    """Return a scenario of one flow."""
    ends = [("a", "b"), ("b", "a")]
    links = [
        Link(name=f"{start}-{end}", from_=start, to=end, rate="1 Mbit/s", delay="1 ms") for start, end in ends
    ]
    return Scenario(
        duration="1 s", nodes=["a", "b"], links=links, flows=[Flow(name="f", from_="a", to="b", tcp=tcp)]
    )
