"""A peer that loses the same packets as we do, so that both sides share the outcome of random losses."""

from __future__ import annotations

from typing import Any

import dumbbell
from dumbbell.campaign import engine_identity
from dumbbell.crossvalidation.peer import Peer, PeerRun, Rule
from dumbbell.scenario import Scenario

LOSSES = "Random losses: each side draws them from its own generator"

RANDOM = ("bernoulli", "twostate")


def is_random(scenario: Scenario) -> bool:
    """Return whether links of a scenario lose packets at random."""
    return any(_draws(link) for link in scenario.resolved()["links"])


class SameLosses:
    """A peer, given the losses of our run as forced ones; see `dumbbell.crossvalidation.Peer`.

    Only losses of data can be forced: on a link that loses acknowledgements too, those are left out.

    Parameters
    ----------
    peer
        The peer.
    """

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.name = peer.name
        self.title = f"{peer.title}, with our losses"
        self.package = peer.package
        self.variants = peer.variants
        self.rules: tuple[Rule, ...] = peer.rules

    def version(self) -> str:
        """Return the version of the peer."""
        return self._peer.version()

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table of the peer."""
        return self._peer.tcp(variant, **changes)

    def identity(self) -> str:
        """Return the identity of the peer and of the engine whose losses it repeats."""
        return f"{self._peer.identity()}, losses of {engine_identity()}"

    def prepare(self) -> None:
        """Prepare the peer."""
        self._peer.prepare()

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario with the losses that it has in ours under the same seed and run."""
        data = scenario.to_dict()
        drawing = [link["name"] for link in scenario.resolved()["links"] if _draws(link)]
        probe = {"quantities": ["losses"], "links": drawing}
        ours = dumbbell.run(Scenario.from_dict(data | {"probes": [probe]}), seed=seed, run=run)
        lost = ours.traces["losses"]
        for link in data["links"]:
            if link["name"] in drawing:
                packets = lost.loc[lost["name"] == link["name"], "value"].astype(int).tolist()
                link["impairments"] = [{"kind": "forced", "packets": packets}] if packets else []
        return self._peer.run(Scenario.from_dict(data), seed=seed, run=run)


def _draws(link: dict[str, Any]) -> bool:
    return any(impairment["kind"] in RANDOM for impairment in link["impairments"])
