"""Hooks of MkDocs: they add the pages that are made from the repository, and set the navigation."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import algorithms
import draw
import finding
import formulas
import gallery
import lablink
import labpage
import navigation
import notebooks
import outputs
import plotpage
import reference
import repository
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

# Pages are built from many small objects without cycles, among which collections find nothing.
gc.set_threshold(200_000, 50, 50)

SHEETS = ("python/dumbbell/report/templates/palette.css", "website/site.css")
"""The style sheets of the site; it shares the colours of the reports."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Draw what is out of date, and add all pages."""
    draw.draw()
    made: Iterator[tuple[str, str | bytes]] = chain(
        repository.pages(),
        gallery.pages(),
        plotpage.files(),
        outputs.pictures(),
        notebooks.pages(),
        algorithms.pages(),
        reference.pages(),
        labpage.files(),
    )
    for sheet in SHEETS:
        sheet_text = (repository.ROOT / sheet).read_text("utf-8")
        files.append(File.generated(config, PurePath(sheet).name, content=sheet_text))
    for uri, content in made:
        files.append(File.generated(config, uri, content=content))
    config.nav = navigation.navigation([file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to files of the repository to their place on the site."""

    def shown(path: str) -> str:
        """Return the place of a file that is no page, which is added as text."""
        uri = f"source/{path}.txt"
        if files.get_file_from_path(uri) is None:
            text = (repository.ROOT / path).read_text(encoding="utf-8")
            files.append(File.generated(config, uri, content=text))
        return uri

    finding.prepare(page.file.src_uri, page.meta)
    if page.file.src_uri == "lab.md":
        markdown = labpage.opened(markdown)
    if page.file.src_uri == "plots.md":
        markdown = plotpage.shown(markdown)
    if page.file.src_uri in {document.name for document in outputs.DOCUMENTS}:
        markdown = outputs.shown(markdown, PurePath(page.file.src_uri).stem)
    if "/" not in page.file.src_uri:
        markdown = lablink.linked(markdown, page.file.src_uri, repository.ROOT)
    return repository.relinked(markdown, page.file.src_uri, shown)


def on_page_content(html: str, *, page: Page, **_: object) -> str:
    """Typeset the formulas of a page."""
    return formulas.typeset(html, page.file.src_uri)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Repair the search, and check that it finds what newcomers look for."""
    finding.mend(Path(config.site_dir))
    finding.check(Path(config.site_dir))
