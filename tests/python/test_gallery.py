"""Each example of the gallery checks its claim, names its source, and leaves a figure."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_claim_holds_and_has_a_figure(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = runpy.run_path(str(example), run_name="__main__")
    title, claim = ran["__doc__"].split("\n\n")[:2]
    assert "\n" not in title
    assert claim
    assert "\nassert " in example.read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == [f"{example.stem}.svg"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_source_is_in_the_list_of_references(example):
    with (ROOT / "docs" / "references.toml").open("rb") as file:
        known = tomllib.load(file)["work"]
    found = re.search(r"^Source: (.+?)\.$", example.read_text(encoding="utf-8"), re.M | re.S)
    assert found is not None
    cited = re.findall(r"\[([a-z]+\d{4}\w*)", found[1])
    assert cited or "RFC" in found[1]
    assert not [key for key in cited if key not in known]
