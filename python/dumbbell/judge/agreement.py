"""Agreement of two sides over the points of a grid: a quantity, a tolerance, and the share of the points that must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from dumbbell.judge.criterion import Criterion, criterion
from dumbbell.judge.pairs import differences, ratios, within
from dumbbell.judge.quantity import Quantity


@dataclass(frozen=True, kw_only=True)
class Agreed(Quantity):
    """A quantity of a run that is to agree between both sides.

    Parameters
    ----------
    kind
        ``"difference"`` of the means of both sides over the replications, or their ``"ratio"``.
    bound
        The largest difference, or distance of the ratio from 1, that counts as agreement.
    floor
        The largest difference that counts as agreement whatever the ratio, in the unit shown: a ratio says little about a
        queue of one packet.
    intervals
        The condition on the intervals over the replications; none by default. ``"overlap"``: the intervals of both means must
        also overlap. ``"equal"``: it is sufficient that the interval of the difference or ratio contains equality, so that the
        two sides are indistinguishable; for counts, because the uncertainty of their means exceeds the bound.
    aim
        Required share of the points that agree.
    paired
        Whether replications have the same random events on both sides.
    """

    kind: Literal["difference", "ratio"] = "ratio"
    bound: float
    floor: float = 0.0
    intervals: Literal["", "overlap", "equal"] = ""
    aim: float = 0.90
    paired: bool = True

    @property
    def criterion(self) -> str:
        """The criterion in words."""
        unit = f" {self.unit}" if self.unit else ""
        bound = f"{self.bound:g}{unit}" if self.kind == "difference" else f"{100.0 * self.bound:g} %"
        floor = f" or {self.floor:g}{unit}" if self.floor else ""
        condition = {"": "", "overlap": ", intervals overlapping", "equal": ", or indistinguishable"}
        return f"{self.label} within {bound}{floor}{condition[self.intervals]}"


def share(column: str, label: str) -> Agreed:
    """Return the agreement of shares or indices between 0 and 1: their difference; the intervals must overlap."""
    return Agreed(column=column, label=label, most=1.0, kind="difference", bound=0.05, intervals="overlap")


def count(column: str, label: str, *, unit: str = "", digits: int) -> Agreed:
    """Return the agreement of counts: their ratio. An interval of the ratio that contains 1 also counts as agreement."""
    return Agreed(column=column, label=label, unit=unit, bound=0.1, intervals="equal", digits=digits)


def compared(results: pd.DataFrame, measure: Agreed, *, factors: Sequence[str]) -> pd.DataFrame:
    """Return one row per point: both means with their intervals, difference or ratio with its interval, and ``agrees``."""
    table = differences(results, measure.column, factors=factors, paired=measure.paired)
    equal = 0.0
    if measure.kind == "ratio":
        ratio = ratios(results, measure.column, paired=measure.paired)
        table = table.drop(columns=["difference", "low", "high"]).merge(
            ratio[["point", "ratio", "low", "high"]], on="point", validate="one_to_one"
        )
        table.attrs = dict(results.attrs)
        equal = 1.0
    near = within(table, measure.bound, measure.kind)
    if measure.floor:
        near |= (table["ours"] - table["peer"]).abs() * measure.scale <= measure.floor
    if measure.intervals == "overlap":
        near &= table["overlap"]
    elif measure.intervals == "equal":
        near |= (table["low"] <= equal) & (equal <= table["high"])
    table["agrees"] = near
    return table


def judged(
    results: pd.DataFrame, measures: Sequence[Agreed], *, factors: Sequence[str]
) -> tuple[tuple[Criterion, ...], pd.DataFrame]:
    """Return the agreement on several quantities: a criterion for each, and a row for each point and quantity.

    The column ``beside`` has further observations on a disagreement. No cause is claimed.
    """
    criteria: list[Criterion] = []
    rows: list[pd.DataFrame] = []
    tables = {measure.label: compared(results, measure, factors=factors) for measure in measures}
    for measure in measures:
        table = tables[measure.label]
        criteria.append(criterion(measure.criterion, table["agrees"], aim=measure.aim))
        rows.append(
            pd.DataFrame(
                {
                    "point": table["point"],
                    **{name: table[name] for name in factors},
                    "measure": measure.label,
                    "ours": table["ours"] * measure.scale,
                    "peer": table["peer"] * measure.scale,
                    "compared_as": measure.kind,
                    "deviation": table[measure.kind],
                    "low": table["low"],
                    "high": table["high"],
                    "intervals_overlap": table["overlap"],
                    "beside": [
                        "" if agrees else _beside(results, tables, measure, str(point))
                        for point, agrees in zip(table["point"], table["agrees"], strict=True)
                    ],
                    "agrees": table["agrees"],
                    "explanation": "",
                }
            )
        )
    points = pd.concat(rows, ignore_index=True)
    points.attrs = dict(results.attrs)
    return tuple(criteria), points


ALIKE = 1e-3
"""Replications in which both sides are this close, relatively, are counted as identical."""


def _beside(
    results: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    measure: Agreed,
    point: str,
) -> str:
    """Return further observations on a point: the number of identical replications, and other measures that disagree."""
    found = []
    if measure.paired:
        rows = results[results["point"] == point]
        wide = rows.pivot_table(index="key", columns="side", values=measure.column)
        alike = int(((wide["ours"] - wide["peer"]).abs() <= ALIKE * wide["peer"].abs()).sum())
        found.append(f"{alike} of {len(wide)} replications identical within {ALIKE:.1%}")
    others = []
    for label, table in tables.items():
        row = table[table["point"] == point].iloc[0]
        if label != measure.label and not row["overlap"]:
            others.append(f"{label} {row['ours']:.4g} against {row['peer']:.4g}")
    if others:
        found.append(f"other intervals that do not overlap: {', '.join(others)}")
    return "; ".join(found)
