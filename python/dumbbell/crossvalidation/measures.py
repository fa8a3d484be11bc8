"""Figures and tables of quantities that are compared at the points of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from dumbbell import report
from dumbbell.crossvalidation.figures import scatter
from dumbbell.crossvalidation.grid import Agreement
from dumbbell.crossvalidation.tables import comparison_table
from dumbbell.judge.agreement import ALIKE, Agreed, compared, judged


def agreement(results: pd.DataFrame, measures: Sequence[Agreed], *, factors: Sequence[str]) -> Agreement:
    """Return the agreement on several quantities: a criterion for each, and a row for each point and quantity."""
    criteria, points = judged(results, measures, factors=factors)
    return Agreement(criteria=criteria, points=points)


def same_way(results: pd.DataFrame, measure: Agreed, *, by: str) -> report.Text:
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
    measure: Agreed,
    *,
    factors: Sequence[str],
    by: str | None,
    log: bool = False,
    folded: bool = False,
) -> list[report.Block]:
    """Return the figure of our means against the peer's, and the folded table of all points; both are folded if `folded`."""
    table = compared(results, measure, factors=factors)
    drawable = log and bool(((table["ours"] > 0.0) & (table["peer"] > 0.0)).any())
    figure = scatter(
        table,
        label=measure.label,
        unit=measure.unit or None,
        scale=measure.scale,
        caption=f"{measure.label}, mean over the replications of each point; dashed: {measure.criterion}",
        by=by,
        bound=measure.bound,
        log=drawable,
    )
    listed = comparison_table(
        table,
        caption=f"{measure.label} at every point",
        factors=list(factors),
        quantity=measure.title,
        scale=measure.scale,
        digits=measure.digits,
        bound=measure.bound,
    )
    apart = int((~table["agrees"]).sum())
    title = f"{measure.label}: all {len(table)} points, {apart} of them disagree"
    if folded:
        return [report.Details(title=title, blocks=[figure, listed])]
    return [figure, report.Details(title=title, blocks=[listed])]
