"""The claims of the tables: means, effects, shares, marks, and derived numbers.

Statements are made from patterns; tolerances follow stated rules, which are the constants below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from dumbbell.claims import Claim
from dumbbell.judge.estimate import NotMeasured, Outcome

from .evidence import Evidence
from .printed import (
    CELLS,
    EFFECT_TABLES,
    TERMS,
    EffectColumn,
    data,
    effect_column,
    foreground_table,
    printed_column,
)
from .register import share_of, sign_of
from .replay import replay
from .scenarios import ALIASES, BACKGROUNDS

Configuration = tuple[str, str, str, str]
"""Metric, foreground, background and load."""

QUANTITY = {"thr": ("mean throughput", "KB/s"), "rtx": ("mean retransmitted data", "KB")}
SHORT = {"throughput": "thr", "retransmissions": "rtx"}
FOREGROUND = {
    "reno": "Reno",
    "vegas": "released Vegas",
    "vegasfix": "corrected Vegas",
    "vegas-noca": "corrected Vegas without ca",
    "vegas-onlyca": "corrected Vegas with only ca",
}
WHERE = {"low": "low load", "high": "high load", "wan": "WAN"}
NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
NUMBERS = {numeral: number for number, numeral in enumerate(NUMERALS, start=1)}

# The background was fitted to the first two means, and the other four decided among the points that fit.
FITTED = ("VR-T1-01", "VR-T2-01", "VR-T10-01", "VR-T10-02", "VR-T10-03", "VR-T10-04")

# The cells with ca and without the changes of slow start, low load, Reno background: they decided how ca alone behaves
# after a loss in slow start. Those with recovery and without ca, LAN, Reno background: they decided that mechanism D checks
# again after its own retransmissions.
DECIDING = (
    *("VR-T12-13", "VR-CELL-03", "VR-CELL-04", "VR-CELL-35", "VR-CELL-36"),
    *("VR-T12-09", "VR-CELL-02", "VR-CELL-06", "VR-CELL-34", "VR-CELL-38"),
    *("VR-T12-11", "VR-CELL-18", "VR-CELL-22", "VR-CELL-50", "VR-CELL-54"),
)

# Place of the half-width among the claims of a column: after the mean, the effects, the shares and the error.
HALF_WIDTH = 2 * len(TERMS) + 3

# Tolerances. They cover the sampling noise of both sides and some slack for simplifications of the model.
MEAN_TOLERANCE = {
    ("thr", "low"): 0.15,
    ("thr", "high"): 0.25,
    ("thr", "wan"): 0.25,
    ("rtx", "low"): 0.3,
    ("rtx", "high"): 0.3,
}
GRAND_MEAN_TOLERANCE = {"low": 0.2, "high": 0.25, "wan": 0.25}
SPREAD_TOLERANCE = 0.35


def _effect_tolerance(effect: float, half_width: float) -> float:
    """Return the tolerance of an effect: 35 % of it, or two and a half printed half-widths."""
    return float(f"{max(0.35 * abs(effect), 2.5 * half_width):.2f}")


def _share_tolerance(share: float) -> float:
    """Return the tolerance of a share of variation, in percentage points."""
    return 5.0 if share < 10 else 10.0 if share <= 30 else 15.0


def _mean(evidence: Evidence, configuration: Configuration) -> Outcome:
    """Return a configuration's mean."""
    interval = evidence.interval(*configuration)
    return Outcome.of(evidence.metric(*configuration), interval=(interval.low, interval.high))


def _means() -> Iterator[tuple[str, str, Configuration, float]]:
    """Yield the claim, the table, the configuration and the value of the means of Tables I, II, IV, V, XII and X."""
    for table in ("I", "II", "IV", "V", "XII", "X"):
        printed = foreground_table(table)
        serial = itertools.count(1)
        for foreground, values in printed.rows.items():
            for (load, column), value in zip(printed.columns, values, strict=True):
                # From Table IV on, "Vegas" in the head is the corrected version except beside released Vegas.
                background = column
                if column == "vegas" and table not in ("I", "II") and foreground != "vegas":
                    background = "vegasfix"
                name = f"VR-T{NUMBERS[table]}-{next(serial):02d}"
                yield name, table, (SHORT[printed.metric], foreground, background, load), value


def _first_claims() -> dict[Configuration, str]:
    """Return the first claim on the mean of each configuration: the tables print many means more than once."""
    first: dict[Configuration, str] = {}
    for name, _, configuration, _ in _means():
        first.setdefault(configuration, name)
    return first


