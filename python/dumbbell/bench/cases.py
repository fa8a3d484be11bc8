"""The cases for all simulators.

Each case is a dumbbell with packets of 1,000 bytes, 20 ms of propagation on the bottleneck, and access links of 1 ms that are
ten times faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dumbbell import topologies
from dumbbell.errors import refusal
from dumbbell.scenario import DropTail, Scenario

PAYLOAD = 960
"""Payload of a full segment, bytes."""

HEADER = 40
"""Headers of a segment, and the whole of an acknowledgement, bytes."""

# Duration of a start-up run: the first flow has started, and nothing has arrived.
NOTHING = "1 us"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case.

    Parameters
    ----------
    name
        How it is chosen on the command line.
    flows
        Greedy flows from left to right, each with its own hosts.
    variant
        ``reno``, ``newreno`` or ``sack``.
    megabits
        Rate of the bottleneck, Mbit/s.
    buffer
        Room of the bottleneck's queue, packets.
    duration_s
        Simulated time, s.
    aim
        Delivered packets per CPU second that Dumbbell should reach, or 0.
    is_yardstick
        Reference for another case; the speed ratio is shown without a target.
    """

    name: str
    flows: int
    variant: str
    megabits: int
    buffer: int
    duration_s: float
    aim: float = 0.0
    is_yardstick: bool = False

    @property
    def title(self) -> str:
        """Description for users."""
        shown = {"reno": "Reno", "newreno": "NewReno", "sack": "SACK"}[self.variant]
        flows = "flow" if self.flows == 1 else "flows"
        return f"{self.flows} {shown} {flows}, {self.megabits} Mbit/s, buffer {self.buffer}"

    def scenario(self, table: Mapping[str, Any], *, share: float = 1.0) -> Scenario:
        """Return the scenario.

        Parameters
        ----------
        table
            The ``tcp`` table of its flows.
        share
            Factor on the simulated time.
        """
        duration_s = self.duration_s * share
        shape = topologies.dumbbell(
            pairs=self.flows,
            rate=f"{self.megabits} Mbit/s",
            delay="20 ms",
            queue=DropTail(limit=f"{self.buffer} packets"),
            access_rate=f"{10 * self.megabits} Mbit/s",
            access_delay="1 ms",
            access_queue=DropTail(limit="unlimited"),
        )
        # Starts are spread over a tenth of the run, or the first slow starts would all be one.
        flows = [
            {
                "name": f"f{number}",
                "from": f"s{number}",
                "to": f"d{number}",
                "start": f"{round(1e8 * duration_s * (number - 1) / self.flows)} ns",
                "tcp": table,
            }
            for number in range(1, self.flows + 1)
        ]
        return shape.scenario(
            name=self.name, rules="classic", duration=f"{round(1e9 * duration_s)} ns", flows=flows
        )

    def utilization(self, packets_per_run: float, *, share: float = 1.0) -> float:
        """Return the part of the bottleneck's time that delivered packets of 1,000 bytes took.

        Parameters
        ----------
        packets_per_run
            Delivered data packets of one run.
        share
            Factor on the simulated time.
        """
        return packets_per_run * 8 * (PAYLOAD + HEADER) / (self.megabits * 1e6 * self.duration_s * share)


def nearly_nothing(scenario: Scenario) -> Scenario:
    """Return a scenario that ends as soon as it has begun, so that a run of it costs the start-up alone."""
    return scenario.with_values({"duration": NOTHING})


ONE_FLOW, HUNDRED_FLOWS = 6e6, 3e6

CASES: tuple[Case, ...] = (
    Case(name="one-10", flows=1, variant="newreno", megabits=10, buffer=100, duration_s=240.0, aim=ONE_FLOW),
    Case(name="ten-50", flows=10, variant="reno", megabits=50, buffer=100, duration_s=48.0),
    Case(
        name="hundred-1000",
        flows=100,
        variant="reno",
        megabits=1000,
        buffer=1000,
        duration_s=6.0,
        aim=HUNDRED_FLOWS,
    ),
    Case(name="one-100", flows=1, variant="newreno", megabits=100, buffer=500, duration_s=24.0, aim=ONE_FLOW),
    Case(name="sack-1000", flows=2, variant="sack", megabits=1000, buffer=3000, duration_s=2.4),
    Case(
        name="sack-10",
        flows=2,
        variant="sack",
        megabits=10,
        buffer=100,
        duration_s=240.0,
        is_yardstick=True,
    ),
)
"""Every case; most can carry 300,000 packets, which take the slowest simulator some ten seconds."""


def named(names: Sequence[str]) -> tuple[Case, ...]:
    """Return the cases of some names, in their order; all of them for no name.

    Parameters
    ----------
    names
        Names of cases.

    Raises
    ------
    ScenarioError
        There is no case of a name.
    """
    known = [case.name for case in CASES]
    for name in names:
        if name not in known:
            raise refusal("case", name, f"one of {', '.join(known)}", names=known)
    return tuple(case for case in CASES if not names or case.name in names)
