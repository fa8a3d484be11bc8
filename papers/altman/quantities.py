"""The quantities of Tables 1 to 3: simulated, by the closed forms, and by the fluid recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from dumbbell.models import altman

from .evidence import Averages, Evidence, Values
from .grid import Setting

Predicts = Callable[[Setting], float]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity of a row of the tables.

    Parameters
    ----------
    kind, column
        Where the simulated value is from.
    label, unit
        What it is.
    closed, fluid
        Its value by the closed form and by the fluid recursion.
    """

    kind: Averages
    column: str
    label: str
    unit: str
    closed: Predicts
    fluid: Predicts

    def simulated(self, evidence: Evidence) -> Values:
        """Return the means over runs with resamples: shape (1 + resamples, rows)."""
        return evidence.mean(evidence.table(self.kind, self.column))

    def predicted(self, evidence: Evidence) -> list[Values]:
        """Return the means of the closed form and of the fluid recursion over runs, each of shape (rows,)."""
        return [modelled(evidence, self.kind, predicts) for predicts in (self.closed, self.fluid)]

    def errors(self, evidence: Evidence) -> list[Values]:
        """Return the relative errors of both models, predicted / simulated - 1, each of shape (rows,)."""
        simulated = evidence.table(self.kind, self.column)
        return [
            evidence.errors(evidence.model(self.kind, predicts), simulated)[0]
            for predicts in (self.closed, self.fluid)
        ]


def modelled(evidence: Evidence, kind: Averages, predicts: Predicts) -> Values:
    """Return the means of a model over the runs of each row of the tables."""
    return np.asarray(evidence.mean(evidence.model(kind, predicts))[0])


WINDOW = Quantity(
    kind="steady",
    column="window",
    label="window of Vegas",
    unit="packets",
    closed=lambda row: row.stable.low,
    fluid=lambda row: row.fluid_vegas.window,
)
SLOW_START = Quantity(
    kind="steady",
    column="slow_start_window",
    label="slow-start threshold of Vegas",
    unit="packets",
    closed=lambda row: altman.slow_start_threshold(row.link, gamma=row.gamma).window,
    fluid=lambda row: float(altman.fluid_slow_start_threshold(row.link, gamma=row.gamma)),
)
VEGAS_RTT = Quantity(
    kind="steady",
    column="rtt",
    label="round-trip time of Vegas",
    unit="s",
    closed=lambda row: row.stable.low / row.link.available_rate,
    fluid=lambda row: row.fluid_vegas.rtt,
)
VEGAS_THROUGHPUT = Quantity(
    kind="steady",
    column="throughput",
    label="throughput of Vegas",
    unit="packets/s",
    closed=lambda row: row.link.available_rate,
    fluid=lambda row: row.fluid_vegas.throughput,
)


def _of_reno(column: str, label: str, unit: str, attribute: str) -> Quantity:
    """Return a quantity of a cycle of Reno, which both models have as the same attribute."""

    def by(model: str) -> Predicts:
        value = attrgetter(f"{model}.{attribute}")
        return lambda row: float(value(row))

    return Quantity(
        kind="cycles", column=column, label=label, unit=unit, closed=by("cycle"), fluid=by("fluid_reno")
    )


LOSS_WINDOW = _of_reno("loss_window", "loss window of Reno", "packets", "loss_window")
CYCLE = _of_reno("cycle_s", "cycle of Reno", "s", "duration")
RENO_RTT = _of_reno("rtt", "round-trip time of Reno", "s", "rtt")
RENO_THROUGHPUT = _of_reno("throughput", "throughput of Reno", "packets/s", "throughput")

OF_VEGAS = (WINDOW, SLOW_START, VEGAS_RTT, VEGAS_THROUGHPUT)
OF_RENO = (LOSS_WINDOW, CYCLE, RENO_RTT, RENO_THROUGHPUT)