def _foreground_claims() -> Iterator[Claim[Evidence]]:
    """Yield the printed means."""
    first = _first_claims()
    for name, table, configuration, value in _means():
        metric, foreground, background, load = configuration
        words, units = QUANTITY[metric]
        against = FOREGROUND[background]
        remark = ""
        if table == "XII" and foreground == "vegas":
            remark = "; the row repeats released Vegas although its label means the corrected one"
        yield Claim(
            id=name,
            source=f"table {table}",
            kind="value",
            evidence="definition" if name in FITTED + DECIDING else "measured",
            repeats="" if first[configuration] == name else first[configuration],
            statement=f"{words} of {FOREGROUND[foreground]} against {against}, {WHERE[load]}{remark}",
            units=units,
            paper_value=value,
            tolerance_kind="rel",
            tolerance=MEAN_TOLERANCE[metric, load],
            scenario=f"table-{NUMBERS[table]}",
            measure=partial(_mean, configuration=configuration),
        )


def _replay() -> Iterator[Claim[Evidence]]:
    """Yield the entries of Table III and their values with the corrections."""
    columns = data()["table_iii"]["columns"]
    rows = data()["table_iii"]["released"]
    labels = {
        "eq3": "Eq. 3",
        "eq4": "Eq. 4",
        "beg_seq": "beg_seq",
        "snd_nxt": "snd_nxt",
        "snd_una": "snd_una",
    }
    # The two checks come first and last in the list of claims, the states between them.
    serial = itertools.count(1)
    for row in (2, 0, 1, 3, 4):
        for column in columns[1:]:
            value = rows[row][columns.index(column)]
            if value == "":
                continue
            remark = (
                " (printed as 5; the printed equations need 7)" if (row, column) == (1, "snd_nxt") else ""
            )
            yield Claim(
                id=f"VR-T3-{next(serial):02d}",
                source="table III",
                kind="value",
                evidence="arithmetic",
                statement=f"released Vegas, {rows[row][0]}: {labels[column]}{remark}",
                units="segments",
                paper_value=float(value),
                tolerance_kind="abs",
                scenario="table-3",
                measure=partial(_replayed, row=row, column=column, corrected=False),
            )
    yield Claim(
        id=f"VR-T3-{next(serial):02d}",
        source="table III",
        kind="ordering",
        evidence="arithmetic",
        statement="released Vegas expects less than it gets at both checks",
        scenario="table-3",
        measure=_broken_invariant,
    )
    fixed = data()["table_iii"]["corrected"]
    for (row, name), (column, index) in itertools.product(
        ((2, "first"), (4, "second")), (("eq3", 0), ("eq4", 1))
    ):
        yield Claim(
            id=f"VR-T3-{next(serial):02d}",
            source="table III / sec VII-C",
            kind="value",
            evidence="arithmetic",
            statement=f"derived: corrected Vegas, {name} check: {labels[column]}",
            units="segments",
            paper_value=float(fixed[name][index]),
            tolerance_kind="abs",
            scenario="table-3",
            measure=partial(_replayed, row=row, column=column, corrected=True),
        )


def _replayed(_evidence: Evidence, row: int, column: str, corrected: bool) -> Outcome:
    value = getattr(replay(corrected=corrected)[row], column)
    if value is None:
        raise NotMeasured("The replay made no check at this event.")
    return Outcome.of(float(value))


def _broken_invariant(_evidence: Evidence) -> Outcome:
    rows = replay(corrected=False)
    checks = [(rows[index].eq3, rows[index].eq4) for index in (2, 4)]
    gaps = [eq3 - eq4 for eq3, eq4 in checks if eq3 is not None and eq4 is not None]
    return Outcome.of(
        max(gaps), holds=max(gaps) < 0, note=f"Eq. 3 minus Eq. 4 is {gaps[0]:g} and {gaps[1]:g} segments"
    )


def _effect(evidence: Evidence, metric: str, load: str, background: str, term: str) -> Outcome:
    effects = evidence.phases(metric, load, background)
    return Outcome.of(effects.terms[term], interval=effects.interval(term))


def _spread(evidence: Evidence, metric: str, load: str, background: str, what: str) -> Outcome:
    effects = evidence.phases(metric, load, background)
    if what == "quantile":
        return Outcome.of(float(effects.hw_one_sided[0] / effects.s_q[0]))
    note = "" if what == "s_e" else evidence.spread_note(metric, load, background)
    return Outcome.of(getattr(effects, what), note=note)


def _sum_of_shares(evidence: Evidence, metric: str, load: str, background: str) -> Outcome:
    effects = evidence.phases(metric, load, background)
    return Outcome.of(float(sum(share[0] for share in effects.percent.values())))


