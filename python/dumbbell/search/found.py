"""What a search has found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dumbbell.scenario import Scenario
from dumbbell.search.dimensions import Dimension, Values
from dumbbell.statistics import Interval


@dataclass(frozen=True, kw_only=True)
class Found:
    """The worst scenario of a search.

    Parameters
    ----------
    subject, objective
        The algorithm as text, and the name of what was maximized.
    dimensions
        The dimensions with their bounds.
    plain, worst, point
        Values of the plain point, of the worst point of the search, and of the reduced one.
    scenario
        The scenario of the reduced point.
    plain_value, value
        The objective at the plain and at the reduced point: means with 90 % intervals over 20 runs that neither the search
        nor the reduction has seen.
    points
        Number of points of the search.
    seed
        Seed of the search and of the runs.
    elapsed_s
        Wall-clock time in s.
    file
        The scenario as TOML.
    """

    subject: str
    objective: str
    dimensions: tuple[Dimension, ...]
    plain: Values
    worst: Values
    point: Values
    scenario: Scenario
    plain_value: Interval
    value: Interval
    points: int
    seed: int
    elapsed_s: float
    file: Path

    @property
    def changes(self) -> list[dict[str, str]]:
        """The dimensions that make the scenario bad: ``name``, ``meaning``, ``plain`` and ``value``."""
        return [
            {
                "name": dimension.name,
                "meaning": dimension.meaning,
                "plain": dimension.written(self.plain[dimension.name]),
                "value": dimension.written(self.point[dimension.name]),
            }
            for dimension in self.dimensions
            if self.point[dimension.name] != self.plain[dimension.name]
        ]
