"""Null models: what a paper's claims accept from somebody who measures nothing.

Three models answer every claim that could be checked, and `dumbbell.claims.judge` judges the answers by the claims' own rules:

``zero``
    Every measured number is 0.
``constant``
    Every measured quantity has one value: a number that is compared with print is the median of the numbers printed in its
    table. Differences, signs and marks are then 0, and ratios 1.
``shuffled``
    Our own runs with their labels permuted over a whole table or figure, all settings and algorithms of it, and judged again;
    the mean of `DRAWS` draws, in quick mode of `QUICK_DRAWS`. A claim that rests on no such runs, but on a single
    configuration, formulas or the kernel, has no answer.

A table is the source of a claim with the units of its number; where it has fewer than `FEWEST` numbers, all numbers of the
paper with these units take its place, and without as many of them, the constant model has no answer. Where a function judges
(its rule is words only), equal sides satisfy no inequality.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dumbbell.claim_classes import CLASSES, PRINTED
from dumbbell.claims import GROUPS, MARKS, Claim, Finding, judge
from dumbbell.judge import rule
from dumbbell.judge.bound import Bound
from dumbbell.judge.estimate import NotMeasured, Outcome
from dumbbell.judge.reads import SIMULATED, RunsByKey
from dumbbell.report import Block, Cell, Column, Section, Table, Text

FEWEST = 3
"""Numbers that a table must have for a median."""

DRAWS = 10
"""Permutations of the labels."""

QUICK_DRAWS = 3
"""Permutations of the labels in quick mode."""

SEED = 44
"""Seed of the permutations."""

MODELS = ("zero", "constant", "shuffled")

Answers = Mapping[str, Outcome]
"""The answer to each claim, by its name."""


def _is_compared(claim: Claim[Any]) -> bool:
    """Return whether a claim compares sides: its number is a difference, a ratio, a sign, a mark or a share of points."""
    return isinstance(claim.judged_by, rule.Share) or claim.kind in ("ordering", "sign", "shape")


def _is_words(claim: Claim[Any]) -> bool:
    """Return whether a function judges a claim."""
    return type(claim.judged_by) is rule.Rule


def _tables(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Return for each claim the findings of its table, or of its units; fewer than `FEWEST` where there are no more."""
    by_table: dict[tuple[str, str], list[Finding]] = {}
    by_units: dict[str, list[Finding]] = {}
    for finding in findings:
        if isinstance(finding.claim.judged_by, rule.Within) or finding.claim.units in MARKS:
            by_table.setdefault((finding.claim.source, finding.claim.units), []).append(finding)
            by_units.setdefault(finding.claim.units, []).append(finding)
    found = {}
    for finding in findings:
        units = finding.claim.units
        table = by_table.get((finding.claim.source, units), [])
        found[finding.claim.id] = table if len(table) >= FEWEST else by_units.get(units, [])
    return found


def _zero(findings: Sequence[Finding]) -> dict[str, Outcome]:
    return {
        finding.claim.id: Outcome(measured=0.0, holds=False if _is_words(finding.claim) else None)
        for finding in findings
    }


def _constant(findings: Sequence[Finding]) -> dict[str, Outcome]:
    answers = {}
    for name, table in _tables(findings).items():
        printed = [each.claim.paper_value for each in table if each.claim.paper_value is not None]
        value = float(np.median(printed)) if len(printed) >= FEWEST else math.nan
        answers[name] = Outcome(measured=value)
    for finding in findings:
        claim = finding.claim
        if _is_words(claim):
            answers[claim.id] = Outcome(measured=math.nan, holds=False)
        elif isinstance(claim.judged_by, Bound | rule.Share) and _is_compared(claim):
            answers[claim.id] = Outcome(measured=0.0)
        elif isinstance(claim.judged_by, Bound) and claim.kind == "ratio":
            answers[claim.id] = Outcome(measured=1.0)
    return answers


