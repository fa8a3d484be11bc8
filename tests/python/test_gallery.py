"""Each example of the gallery checks its claim, names its source, and leaves a figure."""

import re
import tomllib
from pathlib import Path

import draw
import gallery
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("example", draw.examples(), ids=lambda path: path.stem)
def test_the_claim_holds_and_has_a_figure(example):
    # Kept for the site.
    draw.draw_example(example)
    assert "\nassert " in example.read_text(encoding="utf-8")
    assert (
        (draw.DRAWN / "gallery" / f"{example.stem}.svg")
        .read_text(encoding="utf-8")
        .rstrip()
        .endswith("</svg>")
    )


@pytest.mark.parametrize("example", draw.examples(), ids=lambda path: path.stem)
def test_the_claim_has_a_source_in_the_list_of_references(example):
    title, claim, source = gallery.parts(example)
    assert title
    assert "\n" not in title
    assert len(claim) > 100
    with (ROOT / "docs" / "references.toml").open("rb") as file:
        known = tomllib.load(file)["work"]
    cited = re.findall(r"\[([a-z]+\d{4}\w*)", source)
    assert cited or "RFC" in source
    assert not [key for key in cited if key not in known]
