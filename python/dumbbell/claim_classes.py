"""Classes of claims: what a claim can show, and whether it counts in the headline.

Only claims of the class ``printed`` make the headline. The class of a claim follows, in this order, from

1. its evidence: arithmetic on print, or a definition, unless a declaration says that it is an input;
2. what it repeats: such a claim is derived from the other one;
3. a declaration in the paper's file of claims;
4. its own rule: one that accepts zero, or, for the values of a table, one constant, is uninformative; a tolerance of a
   quarter of the number or more is rough;
5. otherwise it is ``printed``.

A declaration is a table ``[[class]]`` with ``name``, ``reason`` and ``claims`` or ``sources``: patterns, as of a shell, of
names and of sources of claims. A claim belongs to the first declaration that names it. ``of`` has the patterns of the claims
that a derived one follows from.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dumbbell.errors import refusal

PRINTED = "printed"
"""The class of the claims that make the headline."""

CLASSES: Mapping[str, str] = {
    PRINTED: "the paper states it, and our runs measure it",
    "rough": "the paper's words, or our tolerance, are looser than a printed number",
    "uninformative": "zero meets it, or one constant meets all values of its table",
    "derived": "follows from other claims, or repeats one",
    "reference": "compared with our own model of the paper instead of its print",
    "cited": "quoted from other work, not a result of the paper",
    "input": "an input of the scenario, or a number that an assumption was fitted to or chosen by",
    "definition": "holds by definition",
    "arithmetic": "follows from printed numbers; no run enters",
}
"""Each class with its meaning."""

ROUGH = 0.25
"""A tolerance of this share of the number, or more, is rough."""

SAME = 5
"""A constant that meets this many values of a table, or more, and all of them, makes them uninformative."""

RULES: Mapping[str, str] = {
    "zero": "Its rule accepts zero.",
    "constant": "One constant meets all values of the table.",
    "rough": f"Its tolerance is {100 * ROUGH:g} % of the number or more.",
    "repeats": "It states the same as another claim.",
    "arithmetic": "The measure evaluates printed numbers; no run enters.",
    "definition": "It holds by definition.",
    PRINTED: "Stated by the paper and measured.",
}
"""Reasons of the classes that follow from a rule."""

_FIELDS = ("name", "reason", "claims", "sources", "of")
_DECLARED = tuple(name for name in CLASSES if name not in (PRINTED, "uninformative", "arithmetic"))


@dataclass(frozen=True, kw_only=True)
class Classified:
    """The class of a claim.

    Parameters
    ----------
    name
        One of `CLASSES`.
    reason
        Why, in a sentence.
    of
        Names of the claims that it follows from; of derived claims.
    """

    name: str
    reason: str
    of: tuple[str, ...] = ()

    @classmethod
    def by_rule(cls, name: str, rule: str = "", of: tuple[str, ...] = ()) -> Classified:
        """Return the class that follows from one of `RULES`, by default that of its name."""
        return cls(name=name, reason=RULES[rule or name], of=of)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A class for some claims of a paper.

    Parameters
    ----------
    name
        The class, one of `CLASSES`.
    reason
        Why, in a sentence.
    claims, sources
        Patterns of the names and of the sources of these claims.
    of
        Patterns of the claims that they follow from; of derived claims.
    """

    name: str
    reason: str
    claims: Sequence[str] = ()
    sources: Sequence[str] = ()
    of: Sequence[str] = field(default=())

    def covers(self, name: str, source: str) -> bool:
        """Return whether it classifies a claim."""
        return _matches(name, self.claims) or _matches(source, self.sources)


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def declarations(path: Path) -> list[Declaration]:
    """Return the declarations of a file of claims.

    Raises
    ------
    ScenarioError
        A class is not known or follows from a rule, or a declaration lacks a field or has one that is not known.
    """
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("class", [])
    return [_declaration(f"{path.name}: class {number}", row) for number, row in enumerate(rows, start=1)]


def _declaration(place: str, row: Mapping[str, Any]) -> Declaration:
    for name in row:
        if name not in _FIELDS:
            raise refusal(place, name, f"one of {', '.join(_FIELDS)}", names=_FIELDS, problem="is no field")
    if row.get("name") not in _DECLARED:
        raise refusal(
            f"{place}.name", row.get("name", "nothing"), f"one of {', '.join(_DECLARED)}", names=_DECLARED
        )
    if not str(row.get("reason", "")).strip():
        raise refusal(
            f"{place}.reason", "nothing", f"why the claims are of class {row['name']}", quoted=False
        )
    if not (row.get("claims") or row.get("sources")):
        raise refusal(f"{place}.claims", "nothing", "patterns of claims, or `sources`", quoted=False)
    if (row["name"] == "derived") != bool(row.get("of")):
        problem = (
            "the claims that they follow from" if row["name"] == "derived" else "none but of derived claims"
        )
        raise refusal(f"{place}.of", row.get("of", "nothing"), problem)
    return Declaration(**row)


def declared(
    stated: Sequence[Declaration], sources: Mapping[str, str], *, fixed: Collection[str] = ()
) -> dict[str, Classified]:
    """Return the declared class of the claims that have one, by name.

    Parameters
    ----------
    stated
        The declarations.
    sources
        The source of every claim of the paper, by its name.
    fixed
        Names of claims that repeat another one or are arithmetic on print, whose class cannot be declared.

    Raises
    ------
    ScenarioError
        A pattern matches no claim, so that the statement has no effect.
    """
    found: dict[str, Classified] = {}
    for place, each in enumerate(stated, start=1):
        for kind, patterns in (("claims", each.claims), ("sources", each.sources), ("of", each.of)):
            texts = sources.values() if kind == "sources" else sources.keys()
            for pattern in patterns:
                if not any(fnmatchcase(text, pattern) for text in texts):
                    raise refusal(f"class {place}.{kind}", pattern, "a pattern that matches a claim")
        basis = tuple(name for name in sources if _matches(name, each.of))
        for name, source in sources.items():
            if name not in fixed and name not in found and each.covers(name, source):
                found[name] = Classified(
                    name=each.name, reason=each.reason, of=tuple(other for other in basis if other != name)
                )
    return found
