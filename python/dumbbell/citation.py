"""How to cite Dumbbell: ``CITATION.cff``, which the package contains, as BibTeX and in the style of the APA."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

from dumbbell.errors import refusal

FORMATS = ("bibtex", "apa", "cff")

FILE = "CITATION.cff"


def text() -> str:
    """Return the file itself, in the Citation File Format."""
    return resources.files("dumbbell").joinpath(FILE).read_text(encoding="utf-8")


def citation(form: str = "bibtex") -> str:
    """Return how to cite Dumbbell.

    Parameters
    ----------
    form
        ``"bibtex"``, ``"apa"``, or ``"cff"`` for the file itself.

    Raises
    ------
    ScenarioError
        There is no such format.

    Examples
    --------
    >>> citation("apa").startswith("The Dumbbell developers. (n.d.). Dumbbell: ")
    True
    """
    if form not in FORMATS:
        raise refusal("format", form, ", ".join(FORMATS), names=FORMATS)
    if form == "cff":
        return text().rstrip("\n")
    import yaml

    stated = yaml.safe_load(text())
    return _bibtex(stated) if form == "bibtex" else _apa(stated)


def _year(stated: Mapping[str, Any]) -> str:
    return str(stated.get("date-released", ""))[:4]


def _bibtex(stated: Mapping[str, Any]) -> str:
    authors = [
        f"{{{_escaped(one['name'])}}}"
        if "name" in one
        else _escaped(", ".join(filter(None, [one["family-names"], one.get("given-names")])))
        for one in stated["authors"]
    ]
    fields = {
        "author": " and ".join(authors),
        "title": f"{{{_escaped(stated['title'])}}}",
        "version": _escaped(str(stated["version"])),
        "year": _year(stated),
        "doi": stated.get("doi", ""),
        "url": stated.get("url", stated.get("repository-code", "")),
        "license": stated.get("license", ""),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join(["@software{dumbbell,", *lines, "}"])


def _escaped(value: str) -> str:
    """Return a text as LaTeX writes it."""
    return re.sub(r"([&%$#_{}])", r"\\\1", value)


def _apa(stated: Mapping[str, Any]) -> str:
    authors = [
        one["name"]
        if "name" in one
        else ", ".join(
            filter(
                None,
                [one["family-names"], " ".join(f"{name[0]}." for name in one.get("given-names", "").split())],
            )
        )
        for one in stated["authors"]
    ]
    listed = authors[0] if len(authors) == 1 else f"{', '.join(authors[:-1])}, & {authors[-1]}"
    place = f"https://doi.org/{stated['doi']}" if "doi" in stated else stated.get("url", "")
    return (
        f"{listed.rstrip('.')}. ({_year(stated) or 'n.d.'}). {stated['title']} "
        f"(Version {stated['version']}) [Computer software]. {place}"
    ).rstrip()
