"""Peers: other simulators that run our scenarios, and the loading of their drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from dumbbell.checkout import checked_members, some
from dumbbell.crossvalidation.loading import folder, imported
from dumbbell.errors import refusal
from dumbbell.scenario import Scenario

# The required members of a peer.
REQUIRED = (
    "name",
    "title",
    "package",
    "variants",
    "rules",
    "version",
    "tcp",
    "identity",
    "prepare",
    "run",
)

LINK_COLUMNS = (
    "name",
    "utilization",
    "drops_queue",
    "drops_impairment",
    "packets",
    "backlog_mean_packets",
    "backlog_max_packets",
)
"""The columns of the links of a `PeerRun`."""

# The folder of grids, beside those of the peers.
GRIDS = "grids"


class PeerAbsent(RuntimeError):  # noqa: N818 - the message and exit of a command
    """A peer is not on this machine.

    Parameters
    ----------
    title
        Name of the peer, as ``"ns-2"``.
    package
        The Debian package that brings it; empty if none does.
    why
        What is missing.
    """

    def __init__(self, title: str, package: str, why: str = "") -> None:
        if package:
            reason = f" ({why})" if why else ""
            super().__init__(f"{title} is not installed{reason}; the Debian package is {package}")
        else:
            super().__init__(f"{title} cannot be a peer on this machine: {why}")
        self.title = title
        self.package = package
        self.why = why

    def __reduce__(self) -> tuple[type[PeerAbsent], tuple[str, str, str], dict[str, Any]]:
        return type(self), (self.title, self.package, self.why), self.__dict__


@dataclass(frozen=True, kw_only=True)
class Rule:
    """How one default or fault of a peer was matched: a line of the report.

    Parameters
    ----------
    aspect
        What it is about, as ``"Queue limit"``.
    peer
        What the peer does, as ``"limit_ B holds B - 1 waiting packets and one on the wire"``.
    matched
        How it was matched, as ``"limit_ is set to the scenario's limit plus one"``.
    """

    aspect: str
    peer: str
    matched: str


class Observed(Protocol):
    """Observations of a run, on either side.

    Units are in the names of columns, as in `dumbbell.Run`. Values that a peer cannot report are NaN, and traces
    that it cannot record are missing.
    """

    @property
    def flows(self) -> pd.DataFrame:
        """One row per flow: ``name``, ``goodput_bps``, ``bytes_delivered``, ``segments_sent``, ``timeouts``, …."""

    @property
    def links(self) -> pd.DataFrame:
        """One row per link: ``name``, ``utilization``, ``drops_queue``, ``backlog_mean_packets``, …."""

    @property
    def traces(self) -> Mapping[str, pd.DataFrame]:
        """One frame per probed quantity: ``time_s``, ``name``, ``value``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeerRun:
    """Observations of a peer in one run: columns, names and units are those of `dumbbell.Run`.

    Parameters
    ----------
    flows
        One row per flow of the scenario: ``name``, ``goodput_bps``, ``bytes_delivered``, ``segments_sent``,
        ``segments_retransmitted``, ``timeouts``. A column that the peer cannot report is NaN.
    links
        One row per link of the scenario: `LINK_COLUMNS`.
    traces
        By quantity, for the probes of the scenario that the peer can record: ``time_s``, ``name``, ``value``.
    cpu_s
        CPU time of the peer's process, s.
    start_up_s
        The part of it for a run without packets, s; 0 if not measured.
    """

    flows: pd.DataFrame
    links: pd.DataFrame
    traces: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    cpu_s: float
    start_up_s: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Counterfactual:
    """One side under the other's rule, and as it was in everything else: the peer under ours, or ours under the peer's.

    Parameters
    ----------
    difference
        The two rules in a sentence, as ``"Reports at a timeout: kept in ns-3, cleared in ours"``.
    peer
        The peer under our rule. Its ``identity`` differs from that of the unchanged peer.
    ours
        Returns our scenario under the peer's rule, for peers whose rules cannot be changed. One of `peer` and `ours` is
        given.
    """

    difference: str
    peer: Peer | None = None
    ours: Callable[[Scenario], Scenario] | None = None

    def __post_init__(self) -> None:
        if (self.peer is None) == (self.ours is None):
            raise ValueError(f"{self.difference}: one of peer and ours is accepted, and needed")


class Peer(Protocol):
    """Protocol of the value ``PEER`` in the folder of a peer.

    A peer may also have:

    * ``counterfactuals(scenario)``, which returns a sequence of `Counterfactual`: the differences of rules that remain in a
      scenario, each with a side that lacks it. Disagreements are traced by running those.
    * ``at_once``, the number of its concurrent runs, if it is not the number of cores.
    * ``cost(scenario)``, the relative duration of a run of a scenario, if it does not follow from the packets.

    Attributes
    ----------
    name
        Its name on the command line, as ``"ns2"``.
    title
        Its name in the report, as ``"ns-2"``.
    package
        The Debian package that contains it; empty if none does.
    variants
        Our names (``"tahoe"``, ``"reno"``, …) of the variants that it has.
    rules
        How each relevant default and fault was matched.
    """

    name: str
    title: str
    package: str
    variants: tuple[str, ...]
    rules: tuple[Rule, ...]

    def version(self) -> str:
        """Return its version, as ``"ns-2.35"``.

        Raises
        ------
        PeerAbsent
            It is not on this machine.
        """

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table of a scenario that states the peer's rules for one of `variants`.

        Parameters
        ----------
        variant
            One of `variants`.
        changes
            Fields of the table to change.
        """

    def identity(self) -> str:
        """Return the identity of this peer and driver; runs stored under another identity are repeated."""

    def prepare(self) -> None:
        """Perform the builds that precede the first run."""

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario in a separate process. Several threads may call it at the same time.

        Raises
        ------
        ScenarioError
            The peer cannot express something in the scenario: the field and its value are named.
        """


def available(path: str | Path | None = None) -> list[str]:
    """Return the names of the peers that a folder has drivers for, at least one; see `folder`."""
    place = folder(path)
    drivers = [entry for entry in place.iterdir() if (entry / "__init__.py").is_file()]
    names = [entry.name for entry in drivers if entry.name != GRIDS]
    return some(names, "peers", place, "a folder with a folder for each peer")


def load_peer(name: str, path: str | Path | None = None) -> Peer:
    """Return the driver of a peer, whether or not the peer is on this machine.

    Parameters
    ----------
    name
        As ``"ns2"``.
    path
        See `folder`.

    Raises
    ------
    ScenarioError
        There is no driver with that name, or it cannot be imported.
    """
    names = available(path)
    if name not in names:
        raise refusal("peer", name, f"one of {', '.join(names)}", names=names, problem="is not a known peer")
    peer: Peer = checked_members(
        getattr(imported(name, folder(path)), "PEER", None),
        "PEER",
        REQUIRED,
        kind="peer",
        name=name,
        protocol="dumbbell.crossvalidation.Peer",
    )
    return peer
