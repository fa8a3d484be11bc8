"""The cases and simulators of a benchmark, and what was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dumbbell.bench.cases import CASES, Case
from dumbbell.bench.contenders import Contender
from dumbbell.bench.turns import Spread, Turns


@dataclass(kw_only=True)
class Board:
    """What is measured, and what was.

    Parameters
    ----------
    cases
        The cases.
    contenders
        All simulators that are to be measured, Dumbbell first.
    turns
        How often each contender runs each case.
    share
        Factor on the simulated time of the cases.
    least_cpu_s
        Minimum CPU time of a measurement, s.
    absent
        Why some simulators were not measured, by title.
    measured
        The turns of the contenders by the names of cases and their keys.
    slower
        The cost of a packet at large windows over that at small ones; none if it was not measured.
    """

    cases: Sequence[Case]
    contenders: Sequence[Contender]
    turns: int
    share: float
    least_cpu_s: float
    absent: dict[str, str] = field(default_factory=dict)
    measured: dict[str, Mapping[str, Turns]] = field(default_factory=dict)
    slower: Spread | None = None

    @property
    def present(self) -> list[Contender]:
        """The simulators that are on this machine."""
        return [one for one in self.contenders if one.title not in self.absent]

    @property
    def is_part(self) -> bool:
        """Whether some cases were left out."""
        return len(self.cases) < len(CASES)
