"""The citation is that of CITATION.cff, which the package contains."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from dumbbell import citation
from dumbbell.cli import app
from dumbbell.errors import ScenarioError

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "CITATION.cff"


def cite(*arguments):
    return CliRunner().invoke(app, ["cite", *arguments])


def test_the_package_contains_the_file_of_the_repository():
    assert citation.text() == FILE.read_text("utf-8")
    link = ROOT / "python" / "dumbbell" / "CITATION.cff"
    assert link.resolve() == FILE
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]
    assert {"path": "python/dumbbell/CITATION.cff", "format": "wheel"} in settings["include"]


def test_bibtex_and_apa_have_the_fields_of_the_file():
    stated = yaml.safe_load(FILE.read_text("utf-8"))
    bibtex, apa = cite().stdout, cite("--format", "apa").stdout
    for text in (bibtex, apa):
        for field in (stated["title"], stated["version"], stated["authors"][0]["name"]):
            assert field in text
    assert bibtex.startswith("@software{dumbbell,\n  author = {{The Dumbbell developers}},\n")
    assert apa.count("\n") == 1
    assert cite("--format", "cff").stdout.strip() == FILE.read_text("utf-8").strip()


def test_persons_dates_and_signs_of_latex_are_written_as_both_styles_do(monkeypatch):
    text = """
title: "100 % of A & B"
version: 2.0
date-released: 2026-11-28
doi: 10.1/x
authors:
  - family-names: Doe
    given-names: Jane Ann
  - name: The C_D group
"""
    monkeypatch.setattr(citation, "text", lambda: text)
    assert citation.citation().splitlines() == [
        "@software{dumbbell,",
        r"  author = {Doe, Jane Ann and {The C\_D group}},",
        r"  title = {{100 \% of A \& B}},",
        "  version = {2.0},",
        "  year = {2026},",
        "  doi = {10.1/x},",
        "}",
    ]
    assert citation.citation("apa") == (
        "Doe, J. A., & The C_D group. (2026). 100 % of A & B (Version 2.0) [Computer software]. https://doi.org/10.1/x"
    )


def test_another_format_is_refused():
    with pytest.raises(ScenarioError, match="did you mean `bibtex`"):
        citation.citation("bibtexx")
    assert cite("--format", "mla").exit_code == 2
