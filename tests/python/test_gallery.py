"""Each example of the gallery checks its claim, names its source, and leaves a figure."""

import re
import tomllib
from pathlib import Path

import draw
import gallery
import plotpage
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


@pytest.mark.slow
def test_every_figure_for_papers_is_drawn_and_described():
    draw.draw_figures(draw.FIGURES)
    drawn = {file.stem for file in (draw.DRAWN / "figures").glob("*.svg")}
    page = plotpage.shown((ROOT / "docs" / "plots.md").read_text(encoding="utf-8"))
    assert set(re.findall(r"\]\(plots/([a-z-]+)\.svg\)", page)) == drawn
    assert len(drawn) == 12
    # The page states the calls as they are made.
    made = re.sub(r"\s+", "", draw.FIGURES.read_text(encoding="utf-8"))
    made = made.replace("LIMIT", '"links.r1-r2.queue.limit"')
    calls = re.findall(r"^`runs(\.plot\([^`]*)\)`", page.partition("## Twelve figures")[2], re.M)
    assert len(calls) == 12
    for call in calls:
        assert re.sub(r"\s+", "", call.removesuffix(", ...")) in made


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
