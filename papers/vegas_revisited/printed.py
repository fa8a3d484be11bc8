"""The paper's numbers, read from ``printed.toml``, and what follows from them.

[hengartner2000 tables 1-12]
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PHASES = ("ss", "ca", "rec")

# The terms of the three-factor model in the paper's order, without the mean.
TERMS = ("ss", "ca", "rec", "ss_ca", "ss_rec", "ca_rec", "ss_ca_rec")

# The cells of the design, first factor slowest: "101" has ss and rec on.
CELLS = tuple(f"{index:03b}" for index in range(8))

FOREGROUND_TABLES = ("I", "II", "IV", "V", "X", "XII")
EFFECT_TABLES = ("VI", "VII", "VIII", "IX", "XI")


@cache
def data() -> Mapping[str, Any]:
    """Return the whole file."""
    return tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))


def sign(term: str, cell: str) -> int:
    """Return the entry (+1 or -1) of the sign table for a term and a cell.

    Parameters
    ----------
    term
        ``"mean"`` or phases joined by ``_``.
    cell
        Levels of `PHASES` as zeros and ones.
    """
    if term == "mean":
        return 1
    return math.prod(1 if cell[PHASES.index(phase)] == "1" else -1 for phase in term.split("_"))


@dataclass(frozen=True, kw_only=True)
class ForegroundTable:
    """A table of means by foreground, load and background.

    Parameters
    ----------
    metric
        ``"throughput"`` (KB/s) or ``"retransmissions"`` (KB).
    columns
        Pairs of load and background, the latter ``"reno"`` or ``"vegas"`` as printed.
    rows
        Means by foreground, in the order of the columns.
    """

    metric: str
    columns: tuple[tuple[str, str], ...]
    rows: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class EffectColumn:
    """One background's column of a table of effects.

    Parameters
    ----------
    table
        Roman number of the table.
    background
        ``"reno"`` or ``"vegasfix"``.
    metric, load
        What was measured, and under which load.
    effect
        Effects by term, with ``"mean"``.
    percent
        Shares of variation by term, with ``"error"``, %.
    not_significant
        The terms marked as not significant.
    half_width
        The printed half-width of the 90 % intervals.
    """

    table: str
    background: str
    metric: str
    load: str
    effect: Mapping[str, float]
    percent: Mapping[str, float]
    not_significant: frozenset[str]
    half_width: float

    def cell_mean(self, cell: str) -> float:
        """Return the mean of a cell rebuilt from the effects."""
        return sum(value * sign(term, cell) for term, value in self.effect.items())

    def total_variation(self) -> float:
        """Return the total sum of squares per run, rebuilt from effects and shares."""
        squares = sum(self.effect[term] ** 2 for term in TERMS)
        share = sum(self.percent[term] for term in TERMS) / 100
        return squares / share

    def s_e(self, replications: int = 50) -> float:
        """Return the standard deviation of the errors, rebuilt from the share of the error."""
        cells = len(CELLS)
        sse = self.percent["error"] / 100 * self.total_variation() * cells * replications
        return math.sqrt(sse / (cells * (replications - 1)))

    def s_q(self, replications: int = 50) -> float:
        """Return the standard error of an effect."""
        return self.s_e(replications) / math.sqrt(len(CELLS) * replications)


def foreground_table(table: str) -> ForegroundTable:
    """Return a table of means by its Roman number."""
    entry = dict(data()["tables"][table])
    metric = entry.pop("metric")
    columns = [column.split() for column in entry.pop("columns")]
    return ForegroundTable(
        metric=metric,
        columns=tuple((load, background) for load, background in columns),
        rows={foreground: tuple(map(float, values)) for foreground, values in entry.items()},
    )


def effect_column(table: str, background: str) -> EffectColumn:
    """Return one background's column of a table of effects."""
    entry = data()["effects"][table][background]
    return EffectColumn(
        table=table,
        background=background,
        metric=entry["metric"],
        load=entry["load"],
        effect=entry["effect"],
        percent=entry["percent"],
        not_significant=frozenset(entry["not_significant"]),
        half_width=entry["half_width"],
    )


@cache
def printed_column(metric: str, load: str, background: str) -> EffectColumn:
    """Return the column of effects on a metric (``"thr"`` or ``"rtx"``) for a load and a background."""
    words = {"thr": "throughput", "rtx": "retransmissions"}[metric]
    for table in EFFECT_TABLES:
        column = effect_column(table, background)
        if (column.metric, column.load) == (words, load):
            return column
    raise KeyError(f"the paper prints no effects on {words} at load {load}")
