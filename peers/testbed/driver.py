"""The driver: runs scenarios on the testbed, many at once within a budget of bandwidth."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from dumbbell import Scenario, testbed
from dumbbell.crossvalidation import Counterfactual, PeerAbsent, PeerRun, Rule
from dumbbell.errors import MachineError, RealTimeError
from dumbbell.quantities import bits_per_second
from dumbbell.runs import cores

from . import differences, rules
from .budget import Budget

MBPS_PER_CORE = 80.0
"""Rates of the links of concurrent runs per core, Mbit/s: packets are then delivered within a fraction of a millisecond."""

RUNS_PER_CORE = 8
"""Concurrent runs per core."""


@dataclass(frozen=True, kw_only=True)
class Testbed:
    """The TCP of the running kernel, with its own congestion controls and the eBPF twins of others.

    Parameters
    ----------
    budget
        What the links of concurrent runs may carry together, Mbit/s.
    """

    name: ClassVar[str] = "testbed"
    title: ClassVar[str] = "Linux in real time"
    package: ClassVar[str] = ""
    variants: ClassVar[tuple[str, ...]] = rules.VARIANTS
    rules: ClassVar[tuple[Rule, ...]] = rules.RULES

    budget: Budget = field(default_factory=lambda: Budget(MBPS_PER_CORE * cores()))

    @property
    def at_once(self) -> int:
        """Number of concurrent runs, if the budget allows them."""
        return RUNS_PER_CORE * cores()

    @cached_property
    def _checked(self) -> str:
        """The release of the kernel, once everything that runs need is there."""
        missing = [check for check in testbed.doctor() if check.status == "missing"]
        if missing:
            first = missing[0]
            why = f"{first.check} is missing: {first.detail}; {first.remedy}"
            raise PeerAbsent(self.title, self.package, why)
        return platform.release()

    def version(self) -> str:
        """Return the release of its kernel, as ``"Linux 6.18 in real time"``.

        Raises
        ------
        PeerAbsent
            The machine cannot run scenarios in real time, or not those of twins.
        """
        return f"Linux {self._checked} in real time"

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table that states the kernel's rules, see `rules.table`."""
        return rules.table(variant, **changes)

    def identity(self) -> str:
        """Return the release, and digests of the testbed with its twins."""
        try:
            return testbed.identity()
        except MachineError as error:
            raise PeerAbsent(self.title, self.package, str(error)) from None

    def prepare(self) -> None:
        """Build the testbed if necessary."""
        self.identity()

    def cost(self, scenario: Scenario) -> float:
        """Return the duration of a run, s, which is that of its scenario."""
        return testbed.duration_s(scenario)

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario as soon as the budget allows.

        Raises
        ------
        ScenarioError
            The kernel cannot follow a rule of the scenario.
        RealTimeError
            The run failed, or was disturbed in every repetition.
        """
        with self.budget.held(_carried_mbps(scenario)):
            done = testbed.run(scenario, seed=seed, run=run)
        if done.disturbed:
            late = done.flows.iloc[0]
            raise RealTimeError(
                f"disturbed in each of {done.repeats + 1} runs: {100.0 * late['late_over_1ms']:.2g} % of the packets "
                f"more than 1 ms late, the latest {late['late_max_us'] / 1e3:.0f} ms; run the same command on a quieter machine"
            )
        return PeerRun(flows=done.flows, links=done.links, traces=done.traces, cpu_s=math.nan)

    def counterfactuals(self, _scenario: Scenario) -> Sequence[Counterfactual]:
        """Return the differences that remain, with our scenario under the kernel's rule; see `differences`."""
        return differences.REMAINING


def _carried_mbps(scenario: Scenario) -> float:
    """Return the rate of the slowest link, which is what a run can carry at most, Mbit/s."""
    links: Sequence[dict[str, Any]] = scenario.resolved()["links"]
    return min(bits_per_second(link["rate"], "rate") for link in links) / 1e6
