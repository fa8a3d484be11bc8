"""What identifies a run, requested or completed."""

from __future__ import annotations

from typing import Protocol

from dumbbell.scenario import Scenario


class Identified(Protocol):
    """A run of a scenario."""

    @property
    def scenario(self) -> Scenario:
        """The scenario."""

    @property
    def seed(self) -> int:
        """Seed of the random streams."""

    @property
    def run(self) -> int:
        """The number of the replication."""
