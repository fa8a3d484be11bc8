"""The pages of the algorithms, from the registry and from the head of each source file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from draw import DRAWN
from lablink import kept_here
from repository import ROOT, cited

from dumbbell.engine import catalogue

SOURCES = ROOT / "crates" / "dumbbell-cc" / "src" / "algorithms"

HEAD = """\
# Algorithms

All registered congestion controls. A page has the definition with its sources and equations, the parameters, and the
window of the algorithm at one bottleneck: alone, and beside a Reno flow from 30 s on.

| algorithm | what it does | source |
|---|---|---|
"""


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield the place and the content of each page and figure."""
    rows = []
    for entry in catalogue()["algorithms"]:
        name = entry["name"]
        rows.append(f"| [`{name}`]({name}.md) | {entry['summary']} | {cited(entry['source'], '../')} |")
        yield f"algorithms/{name}.svg", (DRAWN / "algorithms" / f"{name}.svg").read_bytes()
        yield f"algorithms/{name}.md", _page(entry)
    yield "algorithms/index.md", HEAD + "\n".join(rows) + "\n"


def head(name: str) -> str:
    """Return the comment at the head of the source of an algorithm, as Markdown."""
    file = SOURCES / f"{name}.rs"
    lines = (file if file.exists() else SOURCES / name / "mod.rs").read_text(encoding="utf-8").splitlines()
    comment = [line.removeprefix("//!").removeprefix(" ") for line in lines if line.startswith("//!")]
    # Links to items of the sources have no place here.
    return re.sub(r"\[(`[^`]+`)\](?:\([^)]*\))?", r"\1", "\n".join(comment))


def _page(entry: dict[str, Any]) -> str:
    name = entry["name"]
    parts = [
        f"# {name}",
        f"{entry['summary']} Source: {cited(entry['source'], '../')}.",
        f"![The window of {name}]({name}.svg)",
        *filter(None, [kept_here(f"algorithms/{name}.md", DRAWN / "algorithms" / f"{name}.json").strip()]),
        "## Definition",
        cited(head(name), "../"),
        "## Use",
        f'```python\nFlow(name="fg", from_="s1", to="d1", tcp="{name}")\n```',
    ]
    if entry["parameters"]:
        rows = [
            f"| `{one['name']}` | `{json.dumps(one['default'])}` | {one['unit']} | {_cell(one['description'])} Accepted: "
            f"{_cell(one['accepted'])}. | {cited(one['source'], '../')} |"
            for one in entry["parameters"]
        ]
        parts += [
            "## Parameters",
            "\n".join(["| name | default | unit | meaning | source |", "|---|---|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|")
