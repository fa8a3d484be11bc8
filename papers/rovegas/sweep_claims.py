"""Claims on each point of a sweep, each connection and each panel, made from the paper's numbers and the fluid model.

[chan2004 §5-6] Figs. 7, 8, 15, 17 and 18.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from dumbbell.claims import Claim
from dumbbell.judge.estimate import Outcome, above, listing, resampled
from dumbbell.models import rovegas as model

from .assumptions import FORWARD_RATE_KBPS
from .connection_claims import kept_target
from .evidence import Evidence, worst
from .printed import at_points
from .register import REGISTER, mean, ratio
from .scenarios import ASYMMETRIES, BAND_PANELS

Point = partial(Claim[Evidence], kind="value", tolerance_kind="rel")
Ordering = partial(Claim[Evidence], kind="ordering")

QUEUES = (1.0, 2.618, 4.603, 6.842, 9.293, 11.91, 14.66, 17.55)
"""The queue of the fluid model by number of staggered connections, in units of the target backlog of one."""

DELAYS = {"fig-17": "equal", "fig-18": "unequal"}


def _throughput_of_vegas() -> Iterator[Claim[Evidence]]:
    for serial, (k, printed) in enumerate(at_points("fig-7", "throughput").items(), start=2):
        yield Point(
            id=f"RV-F7-{serial:02d}",
            source="fig 7 / eq 16 (derived)",
            repeats="RV-ANA-08",
            statement=f"Vegas, k = {k:g}: throughput once settled",
            scenario="fig-7",
            units="kbit/s",
            paper_value=printed,
            tolerance=0.05,
            measure=partial(mean, column="throughput", of=f"ana|vegas|{k:g}"),
        )


def _allowed(evidence: Evidence, k: float) -> Outcome:
    found = evidence.throughput("ana", "rovegas", k) / evidence.throughput("ana", "vegas", k)
    return resampled(found, holds=(found > 1) & (found <= 3.05))


def _gains_of_rovegas() -> Iterator[Claim[Evidence]]:
    gains, plain = at_points("fig-8", "ratio"), at_points("fig-7", "throughput")
    tolerances = {2: 0.1, 4: 0.5}
    for serial, (k, gain) in enumerate(gains.items(), start=2):
        yield Point(
            id=f"RV-F8-{serial:02d}",
            source="sec 6.1.1",
            kind="ratio",
            statement=f"RoVegas over Vegas, k = {k:g}",
            scenario="fig-8",
            paper_value=gain,
            tolerance_kind="abs",
            tolerance=tolerances.get(int(k), 0.3),
            measure=partial(ratio, column="throughput", of=f"ana|rovegas|{k:g}", over=f"ana|vegas|{k:g}"),
        )
    for serial, k in enumerate(ASYMMETRIES[1:], start=7):
        yield Point(
            id=f"RV-F8-{serial:02d}",
            source="fig 8 (derived)",
            statement=f"RoVegas, k = {k}: throughput that the ratio implies",
            scenario="fig-8",
            units="kbit/s",
            paper_value=round(gains[k] * plain[k] * float(model.goodput_share()), 1),
            tolerance=0.27 if k == 4 else 0.12,
            measure=partial(mean, column="throughput", of=f"ana|rovegas|{k}"),
        )
    for serial, k in enumerate(ASYMMETRIES, start=11):
        yield Ordering(
            id=f"RV-F8-{serial:02d}",
            source="eq 20 / fig 8",
            statement=f"k = {k}: the ratio lies where Eq. 20 allows it",
            scenario="fig-8",
            bound="> 1 and at most 3.05",
            measure=partial(_allowed, k=k),
        )


def _in_kept_targets(evidence: Evidence, n: int) -> Outcome:
    target = kept_target(evidence)
    return resampled(
        evidence.queue_after("vegas", n) / target,
        note=f"least squares over all n give {target[0]:.2f} packets each",
    )


def _staggered_queues() -> Iterator[Claim[Evidence]]:
    for n, queue in enumerate(QUEUES, start=1):
        yield Point(
            id=f"RV-F15-{11 + n}",
            source="fluid model (derived)",
            statement=f"fluid model: queue with {n} staggered Vegas connection{'s' if n > 1 else ''} in units of the target "
            "backlog of a connection",
            scenario="fig-15",
            paper_value=queue,
            tolerance=0.2,
            measure=partial(_in_kept_targets, n=n),
        )


def _share(evidence: Evidence, connection: int) -> Outcome:
    rates = evidence.throughputs("fig-17", "b")
    return resampled(rates[connection - 1] / np.sum(rates, axis=0))


def _shares() -> Iterator[Claim[Evidence]]:
    for connection, share in enumerate(model.persistent_shares(5), start=1):
        yield Point(
            id=f"RV-F17-{8 + connection:02d}",
            source="fluid model (derived)",
            statement=f"fluid model: share of connection {connection} of five Vegas connections with alpha equal to beta",
            scenario="fig-17",
            paper_value=round(float(share), 3),
            tolerance=0.3,
            measure=partial(_share, connection=connection),
        )


def _fairness(evidence: Evidence, figure: str, panel: str) -> Outcome:
    index = evidence.jain(figure, panel)
    return resampled(index, holds=index < 0.99 if panel in "ab" else None)


def _best_over_worst(evidence: Evidence, figure: str) -> Outcome:
    rows = evidence.rows(figure, "c")
    spread = evidence.mean_of(rows, lambda row: float(np.max(row["throughput"]) / np.min(row["throughput"])))
    return above([spread], limit=1.05)


def _lead_in_fairness(evidence: Evidence, figure: str, others: str, strict: bool) -> Outcome:
    indices = {panel: evidence.jain(figure, panel) for panel in BAND_PANELS}
    margin = indices["d"] - np.maximum.reduce([indices[panel] for panel in others])
    return resampled(
        margin,
        holds=margin > 0 if strict else margin >= 0,
        note=listing(list(BAND_PANELS), list(indices.values()), "{:.3f}"),
    )


def _panels(figure: str) -> Iterator[Claim[Evidence]]:
    """Yield the claims on the fairness in the panels of a figure."""
    number, delays = figure.removeprefix("fig-"), DELAYS[figure]

    def claim(
        serial: int, panel: str, statement: str, measure: Callable[..., Outcome], **rest: Any
    ) -> Claim[Evidence]:
        fields: dict[str, Any] = {"kind": "ordering", "bound": "> 0"} | rest
        return Claim(
            id=f"RV-F{number}-{serial:02d}",
            source=f"fig {number}{panel and f'({panel})'}",
            statement=statement,
            scenario=figure,
            measure=partial(measure, figure=figure),
            **fields,
        )

    for serial, (panel, band) in enumerate((("a", "below"), ("b", "equal to")), start=1):
        words = f"Vegas, alpha {band} beta, {delays} delays: unequal shares; fairness index"
        yield claim(serial, panel, words, partial(_fairness, panel=panel), bound="< 0.99")
    words = f"RoVegas, alpha below beta, {delays} delays: shares differ; largest over smallest"
    yield claim(3, "c", words, _best_over_worst, bound="> 1.05")
    words = f"RoVegas, alpha equal to beta, {delays} delays: equal shares; fairness index"
    tolerance = 0.02 if delays == "equal" else 0.03
    stated = {
        "bound": "",
        "paper_value": 1.0,
        "tolerance_kind": "abs",
        "tolerance": tolerance,
    }
    yield claim(4, "d", words, partial(_fairness, panel="d"), **stated)
    words = "RoVegas with alpha equal to beta is the fairest of the four; margin of the fairness index"
    yield claim(5, "", f"{delays} delays: {words}", partial(_lead_in_fairness, others="abc", strict=True))
    words = f"{delays} delays, alpha equal to beta: RoVegas is fairer than Vegas; difference of the fairness indices"
    repeats = f"RV-F{number}-05"
    yield claim(
        6, "", words, partial(_lead_in_fairness, others="b", strict=False), bound=">= 0", repeats=repeats
    )


def _farthest_from_fifth(evidence: Evidence, figure: str) -> Outcome:
    full = FORWARD_RATE_KBPS * model.goodput_share()
    shares = [throughput * 5 / full for throughput in evidence.throughputs(figure, "d")]
    return resampled(worst(shares, 1.0), note=listing(["1", "2", "3", "4", "5"], shares))


def _fifths(figure: str) -> Claim[Evidence]:
    number = figure.removeprefix("fig-")
    return Point(
        id=f"RV-F{number}-07",
        source=f"fig {number}(d) (derived)",
        statement=f"RoVegas, alpha equal to beta, {DELAYS[figure]} delays: a fifth of the link for each of five; the "
        "farthest from 1",
        scenario=figure,
        paper_value=1.0,
        tolerance=0.25,
        measure=partial(_farthest_from_fifth, figure=figure),
    )


REGISTER.follow("RV-F7-01", _throughput_of_vegas())
REGISTER.follow("RV-F8-01", _gains_of_rovegas())
REGISTER.follow("RV-F15-11", _staggered_queues())
REGISTER.follow("RV-F15-23", [*_panels("fig-17"), *_panels("fig-18"), _fifths("fig-17")])
REGISTER.follow("RV-F17-08", [*_shares(), _fifths("fig-18")])
