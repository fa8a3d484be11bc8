"""The first screen of a paper's report and of the page of all papers, computed from the findings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dumbbell.claim_classes import PRINTED
from dumbbell.claims import MARKS, Finding
from dumbbell.judge.rule import UNSAID, Within
from dumbbell.papers.claim_details import ANCHOR
from dumbbell.papers.nulls import Passed
from dumbbell.report.numbers import number, percent
from dumbbell.report.opening import Number, Opening, Panel, Point, Telling, against

MOST_PANELS, FEWEST_POINTS = 7, 3
"""Small pictures at most, and numbers of each at least."""

MOST_TELLING = 3
"""Hits, and misses, at most."""


def opening(
    question: str, findings: Sequence[Finding], headline: Mapping[str, Any], passed: Passed
) -> Opening | None:
    """Return the first screen of a paper's report; ``None`` without claims.

    Parameters
    ----------
    question
        What the paper is reproduced for.
    findings
        The findings on all claims.
    headline
        See `dumbbell.claims.measured_score`.
    passed
        What the null models pass of the claims.
    """
    if not findings:
        return None
    counted = [finding for finding in findings if finding.counts]
    chance = passed.row(of_class=PRINTED)
    return Opening(
        question=question,
        numbers=[*_shares(headline, counted), *([by_chance([chance])] if chance["claims"] else [])],
        counts=counts_of(counted),
        note=_others(findings),
        panels=panels(findings),
        hits=hits(counted),
        misses=misses(counted),
    )


def counts_of(counted: Iterable[Finding]) -> tuple[int, int, int]:
    """Return how many of some findings are reproduced, undecided, and not reproduced."""
    verdicts = [finding.verdict for finding in counted]
    return verdicts.count("reproduced"), verdicts.count("undecided"), verdicts.count("not-reproduced")


def by_chance(rows: Sequence[Mapping[str, float]]) -> Number:
    """Return what shuffled labels pass of the printed claims, from `Passed.row` of each paper."""
    total, ours, shuffled = (sum(row[name] for row in rows) for name in ("claims", "ours", "shuffled"))
    return Number(
        value=percent(shuffled / total),
        label="would hold by chance",
        detail=f"with the labels of our numbers shuffled, {shuffled:.0f} of {total:g}; ours {ours:g}",
    )


def held(values: Sequence[bool], what: str, detail: str = "", mean: float | None = None) -> Number:
    """Return the share of printed claims that hold.

    Parameters
    ----------
    values
        Whether each of them holds.
    what
        What the claims are.
    detail
        A remark.
    mean
        The share as a mean over seeds, percent; that of `values` if it is left out.
    """
    share = (sum(values) / len(values) if values else math.nan) if mean is None else mean / 100
    counted = f"{sum(values)} of {len(values)} printed claims"
    return Number(
        value="–" if math.isnan(share) else percent(share),
        label=f"of {what} hold",
        detail=f"{counted}{detail}",
    )


def _shares(headline: Mapping[str, Any], counted: Sequence[Finding]) -> list[Number]:
    found = []
    for row in headline.values():
        kinds = row["kinds"]
        values = [finding.holds is True for finding in counted if finding.claim.kind in kinds]
        detail = "" if row["sd"] is None else f"; ± {row['sd']:.1f} points over {row['seeds']} seeds"
        if row["ceiling"] is not None:
            detail += f"; the paper's own sampling allows {row['ceiling']:.0f} %"
        found.append(held(values, row["name"], detail, row["mean"]))
    return found


def _others(findings: Sequence[Finding]) -> str:
    """Return what the bar leaves out, in a sentence."""
    others = [finding for finding in findings if finding.is_judged and not finding.counts]
    unchecked = sum(not finding.is_judged for finding in findings)
    parts = []
    if others:
        holding = sum(finding.holds is True for finding in others)
        parts.append(f"{holding} of {len(others)} claims of other classes hold, too.")
    if unchecked:
        parts.append(f"{unchecked} claims could not be checked.")
    return " ".join(parts)


def panels(findings: Sequence[Finding]) -> list[Panel]:
    """Return the paper's numbers against ours, a picture for each of the tables and figures with most numbers."""
    tables: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        claim = finding.claim
        is_number = claim.paper_value is not None and finding.measured is not None
        if is_number and finding.is_measured and claim.units not in MARKS and claim.classed.name != "input":
            tables.setdefault((claim.source, claim.units), []).append(finding)
    enough = {
        key: listed
        for key, listed in tables.items()
        if len({finding.claim.paper_value for finding in listed}) >= FEWEST_POINTS
    }
    largest = sorted(enough, key=lambda key: -len(enough[key]))[:MOST_PANELS]
    return [
        Panel(
            svg=against([_point(finding) for finding in listed]),
            caption=source if units in UNSAID else f"{source} [{units}]",
        )
        for (source, units), listed in enough.items()
        if (source, units) in largest
    ]


def _point(finding: Finding) -> Point:
    paper, ours = float(finding.claim.paper_value or 0.0), float(finding.measured or 0.0)
    return Point(
        paper=paper,
        ours=ours,
        low=ours if finding.low is None else finding.low,
        high=ours if finding.high is None else finding.high,
        verdict=finding.verdict,
        name=finding.claim.id,
    )


def hits(counted: Sequence[Finding]) -> list[Telling]:
    """Return the reproduced claims with the tightest tolerances, one of each source; then counts and orderings."""
    reproduced = [finding for finding in counted if finding.verdict == "reproduced"]
    return _first(sorted(reproduced, key=_looseness))


def misses(counted: Sequence[Finding]) -> list[Telling]:
    """Return the claims that are farthest from what is accepted, one of each source; then estimates that fall outside."""
    missed = [finding for finding in counted if finding.verdict == "not-reproduced"]
    outside = [finding for finding in counted if finding.verdict == "undecided" and finding.holds is False]
    return _first([*sorted(missed, key=_nearness), *sorted(outside, key=_nearness)])


def _looseness(finding: Finding) -> float:
    judged_by = finding.claim.judged_by
    if not isinstance(judged_by, Within) or not judged_by.value or not judged_by.allowed:
        return math.inf
    return judged_by.allowed / abs(judged_by.value)


def _nearness(finding: Finding) -> float:
    judged_by = finding.claim.judged_by
    if not isinstance(judged_by, Within) or not judged_by.allowed or finding.measured is None:
        return 0.0
    return -abs(finding.measured - judged_by.value) / judged_by.allowed


def _first(ranked: Sequence[Finding]) -> list[Telling]:
    """Return the first findings, one of each source while there are enough sources."""
    first = list({finding.claim.source: finding for finding in reversed(ranked)}.values())
    chosen = [finding for finding in ranked if finding in first]
    chosen += [finding for finding in ranked if finding not in first]
    return [_telling(finding) for finding in chosen[:MOST_TELLING]]


def _telling(finding: Finding) -> Telling:
    claim = finding.claim
    unit = "" if claim.units in UNSAID else f" {claim.units}"
    parts = [claim.source]
    if claim.paper_value is not None:
        parts.append(f"paper {number(claim.paper_value, digits=4)}{unit}")
    if finding.measured is not None:
        interval = "" if finding.low is None else f" ({number(finding.low)} to {number(finding.high)})"
        parts.append(f"ours {number(finding.measured, digits=4)}{unit}{interval}")
    if rule := claim.rule():
        parts.append(f"accepted: {rule}")
    return Telling(
        id=claim.id,
        anchor=f"{ANCHOR}{claim.id}",
        verdict=finding.verdict,
        statement=claim.statement,
        numbers="; ".join(parts),
    )
