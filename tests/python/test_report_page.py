"""Pages: what a Markdown file says becomes the blocks of a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dumbbell.report import Block, Cell, Column, Details, Figure, Section, Table, Text
from dumbbell.report.page import Page, Row

PAGE = """\
## Links {#links}

Mean of {{ runs }} runs,
in `ms`.

{% if known %}
Gain {{ gain(3) | signed }}.
{% endif %}

![Hollow: {{ runs }} of
the paper](curve
thin)

Table: Second half

Groups: 1, "low, high" 2

| k | Vegas | x \\| y |
|:--|--:|:-:|
| 1 | 2 | 3 |
| {more} |

Note: Without options.

<details><summary>all of it</summary>

Inside.

</details>

{several}

Table: Loads

{loads high 2}

{whole}

## End {#end}

Last.
"""


class Small(Page):
    runs = 5
    known = True

    def gain(self, k: int) -> float:
        return -0.26 * k

    def curve(self, width: str) -> str:
        return f"<svg {width}/>"

    def more(self) -> list[Row]:
        return [[Cell(text="4", tone="good"), "5", "6"]]

    def several(self) -> list[Block]:
        return [Text(paragraphs=["a"]), Text(paragraphs=["b"])]

    def loads(self, load: str, count: str) -> Table:
        return Table(caption="none", columns=[Column(title=load)], rows=[[count]], groups=[("", 1)])

    def whole(self) -> Section:
        return Section(anchor="whole", title="Whole", blocks=[])


def page(folder: Path, text: str) -> Page:
    file = folder / "report.md"
    file.write_text(text, encoding="utf-8")
    return Small(file)


def test_every_element_of_a_page_becomes_its_block(tmp_path: Path) -> None:
    links, whole, end = page(tmp_path, PAGE).sections()
    assert links == Section(
        anchor="links",
        title="Links",
        blocks=[
            Text(paragraphs=["Mean of 5 runs, in `ms`.", "Gain −0.8."]),
            Figure(svg="<svg thin/>", caption="Hollow: 5 of the paper"),
            Table(
                caption="Second half",
                groups=[("", 1), ("low, high", 2)],
                columns=[
                    Column(title="k", align="left"),
                    Column(title="Vegas"),
                    Column(title="x | y", align="centre"),
                ],
                rows=[["1", "2", "3"], [Cell(text="4", tone="good"), "5", "6"]],
                note="Without options.",
            ),
            Details(title="all of it", blocks=[Text(paragraphs=["Inside."])]),
            Text(paragraphs=["a", "b"]),
            Table(caption="Loads", columns=[Column(title="high")], rows=[["2"]], groups=[("", 1)]),
        ],
    )
    assert whole == Section(anchor="whole", title="Whole", blocks=[])
    assert end == Section(anchor="end", title="End", blocks=[Text(paragraphs=["Last."])])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("## A {#a}\n\n{absent}\n", r"report.md names `absent`; accepted: a member of Small"),
        ("## A {#a}\n\n{{ absent }}\n", r"report.md names `absent`; accepted: a member of Small"),
        ("## A\n", r"report.md has `A`; accepted: a heading with an anchor"),
        ("## A {#a}\n\n- point\n", r"report.md has a bullet list; accepted: paragraphs"),
        ("## A {#a}\n\n<b>x</b>\n\n<div>\n", r"report.md has `<div>`; accepted: `<details>"),
        ("## A {#a}\n\n![x](no-name)\n", r"report.md has `!\[x\]\(no-name\)`; accepted: `!\[caption\]"),
        ("## A {#a}\n\n{no-name}\n", r"report.md has `{no-name}`; accepted: `!\[caption\]"),
        ("text\n", r"report.md has text before its first heading; accepted: a heading"),
        (
            "## A {#a}\n\nNote: of what?\n",
            r"report.md has a note without a table; accepted: a table before it",
        ),
        (
            "## A {#a}\n\nTable: x\n\ntext\n",
            r"report.md has a caption without a table; accepted: a table after it",
        ),
        (
            "## A {#a}\n\n<details><summary>t</summary>\n",
            r"report.md does not close `t`; accepted: `</details>`",
        ),
    ],
)
def test_a_page_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        page(tmp_path, text).sections()


def test_the_members_of_an_example_are_those_of_its_class(tmp_path: Path) -> None:
    class Hidden(Small):
        _runs: Any = 1

    file = tmp_path / "report.md"
    file.write_text("## A {#a}\n\n{{ _runs }}\n")
    with pytest.raises(ValueError, match="names `_runs`"):
        Hidden(file).sections()
