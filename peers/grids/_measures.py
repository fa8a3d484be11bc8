"""Measures of agreement over the points of a grid: quantities, tolerances, and presentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation import Agreement, Criterion
from dumbbell.crossvalidation.agreement import criterion, differences, ratios, within
from dumbbell.crossvalidation.figures import scatter
from dumbbell.crossvalidation.tables import comparison_table

AIM = 0.90
"""Required share of the points that agree."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A quantity of a run that is compared between both sides.

    Parameters
    ----------
    column
        Name of the reduced column.
    label, unit
        Its name and unit in the report.
    kind
        ``"difference"`` of the means of both sides over the replications, or their ``"ratio"``.
    bound
        The largest difference, or distance of the ratio from 1, that counts as agreement.
    intervals
        The condition on the intervals over the replications. ``"overlap"``: the intervals of both means must also overlap.
        ``"equal"``: it is sufficient that the interval of the difference or ratio contains equality, so that the two sides
        are indistinguishable; for counts, because the uncertainty of their means exceeds the bound.
    digits
        Decimals shown.
    """

    column: str
    label: str
    unit: str = ""
    kind: Literal["difference", "ratio"]
    bound: float
    intervals: Literal["overlap", "equal"]
    digits: int = 3

    @property
    def name(self) -> str:
        """The criterion in words."""
        bound = f"{self.bound:g}" if self.kind == "difference" else f"{100.0 * self.bound:g} %"
        unit = f" {self.unit}" if self.unit and self.kind == "difference" else ""
        if self.intervals == "overlap":
            return f"{self.label} within {bound}{unit}, intervals overlapping"
        return f"{self.label} within {bound}{unit}, or indistinguishable"


def share(column: str, label: str) -> Measure:
    """Return a measure of shares or indices between 0 and 1: their difference; the intervals must overlap."""
    return Measure(column=column, label=label, kind="difference", bound=0.05, intervals="overlap")


def count(column: str, label: str, *, unit: str = "", digits: int) -> Measure:
    """Return a measure of counts: their ratio. An interval of the ratio that contains 1 also counts as agreement."""
    return Measure(
        column=column, label=label, unit=unit, kind="ratio", bound=0.1, intervals="equal", digits=digits
    )


RETRANSMITTED = count("retransmitted", "segments sent again", digits=1)
TIMEOUTS = count("timeouts", "timeouts", digits=2)
BACKLOG = count("backlog_mean", "mean backlog", unit="packets", digits=2)


def compared(
    results: pd.DataFrame, measure: Measure, *, factors: Sequence[str], paired: bool = True
) -> pd.DataFrame:
    """Return one row per point: both means with their intervals, difference or ratio with its interval, and ``agrees``."""
    table = differences(results, measure.column, factors=factors, paired=paired)
    equal = 0.0
    if measure.kind == "ratio":
        ratio = ratios(results, measure.column, paired=paired)
        table = table.drop(columns=["difference", "low", "high"]).merge(
            ratio[["point", "ratio", "low", "high"]], on="point", validate="one_to_one"
        )
        table.attrs = dict(results.attrs)
        equal = 1.0
    near = within(table, measure.bound, measure.kind)
    if measure.intervals == "overlap":
        table["agrees"] = near & table["overlap"]
    else:
        table["agrees"] = near | ((table["low"] <= equal) & (equal <= table["high"]))
    return table


def judged(
    results: pd.DataFrame, measures: Sequence[Measure], *, factors: Sequence[str], paired: bool = True
) -> Agreement:
    """Return the agreement on several measures: a criterion for each, and a row for each point and measure.

    The column ``beside`` has further observations on a disagreement. No cause is claimed.
    """
    criteria: list[Criterion] = []
    rows: list[pd.DataFrame] = []
    tables = {
        measure.label: compared(results, measure, factors=factors, paired=paired) for measure in measures
    }
    for measure in measures:
        table = tables[measure.label]
        criteria.append(criterion(measure.name, table["agrees"], aim=AIM))
        rows.append(
            pd.DataFrame(
                {
                    "point": table["point"],
                    **{name: table[name] for name in factors},
                    "measure": measure.label,
                    "ours": table["ours"],
                    "peer": table["peer"],
                    "compared_as": measure.kind,
                    "deviation": table[measure.kind],
                    "low": table["low"],
                    "high": table["high"],
                    "intervals_overlap": table["overlap"],
                    "beside": [
                        "" if agrees else _beside(results, tables, measure, str(point), paired=paired)
                        for point, agrees in zip(table["point"], table["agrees"], strict=True)
                    ],
                    "agrees": table["agrees"],
                    "explanation": "",
                }
            )
        )
    points = pd.concat(rows, ignore_index=True)
    return Agreement(criteria=tuple(criteria), points=points)


# Replications in which both sides are this close are counted as identical.
ALIKE = 1e-3


def _beside(
    results: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
    measure: Measure,
    point: str,
    *,
    paired: bool,
) -> str:
    """Return further observations on a point: the number of identical replications, and other measures that disagree."""
    found = []
    if paired:
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


def same_way(results: pd.DataFrame, measure: Measure, *, by: str) -> report.Text:
    """Return the number of replications that are identical on both sides, for each value of a factor.

    If both sides follow the same rules to the last packet, their runs are identical. If two packets are reordered, the runs
    diverge, and only means over replications can be compared.
    """
    wide = results.pivot_table(index=["key", by], columns="side", values=measure.column, sort=False)
    wide = wide.reset_index()
    wide["alike"] = (wide["ours"] - wide["peer"]).abs() <= ALIKE * wide["peer"].abs()
    counts = [
        f"{name} {int(rows.sum())} of {len(rows)}" for name, rows in wide.groupby(by, sort=False)["alike"]
    ]
    return report.Text(
        paragraphs=[
            f"Replications identical on both sides within {ALIKE:.1%} ({measure.label}): {', '.join(counts)}. The others "
            "diverge at some packet, for example if one arrives at a full queue at the same instant at which "
            "another departs; their means are compared."
        ]
    )


def blocks(
    results: pd.DataFrame,
    measure: Measure,
    *,
    factors: Sequence[str],
    by: str,
    paired: bool = True,
    log: bool = False,
    folded: bool = False,
) -> list[report.Block]:
    """Return the figure of our means against the peer's, and the folded table of all points; both are folded if `folded`."""
    table = compared(results, measure, factors=factors, paired=paired)
    unit = f" [{measure.unit}]" if measure.unit else ""
    drawable = log and bool(((table["ours"] > 0.0) & (table["peer"] > 0.0)).any())
    figure = scatter(
        table,
        label=measure.label,
        unit=measure.unit or None,
        caption=f"{measure.label}, mean over the replications of each point; dashed: {measure.name}",
        by=by,
        bound=measure.bound,
        log=drawable,
    )
    listed = comparison_table(
        table,
        caption=f"{measure.label} at every point",
        factors=list(factors),
        quantity=f"{measure.label}{unit}",
        digits=measure.digits,
        bound=measure.bound,
    )
    apart = int((~table["agrees"]).sum())
    title = f"{measure.label}: all {len(table)} points, {apart} of them disagree"
    if folded:
        return [report.Details(title=title, blocks=[figure, listed])]
    return [figure, report.Details(title=title, blocks=[listed])]
