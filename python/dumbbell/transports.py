"""Transports other than the engine's TCP: stacks that somebody else wrote, in simulated time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from dumbbell.engine import catalogue
from dumbbell.parts import Stated

CONGESTION = "congestion"
"""The parameter of every transport that names its congestion control."""


class Transport(Stated):
    """A transport other than the engine's TCP, as ``transport`` of a flow, or in place of its ``tcp``.

    The engine completes version and digest, so that a scenario names the stack that made its results.

    Parameters
    ----------
    name
        Its name, such as ``"quinn"``; `dumbbell.catalogue` lists them.
    **parameters
        Its parameters, such as ``congestion="bbr"``. A stated ``version`` or ``digest`` must be that of this machine.

    Examples
    --------
    >>> from dumbbell import Flow, Transport
    >>> flow = Flow(name="f", from_="s1", to="d1", transport=Transport("quinn", congestion="bbr"))
    >>> flow.transport
    Transport('quinn', congestion='bbr')
    """

    def __init__(self, name: str, /, **parameters: Any) -> None:
        self.name = name
        self.parameters: Mapping[str, Any] = parameters

    def to_dict(self) -> dict[str, Any]:
        """Return the table of a flow's ``transport``."""
        return {"name": self.name, **self.parameters}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transport) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        stated = [repr(self.name), *(f"{key}={value!r}" for key, value in self.parameters.items())]
        return f"Transport({', '.join(stated)})"


@cache
def parameters() -> Mapping[str, tuple[str, ...]]:
    """Return the names of the parameters of each transport."""
    return {
        entry["name"]: tuple(parameter["name"] for parameter in entry["parameters"])
        for entry in catalogue()["transports"]
    }
