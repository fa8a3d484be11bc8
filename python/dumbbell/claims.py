"""Claims of a paper and their evaluation.

A claim is a sentence of a paper together with a function from evidence (the results of runs) to an `Outcome`, and a rule that
judges it (`dumbbell.judge`). The share of reproduced claims counts estimates, so that undecided claims count by the side they
fall on. A function whose evidence is missing raises `NotMeasured` with the reason, and the claim is not checkable. A function
whose claim only real machines can check raises `AwaitsTestbed`.

The statement of a claim is in a TOML file. Its measure is a function, or an estimate that several claims share: the claim's
row in the file names it and its arguments. A `Register` connects statements, measures and estimates.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import tomllib
import types
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

import numpy as np

from dumbbell.claim_classes import (
    CLASSES,
    PRINTED,
    ROUGH,
    SAME,
    Classified,
    Declaration,
    declarations,
    declared,
)
from dumbbell.errors import refusal
from dumbbell.judge import rule
from dumbbell.judge.bound import Bound
from dumbbell.judge.estimate import AwaitsTestbed, NotMeasured, Outcome
from dumbbell.judge.reads import Reads, recorded

Kind = Literal["value", "ratio", "ordering", "sign", "shape"]
Verdict = Literal["reproduced", "not-reproduced", "undecided", "not-checkable", "awaits-testbed"]
Evidence = Literal["measured", "arithmetic", "definition"]

E = TypeVar("E")

# The groups the claims are counted in.
GROUPS: Mapping[str, tuple[Kind, ...]] = {
    "orderings, signs and shapes": ("ordering", "sign", "shape"),
    "values and ratios": ("value", "ratio"),
}

# What the groups are called in data.
SHORT_GROUPS = ("orderings", "values")

COUNTS = (
    "reproduced",
    "undecided",
    "missed",
    "holding",
    "share",
    "other",
    "refuted",
    "awaiting",
    "unchecked",
)
"""What a row of a scoreboard counts."""

MARKS = ("flag", "sign")
"""Units of claims whose printed value is a mark of significance or a sign."""

FIELDS = {"source", "kind", "statement", "scenario"}
OPTIONAL_FIELDS = {"evidence", "repeats", "units", "paper", "within", "relative", "bound", "share", "measure"}

ESTIMATE = "estimate"
"""The field of a claim's ``measure`` that names the estimate; the others are its arguments."""


@dataclass(frozen=True, kw_only=True)
class Aims:
    """The shares of claims that are hoped for, of those that can be checked.

    Parameters
    ----------
    orderings
        Share of orderings, signs and shapes, percent.
    values
        Share of values and ratios, percent.
    """

    orderings: int = 85
    values: int = 65

    def of(self, group: str) -> int:
        """Return the aim of one of the two groups, percent."""
        return dict(zip(GROUPS, (self.orderings, self.values), strict=True))[group]