def _forms(results: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the columns that the first run of each key has values in."""
    first = results.drop_duplicates("key")
    known = {
        str(name): column.notna().tolist()
        if pd.api.types.is_numeric_dtype(column.dtype)
        else [_is_known(value) for value in column]
        for name, column in first.items()
    }
    return {
        str(key): tuple(name for name, values in known.items() if values[place])
        for place, key in enumerate(first["key"])
    }


def _is_known(value: Any) -> bool:
    return len(value) > 0 if isinstance(value, np.ndarray | list | tuple) else bool(pd.notna(value))


@dataclass(frozen=True, kw_only=True)
class Relabelling:
    """Runs whose labels can be exchanged, and the judgement of claims on them.

    Parameters
    ----------
    results
        The runs: ``key`` and the columns of the paper.
    stages
        The stage of the paper's plan, by key. Labels are permuted over the keys of a stage whose runs have the same columns.
    judge
        Returns the findings on claims from such runs by key.
    draws
        Number of permutations.
    """

    results: pd.DataFrame
    stages: Mapping[str, str]
    judge: Callable[[Sequence[Claim[Any]], RunsByKey], Sequence[Finding]]
    draws: int = DRAWS

    @cached_property
    def _places(self) -> dict[str, NDArray[np.intp]]:
        """The rows of each key, in the order of the plan."""
        rows = self.results.groupby("key", sort=False).indices
        return {str(key): np.asarray(rows[key]) for key in self.results["key"].drop_duplicates()}

    def _relabelled(self, labels: Mapping[str, str]) -> RunsByKey:
        """Return the runs with some labels exchanged, in the same order."""
        old = {labels.get(key, key): key for key in self._places}
        table = self.results.assign(key=[labels.get(key, key) for key in self.results["key"].astype(str)])
        return RunsByKey(list(old), lambda key: table.iloc[self._places[old[key]]], lambda: table)

    @cached_property
    def blocks(self) -> Sequence[Sequence[str]]:
        """The keys that exchange their labels, two or more together."""
        found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for key, form in _forms(self.results).items():
            stage = self.stages.get(key)
            if stage is not None:
                found.setdefault((stage, form), []).append(key)
        return [keys for keys in found.values() if len(keys) > 1]

    def answered(self, findings: Sequence[Finding]) -> list[bool]:
        """Return which claims rest on runs that can exchange their labels."""
        exchanged = {key for keys in self.blocks for key in keys}
        return [any(key in exchanged for key in finding.reads.get(SIMULATED, ())) for finding in findings]

    def draw(self, claims: Sequence[Claim[Any]], generator: np.random.Generator) -> Sequence[Finding]:
        """Return the findings on claims with the labels permuted."""
        labels: dict[str, str] = {}
        for keys in self.blocks:
            labels |= dict(zip(keys, generator.permutation(keys).tolist(), strict=True))
        # Means over nothing warn; what they give holds for no claim.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return self.judge([_guarded(claim) for claim in claims], self._relabelled(labels))


def _guarded(claim: Claim[Any]) -> Claim[Any]:
    """Return a claim that is not checkable where its measure fails: labels that do not belong together can break any."""

    def measure(evidence: Any) -> Outcome:
        try:
            return claim.measure(evidence)
        except Exception as error:
            raise NotMeasured(f"The exchanged labels give nothing: {error!r}") from error

    return replace(claim, measure=measure)


def _answered(outcome: Outcome) -> Callable[[Any], Outcome]:
    return lambda _evidence: outcome


def judged(findings: Sequence[Finding], answers: Answers) -> list[Finding]:
    """Return the findings on the same claims if their measures gave these answers."""
    claims = [replace(each.claim, measure=_answered(answers[each.claim.id])) for each in findings]
    return judge(claims, None)


@dataclass(frozen=True, kw_only=True)
class Passed:
    """Which claims each null model passes.

    Parameters
    ----------
    findings
        Our findings on the claims that could be checked.
    passed
        For each of `MODELS` the share of the draws in which each claim holds, from 0 to 1, in the order of the findings.
    answered
        Whether the labels of the runs that each claim rests on can be exchanged.
    draws
        Number of permutations of the labels.
    """

    findings: Sequence[Finding]
    passed: Mapping[str, Sequence[float]]
    answered: Sequence[bool]
    draws: int = DRAWS

    def row(self, *, of_class: str, group: str = "") -> dict[str, float]:
        """Return the number of claims of a class, and of one of `GROUPS` if given, and how many we and each model pass.

        ``exchanged`` is the number of claims that the shuffled model has an answer to.
        """
        chosen = [
            place
            for place, finding in enumerate(self.findings)
            if finding.claim.classed.name == of_class
            and finding.claim.kind in GROUPS.get(group, (finding.claim.kind,))
        ]
        ours = sum(self.findings[place].holds is True for place in chosen)
        exchanged = sum(self.answered[place] for place in chosen)
        return {"claims": len(chosen), "ours": ours, "exchanged": exchanged} | {
            model: round(float(sum(shares[place] for place in chosen)), 1)
            for model, shares in self.passed.items()
        }

    def to_dict(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the rows of each class with claims, over all and by group, as plain data."""
        found = {}
        for name in CLASSES:
            rows = {group or "all": self.row(of_class=name, group=group) for group in ("", *GROUPS)}
            if rows["all"]["claims"]:
                found[name] = rows
        return found


def passed(findings: Sequence[Finding], relabelling: Relabelling | None = None) -> Passed:
    """Return which claims the null models pass: the same for the same findings.

    Parameters
    ----------
    findings
        Our findings on all claims of a paper.
    relabelling
        The runs they rest on; without them the shuffled model has no answers.
    """
    known = [finding for finding in findings if finding.is_judged]
    answered = [False] * len(known) if relabelling is None else relabelling.answered(known)
    shares = {
        model: [float(each.holds is True) for each in judged(known, answers)]
        for model, answers in (("zero", _zero(known)), ("constant", _constant(known)))
    }
    shuffled = np.zeros(len(known))
    if relabelling is not None and any(answered):
        asked = [finding.claim for finding, is_asked in zip(known, answered, strict=True) if is_asked]
        generator = np.random.default_rng(SEED)
        draws = [
            [each.holds is True for each in relabelling.draw(asked, generator)]
            for _ in range(relabelling.draws)
        ]
        shuffled[answered] = np.mean(draws, axis=0)
    return Passed(
        findings=known,
        passed=shares | {"shuffled": shuffled.tolist()},
        answered=answered,
        draws=DRAWS if relabelling is None else relabelling.draws,
    )


def _cell(row: Mapping[str, float], name: str) -> Cell:
    if name != "shuffled":
        part = f"{100 * row[name] / row['claims']:.0f} %" if row["claims"] else ""
        return Cell(text=f"{row[name]:g}", detail=part)
    if not row["exchanged"]:
        return Cell(text="–", detail="no answer")
    share = f"{100 * row[name] / row['exchanged']:.0f} % of {row['exchanged']:g}"
    return Cell(text=f"{row[name]:g}", detail=share)


def section(counted: Passed) -> Section:
    """Return the section of a report on the classes of the claims and what the null models pass of them."""
    rows: list[list[Cell | str]] = []
    for name, found in counted.to_dict().items():
        for group, row in found.items():
            if not row["claims"] or (group != "all" and name != PRINTED):
                continue
            label = Cell(text=name, tone="strong") if group == "all" else Cell(text="", detail=group)
            meaning = CLASSES[name] if group == "all" else ""
            rows.append(
                [label, meaning, f"{row['claims']:g}", *(_cell(row, each) for each in ("ours", *MODELS))]
            )
    blocks: list[Block] = [
        Text(
            paragraphs=[
                "Only printed claims make the headline. The null models measure nothing: with `zero`, every number is 0; "
                "with `constant`, one value stands for all of a table; `shuffled` permutes the labels of our own runs over a "
                f"whole table or figure (mean of {counted.draws} draws; its share is of the claims that rest on such runs). "
                "The rules that judge us judge them, too."
            ]
        ),
        Table(
            caption="Claims that hold, by class, and what the null models pass",
            columns=[
                Column(title="class", align="left"),
                Column(title="meaning", align="left"),
                *(Column(title=title) for title in ("claims", "ours", *MODELS)),
            ],
            rows=rows,
            note="Claims that could be checked; estimates alone.",
        ),
    ]
    return Section(anchor="classes", title="Classes and null models", blocks=blocks)


def overview(papers: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]) -> Section:
    """Return the section of the page of all papers: the claims of each class, and what null models pass of the headline.

    Parameters
    ----------
    papers
        What `Passed.to_dict` returned for each paper, by title.
    """
    names = [name for name in CLASSES if any(name in found for found in papers.values())]
    by_class: list[list[Cell | str]] = []
    headline: list[list[Cell | str]] = []
    for title, found in papers.items():
        cells = [found[name]["all"] if name in found else {"claims": 0, "ours": 0} for name in names]
        by_class.append(
            [title, *(f"{row['ours']:g} of {row['claims']:g}" if row["claims"] else "" for row in cells)]
        )
        for group, row in found.get(PRINTED, {}).items():
            if row["claims"]:
                label = Cell(text=title, tone="strong") if group == "all" else Cell(text="", detail=group)
                headline.append(
                    [label, f"{row['claims']:g}", *(_cell(row, each) for each in ("ours", *MODELS))]
                )
    blocks: list[Block] = [
        Table(
            caption="Claims that hold, by class",
            columns=[Column(title="paper", align="left"), *(Column(title=name) for name in names)],
            rows=by_class,
            note="Claims that could be checked; only printed ones make the headline. "
            + " ".join(f"`{name}`: {CLASSES[name]}." for name in names),
        ),
        Table(
            caption="What the null models pass of the headline",
            columns=[
                Column(title="paper", align="left"),
                *(Column(title=title) for title in ("claims", "ours", *MODELS)),
            ],
            rows=headline,
            note="Zero: every number is 0. Constant: one value stands for all of a table. Shuffled: the labels of our own "
            f"runs are permuted over a table or figure, mean of {DRAWS} draws, in quick mode of {QUICK_DRAWS}, of the claims "
            "that rest on such runs.",
        ),
    ]
    return Section(anchor="classes", title="Classes and null models", blocks=blocks)
