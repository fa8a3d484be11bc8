"""The lab on the site: the page that `make lab` has built, below its guide."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

BUILT = Path(__file__).resolve().parents[1] / "results" / "website" / "lab"
PLACE = "lab/page"
"""Where the page is on the site; its guide is `lab/`."""


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the place and the content of each file of the page; none if it is not built."""
    for file in sorted(BUILT.rglob("*")):
        if file.is_file():
            yield f"{PLACE}/{file.relative_to(BUILT).as_posix()}", file.read_bytes()


def opened(markdown: str) -> str:
    """Return the guide with a link to the page below its title, if that is built."""
    if not (BUILT / "index.html").exists():
        return markdown
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n[Open the lab](lab/page/index.html){{ .md-button .md-button--primary }}\n{rest}"