@dataclass(frozen=True, kw_only=True)
class Claim(Generic[E]):
    """A claim of a paper.

    Parameters
    ----------
    id
        Its name, unique in the paper.
    source
        Table, figure or section it is taken from.
    kind
        ``"value"``, ``"ratio"``, ``"ordering"``, ``"sign"`` or ``"shape"``.
    statement
        What is claimed, in a sentence.
    measure
        Function from the evidence to an `Outcome`.
    units
        Units of the number; empty for a pure number.
    paper_value
        The paper's number, if it gives one.
    tolerance_kind
        ``"rel"`` (relative), ``"abs"`` (in the claim's units) or ``"order"`` (the outcome says whether it holds).
    tolerance
        Size of the tolerance.
    bound
        The bound of an ordering, such as ``"< 3"``, which judges (`dumbbell.judge.bound`), or what the function judges, in
        words.
    share
        Minimum share of points or runs, from 0 to 1, in which an ordering must hold; ``None`` if the function
        decides.
    scenario
        The scenarios on which it is evaluated.
    evidence
        ``"measured"`` if a simulation produces the number, ``"arithmetic"`` if it follows from numbers printed in the
        paper, ``"definition"`` if it holds by definition or is an input.
    repeats
        The claim of the paper that states the same, which then counts alone; empty if there is none.
    stated
        The class that a declaration gives it, or that follows from its table; ``None`` if its own rule decides.
    """

    id: str
    source: str
    kind: Kind
    statement: str
    measure: Callable[[E], Outcome]
    units: str = ""
    paper_value: float | None = None
    tolerance_kind: Literal["rel", "abs", "order"] = "order"
    tolerance: float = 0.0
    bound: str = ""
    share: float | None = None
    scenario: str = ""
    evidence: Evidence = "measured"
    repeats: str = ""
    stated: Classified | None = None

    @functools.cached_property
    def judged_by(self) -> rule.Rule:
        """The rule that judges its outcome."""
        if self.tolerance_kind == "order" or self.paper_value is None:
            if self.share is None:
                bound = Bound.of(self.bound or self._mark(), self.units)
                return bound or rule.Rule(bound=self.bound, units=self.units)
            return rule.Share(bound=self.bound, units=self.units, least=self.share)
        return rule.Within(
            units=self.units,
            value=self.paper_value,
            tolerance=self.tolerance,
            relative=self.tolerance_kind == "rel",
        )

    def _mark(self) -> str:
        """Return the bound of a printed sign or mark, which has to be the same."""
        is_mark = self.units in MARKS and self.paper_value is not None
        return f"= {self.paper_value:g}" if is_mark else ""

    def rule(self) -> str:
        """Return the rule in words."""
        return self.judged_by.words()

    @functools.cached_property
    def classed(self) -> Classified:
        """Its class, see `dumbbell.claim_classes`."""
        if self.evidence == "arithmetic":
            return Classified.by_rule("arithmetic")
        if self.repeats:
            return Classified.by_rule("derived", "repeats", (self.repeats,))
        if self.evidence == "definition" and (self.stated is None or self.stated.name != "input"):
            return Classified.by_rule("definition")
        return self.stated or self._by_rule()

    def _by_rule(self) -> Classified:
        """Return the class that follows from the rule that judges it."""
        judged_by = self.judged_by
        if judged_by.accepts(0.0):
            return Classified.by_rule("uninformative", "zero")
        if isinstance(judged_by, rule.Within) and judged_by.allowed >= ROUGH * abs(judged_by.value):
            return Classified.by_rule("rough")
        return Classified.by_rule(PRINTED)


