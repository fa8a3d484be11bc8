"""The text of a report as a Markdown file: prose stays prose, and Python supplies what is computed.

The file is a Jinja template, filled with the members of a `Page`, and then read as Markdown::

    ## Asymmetric links {#asymmetric}

    Every point is the mean of {{ runs }} runs. RoVegas reaches {{ gain(3) | signed }} times as much.

    ![Throughput as ten-second means. Hollow: the paper's numbers.](throughput)

    Table: Second half of 200 s

    Groups: 1, "low load" 2

    | k | Vegas [kbit/s] | RoVegas [kbit/s] |
    |:--|--:|--:|
    | {throughputs} |

    Note: Throughput of RoVegas without the bytes of the option.

    {loads}

A heading begins a section. ``![caption](name)`` is the figure that the member ``name`` returns as SVG; ``![caption](name
"short caption")`` is shown on the first screen, too. A row ``| {name} |``
stands for the rows that a member returns; other rows are shown as written. ``Table:``, ``Groups:`` and ``Note:`` are the
caption, the headings over several columns, and the remark of the table between them. A paragraph ``{name}`` stands for what a
member returns: a block, a section, or a sequence of them. Words after a name, as in ``{loads high reno}``, are the arguments of
the member. ``<details><summary>title</summary>`` and ``</details>``, each between empty lines, collapse what is between them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import jinja2
from jinja2.meta import find_undeclared_variables
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from dumbbell.report import Block, Cell, Column, Details, Figure, Section, Table, Text
from dumbbell.report.numbers import fixed, number, percent, signed

Row = Sequence[Cell | str]

MEMBER = re.compile(r"\{(\w[\w ]*)\}")
HEADING = re.compile(r"(?P<title>.*?)\s*\{#(?P<anchor>[\w-]+)\}")
FIGURE = re.compile(r'!\[(?P<caption>.*)\]\((?P<name>\w[\w\s]*?)(?:\s+"(?P<short>[^"]+)")?\)', re.DOTALL)
SUMMARY = re.compile(r"<details>\s*<summary>(?P<title>.*)</summary>\s*", re.DOTALL)
GROUP = re.compile(r'(?:"([^"]*)" )?(\d+)')
LABEL = re.compile(r"(Table|Groups|Note): (.*)", re.DOTALL)

ALIGNED: dict[str, Literal["left", "right", "centre"]] = {
    "text-align:left": "left",
    "text-align:center": "centre",
}


class Page:
    """A report's text, with the values, rows, figures and blocks that it names.

    The file names members of a subclass: values, and functions, which take their arguments as text outside of expressions.

    Parameters
    ----------
    path
        The Markdown file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def sections(self) -> list[Section]:
        """Return the sections of the report, in the order of the file.

        Raises
        ------
        ValueError
            The file names a member that does not exist, or has an element that reports do not have. The message names the
            file and the element.
        """
        environment = jinja2.Environment(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            comment_start_string="<!--",
            comment_end_string="-->",
        )
        environment.filters.update(fixed=fixed, number=number, percent=percent, signed=signed)
        source = self._path.read_text(encoding="utf-8")
        names = find_undeclared_variables(environment.parse(source))
        text = environment.from_string(source).render({name: self._named(name) for name in names})
        return self._sections(SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text)).children)

    def _named(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self, name):
            raise self._refused(f"names `{name}`", f"a member of {type(self).__name__}")
        return getattr(self, name)

    def _value(self, call: str) -> Any:
        name, *words = call.split()
        member = self._named(name)
        return member(*words) if callable(member) else member

    def _refused(self, problem: str, accepted: str) -> ValueError:
        return ValueError(f"{self._path.name} {problem}; accepted: {accepted}")

    def _sections(self, nodes: Sequence[SyntaxTreeNode]) -> list[Section]:
        reader = _Reader(self._refused)
        for node in nodes:
            text = node.children[0].content if node.type in ("heading", "paragraph") else node.content
            if node.type == "heading":
                reader.begin(self._matched(HEADING, text, "a heading with an anchor, `## Title {#anchor}`"))
            elif node.type == "table":
                reader.insert(self._table(node))
            elif node.type == "html_block" and text.strip() == "</details>":
                reader.leave()
            elif node.type == "html_block":
                accepted = "`<details><summary>title</summary>` and `</details>`"
                reader.enter(self._matched(SUMMARY, text, accepted)["title"])
            elif node.type != "paragraph":
                raise self._refused(
                    f"has a {node.type.replace('_', ' ')}", "paragraphs, tables, figures and details"
                )
            elif label := LABEL.fullmatch(text):
                reader.label(label[1], _line(label[2]))
            elif figure := FIGURE.fullmatch(text):
                svg, short = self._value(figure["name"]), _line(figure["short"] or "")
                reader.add(Figure(svg=svg, caption=_line(figure["caption"]), short=short))
            elif member := MEMBER.fullmatch(text):
                reader.insert(self._value(member[1]))
            elif text.startswith(("![", "{")):
                raise self._refused(f"has `{_line(text)}`", "`![caption](name)` and `{name}`")
            else:
                reader.add(Text(paragraphs=[_line(text)]))
        return reader.finished()

    def _matched(self, form: re.Pattern[str], text: str, accepted: str) -> re.Match[str]:
        match = form.fullmatch(text)
        if match is None:
            raise self._refused(f"has `{text.strip()}`", accepted)
        return match

    def _table(self, node: SyntaxTreeNode) -> Table:
        head, *bodies = node.children
        rows: list[Row] = []
        for body in bodies:
            for row in body.children:
                cells = [cell.children[0].content for cell in row.children]
                member = MEMBER.fullmatch(cells[0])
                rows += self._value(member[1]) if member and not any(cells[1:]) else [cells]
        return Table(
            caption="",
            columns=[
                Column(
                    title=cell.children[0].content, align=ALIGNED.get(str(cell.attrs.get("style")), "right")
                )
                for cell in head.children[0].children
            ],
            rows=rows,
        )


