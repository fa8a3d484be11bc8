"""Pages fit every screen and can be read in both schemes; looked at in Chromium. Skipped without it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from dumbbell import papers, report
from pages_in_browser import CHROMIUM, WIDTHS, Scheme, seen
from small_claimed_paper import NAME, write_small_claims
from small_paper import forget_papers

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="SKIPPED: the Debian package chromium is missing")

RESULTS = Path(__file__).resolve().parents[2] / "results"

# What the checkout may hold of each kind, and how many pages of it are opened.
MADE = {
    "reports of papers": ("*/report.html", 6),
    "page of all papers": ("index.html", 1),
    "evaluations": ("**/evaluate-*/index.html", 2),
    "cross-validations": ("**/cross-validation-*/index.html", 2),
    "benchmarks": ("bench*/**/*.html", 2),
    "site": ("website/site/*/index.html", 12),
}

WORDS = "goodput of `links.r1-r2.queue.limit` relative to the bandwidth-delay product"


def fits(pages: list[Path], scheme: Scheme, folder: Path) -> None:
    """Check that pages fit each width, are shown in the scheme, and have texts that can be read."""
    looked = seen(pages, scheme, folder)
    assert [each.width for each in looked] == list(WIDTHS) * len(pages)
    assert {each.dark for each in looked} == {scheme == "dark"}
    assert all(each.texts for each in looked)
    assert [(each.page, each.width, each.wide[:5]) for each in looked if each.wide] == []
    assert [(each.page, each.width, each.faint[:5]) for each in looked if each.faint] == []


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """The report of a small paper, the page of all papers, and a page with tables of every extent."""
    folder = tmp_path_factory.mktemp("pages")
    write_small_claims(folder / "papers")
    done = papers.reproduce_all(quick=True, papers=folder / "papers", output=folder, quiet=True)
    assert [each.paper for each in done.reproductions] == [NAME]
    tables = folder / "tables.html"
    tables.write_text(
        report.render_page(title=WORDS, subtitle=WORDS, facts=[("a", WORDS)], sections=[extents()])
    )
    yield [done.index, done.reproductions[0].report, tables]
    forget_papers()


def extents() -> report.Section:
    """Return a section with a table of each extent, of words and numbers as reports have them."""
    blocks: list[report.Block] = []
    for count in (2, 3, 6, 7, 10, 11, 16, 17, 24):
        columns = [
            *report.Column.words("statement", "paper"),
            *report.Column.numbers(*["interval"] * (count - 2)),
        ]
        row = [report.Cell(text=WORDS, detail="table 3"), "0.24", *["−12.34 to 56.78"] * (count - 2)]
        toned = [report.Cell(text="12 %", tone=tone) for tone in ("good", "bad", "muted", "strong")]
        row = [*row[: count - 1], toned[count % 4]]
        blocks.append(
            report.Table(caption=WORDS, columns=columns, rows=[row] * 2, groups=[("", 1), ("all", count - 1)])
        )
    svg = '<svg viewBox="0 0 990 100" width="990pt"><rect width="990" height="100"/></svg>'
    return report.Section(anchor="a", title=WORDS, blocks=[*blocks, report.Figure(svg=svg, caption=WORDS)])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_every_screen_and_can_be_read(made: list[Path], scheme: Scheme, tmp_path: Path) -> None:
    fits(made, scheme, tmp_path)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", MADE)
def test_pages_of_this_checkout_fit_every_screen(kind: str, scheme: Scheme, tmp_path: Path) -> None:
    pattern, most = MADE[kind]
    pages = list(islice(sorted(RESULTS.glob(pattern)), most))
    if not pages:
        pytest.skip(f"SKIPPED: results/ holds no {kind}")
    fits(pages, scheme, tmp_path)


def test_what_does_not_fit_or_is_faint_is_found(tmp_path: Path) -> None:
    page = tmp_path / "wide.html"
    wide = '<div style="overflow-x:auto"><table><tr><td style="min-width:900px">wide</td></tr></table></div>'
    page.write_text(f'<body style="margin:0"><p style="color:#999">faint</p>{wide}</body>')
    narrow, broad = seen([page], "light", tmp_path, (390, 1300))
    assert narrow.wide
    assert not broad.wide
    assert len(narrow.faint) == 1