def _significant(
    evidence: Evidence,
    metric: str,
    load: str,
    background: str,
    term: str,
    expected: bool,
    which: str = "hw_one_sided",
) -> Outcome:
    effects = evidence.phases(metric, load, background)
    effect, half = effects.terms[term], getattr(effects, which)
    flags = np.abs(effect) > half
    note = f"effect {effect[0]:.2f}, half-width {half[0]:.2f}"
    if flags[0] != expected:
        # The share of the same effect with the spread of the paper's runs.
        spread = printed_column(metric, load, background).s_e() / float(effects.s_e[0])
        would = abs(float(effect[0])) > float(half[0]) * spread
        note += (
            f"; with the paper's spread the half-width would be {float(half[0]) * spread:.2f} and the effect "
        )
        note += "significant" if would else "not significant"
    return Outcome.of(float(flags[0]), holds=flags == expected, interval=(math.nan, math.nan), note=note)


@dataclass(frozen=True)
class _Column:
    """What the claims on a column of a table of effects share.

    Parameters
    ----------
    table
        Roman number of the table.
    background
        Background of the column.
    """

    table: str
    background: str

    @cached_property
    def printed(self) -> EffectColumn:
        """The column as printed."""
        return effect_column(self.table, self.background)

    @property
    def metric(self) -> str:
        """Short name of what was measured."""
        return SHORT[self.printed.metric]

    @property
    def units(self) -> str:
        """Units of the effects."""
        return QUANTITY[self.metric][1]

    @property
    def place(self) -> str:
        """Load and background in words."""
        return f"{WHERE[self.printed.load]}, {FOREGROUND[self.background]} background"

    @property
    def prefix(self) -> str:
        """How the names of the claims on the column begin."""
        return f"VR-T{NUMBERS[self.table]}{'R' if self.background == 'reno' else 'V'}"

    def claim(
        self, name: str, statement: str, measure: Callable[..., Outcome], *, derived: bool = True, **rest: Any
    ) -> Claim[Evidence]:
        """Return a claim with the place in its statement; `measure` also takes metric, load and background."""
        where = {"metric": self.metric, "load": self.printed.load, "background": self.background}
        return Claim(
            id=name,
            source=f"table {self.table}{' (derived)' if derived else ''}",
            statement=statement,
            scenario=f"table-{NUMBERS[self.table]}",
            measure=partial(measure, **where),
            **rest,
        )


COLUMNS = tuple(_Column(*which) for which in itertools.product(EFFECT_TABLES, BACKGROUNDS))


def _effect_claims() -> Iterator[Claim[Evidence]]:
    """Yield effects, shares, half-widths, marks and signs of Tables VI to IX and XI."""
    for column in COLUMNS:
        described = (*_sizes(column), *_marks(column))
        for number, (statement, measure, rest) in enumerate(described, start=1):
            name, words = f"{column.prefix}-{number:02d}", f"{statement}, {column.place}"
            yield column.claim(name, words, measure, derived=False, **rest)


Described = tuple[str, Callable[..., Outcome], Mapping[str, Any]]
"""Statement, measure and remaining fields of a claim."""


def _sizes(column: _Column) -> Iterator[Described]:
    """Yield the claims on the values in a column."""
    printed, units = column.printed, column.units

    def value(paper: float, kind: str, tolerance: float, units: str = units) -> dict[str, Any]:
        return {
            "kind": "value",
            "units": units,
            "paper_value": paper,
            "tolerance_kind": kind,
            "tolerance": tolerance,
        }

    mean = value(printed.effect["mean"], "rel", GRAND_MEAN_TOLERANCE[printed.load])
    yield "mean of all runs of the design", partial(_effect, term="mean"), mean
    for term in TERMS:
        tolerance = _effect_tolerance(printed.effect[term], printed.half_width)
        yield f"effect of {term}", partial(_effect, term=term), value(printed.effect[term], "abs", tolerance)
    for term in (*TERMS, "error"):
        share = printed.percent[term]
        statement = (
            f"share of the variation that {term} explains" if term != "error" else "share of the error"
        )
        tolerance = 15.0 if term == "error" else _share_tolerance(share)
        yield statement, partial(share_of, term=term), value(share, "abs", tolerance, "%")
    yield (
        "the row of half-widths labelled 90 %, with the quantile at 0.90",
        partial(_spread, what="hw_one_sided"),
        value(printed.half_width, "rel", SPREAD_TOLERANCE),
    )
    yield (
        "derived: the shares of the effects and of the error add to 100",
        _sum_of_shares,
        value(round(sum(printed.percent.values()), 2), "abs", 0.05, "%") | {"evidence": "definition"},
    )