class _Reader:
    """Collects blocks into sections, and into what is collapsed."""

    def __init__(self, refused: Callable[[str, str], ValueError]) -> None:
        self.labels: dict[str, str] = {}
        self._refused = refused
        self._sections: list[Section] = []
        self._blocks: list[list[Block]] = []
        self._titles: list[str] = []

    def begin(self, heading: re.Match[str]) -> None:
        """Begin a section."""
        self._blocks = [[]]
        self._sections.append(Section(blocks=self._blocks[0], **heading.groupdict()))

    def add(self, block: Block) -> None:
        """Add a block where the reader is; paragraphs join the ones before."""
        if not self._blocks:
            raise self._refused("has text before its first heading", "a heading")
        if self.labels:
            raise self._refused("has a caption without a table", "a table after it")
        blocks = self._blocks[-1]
        before = blocks[-1] if blocks else None
        if isinstance(block, Text) and isinstance(before, Text):
            blocks[-1] = Text(paragraphs=[*before.paragraphs, *block.paragraphs])
        else:
            blocks.append(block)

    def insert(self, found: Block | Section | Sequence[Block | Section]) -> None:
        """Add what a member returned; a table takes the caption and the groups before it."""
        for part in found if isinstance(found, Sequence) else [found]:
            if isinstance(part, Section):
                self._blocks = []
                self._sections.append(part)
            elif isinstance(part, Table):
                caption = self.labels.pop("Table", part.caption)
                self.add(replace(part, caption=caption, groups=self.groups() or part.groups))
            else:
                self.add(part)

    def groups(self) -> list[tuple[str, int]]:
        """Take the headings over several columns of the next table."""
        return [(title, int(count)) for title, count in GROUP.findall(self.labels.pop("Groups", ""))]

    def label(self, name: str, text: str) -> None:
        """Keep the caption or the groups of the next table; a note belongs to the one before."""
        if name != "Note":
            self.labels[name] = text
            return
        table = self._blocks[-1].pop() if self._blocks and self._blocks[-1] else None
        if not isinstance(table, Table):
            raise self._refused("has a note without a table", "a table before it")
        self.add(replace(table, note=text))

    def enter(self, title: str) -> None:
        """Begin what is collapsed under a title."""
        self._titles.append(title)
        self._blocks.append([])

    def leave(self) -> None:
        """End what is collapsed."""
        blocks = self._blocks.pop()
        self.add(Details(title=self._titles.pop(), blocks=blocks))

    def finished(self) -> list[Section]:
        """Return the sections."""
        if self._titles:
            raise self._refused(f"does not close `{self._titles[-1]}`", "`</details>`")
        return self._sections


def _line(text: str) -> str:
    """Return a text of several lines as one."""
    return text.replace("\n", " ").strip()
