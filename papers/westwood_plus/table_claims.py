"""Claims on the cells of Tables I to V, made from the printed numbers.

[grieco2004 §3.1, §4]
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from functools import partial

from dumbbell.claims import Claim
from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of

from . import printed
from .connection_claims import interval_goodput
from .evidence import Evidence, signed
from .live_claims import NAMES, TABLES, least_round_trip_time_of_kernel
from .register import REGISTER
from .scenarios import EDGES_S

PAPER_NAMES = {
    "NewReno": ("newreno", "New Reno"),
    "Vegas": ("vegas", "Vegas"),
    "WestwoodPlus": ("westwoodp", "Westwood+"),
}

DONE = "It says how many files were uploaded, or of what size: what was done, which a plan can repeat but not find."
GAIN = (
    "The ends of a range over days. A gain is a function of what lost packets on each day, which is not known; the gains with "
    "either cause are shown beside the uploads."
)
PIPE = (
    "It is the goodput times the round-trip time, and the goodput is set by the losses and the other connections that are "
    "chosen: this value can be set, not found."
)

Cell = partial(Claim[Evidence], tolerance_kind="abs")


def _goodput(evidence: Evidence, variant: str, index: int) -> Outcome:
    paper = printed.table_1(variant)[index]
    values = interval_goodput(evidence, variant, (index,))
    return mean_of(values, note=f"{signed(100 * (values.mean() / paper - 1))} %")


def _table_1() -> Iterator[Claim[Evidence]]:
    for (name, (variant, words)), index in itertools.product(PAPER_NAMES.items(), range(4)):
        busy = index % 2 == 1
        yield Cell(
            id=f"W-T1-{name}-{index + 1}",
            source="table I",
            kind="value",
            statement=f"Goodput of {words} in {EDGES_S[index]:.0f}–{EDGES_S[index + 1]:.0f} s, reverse path "
            f"{'busy' if busy else 'quiet'}",
            scenario="table-1",
            units="Mbit/s",
            paper_value=printed.table_1(variant)[index],
            tolerance=0.2 if busy else 0.06,
            measure=partial(_goodput, variant=variant, index=index),
        )


def _not_found(_evidence: Evidence, reason: str) -> Outcome:
    raise NotMeasured(reason)


def _sessions() -> Iterator[Claim[Evidence]]:
    for table, name in TABLES.items():
        site = printed.site(name)
        number = table.removeprefix("T")
        cell = partial(
            Cell, source=f"table {number}", kind="value", scenario=f"table-{number}", evidence="definition",
            measure=partial(_not_found, reason=DONE),
        )  # fmt: skip
        for index, day in enumerate(map(datetime.date.fromisoformat, site.dates)):
            place = f"{NAMES[name]}, session of {day.day} {day:%b %Y}"
            files, size = float(site.uploads[index]), site.megabytes[index]
            begin = f"W-{table}-{index + 1}"
            yield cell(
                id=f"{begin}-uploads",
                statement=f"{place}: number of uploads",
                units="files",
                paper_value=files,
            )
            yield cell(id=f"{begin}-size", statement=f"{place}: size of a file", units="MB", paper_value=size)


def _ranges() -> Iterator[Claim[Evidence]]:
    for name, figure in zip(printed.SITES, (33, 35, 37), strict=True):
        site, begin = printed.site(name), f"W-T5-{NAMES[name]}"
        ends = (("lo", "smallest"), ("hi", "largest"))
        for (end, word), value, tolerance in zip(ends, site.gain, (15.0, 20.0), strict=True):
            yield Cell(
                id=f"{begin}-gain-{end}",
                source="table 5",
                kind="ratio",
                statement=f"{NAMES[name]}: {word} gain of Westwood+ over New Reno in a session",
                scenario=f"fig-{figure}",
                units="percentage points",
                paper_value=value,
                tolerance=tolerance,
                measure=partial(_not_found, reason=GAIN),
            )
        for (end, word), value in zip(ends, site.pipe, strict=True):
            yield Cell(
                id=f"{begin}-pipe-{end}",
                source="table 5",
                kind="value",
                statement=f"{NAMES[name]}: {word} product of Westwood+'s goodput and the minimum round-trip time",
                scenario="table-5",
                units="MSS",
                paper_value=value,
                tolerance_kind="rel",
                tolerance=0.5,
                measure=partial(_not_found, reason=PIPE),
            )
        yield Cell(
            id=f"{begin}-rtt",
            source="section 4",
            kind="value",
            statement=f"{NAMES[name]}: minimum round-trip time",
            scenario="table-5",
            evidence="definition",
            units="ms",
            paper_value=site.rtt_ms,
            tolerance_kind="rel",
            tolerance=0.05,
            measure=partial(least_round_trip_time_of_kernel, site=name),
        )


REGISTER.follow("W-F2-3", _table_1())
REGISTER.follow("W-F32-4", _sessions())
REGISTER.follow("W-L-1", _ranges())