def _marks(column: _Column) -> Iterator[Described]:
    """Yield the claims on the marks and signs of a column."""
    printed = column.printed
    verb = "throughput" if column.metric == "thr" else "retransmitted data"
    for term in TERMS:
        marked = term in printed.not_significant
        ratio = abs(printed.effect[term]) / printed.half_width
        close = " (close to the limit)" if abs(ratio - 1) <= 0.3 else ""
        yield (
            f"{term} is {'not ' if marked else ''}significant by the printed half-width{close}",
            partial(_significant, term=term, expected=not marked),
            {"kind": "sign", "units": "flag", "paper_value": 0.0 if marked else 1.0},
        )
    for term in TERMS:
        if term in printed.not_significant:
            continue
        sign = 1 if printed.effect[term] > 0 else -1
        weak = " (less than two half-widths)" if abs(printed.effect[term]) < 2 * printed.half_width else ""
        yield (
            f"{term} {'raises' if sign > 0 else 'lowers'} {verb}{weak}",
            partial(sign_of, term=term, expected=sign),
            {"kind": "sign", "units": "sign", "paper_value": float(sign)},
        )


def _cell_claims() -> Iterator[Claim[Evidence]]:
    """Yield the means of the cells, which the paper does not print but its effects determine."""
    serial = itertools.count(1)
    first = _first_claims()
    names = {cell: name for name, cell in ALIASES.items()}
    for column, cell in itertools.product(COLUMNS, CELLS):
        levels = ", ".join(
            f"{phase} {'on' if bit == '1' else 'off'}"
            for phase, bit in zip(("ss", "ca", "rec"), cell, strict=True)
        )
        name, load = f"VR-CELL-{next(serial):02d}", column.printed.load

        def mean(evidence: Evidence, metric: str, load: str, background: str, cell: str = cell) -> Outcome:
            return _mean(evidence, (metric, f"cell{cell}", background, load))

        yield column.claim(
            name,
            f"derived: {QUANTITY[column.metric][0]} with {levels}, from the effects; {column.place}",
            mean,
            kind="value",
            evidence="definition" if name in DECIDING else "measured",
            repeats=first.get((column.metric, names.get(f"cell{cell}", cell), column.background, load), ""),
            units=column.units,
            paper_value=round(column.printed.cell_mean(cell), 2),
            tolerance_kind="rel",
            tolerance=MEAN_TOLERANCE[column.metric, load],
        )


def _spread_claims() -> Iterator[Claim[Evidence]]:
    """Yield the spread between runs that the shares imply, and which quantile the printed half-widths used."""
    serial = itertools.count(1)
    for column in COLUMNS:
        printed = column.printed
        # The first two are the printed half-width but for a factor.
        implied = {
            "repeats": f"{column.prefix}-{HALF_WIDTH:02d}",
            "units": column.units,
            "tolerance_kind": "rel",
            "tolerance": SPREAD_TOLERANCE,
        }
        derived: tuple[tuple[str, str, float, Mapping[str, Any]], ...] = (
            ("standard deviation between runs of a cell", "s_e", round(printed.s_e(), 2), implied),
            (
                "half-width of a two-sided 90 % interval, with the quantile at 0.95",
                "hw_two_sided",
                round(_two_sided(printed), 2),
                implied,
            ),
            (
                "the printed half-width over the standard error is the quantile at 0.90",
                "quantile",
                round(printed.half_width / printed.s_q(), 3),
                {"evidence": "definition", "tolerance_kind": "abs", "tolerance": 0.03},
            ),
        )
        for statement, what, paper, rest in derived:
            yield column.claim(
                f"VR-SE-{next(serial):02d}",
                f"derived: {statement}, {column.place}",
                partial(_spread, what=what),
                kind="value",
                paper_value=paper,
                **rest,
            )


def _two_sided(printed: EffectColumn) -> float:
    """Return the half-width of a two-sided 90 % interval from the printed shares."""
    from scipy import stats

    return float(stats.t.ppf(0.95, 392)) * printed.s_q()


def _flip_claims() -> Iterator[Claim[Evidence]]:
    """Yield the marks that a true two-sided 90 % interval would turn around."""
    serial = itertools.count(1)
    for column, term in itertools.product(COLUMNS, TERMS):
        printed = column.printed
        if term in printed.not_significant or abs(printed.effect[term]) > _two_sided(printed):
            continue
        yield column.claim(
            f"VR-FLIP-{next(serial):02d}",
            f"derived: {term}, printed as significant, is not by a two-sided 90 % interval, {column.place}",
            partial(_significant, term=term, expected=False, which="hw_two_sided"),
            kind="sign",
            units="flag",
            paper_value=0.0,
        )


