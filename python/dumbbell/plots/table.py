"""Tables of means with their intervals, and readable numbers."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from dumbbell.arguments import file_path
from dumbbell.errors import refusal
from dumbbell.files import write_text
from dumbbell.judge.estimate import Outcome
from dumbbell.judge.pooled import percentile
from dumbbell.judge.quantity import Quantity
from dumbbell.plots.asked import DEFAULT, Asked, ManyResults, differs, follows, varied
from dumbbell.plots.axis import axis_of
from dumbbell.plots.drawing import rows_of, selected, unknown
from dumbbell.plots.estimates import Estimate, Tally, by_run, estimate
from dumbbell.plots.naming import labels_of, quantity_of
from dumbbell.plots.panel import labelled
from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.pooling import Recorded

DIGITS = 4
"""Significant digits of a number without an interval."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ResultTable:
    """Means of quantities with their intervals, one row for each group of runs.

    Parameters
    ----------
    frame
        The columns that name the rows, and for each quantity ``NAME``, ``NAME_low``, ``NAME_high`` and ``NAME_n`` in the
        unit of the results; the interval is missing (NaN) where there is none.
    text
        The same for people: labels with units, and numbers as precise as their intervals.
    note
        What the intervals are.
    """

    frame: pd.DataFrame
    text: pd.DataFrame
    note: str

    def to_latex(self, *, caption: str | None = None, label: str | None = None) -> str:
        r"""Return a ``table`` of LaTeX with the rules of the package ``booktabs``; cells are escaped.

        Parameters
        ----------
        caption
            LaTeX over the table; by default `note`.
        label
            For ``\ref``.
        """
        is_number = [
            number >= len(self.text.columns) - self._quantities for number in range(len(self.text.columns))
        ]
        styled = (
            self.text.style.hide(axis="index")
            .format(escape="latex")
            .format_index(escape="latex", axis="columns")
        )
        made: str = styled.to_latex(
            hrules=True,
            column_format="".join("r" if number else "l" for number in is_number),
            caption=self.note.replace("%", r"\%") if caption is None else caption,
            label=label,
            position_float="centering",
        )
        return made

    @property
    def _quantities(self) -> int:
        return sum(name.endswith("_low") for name in self.frame.columns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file: ``.tex`` for LaTeX, or ``.csv`` with all digits.

        Raises
        ------
        ScenarioError
            Another ending.
        ResultsError
            The file cannot be written.
        """
        file = file_path("table", path)
        if file.suffix not in (".tex", ".csv"):
            raise refusal("table", str(path), "a name that ends in .tex, .csv")
        write_text(file, self.to_latex() if file.suffix == ".tex" else self.frame.to_csv(index=False))

    def __str__(self) -> str:
        return printable(f"{self.text.to_string(index=False)}\n{self.note}")

    def _repr_html_(self) -> str:
        shown = self.text.map(printable)
        table = shown.to_html(index=False, border=0)
        return f'<div style="overflow-x:auto">{table}</div><p>{html.escape(self.note)}</p>'


def table_of(
    runs: ManyResults,
    y: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    labels: Mapping[str, str] | None = None,
) -> ResultTable:
    """Return a table of many runs, as `dumbbell.Runs.table` describes it."""
    quantities = [y] if isinstance(y, str) else list(y or [DEFAULT])
    asked = Asked(names=names, where=where, labels=labels).checked()
    frame = runs.flows if all(name in runs.flows.columns for name in quantities) else runs.links
    for name in quantities:
        if name not in frame.columns:
            raise unknown("y", name, runs)
        if not is_numeric_dtype(frame[name]) or is_bool_dtype(frame[name]):
            raise refusal("y", name, "a column of numbers")
    frame = selected(frame, asked)
    rows = _rows(runs, frame, by, where)
    shown = labels_of([*rows, *quantities], labels)
    for key in labels or {}:
        if key not in shown:
            raise refusal(
                f"labels.{key}", (labels or {})[key], f"a label of {', '.join(shown)}", names=shown, near=key
            )
    if "name" in rows and "name" not in (labels or {}):
        shown["name"] = "link" if frame is not runs.flows and "utilization" in frame.columns else "flow"
    found = frame[rows].drop_duplicates().reset_index(drop=True)
    text = pd.DataFrame({shown[name]: _written(name, found[name]) for name in rows})
    tally = Tally()
    for name in quantities:
        quantity = quantity_of(name, float(frame[name].abs().max()))
        groups = by_run(frame, rows, name).groupby(rows, sort=False, dropna=False)[name]
        by_key = {_key(key): tally.add(estimate(values, quantity)) for key, values in groups}
        estimates = [by_key.get(_key(row), _MISSING) for row in found[rows].itertuples(index=False)]
        text[labelled(shown[name], quantity.unit or None)] = [written(one) for one in estimates]
        for end, part in (("", "mean"), ("_low", "low"), ("_high", "high")):
            found[f"{name}{end}"] = [getattr(one, part) / quantity.scale for one in estimates]
        found[f"{name}_n"] = [one.n for one in estimates]
    return ResultTable(frame=found, text=text, note=tally.note("in brackets"))


def percentiles_of(
    runs: ManyResults,
    of: str,
    shares: Sequence[float],
    by: str | Sequence[str] | None = None,
    *,
    names: Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return percentiles pooled over runs, as `dumbbell.Runs.percentiles` describes it."""
    asked = Asked(x=of, kind="cdf", names=names, where=where).checked()
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 < share <= 1.0:
            raise refusal("shares", share, "numbers above 0, at most 1, such as 0.95")
    frame = selected(rows_of(runs, of, asked, "of"), asked)
    if not is_numeric_dtype(frame[of]) or is_bool_dtype(frame[of]):
        raise refusal("of", of, "a column of numbers")
    rows = [by] if isinstance(by, str) else list(by) if by is not None else _rows(runs, frame, None, where)
    for name in rows:
        if name not in frame.columns:
            raise unknown("by", name, runs)
    found = []
    jobs = cast("Recorded", runs).jobs
    for key, group in frame.groupby(rows, sort=False, dropna=False):
        # To name the columns of the rows is to choose what is pooled.
        if by is None and len({jobs[job].scenario.canonical_json for job in group["job"].unique()}) > 1:
            raise refusal(
                "runs", "several scenarios", "replications of one scenario in each row", quoted=False
            )
        by_job = group.groupby("job", sort=False)[of]
        values = [known for _, run in by_job if len(known := run.dropna().to_numpy(dtype=float))]
        row = dict(zip(rows, key, strict=True))
        for share in shares:
            made = percentile(values, share) if values else Outcome(measured=math.nan)
            name = f"p{100.0 * share:g}"
            row |= {name: made.measured, f"{name}_low": made.low, f"{name}_high": made.high}
        counts = {"runs": len(values), "n": sum(map(len, values)), "missing": int(group[of].isna().sum())}
        found.append(row | counts)
    return pd.DataFrame(found)


_MISSING = Estimate(mean=math.nan, low=math.nan, high=math.nan, n=0, is_measured=False)


def _key(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the key of a row; a missing value does not equal itself."""
    return tuple(None if pd.isna(value) else value for value in values)


def _rows(
    runs: ManyResults, frame: pd.DataFrame, by: str | Sequence[str] | None, where: Mapping[str, Any] | None
) -> list[str]:
    """Return the columns that name the rows; refuse to mix the values of others."""
    free = [name for name in varied(runs) if name in frame.columns and differs(frame, name)]
    if by is None:
        several = ["name"] if differs(frame, "name") else []
        return [*free, *several] or ["name"]
    rows = [by] if isinstance(by, str) else list(by)
    for name in rows:
        if name not in frame.columns:
            raise unknown("by", name, runs)
    left = [name for name in free if name not in rows and not follows(frame, name, [*rows, *(where or {})])]
    if left:
        raise refusal(
            "by",
            left[0],
            "it in `by`, or `where` with one value of it",
            problem="varies too, and means must not mix its values",
        )
    return rows


def _written(column: str, values: pd.Series[Any]) -> list[str]:
    """Return the values of a parameter for people."""
    axis = axis_of(column, list(dict.fromkeys(values)))
    return [axis.names.get(value, "default") for value in values]


def written(one: Estimate) -> str:
    """Return an estimate with its interval, both to two significant digits of half its width.

    Examples
    --------
    >>> written(Estimate(mean=9.4312, low=9.4012, high=9.4612, n=5))
    '9.431 [9.401, 9.461]'
    """
    if not one.is_measured:
        return "–"
    half = (one.high - one.low) / 2.0
    if not math.isfinite(half) or half <= 0.0:
        return number(one.mean)
    digits = max(0, min(9, 1 - math.floor(math.log10(half))))
    return f"{one.mean:.{digits}f} [{one.low:.{digits}f}, {one.high:.{digits}f}]"


def number(value: float) -> str:
    """Return a number with `DIGITS` significant digits and no exponent, unless it is very large or small.

    Examples
    --------
    >>> number(1350790.0), number(9.43), number(0.0)
    ('1350790', '9.43', '0')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size <= 8:
        return f"{value:.{DIGITS - 1}e}"
    text = f"{value:.{max(0, DIGITS - 1 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of results for people: labels with units, and a few digits."""
    shown: dict[str, list[str]] = {}
    for name in frame.columns:
        values = frame[name]
        if is_numeric_dtype(values) and not is_bool_dtype(values):
            largest = float(np.nanmax(np.abs(values.to_numpy(dtype=float)), initial=0.0))
            quantity: Quantity = quantity_of(str(name), largest)
            shown[quantity.title] = [number(float(value) * quantity.scale) for value in values]
        else:
            shown[labels_of([str(name)])[str(name)] if name != "name" else "name"] = [
                "–" if pd.isna(value) else printable(str(value)) for value in values
            ]
    return pd.DataFrame(shown)
