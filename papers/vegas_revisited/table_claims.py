"""The claims of the tables: means, effects, shares, marks, and derived numbers.

Statements are made from patterns; tolerances follow stated rules, which are the constants below.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dumbbell.claims import Claim
from dumbbell.judge.estimate import NotMeasured, Outcome

from .evidence import Evidence
from .printed import CELLS, EFFECT_TABLES, TERMS, data, effect_column, foreground_table, printed_column
from .register import share_of
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


def _mean(metric: str, foreground: str, background: str, load: str) -> Callable[[Evidence], Outcome]:
    """Return the measure of a configuration's mean."""

    def measure(evidence: Evidence) -> Outcome:
        values = evidence.metric(metric, foreground, background, load)
        interval = evidence.interval(metric, foreground, background, load)
        return Outcome.of(values, interval=(interval.low, interval.high))

    return measure


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
            measure=_mean(*configuration),
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
                measure=_replayed(row, column, corrected=False),
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
            measure=_replayed(row, column, corrected=True),
        )


def _replayed(row: int, column: str, *, corrected: bool) -> Callable[[Evidence], Outcome]:
    def measure(_evidence: Evidence) -> Outcome:
        value = getattr(replay(corrected=corrected)[row], column)
        if value is None:
            raise NotMeasured("The replay made no check at this event.")
        return Outcome.of(float(value))

    return measure


def _broken_invariant(_evidence: Evidence) -> Outcome:
    rows = replay(corrected=False)
    checks = [(rows[index].eq3, rows[index].eq4) for index in (2, 4)]
    gaps = [eq3 - eq4 for eq3, eq4 in checks if eq3 is not None and eq4 is not None]
    return Outcome.of(
        max(gaps), holds=max(gaps) < 0, note=f"Eq. 3 minus Eq. 4 is {gaps[0]:g} and {gaps[1]:g} segments"
    )


def _effect(metric: str, load: str, background: str, term: str) -> Callable[[Evidence], Outcome]:
    def measure(evidence: Evidence) -> Outcome:
        effects = evidence.phases(metric, load, background)
        return Outcome.of(effects.terms[term], interval=effects.interval(term))

    return measure


def _spread(metric: str, load: str, background: str, what: str) -> Callable[[Evidence], Outcome]:
    def measure(evidence: Evidence) -> Outcome:
        effects = evidence.phases(metric, load, background)
        if what == "quantile":
            return Outcome.of(float(effects.hw_one_sided[0] / effects.s_q[0]))
        note = "" if what == "s_e" else evidence.spread_note(metric, load, background)
        return Outcome.of(getattr(effects, what), note=note)

    return measure


def _sum_of_shares(metric: str, load: str, background: str) -> Callable[[Evidence], Outcome]:
    def measure(evidence: Evidence) -> Outcome:
        effects = evidence.phases(metric, load, background)
        return Outcome.of(float(sum(share[0] for share in effects.percent.values())))

    return measure


def _significant(
    metric: str, load: str, background: str, term: str, expected: bool, which: str = "hw_one_sided"
) -> Callable[[Evidence], Outcome]:
    def measure(evidence: Evidence) -> Outcome:
        effects = evidence.phases(metric, load, background)
        effect, half = effects.terms[term], getattr(effects, which)
        flags = np.abs(effect) > half
        note = f"effect {effect[0]:.2f}, half-width {half[0]:.2f}"
        if flags[0] != expected:
            # The share of the same effect with the spread of the paper's runs.
            spread = printed_column(metric, load, background).s_e() / float(effects.s_e[0])
            would = abs(float(effect[0])) > float(half[0]) * spread
            note += f"; with the paper's spread the half-width would be {float(half[0]) * spread:.2f} and the effect "
            note += "significant" if would else "not significant"
        return Outcome.of(float(flags[0]), holds=flags == expected, interval=(math.nan, math.nan), note=note)

    return measure


def _signed(
    metric: str, load: str, background: str, term: str, expected: int
) -> Callable[[Evidence], Outcome]:
    def measure(evidence: Evidence) -> Outcome:
        effects = evidence.phases(metric, load, background)
        low, high = effects.interval(term)
        return Outcome.of(
            float(np.sign(effects.terms[term][0])),
            holds=np.sign(effects.terms[term]) == expected,
            interval=(math.nan, math.nan),
            note=f"effect {effects.terms[term][0]:.2f}, 90 % interval {low:.2f} to {high:.2f}",
        )

    return measure


