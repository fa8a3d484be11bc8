"""Differences between the runs of two sides, with intervals by the rule of `dumbbell.judge.estimate`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of, resampled
from dumbbell.judge.pooled import pooled
from dumbbell.judge.quantity import CONFIDENCE, Quantity
from dumbbell.pooling import WORDS
from dumbbell.results import COLUMNS
from dumbbell.statistics import jain_index, mean_difference

Finding = Literal["differs", "no difference seen", "equal", "undecided", "not measured"]

Values = NDArray[np.float64]

SHARES: Mapping[float, str] = {0.5: "Median", 0.95: "95th percentile", 0.99: "99th percentile"}
"""Pooled percentiles that are compared."""

OF_A_RUN = re.compile(r"_p\d\d(_s)?$")
"""Columns that are percentiles of one run."""

NO_RESULT = ("job", "seed", "run", "fingerprint", "simulated_s", "events", "name", "start_s")
"""Columns that identify a run or its parts."""

UNITS: Mapping[str, str] = {"bit/s": "Mbit/s", "s": "ms", "fraction": "%"}
"""Units as shown, by those of columns; others are shown as they are."""

PAIRED = "pairs, Student's t"
UNPAIRED = "independent runs, Welch"
BOOTSTRAP = "bootstrap over {}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A quantity on both sides.

    Parameters
    ----------
    point
        Values of the parameters that identify the compared scenarios; empty if each side has one.
    of
        What it is of, such as ``"flow fg"``.
    quantity
        The column of the results, or of a pooled percentile the trace with the share.
    label, unit
        What it is, and the unit of `a`, `b`, `difference`, `low` and `high`.
    a, b
        Means over the runs, or pooled percentiles.
    difference, low, high
        B minus A, and the limits of its 90 % interval; NaN if there is none.
    n
        Number of runs on each side.
    method
        How the interval was computed, or why there is none.
    finding
        ``"differs"`` if the interval excludes 0, ``"no difference seen"`` if it does not, ``"equal"`` if all runs are equal,
        ``"undecided"`` without an interval, ``"not measured"`` if a run lacks the value.
    """

    point: Mapping[str, Any]
    of: str
    quantity: str
    label: str
    unit: str
    a: float
    b: float
    difference: float
    low: float
    high: float
    n: tuple[int, int]
    method: str
    finding: Finding

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The runs of both sides at a point: tables with a row for each flow or link of a run, in the same order of runs.

    Parameters
    ----------
    point
        See `Row`.
    paired
        Whether run k of one side belongs to run k of the other one.
    flows, links
        For each side.
    recorded
        Every recorded value by trace, and by flow or link, for each side: an array for each run.
    """

    point: Mapping[str, Any]
    paired: bool
    flows: tuple[pd.DataFrame, pd.DataFrame]
    links: tuple[pd.DataFrame, pd.DataFrame]
    recorded: Mapping[str, tuple[Mapping[str, list[Values]], Mapping[str, list[Values]]]]


def rows(sample: Sample, flows: Sequence[str], links: Sequence[str]) -> list[Row]:
    """Return the differences at a point: of all flows together, of each flow, of each link, and of pooled percentiles.

    Parameters
    ----------
    sample
        The runs.
    flows, links
        Names that both sides have.
    """
    return [
        *_together(sample),
        *_of_table(sample, "flow", flows),
        *_of_table(sample, "link", links),
        *_pooled(sample, {*flows, *links}),
    ]


def _quantity(table: str, column: str) -> Quantity:
    stated = next(one for one in COLUMNS[table] if one.name == column)
    unit = UNITS.get(stated.unit, "" if stated.unit == "-" else stated.unit)
    label = stated.meaning.partition(".")[0].partition(", with `")[0]
    return Quantity(
        column=column, label=f"{label}, mean over runs" if OF_A_RUN.search(column) else label, unit=unit
    )


def _of_table(sample: Sample, kind: str, names: Sequence[str]) -> Iterator[Row]:
    a, b = sample.flows if kind == "flow" else sample.links
    known = [one.name for one in COLUMNS[f"{kind}s"]]
    columns = [name for name in known if name in a and name in b and name not in NO_RESULT]
    for name in names:
        first, second = a[a["name"] == name], b[b["name"] == name]
        for column in columns:
            sides = tuple(part[column].to_numpy(dtype=np.float64) for part in (first, second))
            if any(np.nan_to_num(side).any() for side in sides):
                yield _row(sample, f"{kind} {name}", _quantity(f"{kind}s", column), *sides)


def _together(sample: Sample) -> Iterator[Row]:
    """Yield the sum of goodputs and Jain's index."""
    if max(side["name"].nunique() for side in sample.flows) < 2:
        return
    by_run = [
        [rows["goodput_bps"].to_numpy(dtype=np.float64) for _, rows in side.groupby("job", sort=True)]
        for side in sample.flows
    ]
    known = [[flows[np.isfinite(flows)] for flows in side] for side in by_run]
    total = [np.array([flows.sum() for flows in side]) for side in known]
    fair = [np.array([jain_index(flows) if flows.size else math.nan for flows in side]) for side in known]
    yield _row(
        sample, "all flows", Quantity(column="goodput_bps", label="Sum of goodputs", unit="Mbit/s"), *total
    )
    yield _row(
        sample,
        "all flows",
        Quantity(column="jain", label="Jain's fairness index of goodputs", most=1.0),
        *fair,
    )


