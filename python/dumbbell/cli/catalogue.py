"""``dumbbell list``, ``schema`` and ``version``: what the engine knows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dumbbell import engine
from dumbbell.cli.options import Json
from dumbbell.cli.refusals import say, say_json
from dumbbell.cli.tables import console
from dumbbell.errors import refusal
from dumbbell.results import COLUMNS


def show(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND|NAME]",
            help="algorithms, recoveries, queues, sources, columns, …, or one entry, such as cubic; default: the names of all.",
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """List what scenarios can name: summaries, parameters, defaults, units, sources."""
    catalogue = engine.catalogue()
    if kind == "columns":
        _show_columns(json_output=json_output)
        return
    chosen = catalogue
    if kind in catalogue:
        chosen = {kind: catalogue[kind]}
    elif kind is not None:
        chosen = _with_name(catalogue, kind)
    if json_output:
        say_json(chosen, indent=2)
        return
    if kind is None:
        _show_names(catalogue)
        return
    for name, entries in chosen.items():
        _show_kind(name, entries)


def _show_names(catalogue: Mapping[str, Sequence[Any]]) -> None:
    """Print the names of each kind, which fit on a screen."""
    out = console(reader=True)
    width = max(map(len, catalogue)) + 2
    for kind, entries in catalogue.items():
        names = " ".join(entry if isinstance(entry, str) else entry["name"] for entry in entries)
        listed = Table.grid(padding=0)
        listed.add_column(width=width, no_wrap=True)
        listed.add_column(overflow="fold")
        listed.add_row(Text(kind, style="bold"), Text(names))
        out.print(listed)
    hint = "`dumbbell list NAME` describes one, `dumbbell list KIND` all of a kind, `dumbbell list columns` results."
    out.print(Text(f"\n{hint}"))


def _with_name(catalogue: dict[str, list[Any]], name: str) -> dict[str, list[Any]]:
    """Return the entries of this name, by kind."""
    entries = {
        kind: [entry for entry in found if isinstance(entry, dict)] for kind, found in catalogue.items()
    }
    chosen = {kind: [entry for entry in found if entry["name"] == name] for kind, found in entries.items()}
    chosen = {kind: found for kind, found in chosen.items() if found}
    if not chosen:
        names = [
            *catalogue,
            "columns",
            *dict.fromkeys(entry["name"] for found in entries.values() for entry in found),
        ]
        accepted = f"{', '.join([*catalogue, 'columns'])}, or the name of an entry"
        raise refusal("kind", name, accepted, names=names, problem="is not in the catalogue")
    return chosen


def _show_columns(*, json_output: bool) -> None:
    """Print what the columns of results are."""
    if json_output:
        say_json(
            {table: [column._asdict() for column in found] for table, found in COLUMNS.items()}, indent=2
        )
        return
    out = console(reader=True)
    for table, found in COLUMNS.items():
        out.print(Text(f"{table}\n", style="bold"))
        for column in found:
            line = Text(column.name, style="bold")
            facts = ", ".join(fact for fact in (column.unit, column.window) if fact != "-")
            line.append(f"  [{facts}]" if facts else "", style="dim not bold")
            out.print(line)
            out.print(Padding(Text(column.meaning), (0, 0, 0, 4), expand=False))
        out.print()


def show_schema() -> None:
    """Print the JSON Schema of a scenario."""
    say_json(engine.schema(), indent=2)


def show_version() -> None:
    """Print the version."""
    say(f"dumbbell {engine.version()}")


def _show_kind(kind: str, entries: list[Any]) -> None:
    out = console(reader=True)
    out.print(Text(f"{kind}\n", style="bold"))
    if all(isinstance(entry, str) for entry in entries):
        out.print(Text(", ".join(entries) + "\n"))
        return
    if all("default" in entry for entry in entries):
        _print_parameters(out, entries)
        out.print()
        return
    for entry in entries:
        line = Text(entry["name"], style="bold")
        line.append(f"  {entry.get('summary') or ''}", style="not bold")
        if entry.get("source"):
            line.append(f"  {entry['source']}", style="dim not bold")
        out.print(line)
        parameters = entry.get("parameters") or []
        _print_parameters(out, parameters)
        if parameters:
            out.print()
    out.print()


def _print_parameters(out: Console, parameters: Sequence[dict[str, Any]]) -> None:
    """Print parameters as paragraphs, which can be read at any width."""
    for parameter in map(_shown, parameters):
        head = Text(f"{parameter['name']} = {parameter['default']}")
        if parameter["unit"] not in ("-", "–"):
            head.append(f"  [{parameter['unit']}]", style="dim")
        out.print(Padding(head, (0, 0, 0, 2), expand=False))
        meaning = Text(parameter["description"])
        meaning.append(f" Accepted: {parameter['accepted']}. {parameter['source']}", style="dim")
        out.print(Padding(meaning, (0, 0, 0, 6), expand=False))


def _shown(parameter: dict[str, Any]) -> dict[str, str]:
    """Return a parameter with every field as text."""
    return {key: _text(value) for key, value in parameter.items()}


def _text(value: Any) -> str:
    """Return a value as scenarios spell it, a table by its short form."""
    if isinstance(value, str):
        return value
    if value is None:
        return "–"
    if isinstance(value, dict):
        if "kind" in value or "name" in value:
            return str(value.get("kind", value.get("name")))
        if all(isinstance(item, bool) for item in value.values()):
            return "".join(key for key, is_on in value.items() if is_on) or "none"
    return json.dumps(value, ensure_ascii=False)