def _column_prefix(table: str, background: str) -> str:
    """Return how the names of the claims on a column of effects begin."""
    return f"VR-T{NUMBERS[table]}{'R' if background == 'reno' else 'V'}"


def _effect_claims() -> Iterator[Claim[Evidence]]:
    """Yield effects, shares, half-widths, marks and signs of Tables VI to IX and XI."""
    for table, background in itertools.product(EFFECT_TABLES, BACKGROUNDS):
        column = effect_column(table, background)
        metric, load = SHORT[column.metric], column.load
        verb = "throughput" if metric == "thr" else "retransmitted data"
        units = QUANTITY[metric][1]
        number = NUMBERS[table]
        serial = itertools.count(1)
        place = f"{WHERE[load]}, {FOREGROUND[background]} background"

        def claim(
            statement: str,
            measure: Callable[[Evidence], Outcome],
            *,
            number: int = number,
            background: str = background,
            serial: Iterator[int] = serial,
            place: str = place,
            table: str = table,
            **rest: Any,
        ) -> Claim[Evidence]:
            return Claim(
                id=f"{_column_prefix(table, background)}-{next(serial):02d}",
                source=f"table {table}",
                statement=f"{statement}, {place}",
                scenario=f"table-{number}",
                measure=measure,
                **rest,
            )

        yield claim(
            "mean of all runs of the design",
            _effect(metric, load, background, "mean"),
            kind="value",
            units=units,
            paper_value=column.effect["mean"],
            tolerance_kind="rel",
            tolerance=GRAND_MEAN_TOLERANCE[load],
        )
        for term in TERMS:
            yield claim(
                f"effect of {term}",
                _effect(metric, load, background, term),
                kind="value",
                units=units,
                paper_value=column.effect[term],
                tolerance_kind="abs",
                tolerance=_effect_tolerance(column.effect[term], column.half_width),
            )
        for term in (*TERMS, "error"):
            yield claim(
                f"share of the variation that {term} explains" if term != "error" else "share of the error",
                share_of(metric, load, background, term),
                kind="value",
                units="%",
                paper_value=column.percent[term],
                tolerance_kind="abs",
                tolerance=15.0 if term == "error" else _share_tolerance(column.percent[term]),
            )
        yield claim(
            "the row of half-widths labelled 90 %, with the quantile at 0.90",
            _spread(metric, load, background, "hw_one_sided"),
            kind="value",
            units=units,
            paper_value=column.half_width,
            tolerance_kind="rel",
            tolerance=SPREAD_TOLERANCE,
        )
        yield claim(
            "derived: the shares of the effects and of the error add to 100",
            _sum_of_shares(metric, load, background),
            kind="value",
            evidence="definition",
            units="%",
            paper_value=round(sum(column.percent.values()), 2),
            tolerance_kind="abs",
            tolerance=0.05,
        )
        for term in TERMS:
            marked = term in column.not_significant
            ratio = abs(column.effect[term]) / column.half_width
            close = " (close to the limit)" if abs(ratio - 1) <= 0.3 else ""
            yield claim(
                f"{term} is {'not ' if marked else ''}significant by the printed half-width{close}",
                _significant(metric, load, background, term, not marked),
                kind="sign",
                units="flag",
                paper_value=0.0 if marked else 1.0,
            )
        for term in TERMS:
            if term in column.not_significant:
                continue
            up = column.effect[term] > 0
            weak = " (less than two half-widths)" if abs(column.effect[term]) < 2 * column.half_width else ""
            yield claim(
                f"{term} {'raises' if up else 'lowers'} {verb}{weak}",
                _signed(metric, load, background, term, 1 if up else -1),
                kind="sign",
                units="sign",
                paper_value=1.0 if up else -1.0,
            )