def _ratio(evidence: Evidence, over: Configuration, under: Configuration) -> Outcome:
    return Outcome.of(evidence.metric(*over) / evidence.metric(*under))


def _printed(configuration: Configuration, table: str) -> float:
    """Return a configuration's mean as a table prints it."""
    _metric, foreground, background, load = configuration
    printed = foreground_table(table)
    column = "reno" if background == "reno" else "vegas"
    return printed.rows[foreground][printed.columns.index((load, column))]


# Of each load and background: statement, tables of the two means, metric, variants with the background each meets (the
# released or the corrected Vegas, where it is Vegas), tolerances at low and high load.
RATIOS = (
    ("throughput of released Vegas over Reno", "I", "I", "thr", "vegas/old", "reno/old", 0.15, 0.25),
    ("retransmitted data of released Vegas over Reno", "II", "II", "rtx", "vegas/old", "reno/old", 0.3, 0.15),
    (
        "throughput of corrected over released Vegas",
        "IV",
        "IV",
        "thr",
        "vegasfix/new",
        "vegas/old",
        0.05,
        0.05,
    ),
    (
        "retransmitted data of corrected over released Vegas",
        "V",
        "V",
        "rtx",
        "vegasfix/new",
        "vegas/old",
        0.08,
        0.08,
    ),
    ("throughput of corrected Vegas over Reno", "IV", "IV", "thr", "vegasfix/new", "reno/new", 0.15, 0.25),
    (
        *("throughput of corrected Vegas without ca over all of it", "XII", "IV"),
        *("thr", "vegas-noca/new", "vegasfix/new", 0.08, 0.08),
    ),
    (
        *("throughput of corrected Vegas with only ca over Reno", "XII", "XII"),
        *("thr", "vegas-onlyca/new", "reno/new", 0.08, 0.12),
    ),
)

Ratio = tuple[str, tuple[str, str], Configuration, Configuration, float]
"""Statement, tables, means and tolerance of a ratio."""


def _ratios() -> Iterator[Ratio]:
    for load, kind in itertools.product(("low", "high"), ("reno", "vegas")):
        met = {"old": kind, "new": "reno" if kind == "reno" else "vegasfix"}
        place = f"{WHERE[load]}, {'Reno' if kind == 'reno' else 'Vegas'} background"
        for statement, one, other, metric, above, below, low, high in RATIOS:
            over, under = (
                (metric, foreground, met[which], load)
                for foreground, which in (above.split("/"), below.split("/"))
            )
            yield f"{statement}, {place}", (one, other), over, under, low if load == "low" else high
    for background in BACKGROUNDS:
        statement = f"throughput of corrected Vegas over Reno in the WAN, {FOREGROUND[background]} background"
        over, under = (("thr", foreground, background, "wan") for foreground in ("vegasfix", "reno"))
        yield statement, ("X", "X"), over, under, 0.15
    for load, tolerance in (("low", 0.05), ("high", 0.15)):
        statement = f"Reno's throughput against released Vegas over that against Reno, {WHERE[load]}"
        over, under = (("thr", "reno", background, load) for background in ("vegas", "reno"))
        yield statement, ("I", "I"), over, under, tolerance
    over, under = (("thr", "reno", "reno", load) for load in ("high", "low"))
    yield "Reno's throughput against Reno, high over low load", ("I", "I"), over, under, 0.3


def _ratio_claims() -> Iterator[Claim[Evidence]]:
    """Yield ratios of printed means."""
    for serial, (statement, tables, over, under, tolerance) in enumerate(_ratios(), start=1):
        yield Claim(
            id=f"VR-RAT-{serial:02d}",
            source=f"table {tables[0]} (derived)",
            kind="ratio",
            statement=f"derived: {statement}",
            paper_value=round(_printed(over, tables[0]) / _printed(under, tables[1]), 3),
            tolerance_kind="rel",
            tolerance=tolerance,
            scenario=f"table-{NUMBERS[tables[0]]}",
            measure=partial(_ratio, over=over, under=under),
        )


def claims() -> list[Claim[Evidence]]:
    """Return the claims of the tables."""
    return [
        *_foreground_claims(),
        *_replay(),
        *_effect_claims(),
        *_cell_claims(),
        *_spread_claims(),
        *_flip_claims(),
        *_ratio_claims(),
    ]