def _row(sample: Sample, of: str, quantity: Quantity, a: Values, b: Values) -> Row:
    scale = quantity.scale
    first, second = a * scale, b * scale
    found, method, finding = difference(first, second, paired=sample.paired)
    return Row(
        point=sample.point, of=of, quantity=quantity.column, label=quantity.label, unit=quantity.unit,
        a=_mean(first), b=_mean(second), difference=found.measured, low=found.low, high=found.high,
        n=(len(a), len(b)), method=method, finding=finding,
    )  # fmt: skip


def _mean(values: Values) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def difference(a: Values, b: Values, *, paired: bool) -> tuple[Outcome, str, Finding]:
    """Return the difference of two means, b minus a, how its interval was computed, and what it shows.

    Parameters
    ----------
    a, b
        One value for each run, shapes (n,) and (m,); in pairs n = m.
    paired
        Whether value k of both belongs to the same random numbers.
    """
    missing = [int(np.isnan(side).sum()) for side in (a, b)]
    if any(missing) or not (a.size and b.size):
        lack = ", ".join(
            f"{count} of {side.size} runs of {name}"
            for name, count, side in zip("AB", missing, (a, b), strict=True)
            if count
        )
        return Outcome(measured=math.nan), f"no value in {lack or 'any run'}", "not measured"
    measured = float(b.mean() - a.mean())
    if min(a.size, b.size) < 2:
        is_equal = a.size == b.size and bool((a == b).all())
        return Outcome(measured=measured), "none: one run", "equal" if is_equal else "undecided"
    if np.ptp(a) == 0.0 and np.ptp(b) == 0.0:
        return (
            Outcome(measured=measured),
            "none: the runs of each side are equal",
            "differs" if measured else "equal",
        )
    if paired:
        found = mean_of(b - a)
        if math.isnan(found.low):
            if not found.measured:
                return found, "none: the runs of each pair are equal", "equal"
            return found, "none: every pair differs by the same", "differs"
        return found, PAIRED, _finding(found)
    interval = mean_difference(b, a, confidence=CONFIDENCE)
    found = Outcome(measured=interval.estimate, low=interval.low, high=interval.high)
    return found, UNPAIRED, _finding(found)


def _finding(found: Outcome) -> Finding:
    if math.isnan(found.low):
        return "undecided"
    return "differs" if found.low > 0.0 or found.high < 0.0 else "no difference seen"


def _pooled(sample: Sample, names: Collection[str]) -> Iterator[Row]:
    """Yield percentiles of the values of all runs; both sides of a pair are resampled together."""
    for trace, (first, second) in sample.recorded.items():
        for name in first:
            if name not in second or name not in names:
                continue
            kind = "link" if trace == "wait" else "flow"
            for share in SHARES:
                yield _percentile(sample, f"{kind} {name}", trace, share, first[name], second[name])


def _percentile(
    sample: Sample, of: str, trace: str, share: float, a: Sequence[Values], b: Sequence[Values]
) -> Row:
    quantity = Quantity(
        column=f"{trace}_p{share * 100:g}_pooled_s",
        label=f"{SHARES[share]} of every {WORDS[trace]} of all runs", unit="ms",
    )  # fmt: skip
    method = BOOTSTRAP.format("pairs" if sample.paired else "runs")
    found = Outcome(measured=math.nan)
    finding: Finding = "not measured"
    sides = [math.nan, math.nan]
    try:
        ours = pooled(a, share) * quantity.scale
        theirs = pooled(b, share, seed=1 if sample.paired else 2) * quantity.scale
        sides = [float(ours[0]), float(theirs[0])]
        found = resampled(theirs - ours)
        finding = _finding(found)
        if finding == "undecided":
            is_alone = min(len(a), len(b)) < 2
            method = "none: one run" if is_alone else "none: the resamples are equal"
            finding = "equal" if not found.measured else "undecided" if is_alone else "differs"
    except NotMeasured as why:
        method = str(why)
    return Row(
        point=sample.point, of=of, quantity=quantity.column, label=quantity.label, unit=quantity.unit,
        a=sides[0], b=sides[1], difference=found.measured, low=found.low, high=found.high,
        n=(len(a), len(b)), method=method, finding=finding,
    )  # fmt: skip
