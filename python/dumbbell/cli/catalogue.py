"""``dumbbell list``, ``schema`` and ``version``: what the engine knows."""

from __future__ import annotations

import json
from typing import Any

import typer
from rich.text import Text

from dumbbell import engine
from dumbbell.cli.tables import Column, console, print_table
from dumbbell.errors import refusal

__all__ = ["show", "show_schema", "show_version"]

PARAMETER_COLUMNS = (
    Column("parameter", "name"),
    Column("default", "default"),
    Column("unit", "unit"),
    Column("accepted", "accepted"),
    Column("meaning", "description"),
    Column("source", "source"),
)


def show(kind: str | None, *, json_output: bool) -> None:
    """Print the catalogue, or one kind of it."""
    catalogue = engine.catalogue()
    if kind is not None and kind not in catalogue:
        raise refusal(
            "kind", kind, ", ".join(catalogue), names=catalogue, problem="is no kind of the catalogue"
        )
    chosen = catalogue if kind is None else {kind: catalogue[kind]}
    if json_output:
        typer.echo(json.dumps(chosen, indent=2, ensure_ascii=False))
        return
    for name, entries in chosen.items():
        _show_kind(name, entries)


def show_schema() -> None:
    """Print the JSON Schema of a scenario."""
    typer.echo(json.dumps(engine.schema(), indent=2, ensure_ascii=False))


def show_version() -> None:
    """Print the version."""
    typer.echo(f"dumbbell {engine.version()}")


def _show_kind(kind: str, entries: list[dict[str, Any]]) -> None:
    out = console()
    out.print(Text(f"{kind}\n", style="bold"))
    for entry in entries:
        line = Text(entry["name"], style="bold")
        line.append(f"  {entry.get('summary') or ''}", style="not bold")
        if entry.get("source"):
            line.append(f"  {entry['source']}", style="dim not bold")
        out.print(line)
        parameters = entry.get("parameters") or []
        if parameters:
            print_table(PARAMETER_COLUMNS, [_shown(parameter) for parameter in parameters])
    out.print()


def _shown(parameter: dict[str, Any]) -> dict[str, str | None]:
    """Return a parameter with every field as text, JSON's own spelling for what is not text already."""
    return {
        key: value if isinstance(value, str) or value is None else json.dumps(value)
        for key, value in parameter.items()
    }
