"""Claims on the cells of Tables 1 to 3, made from the printed numbers.

[chan2010 §3.1, §4.5, §4.7]
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from dumbbell.claims import Claim
from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of

from .evidence import Evidence
from .printed import COLUMNS, data, interval
from .register import REGISTER
from .rules import table1
from .sweep_claims import fairness

FIELDS = {
    "Wold": ("w_old", "window before the update"),
    "alpha": ("alpha", "alpha"),
    "alpha_inc": ("alpha_inc", "what alpha gains for the next round trip"),
    "beta": ("beta", "beta"),
    "beta_inc": ("beta_inc", "what beta gains for the next round trip"),
    "Delta": ("delta", "Delta"),
    "W": ("w", "window after the update"),
}
"""The rows of Table 1: their fields in `rules.Round`, and what they are."""

SET = (
    "The path is not described. Its limit would have to be set to the printed rates, so that a run returns what was set: this "
    "value can be set, not found."
)
DAY = (
    "The path and its traffic are not described. How much the traffic of that day left to Vegas would have to be fitted to the "
    "printed number: this value can be set, not found."
)

Cell = partial(Claim[Evidence], kind="value", tolerance_kind="abs")


def _entry(_evidence: Evidence, field: str, column: int) -> Outcome:
    return Outcome(measured=float(getattr(table1()[column], field)))


def _table_1() -> Iterator[Claim[Evidence]]:
    for quantity, (field, words) in FIELDS.items():
        for column, printed in enumerate(data()["table1"][quantity]):
            yield Cell(
                id=f"C-T1-{quantity}-{column}",
                source="table 1",
                statement=f"NewVegas over six round trips: {words} in round trip j+{column}",
                scenario="table-1",
                evidence="arithmetic",
                units="packets",
                paper_value=float(printed),
                measure=partial(_entry, field=field, column=column),
            )


def _mean_fairness(evidence: Evidence, kind: str, rate: int) -> Outcome:
    return mean_of(fairness(evidence, kind, rate))


def _table_2() -> Iterator[Claim[Evidence]]:
    printed = data()["table2"]
    for (index, rate), name in itertools.product(enumerate(printed["rates"]), ("CODE", "NewVegas", "Vegas")):
        yield Cell(
            id=f"C-T2-{rate:02d}-{name}",
            source="table 2",
            statement=f"fairness index of ten {name} connections at {rate} Mbit/s",
            scenario="table-2",
            paper_value=float(printed[name.lower()][index]),
            tolerance=0.03,
            measure=partial(_mean_fairness, kind=name.lower(), rate=rate),
        )


def _not_found(_evidence: Evidence, reason: str) -> Outcome:
    raise NotMeasured(reason)


def _printed_mean(_evidence: Evidence, column: str) -> Outcome:
    return Outcome(measured=float(np.mean(data()["table3"][column])), note="from the printed rounds")


def _printed_half_width(_evidence: Evidence, column: str, level: int) -> Outcome:
    found = interval(data()["table3"][column], level / 100)
    return Outcome(measured=found.half_width, note="from the printed rounds, by the normal quantile")


def _table_3() -> Iterator[Claim[Evidence]]:
    printed = data()["table3"]
    cell = partial(Cell, source="table 3", scenario="table-3", units="KB/s")
    of: dict[str, str] = dict(
        zip(
            COLUMNS,
            ("Reno against Vegas", "Vegas against Reno", "Reno against CODE", "CODE against Reno"),
            strict=True,
        )
    )
    for number, column in itertools.product(range(1, 11), COLUMNS):
        by_traffic = column == "RV-Vegas"
        yield cell(
            id=f"C-T3-R{number:02d}-{column}",
            statement=f"upload over the Internet, round {number}: throughput of {of[column]}",
            paper_value=float(printed[column][number - 1]),
            tolerance_kind="rel",
            tolerance=0.25 if by_traffic else 0.05,
            measure=partial(_not_found, reason=DAY if by_traffic else SET),
        )
    computed: dict[str, Any] = {"evidence": "arithmetic", "tolerance": 0.005}
    for column in COLUMNS:
        yield cell(
            id=f"C-T3-AVG-{column}",
            statement=f"printed mean of ten uploads of {of[column]}, from the printed rounds",
            paper_value=float(printed["mean"][column]),
            measure=partial(_printed_mean, column=column),
            **computed,
        )
    for level, column in itertools.product((99, 95, 90), COLUMNS):
        yield cell(
            id=f"C-T3-CI{level}-{column}",
            statement=f"printed half-width at {level} % of {of[column]}, z s / sqrt(10) of the printed rounds",
            paper_value=float(printed["half_width"][str(level)][column]),
            measure=partial(_printed_half_width, column=column, level=level),
            **computed,
        )


REGISTER.follow("C-EPS-13", _table_1())
REGISTER.follow("C-F16-2", _table_2())
REGISTER.follow("C-F19-5", _table_3())