class Register(Generic[E]):
    """The claims of a paper: statements from a TOML file, measures and estimates from decorated functions.

    The file has one table for each claim, under its name. ``source``, ``kind``, ``statement`` and ``scenario`` are
    required. Optional are ``units``, ``paper`` (the paper's number), ``within`` (the tolerance around it, a fraction of it
    if ``relative`` is true), ``bound`` (comparisons, or what has to hold in words), ``share`` (the minimum share of points or
    runs in which an ordering has to hold), and ``evidence`` and ``repeats`` as in `Claim`. ``measure`` is a table with the
    name of an `estimate` and its arguments, for a claim without a measure of its own. Tables ``[[class]]`` declare the
    classes of claims that do not follow from their rules, see `dumbbell.claim_classes`.

    Parameters
    ----------
    path
        The TOML file.

    Raises
    ------
    ValueError
        A claim of the file is incomplete, contradicts itself, or has a field that is not known.

    Examples
    --------
    A paper's ``__init__.py`` says ``REGISTER = Register(Path(__file__).with_name("claims.toml"))``, and each measure::

        @REGISTER.claim("T1-01")
        def mean_goodput_of_vegas(evidence: Evidence) -> Outcome:
            return Outcome.of(evidence.goodput("vegas"))

    Claims that differ by a name or a number share an estimate, and the file has ``measure = { estimate = "goodput", variant =
    "vegas" }``::

        @REGISTER.estimate
        def goodput(evidence: Evidence, variant: str) -> Outcome:
            return Outcome.of(evidence.goodput(variant))
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._described: dict[str, dict[str, Any]] = tomllib.loads(self.path.read_text(encoding="utf-8"))
        self._described.pop("class", None)
        self._classes = declarations(self.path)
        self._measures: dict[str, Callable[[E], Outcome]] = {}
        self._estimates: dict[str, Callable[..., Outcome]] = {}
        self._following: dict[str, list[Claim[E]]] = {}
        for name, entry in self._described.items():
            self._check(name, entry)

    def _check(self, name: str, entry: Mapping[str, Any]) -> None:
        problems = [f"`{field}` is missing" for field in sorted(FIELDS - entry.keys())]
        problems += [f"`{field}` is not known" for field in sorted(entry.keys() - FIELDS - OPTIONAL_FIELDS)]
        if "kind" in entry and entry["kind"] not in get_args(Kind):
            problems.append(f'`kind` is "{entry["kind"]}"; accepted: {", ".join(get_args(Kind))}')
        if "evidence" in entry and entry["evidence"] not in get_args(Evidence):
            problems.append(f'`evidence` is "{entry["evidence"]}"; accepted: {", ".join(get_args(Evidence))}')
        if "within" in entry and "paper" not in entry:
            problems.append("`within` requires `paper`")
        if "relative" in entry and "within" not in entry:
            problems.append("`relative` requires `within`")
        if "share" in entry and not 0 < entry["share"] <= 1:
            problems.append(f"`share` is {entry['share']}; accepted: above 0, up to 1")
        if "share" in entry and "within" in entry:
            problems.append("`share` and `within` exclude each other")
        measure = entry.get("measure", {ESTIMATE: ""})
        if not (isinstance(measure, dict) and ESTIMATE in measure):
            problems.append(f"`measure` lacks `{ESTIMATE}`")
        if problems:
            raise ValueError(f"{self.path.name}: [{name}]: {'; '.join(problems)}")

    def claim(self, name: str) -> Callable[[Callable[[E], Outcome]], Callable[[E], Outcome]]:
        """Return the decorator that makes a function the measure of a claim.

        Parameters
        ----------
        name
            The claim's name in the file.

        Raises
        ------
        ValueError
            The file has no such claim, the claim has a measure already, or the function's name does not say what it
            measures.
        """
        if name not in self._described:
            raise ValueError(f"{self.path.name} has no claim {name}")

        def register(measure: Callable[[E], Outcome]) -> Callable[[E], Outcome]:
            if name in self._measures or "measure" in self._described[name]:
                raise ValueError(f"claim {name} has two measures")
            if getattr(measure, "__name__", "") == "_":
                raise ValueError(
                    f"the measure of claim {name} is called `_`; accepted: a name that says what is measured"
                )
            self._measures[name] = measure
            return measure

        return register

    def estimate(self, function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        """Make a function an estimate that claims of the file may name as their measure; returns the function.

        Parameters
        ----------
        function
            Takes the evidence, and further arguments by name: strings, numbers, flags, or lists of them, as annotated.

        Raises
        ------
        ValueError
            There is an estimate of that name.
        """
        name = function.__name__
        if name in self._estimates:
            raise ValueError(f"there are two estimates {name}")
        self._estimates[name] = function
        return function

    def follow(self, name: str, claims: Iterable[Claim[E]]) -> None:
        """Insert claims that are made from numbers printed elsewhere, as the cells of a table, after a claim of the file.

        Raises
        ------
        ValueError
            The file has no such claim, or claims follow it already.
        """
        if name not in self._described or name in self._following:
            raise ValueError(f"{self.path.name}: no claims can follow {name}")
        self._following[name] = list(claims)

    def claims(self, before: Iterable[Claim[E]] = ()) -> list[Claim[E]]:
        """Return every claim with its class, in the order of the file.

        Parameters
        ----------
        before
            Claims that are not in the file, which come first.

        Raises
        ------
        ValueError
            A claim of the file has no measure, or names an estimate or an argument that does not exist.
        ScenarioError
            A pattern of a class matches no claim.
        """
        measures = self._measures | {
            name: self._estimated(name, entry["measure"])
            for name, entry in self._described.items()
            if "measure" in entry
        }
        missing = [name for name in self._described if name not in measures]
        if missing:
            raise ValueError(f"{self.path.name}: no measure for {', '.join(missing)}")
        made: list[Claim[E]] = list(before)
        for name, entry in self._described.items():
            made += [self._claim(name, entry, measures[name]), *self._following.get(name, ())]
        return classified(made, self._classes)

    def _estimated(self, name: str, row: Mapping[str, Any]) -> Callable[[E], Outcome]:
        """Return the measure that a claim's row names."""
        place = f"{self.path.name}: [{name}].measure"
        known = self._estimates
        if row[ESTIMATE] not in known:
            raise refusal(f"{place}.{ESTIMATE}", row[ESTIMATE], f"one of {', '.join(known)}", names=known)
        function = known[row[ESTIMATE]]
        given = {field: value for field, value in row.items() if field != ESTIMATE}
        _, *parameters = inspect.signature(function).parameters.values()
        accepted = [parameter.name for parameter in parameters]
        kinds = typing.get_type_hints(function)
        for field, value in given.items():
            if field not in accepted:
                problem = f"is no argument of {row[ESTIMATE]}"
                raise refusal(
                    f"{place}.{field}",
                    field,
                    f"one of {', '.join(accepted)}" if accepted else "none",
                    names=accepted,
                    problem=problem,
                )
            if not _fits(value, kinds[field]):
                choices = get_args(kinds[field]) if typing.get_origin(kinds[field]) is Literal else ()
                raise refusal(f"{place}.{field}", value, _words(kinds[field]), names=choices)
        for parameter in parameters:
            if parameter.name not in given and parameter.default is parameter.empty:
                raise refusal(
                    f"{place}.{parameter.name}", "nothing", _words(kinds[parameter.name]), quoted=False
                )
        return functools.partial(function, **given)

    def _claim(self, name: str, entry: Mapping[str, Any], measure: Callable[[E], Outcome]) -> Claim[E]:
        within = entry.get("within")
        paper = entry.get("paper")
        return Claim(
            id=name,
            source=entry["source"],
            kind=entry["kind"],
            statement=entry["statement"],
            scenario=entry["scenario"],
            units=entry.get("units", ""),
            paper_value=None if paper is None else float(paper),
            tolerance_kind="order" if within is None else "rel" if entry.get("relative") else "abs",
            tolerance=float(within or 0),
            bound=entry.get("bound", ""),
            share=entry.get("share"),
            evidence=entry.get("evidence", "measured"),
            repeats=entry.get("repeats", ""),
            measure=measure,
        )


