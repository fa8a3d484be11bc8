"""The pages of the gallery: one per example, with its claim, its figure, what it prints and its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from draw import DRAWN, examples
from lablink import kept_here
from repository import cited

HEAD = """\
# Gallery

Each example is one short file. It states a claim of the field with its source, runs the simulations, checks the claim on
the numbers, and draws one figure. All of them run in the tests. To run one yourself:

```sh
.venv/bin/python examples/gallery/sawtooth.py
```

<div class="grid cards" markdown>

"""


def pages() -> Iterator[tuple[str, str | bytes]]:
    """Yield the place and the content of each page and figure."""
    cards = []
    for example in examples():
        title, claim, source = parts(example)
        figure = DRAWN / "gallery" / f"{example.stem}.svg"
        yield f"gallery/{figure.name}", figure.read_bytes()
        yield f"gallery/{example.stem}.md", _page(example, title, claim)
        cards.append(
            f"-   [![{title}]({figure.name})]({example.stem}.md)\n\n    [{title}]({example.stem}.md)\n\n    {source}\n"
        )
    listed = "\n".join(cited(card, "../") for card in cards)
    yield "gallery/index.md", f"{HEAD}{listed}\n</div>\n"


def parts(example: Path) -> tuple[str, str, str]:
    """Return the title of an example, its whole claim, and the line that names the source."""
    text = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
    title, _, claim = text.partition("\n\n")
    source = next((line for line in claim.splitlines() if line.startswith("Source: ")), "")
    return title.rstrip("."), claim, source


def _page(example: Path, title: str, claim: str) -> str:
    code = example.read_text(encoding="utf-8").partition('"""\n\n')[2]
    lab = kept_here(f"gallery/{example.stem}.md", DRAWN / "gallery" / f"{example.stem}.json")
    printed = (DRAWN / "gallery" / f"{example.stem}.txt").read_text(encoding="utf-8")
    return f"""\
# {title}

{cited(claim, "../")}

![{title}]({example.stem}.svg)

{lab}It prints:

```text
{printed.rstrip()}
```

The file `examples/gallery/{example.name}`:

```python
{code.rstrip()}
```
"""
