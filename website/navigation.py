"""The navigation: a new page of docs/ appears among the guides by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

START = ["index.md", "installation.md", "tutorial.md", "course.md", "coming-from.md"]
REFERENCE = ["commands.md", "scenarios.md", "results.md", "glossary.md", "references.md"]
PROJECT = [
    "development.md",
    "releases.md",
    "architecture.md",
    "evidence.md",
    "reliability.md",
    "security.md",
    "performance.md",
    "cross-validation.md",
    "testbed.md",
    "contributing.md",
    "changelog.md",
]

FOLDERS = {"gallery": "Gallery", "notebooks": "Notebooks", "algorithms": "Algorithms"}


def navigation(pages: Sequence[str]) -> list[dict[str, Any]]:
    """Return the sections of the site.

    Parameters
    ----------
    pages
        The places of all pages. Those of docs/ that no section names are guides.
    """

    def inside(folder: str) -> list[str]:
        index = f"{folder}/index.md"
        return [index, *sorted(page for page in pages if page.startswith(f"{folder}/") and page != index)]

    named = {*START, *REFERENCE, *PROJECT}
    guides = sorted(page for page in pages if "/" not in page and page not in named)
    return [
        {"Start": START},
        {"Guides": guides},
        *({title: inside(folder)} for folder, title in FOLDERS.items()),
        {"Reference": [*REFERENCE, {"Python": inside("reference")}]},
        {"Project": [*PROJECT, {"Decisions": inside("decisions")}]},
    ]