def classified(claims: Sequence[Claim[E]], stated: Sequence[Declaration]) -> list[Claim[E]]:
    """Return claims with the classes that are declared, and those that follow from the values of a whole table."""
    fixed = {claim.id for claim in claims if claim.repeats or claim.evidence == "arithmetic"}
    given = declared(stated, {claim.id: claim.source for claim in claims}, fixed=fixed)
    made = [replace(claim, stated=given.get(claim.id)) for claim in claims]
    tables: dict[tuple[str, str], list[Claim[E]]] = {}
    for claim in made:
        if claim.classed.name == PRINTED and isinstance(claim.judged_by, rule.Within):
            tables.setdefault((claim.source, claim.units), []).append(claim)
    alike = {claim.id for members in tables.values() if _meets_a_constant(members) for claim in members}
    constant = Classified.by_rule("uninformative", "constant")
    return [replace(claim, stated=constant) if claim.id in alike else claim for claim in made]


def _meets_a_constant(claims: Sequence[Claim[Any]]) -> bool:
    """Return whether one number is accepted by all of many tolerances: then a limit of one of them is."""
    rules = [claim.judged_by for claim in claims]
    tried = [
        each.value + side * each.allowed
        for each in rules
        if isinstance(each, rule.Within)
        for side in (-1, 1)
    ]
    return len(claims) >= SAME and any(all(each.accepts(value) for each in rules) for value in tried)