def _cell_claims() -> Iterator[Claim[Evidence]]:
    """Yield the means of the cells, which the paper does not print but its effects determine."""
    serial = itertools.count(1)
    first = _first_claims()
    names = {cell: name for name, cell in ALIASES.items()}
    for table, background, cell in itertools.product(EFFECT_TABLES, BACKGROUNDS, CELLS):
        column = effect_column(table, background)
        metric = SHORT[column.metric]
        words, units = QUANTITY[metric]
        levels = ", ".join(
            f"{phase} {'on' if bit == '1' else 'off'}"
            for phase, bit in zip(("ss", "ca", "rec"), cell, strict=True)
        )
        number = NUMBERS[table]
        name = f"VR-CELL-{next(serial):02d}"
        yield Claim(
            id=name,
            source=f"table {table} (derived)",
            kind="value",
            evidence="definition" if name in DECIDING else "measured",
            repeats=first.get((metric, names.get(f"cell{cell}", cell), background, column.load), ""),
            statement=f"derived: {words} with {levels}, from the effects; {WHERE[column.load]}, "
            f"{FOREGROUND[background]} background",
            units=units,
            paper_value=round(column.cell_mean(cell), 2),
            tolerance_kind="rel",
            tolerance=MEAN_TOLERANCE[metric, column.load],
            scenario=f"table-{number}",
            measure=_mean(metric, f"cell{cell}", background, column.load),
        )


def _spread_claims() -> Iterator[Claim[Evidence]]:
    """Yield the spread between runs that the shares imply, and which quantile the printed half-widths used."""
    from scipy import stats

    serial = itertools.count(1)
    for table, background in itertools.product(EFFECT_TABLES, BACKGROUNDS):
        column = effect_column(table, background)
        metric, load = SHORT[column.metric], column.load
        units = QUANTITY[metric][1]
        place = f"{WHERE[load]}, {FOREGROUND[background]} background"
        number = NUMBERS[table]
        common: dict[str, Any] = {
            "source": f"table {table} (derived)",
            "kind": "value",
            "scenario": f"table-{number}",
        }
        # Both are the printed half-width but for a factor.
        half_width = f"{_column_prefix(table, background)}-{HALF_WIDTH:02d}"
        yield Claim(
            id=f"VR-SE-{next(serial):02d}",
            repeats=half_width,
            statement=f"derived: standard deviation between runs of a cell, {place}",
            units=units,
            paper_value=round(column.s_e(), 2),
            tolerance_kind="rel",
            tolerance=SPREAD_TOLERANCE,
            measure=_spread(metric, load, background, "s_e"),
            **common,
        )
        yield Claim(
            id=f"VR-SE-{next(serial):02d}",
            repeats=half_width,
            statement=f"derived: half-width of a two-sided 90 % interval, with the quantile at 0.95, {place}",
            units=units,
            paper_value=round(float(stats.t.ppf(0.95, 392)) * column.s_q(), 2),
            tolerance_kind="rel",
            tolerance=SPREAD_TOLERANCE,
            measure=_spread(metric, load, background, "hw_two_sided"),
            **common,
        )
        yield Claim(
            id=f"VR-SE-{next(serial):02d}",
            evidence="definition",
            statement=f"derived: the printed half-width over the standard error is the quantile at 0.90, {place}",
            paper_value=round(column.half_width / column.s_q(), 3),
            tolerance_kind="abs",
            tolerance=0.03,
            measure=_spread(metric, load, background, "quantile"),
            **common,
        )


def _flip_claims() -> Iterator[Claim[Evidence]]:
    """Yield the marks that a true two-sided 90 % interval would turn around."""
    from scipy import stats

    serial = itertools.count(1)
    for table, background in itertools.product(EFFECT_TABLES, BACKGROUNDS):
        column = effect_column(table, background)
        metric, load = SHORT[column.metric], column.load
        half = float(stats.t.ppf(0.95, 392)) * column.s_q()
        number = NUMBERS[table]
        for term in TERMS:
            if term in column.not_significant or abs(column.effect[term]) > half:
                continue
            yield Claim(
                id=f"VR-FLIP-{next(serial):02d}",
                source=f"table {table} (derived)",
                kind="sign",
                statement=f"derived: {term}, printed as significant, is not by a two-sided 90 % interval, "
                f"{WHERE[load]}, {FOREGROUND[background]} background",
                units="flag",
                paper_value=0.0,
                scenario=f"table-{number}",
                measure=_significant(metric, load, background, term, expected=False, which="hw_two_sided"),
            )


