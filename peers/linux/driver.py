"""The driver: runs scenarios with the kernel as the transport of every flow."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import dumbbell
from dumbbell import Scenario
from dumbbell.campaign import engine_identity
from dumbbell.crossvalidation import Counterfactual, PeerAbsent, PeerRun, Rule
from dumbbell.errors import ScenarioError

from . import rules

TREE = "6.12"

KERNEL_WINDOW, OUR_WINDOW = "cwnd", "cwnd_base"
"""The window of the kernel, and what it is compared with: ours without what duplicate ACKs add to it."""

FIXED_BUFFERS = {"net.ipv4.tcp_rmem": "4096 67108864 67108864"}
"""A receive buffer that is 64 MiB from the beginning, so that its window does not grow."""

GROWTH = "Growth of the receive window: while it grows, the kernel acknowledges every segment (tcp_grow_window); ours does not"


class Linux:
    """The TCP of an unmodified kernel in simulated time."""

    name: ClassVar[str] = "linux"
    title: ClassVar[str] = "Linux"
    package: ClassVar[str] = ""
    variants: ClassVar[tuple[str, ...]] = rules.VARIANTS
    rules: ClassVar[tuple[Rule, ...]] = rules.RULES

    def _stated(self) -> Mapping[str, Any]:
        """Return the transport with version and digest.

        Raises
        ------
        PeerAbsent
            The kernel is not built.
        """
        nodes, ends = ["a", "b"], (("a", "b"), ("b", "a"))
        links = [{"name": a + b, "from": a, "to": b, "rate": "1 Mbit/s", "delay": "1 ms"} for a, b in ends]
        flow = {"name": "f", "from": "a", "to": "b", "transport": _transport("reno")}
        smallest = {"duration": "1 s", "nodes": nodes, "links": links, "flows": [flow]}
        try:
            resolved = Scenario.from_dict(smallest).resolved()
        except ScenarioError as error:
            raise PeerAbsent(self.title, self.package, str(error)) from None
        stated: Mapping[str, Any] = resolved["flows"][0]["transport"]
        return stated

    def version(self) -> str:
        """Return its version, as ``"Linux 6.12.117"``."""
        return f"{self.title} {self._stated()['version']}"

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table that states the kernel's rules, see `rules.table`."""
        return rules.table(variant, **changes)

    def identity(self) -> str:
        """Return the digests of the kernel and of the engine."""
        return f"{self._stated()['digest']} {engine_identity()}"

    def prepare(self) -> None:
        """Find the kernel."""
        self._stated()

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario.

        Raises
        ------
        ScenarioError
            The kernel cannot follow a rule of the scenario.
        """
        data = scenario.to_dict()
        for flow in data["flows"]:
            congestion = rules.congestion(flow.pop("tcp"), f"flows.{flow['name']}.tcp")
            flow["transport"] = _transport(congestion)
        for probe in data.get("probes", ()):
            probe["quantities"] = [
                KERNEL_WINDOW if quantity == OUR_WINDOW else quantity for quantity in probe["quantities"]
            ]
        done = dumbbell.run(Scenario.from_dict(data), seed=seed, run=run)
        traces = {
            OUR_WINDOW if quantity == KERNEL_WINDOW else quantity: trace
            for quantity, trace in done.traces.items()
        }
        return PeerRun(flows=done.flows, links=done.links, traces=traces, cpu_s=math.nan)

    def counterfactuals(self, _scenario: Scenario) -> Sequence[Counterfactual]:
        """Return the difference that remains, with ours under the kernel's rule."""
        return (Counterfactual(difference=GROWTH, ours=_acknowledging_all),)


def _transport(congestion: str) -> dict[str, Any]:
    return {"name": "linux", "tree": TREE, "congestion": congestion}


def _acknowledging_all(scenario: Scenario) -> Scenario:
    """Return a scenario whose receivers acknowledge every segment."""
    data = scenario.to_dict()
    for flow in data["flows"]:
        flow["tcp"] = {**flow["tcp"], "delayed_ack": "off"}
    return Scenario.from_dict(data)