def _fits(value: object, kind: Any) -> bool:
    """Return whether a value of a TOML file is of the kind that a parameter is annotated with."""
    origin, parts = typing.get_origin(kind), get_args(kind)
    if origin is Literal:
        return value in parts
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is not None:
        return isinstance(value, list) and all(_fits(each, parts[0]) for each in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind


def _words(kind: Any) -> str:
    """Return what `_fits` accepts, in words."""
    origin, parts = typing.get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_words, parts))
    if origin is not None:
        return f"a list, each {_words(parts[0])}"
    return {str: "a string", float: "a number", int: "a whole number", bool: "true or false"}[kind]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """An evaluated claim.

    Parameters
    ----------
    claim
        The claim.
    verdict
        ``"reproduced"``, ``"not-reproduced"``, ``"undecided"``, ``"not-checkable"`` or ``"awaits-testbed"``.
    holds
        Whether the claim holds for the estimate alone; ``None`` if it could not be checked.
    measured, low, high
        The measured number and the limits of its 90 % interval; ``None`` if there is none.
    support
        Share of resamples in which an inequality holds; ``None`` where nothing was resampled.
    why
        Why the verdict is what it is.
    reads
        The keys of the runs that it was judged on, by the origin of the runs; see `dumbbell.judge.reads`.
    """

    claim: Claim[Any]
    verdict: Verdict
    holds: bool | None
    measured: float | None
    low: float | None
    high: float | None
    support: float | None
    why: str
    reads: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        """Whether the claim could be checked."""
        return self.holds is not None

    @property
    def counts(self) -> bool:
        """Whether the claim counts in the shares: the paper prints it, and it could be checked."""
        return self.is_judged and self.claim.classed.name == PRINTED

    @property
    def is_measured(self) -> bool:
        """Whether runs decide it: it could be checked, is no arithmetic or definition, and repeats no other claim."""
        return self.is_judged and self.claim.evidence == "measured" and not self.claim.repeats

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain data for JSON."""
        judged_by = self.claim.judged_by
        return {
            "id": self.claim.id,
            "source": self.claim.source,
            "kind": self.claim.kind,
            "statement": self.claim.statement,
            "units": self.claim.units,
            "scenario": self.claim.scenario,
            "rule": self.claim.rule(),
            "class": self.claim.classed.name,
            "class_reason": self.claim.classed.reason,
            "derived_from": list(self.claim.classed.of),
            "evidence": self.claim.evidence,
            "repeats": self.claim.repeats or None,
            "tolerates_zero": isinstance(judged_by, rule.Within) and judged_by.tolerates_zero,
            "verdict": self.verdict,
            "holds": self.holds,
            "measured": self.measured,
            "low": self.low,
            "high": self.high,
            "support": self.support,
            "paper_value": self.claim.paper_value,
            "why": self.why,
        }


def _known(value: float) -> float | None:
    """Return the value, or ``None`` for NaN."""
    return None if math.isnan(value) else value


def _plain(read: Reads) -> dict[str, tuple[str, ...]]:
    return {origin: tuple(keys) for origin, keys in read.items()}


VERDICTS: Mapping[rule.Verdict, Verdict] = {
    "holds": "reproduced",
    "does not hold": "not-reproduced",
    "undecided": "undecided",
    "not checkable": "not-checkable",
}


def judge(claims: Iterable[Claim[E]], evidence: E) -> list[Finding]:
    """Return the findings on claims, in their order.

    Parameters
    ----------
    claims
        The claims.
    evidence
        The argument of their functions.
    """
    findings: list[Finding] = []
    for claim in claims:
        try:
            # A resample without events divides by zero; the result is not a number and is below nothing.
            with np.errstate(divide="ignore", invalid="ignore"), recorded() as read:
                outcome = claim.measure(evidence)
        except NotMeasured as reason:
            findings.append(
                Finding(
                    claim=claim,
                    verdict="awaits-testbed" if isinstance(reason, AwaitsTestbed) else "not-checkable",
                    holds=None,
                    measured=None,
                    low=None,
                    high=None,
                    support=None,
                    why=str(reason),
                    reads=_plain(read),
                )
            )
            continue
        judgement = claim.judged_by.judge(outcome)
        findings.append(
            Finding(
                claim=claim,
                verdict=VERDICTS[judgement.verdict],
                holds=judgement.holds,
                measured=_known(outcome.measured),
                low=_known(outcome.low),
                high=_known(outcome.high),
                support=_known(outcome.support),
                why=judgement.why,
                reads=_plain(read),
            )
        )
    return findings


def _tally(name: str, findings: Sequence[Finding], aim: int | None = None) -> dict[str, Any]:
    """Return the counts of some findings, and the share reproduced of those that count."""
    judged = [finding for finding in findings if finding.is_judged]
    counted = [finding for finding in judged if finding.counts]
    others = [finding for finding in judged if not finding.counts]
    verdicts = Counter(finding.verdict for finding in counted)
    holding = sum(finding.holds is True for finding in counted)
    awaiting = sum(finding.verdict == "awaits-testbed" for finding in findings)
    share = 100 * holding / len(counted) if counted else math.nan
    return {
        "name": name,
        "reproduced": verdicts["reproduced"],
        "undecided": verdicts["undecided"],
        "missed": verdicts["not-reproduced"],
        "holding": holding,
        "other": len(others),
        "refuted": sum(finding.holds is False for finding in others),
        "awaiting": awaiting,
        "unchecked": len(findings) - len(judged) - awaiting,
        "share": None if math.isnan(share) else share,
        "percent": f"{share:.1f} %" if counted else "–",
        "width": f"{share:.1f}" if counted else "0",
        "aim": aim,
    }


def by_class(findings: Sequence[Finding]) -> dict[str, dict[str, int]]:
    """Return the claims of each class: how many could be checked (``claims``), and whose estimate holds (``holding``)."""
    classes: dict[str, dict[str, int]] = {}
    for name in CLASSES:
        judged = [each for each in findings if each.is_judged and each.claim.classed.name == name]
        if judged:
            holding = sum(finding.holds is True for finding in judged)
            classes[name] = {"claims": len(judged), "holding": holding}
    return classes


def scoreboard(findings: Sequence[Finding], aims: Aims | None = None) -> dict[str, Any]:
    """Return the counts of findings: over all, by group of kinds, by kind and by source.

    Parameters
    ----------
    findings
        The findings to count.
    aims
        The shares hoped for; none are shown without.

    Returns
    -------
    dict
        ``groups``, ``kinds`` and ``sources``: lists of rows with ``name``, ``reproduced``, ``undecided`` and ``missed`` (of
        the printed claims), ``holding`` (those of them whose estimate holds), ``share`` (the same, percent), ``aim``
        (percent, or ``None``), ``other`` (claims of other classes), ``refuted`` (those of them that do not hold),
        ``awaiting`` (the testbed) and ``unchecked``.
    """
    groups = [_tally("all", findings)]
    groups += [
        _tally(
            name,
            [finding for finding in findings if finding.claim.kind in kinds],
            None if aims is None else aims.of(name),
        )
        for name, kinds in GROUPS.items()
    ]
    by_kind: Mapping[str, list[Finding]] = _by(findings, lambda finding: finding.claim.kind)
    by_source: Mapping[str, list[Finding]] = _by(findings, lambda finding: finding.claim.source)
    return {
        "groups": groups,
        "kinds": [_tally(name, members) for name, members in by_kind.items()],
        "sources": [_tally(name, members) for name, members in by_source.items()],
        "note": "Shares are of the printed claims that could be checked, and count estimates: an undecided claim counts "
        "by the side its estimate falls on.",
    }


def measured_score(
    seeds: Sequence[Sequence[Finding]], ceilings: Mapping[str, float] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the headline: the share of printed claims that hold, as a mean over seeds.

    Parameters
    ----------
    seeds
        The findings on all claims, from the runs of each seed alone.
    ceilings
        The share that sampling in the paper itself allows, percent, by group; for papers that print their errors.

    Returns
    -------
    dict
        ``orderings`` (with signs and shapes) and ``values`` (with ratios), each with ``name``, ``kinds`` of claims, ``mean``
        and ``sd`` over the seeds (percent, percentage points; ``None`` where there is none), ``ceiling`` (percent or
        ``None``), ``seeds`` (their number), ``shares`` (of each seed, percent) and ``claims`` (the number of printed claims).
    """
    score: dict[str, dict[str, Any]] = {}
    for (name, kinds), short in zip(GROUPS.items(), SHORT_GROUPS, strict=True):
        counted = [
            [finding.holds is True for finding in findings if finding.counts and finding.claim.kind in kinds]
            for findings in seeds
        ]
        shares = [100 * float(np.mean(flags)) for flags in counted if flags]
        score[short] = {
            "name": name,
            "kinds": list(kinds),
            "mean": float(np.mean(shares)) if shares else None,
            "sd": float(np.std(shares, ddof=1)) if len(shares) > 1 else None,
            "ceiling": (ceilings or {}).get(short),
            "seeds": len(seeds),
            "shares": shares,
            "claims": max((len(flags) for flags in counted), default=0),
        }
    return score


def _by(findings: Sequence[Finding], key: Callable[[Finding], str]) -> dict[str, list[Finding]]:
    """Return the findings grouped by a key, in order of first appearance."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(key(finding), []).append(finding)
    return groups
