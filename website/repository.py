"""Pages from files of the repository outside docs/, and the links between all of them."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MOVED = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages by the file of the repository that they show."""

INSTEAD = {
    "docs/references.toml": "references.md",
    "docs/decisions": "decisions/index.md",
    "examples": "gallery/index.md",
    "examples/gallery": "gallery/index.md",
    "examples/notebooks": "notebooks/index.md",
    "examples/course": "notebooks/index.md",
}
"""Pages that show a file or folder in another form."""

LINK = re.compile(r"(?<=\]\()([^)#\s]+)(?=(?:#[^)]*)?\))")
KNOWN = tomllib.loads((ROOT / "docs" / "references.toml").read_text(encoding="utf-8"))
"""The bibliography: works by key, and RFCs by number."""

_KEYS = "|".join([*map(re.escape, KNOWN["work"]), "RFC [0-9]+"])
CITATION = re.compile(rf"(?<![\w\])`])\[({_KEYS})((?: [^\]]*)?)\](?!\()|(?<![\w\[`])(RFC [0-9]+)")


def pages() -> Iterator[tuple[str, str]]:
    """Yield the place and the Markdown of each page."""
    for path, uri in MOVED.items():
        yield uri, (ROOT / path).read_text(encoding="utf-8")
    yield "references.md", _references()
    yield "decisions/index.md", _decisions()


def relinked(markdown: str, uri: str, shown: Callable[[str], str]) -> str:
    """Return a page whose links to files of the repository lead to their places on the site.

    Parameters
    ----------
    markdown
        The page.
    uri
        Its place on the site.
    shown
        Returns the place of a file that is no page.
    """
    sources = {place: path for path, place in MOVED.items()}
    here = posixpath.dirname(sources.get(uri, f"docs/{uri}"))

    def target(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(here, found[0]))
        if "://" in found[0] or not (ROOT / path).exists():
            return found[0]
        if path in MOVED or path in INSTEAD:
            place = MOVED.get(path) or INSTEAD[path]
        elif path.startswith("docs/"):
            place = path.removeprefix("docs/")
        else:
            place = shown(path)
        return posixpath.relpath(place, posixpath.dirname(uri) or ".")

    return LINK.sub(target, markdown)


def cited(text: str, home: str) -> str:
    """Return a text whose citations lead to the bibliography.

    Parameters
    ----------
    text
        Markdown with citations such as ``[jacobson1988 §3]`` and ``RFC 5681 §3.1``.
    home
        The way from the page to the root of the site, such as ``"../"``.
    """

    def linked(found: re.Match[str]) -> str:
        key = found[1] or found[3]
        shown = f"\\[{key}{found[2]}\\]" if found[1] else key
        return f"[{shown}]({home}references.md#{_anchor(key)})"

    return CITATION.sub(linked, text)


def _anchor(key: str) -> str:
    """Return the anchor of a work or an RFC in the bibliography."""
    return key.lower().replace(" ", "")


def _references() -> str:
    lines = ["# References", "", "The works that the pages and the sources cite.", ""]
    for key, entry in KNOWN["work"].items():
        facts = [", ".join(entry.get("authors", [])), f"*{entry['title']}*", entry.get("venue", "")]
        if "year" in entry and str(entry["year"]) not in facts[-1]:
            facts.append(str(entry["year"]))
        lines += [f'* <a id="{_anchor(key)}"></a>**{key}**. {". ".join(fact for fact in facts if fact)}.']
    lines += ["", "## RFCs", ""]
    for number, entry in KNOWN["rfc"].items():
        link = f"[RFC {number}](https://www.rfc-editor.org/rfc/rfc{number})"
        lines.append(f'* <a id="rfc{number}"></a>{link}. *{entry["title"]}*. {entry["year"]}.')
    return "\n".join(lines) + "\n"


def _decisions() -> str:
    lines = [
        "# Decisions",
        "",
        "Design decisions and their reasons. Decisions about one paper are in its folder: 4, 19 and 26 have moved to that of "
        "*TCP Vegas Revisited*. The number 16 was never assigned.",
        "",
    ]
    for file in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        title = file.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        lines.append(f"* [{title}]({file.name})")
    return "\n".join(lines) + "\n"
