"""The simulators to measure: Dumbbell, and those defined in the folder of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dumbbell.bench.cases import PAYLOAD
from dumbbell.bench.children import Measured, measure
from dumbbell.campaign import engine_identity
from dumbbell.crossvalidation import folder
from dumbbell.crossvalidation.loading import imported
from dumbbell.errors import refusal
from dumbbell.scenario import Scenario

# The module in the folder of peers that defines how each of them is measured.
MODULE = "speed"


class Contender(Protocol):
    """A simulator in one of the ways it can be run."""

    @property
    def key(self) -> str:
        """Its name in tables of numbers, as ``"ns2-tuned"``."""

    @property
    def peer(self) -> str:
        """The name of the peer on the command line, as ``"ns2"``."""

    @property
    def title(self) -> str:
        """Its name in the report, as ``"ns-2 tuned"``."""

    @property
    def package(self) -> str:
        """The Debian package that brings it."""

    @property
    def models(self) -> str:
        """What it models per packet, in one or two sentences."""

    def version(self) -> str:
        """Return its version; `dumbbell.crossvalidation.PeerAbsent` if it is not on this machine."""

    def prepare(self) -> None:
        """Perform the builds that precede the first run."""

    def tcp(self, variant: str) -> Mapping[str, Any]:
        """Return the ``tcp`` table of its closest counterpart of ``reno``, ``newreno`` or ``sack``."""

    def remark(self, variant: str) -> str:
        """Return how that counterpart differs, or an empty text."""

    def measure(self, scenario: Scenario, runs: int) -> Measured:
        """Run a scenario several times one after another, recording nothing."""


@dataclass(frozen=True, kw_only=True)
class Dumbbell:
    """Dumbbell itself.

    Parameters
    ----------
    like
        The simulator with the rules that it follows, so that it sends the same packets at the same times.
    """

    like: Contender

    key: ClassVar[str] = "dumbbell"
    peer: ClassVar[str] = "dumbbell"
    title: ClassVar[str] = "Dumbbell"
    package: ClassVar[str] = "dumbbell"
    models: ClassVar[str] = (
        "Segments and acknowledgements in both directions, their serialization, propagation and queueing on every link, "
        "in whole nanoseconds. A packet is a record with its size and the TCP fields: no payload bytes, no "
        "checksums, no IP. A link fed by only one other link has no event. One-way data, no handshake. Counters of "
        "every flow and link, a fingerprint and the conservation check are always on."
    )

    def version(self) -> str:
        """Return the build of the engine."""
        return engine_identity()

    def prepare(self) -> None:
        """Nothing needs to be built."""

    def tcp(self, variant: str) -> Mapping[str, Any]:
        """Return the ``tcp`` table of the one it is like."""
        return self.like.tcp(variant)

    def remark(self, variant: str) -> str:  # noqa: ARG002 - every contender is asked so
        """Return nothing: the cases are stated in its words."""
        return ""

    def measure(self, scenario: Scenario, runs: int) -> Measured:
        """Run a scenario several times one after another in one process."""
        return measured(scenario.canonical_json, runs)


def measured(text: str, runs: int, flows: Sequence[str] | None = None) -> Measured:
    """Run a scenario in Dumbbell several times in sequence, in a separate process.

    Parameters
    ----------
    text
        The scenario as JSON.
    runs
        How many times.
    flows
        Names of the flows with counted packets; all by default.
    """
    return measure(text, runs=runs, payload=PAYLOAD, flows=flows)


def load_contenders(path: str | Path | None = None) -> tuple[Contender, ...]:
    """Return the other simulators, whether or not they are on this machine; the cases follow the rules of the first.

    Parameters
    ----------
    path
        The folder of the peers; see `dumbbell.crossvalidation.folder`.

    Raises
    ------
    ScenarioError
        The folder has no ``speed.py`` with a value ``CONTENDERS``, or it cannot be imported.
    """
    home = folder(path)
    found = getattr(imported(MODULE, home), "CONTENDERS", None)
    if not found:
        raise refusal("peers", str(home), "CONTENDERS in speed.py", problem="has no simulators to measure")
    return tuple(found)
