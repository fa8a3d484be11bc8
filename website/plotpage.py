"""The figures of `examples/figures.py` on the page about figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from draw import DRAWN

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "examples" / "figures.py"
PLACE = "plots"


def files() -> Iterator[tuple[str, bytes]]:
    """Yield the place and the content of each figure."""
    for file in sorted((DRAWN / "figures").glob("*.svg")):
        yield f"{PLACE}/{file.name}", file.read_bytes()


def shown(markdown: str) -> str:
    """Return the page with each figure under its heading, which begins with its name as code."""
    lines = []
    for line in markdown.splitlines():
        lines.append(line)
        if line.startswith("### `"):
            name = line.split("`")[1]
            lines += ["", f"![{line.rpartition('`: ')[2]}]({PLACE}/{name}.svg)"]
    return "\n".join(lines) + "\n"
