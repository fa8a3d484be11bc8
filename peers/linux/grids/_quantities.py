"""Quantities that are compared between the kernel and the simulator, and what counts as agreement.

Both sides draw nothing but start times, which they share. The kernel's runs still differ from each other, because their
packets are some microseconds late. Replications are therefore independent samples of both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import (
    Agreement,
    Criterion,
    comparison_table,
    differences,
    ratios,
    scatter,
    within,
)
from dumbbell.crossvalidation.agreement import criterion


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A quantity of a run, and when the means of both sides agree.

    Parameters
    ----------
    column
        Name of the reduced number.
    label, unit
        Name and unit in the report.
    scale
        Factor from the unit of the column to that of the report.
    bound
        The largest distance of the ratio ours / Linux from 1 that counts as agreement.
    floor
        The largest difference that counts as agreement whatever the ratio, in the unit of the report: a ratio says little
        about a queue of one packet.
    aim
        Required share of the points.
    digits
        Decimals shown.
    """

    column: str
    label: str
    unit: str
    scale: float = 1.0
    bound: float
    floor: float = 0.0
    aim: float
    digits: int

    @property
    def criterion(self) -> str:
        """The criterion in words."""
        floor = f" or {self.floor:g} {self.unit}" if self.floor else ""
        return f"{self.label} within {100.0 * self.bound:g} %{floor}"


def compared(results: pd.DataFrame, quantity: Quantity, *, factors: Sequence[str]) -> pd.DataFrame:
    """Return one row per point: means in the unit of the column, their ratio with its 95 % interval, and ``agrees``."""
    table = ratios(results, quantity.column, factors=factors, paired=False)
    apart = (table["ours"] - table["peer"]).abs() * quantity.scale
    table["agrees"] = within(table, quantity.bound) | (apart <= quantity.floor)
    return table


def judged(results: pd.DataFrame, quantities: Sequence[Quantity], *, factors: Sequence[str]) -> Agreement:
    """Return the agreement on several quantities: a criterion for each, and a row for each point and quantity."""
    criteria: list[Criterion] = []
    rows: list[pd.DataFrame] = []
    for quantity in quantities:
        table = compared(results, quantity, factors=factors)
        criteria.append(criterion(quantity.criterion, table["agrees"], aim=quantity.aim))
        spread = differences(results, quantity.column, paired=False)
        rows.append(
            pd.DataFrame(
                {
                    "point": table["point"],
                    **{name: table[name] for name in factors},
                    "measure": f"{quantity.label} [{quantity.unit}]",
                    "ours": table["ours"] * quantity.scale,
                    "peer": table["peer"] * quantity.scale,
                    "ratio": table["ratio"],
                    "peer low": spread["peer_low"] * quantity.scale,
                    "peer high": spread["peer_high"] * quantity.scale,
                    "agrees": table["agrees"],
                    "explanation": "",
                }
            )
        )
    points = pd.concat(rows, ignore_index=True)
    points.attrs = dict(results.attrs)
    return Agreement(criteria=tuple(criteria), points=points)


def blocks(
    results: pd.DataFrame, quantity: Quantity, *, factors: Sequence[str], by: str | None, log: bool
) -> list[report.Block]:
    """Return the figure of our means against the kernel's, and the folded table of all points."""
    table = compared(results, quantity, factors=factors)
    drawable = log and bool(((table["ours"] > 0.0) & (table["peer"] > 0.0)).all())
    apart = int((~table["agrees"]).sum())
    return [
        scatter(
            table,
            label=quantity.label,
            unit=quantity.unit,
            scale=quantity.scale,
            by=by,
            bound=quantity.bound,
            log=drawable,
            caption=f"{quantity.label}, means of each point; dashed: within {100.0 * quantity.bound:g} %",
        ),
        report.Details(
            title=f"{quantity.label}: all {len(table)} points, {apart} of them disagree",
            blocks=[
                comparison_table(
                    table,
                    caption=f"{quantity.label} at every point",
                    factors=list(factors),
                    quantity=f"{quantity.label} [{quantity.unit}]",
                    scale=quantity.scale,
                    digits=quantity.digits,
                    bound=quantity.bound,
                )
            ],
        ),
    ]
