"""Values, rows and figures of the report, which `report.md` names.

All numbers in the text are computed from the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dumbbell.papers import Evaluation, Settings
from dumbbell.papers.page import PaperPage
from dumbbell.report.page import Row

from . import figures, tables
from .evidence import Evidence
from .grid import GRID
from .plan import EVOLUTION, replications
from .quantities import CYCLE, RENO_THROUGHPUT, VEGAS_THROUGHPUT, WINDOW, modelled


class Content(PaperPage):
    """What the report shows."""

    evidence: Evidence
    figures = figures
    EVOLUTION = EVOLUTION

    def __init__(self, settings: Settings, evaluation: Evaluation[Evidence]) -> None:
        super().__init__(evaluation)
        self.counts = replications(settings)

    def rows(self, name: str) -> Iterator[Row]:
        """Return the rows of a table of `tables`."""
        found: Callable[[Evidence], Iterator[Row]] = getattr(tables, name)
        return found(self.evidence)

    def largest_error_of_vegas(self) -> float:
        """Return the largest error of the throughput of Vegas by the closed form, %."""
        return float(100.0 * np.abs(VEGAS_THROUGHPUT.errors(self.evidence)[0]).max())

    def mean_error_of_reno(self) -> float:
        """Return the mean error of the throughput of Reno by the closed form, %."""
        return float(100.0 * np.abs(RENO_THROUGHPUT.errors(self.evidence)[0]).mean())

    def settled_windows(self) -> Mapping[str, float]:
        """Return how far Vegas settles above nu T + alpha, least and most, and from the integer of Table 1, packets."""
        window = WINDOW.simulated(self.evidence)[0]
        above = window - WINDOW.predicted(self.evidence)[0]
        reached = modelled(self.evidence, "steady", tables.reached)
        return {"least": above.min(), "most": above.max(), "off": np.abs(window - reached).mean()}

    def excess_of_cycles(self) -> float:
        """Return how much longer cycles of Reno last than by the fluid recursion at loads up to 1/2, %."""
        light = np.array([row.load <= 0.5 for row in GRID])
        return float(-100.0 * CYCLE.errors(self.evidence)[1][light].mean())