def _ratio(over: Configuration, under: Configuration) -> Callable[[Evidence], Outcome]:
    return lambda evidence: Outcome.of(evidence.metric(*over) / evidence.metric(*under))


def _printed(configuration: Configuration, table: str) -> float:
    """Return a configuration's mean as a table prints it."""
    _metric, foreground, background, load = configuration
    printed = foreground_table(table)
    column = "reno" if background == "reno" else "vegas"
    return printed.rows[foreground][printed.columns.index((load, column))]


def _ratio_claims() -> Iterator[Claim[Evidence]]:
    """Yield ratios of printed means."""
    serial = itertools.count(1)

    def claim(
        statement: str, tables: tuple[str, str], over: Configuration, under: Configuration, tolerance: float
    ) -> Claim[Evidence]:
        number = NUMBERS[tables[0]]
        return Claim(
            id=f"VR-RAT-{next(serial):02d}",
            source=f"table {tables[0]} (derived)",
            kind="ratio",
            statement=f"derived: {statement}",
            paper_value=round(_printed(over, tables[0]) / _printed(under, tables[1]), 3),
            tolerance_kind="rel",
            tolerance=tolerance,
            scenario=f"table-{number}",
            measure=_ratio(over, under),
        )

    for load, kind in itertools.product(("low", "high"), ("reno", "vegas")):
        old = kind
        new = "reno" if kind == "reno" else "vegasfix"
        place = f"{WHERE[load]}, {'Reno' if kind == 'reno' else 'Vegas'} background"
        low = load == "low"
        yield claim(
            f"throughput of released Vegas over Reno, {place}",
            ("I", "I"),
            ("thr", "vegas", old, load),
            ("thr", "reno", old, load),
            0.15 if low else 0.25,
        )
        yield claim(
            f"retransmitted data of released Vegas over Reno, {place}",
            ("II", "II"),
            ("rtx", "vegas", old, load),
            ("rtx", "reno", old, load),
            0.3 if low else 0.15,
        )
        yield claim(
            f"throughput of corrected over released Vegas, {place}",
            ("IV", "IV"),
            ("thr", "vegasfix", new, load),
            ("thr", "vegas", old, load),
            0.05,
        )
        yield claim(
            f"retransmitted data of corrected over released Vegas, {place}",
            ("V", "V"),
            ("rtx", "vegasfix", new, load),
            ("rtx", "vegas", old, load),
            0.08,
        )
        yield claim(
            f"throughput of corrected Vegas over Reno, {place}",
            ("IV", "IV"),
            ("thr", "vegasfix", new, load),
            ("thr", "reno", new, load),
            0.15 if low else 0.25,
        )
        yield claim(
            f"throughput of corrected Vegas without ca over all of it, {place}",
            ("XII", "IV"),
            ("thr", "vegas-noca", new, load),
            ("thr", "vegasfix", new, load),
            0.08,
        )
        yield claim(
            f"throughput of corrected Vegas with only ca over Reno, {place}",
            ("XII", "XII"),
            ("thr", "vegas-onlyca", new, load),
            ("thr", "reno", new, load),
            0.08 if low else 0.12,
        )
    for background in BACKGROUNDS:
        yield claim(
            f"throughput of corrected Vegas over Reno in the WAN, {FOREGROUND[background]} background",
            ("X", "X"),
            ("thr", "vegasfix", background, "wan"),
            ("thr", "reno", background, "wan"),
            0.15,
        )
    for load, tolerance in (("low", 0.05), ("high", 0.15)):
        yield claim(
            f"Reno's throughput against released Vegas over that against Reno, {WHERE[load]}",
            ("I", "I"),
            ("thr", "reno", "vegas", load),
            ("thr", "reno", "reno", load),
            tolerance,
        )
    yield claim(
        "Reno's throughput against Reno, high over low load",
        ("I", "I"),
        ("thr", "reno", "reno", "high"),
        ("thr", "reno", "reno", "low"),
        0.3,
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
