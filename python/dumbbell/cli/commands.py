"""The commands by name. A module is imported when its command is asked for, since most need much that others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dumbbell.cli.refusals import guarded
from dumbbell.cli.verbatim import Verbatim


@dataclass(frozen=True)
class Known:
    """A command.

    Parameters
    ----------
    place
        Its module in this package, and its function or `typer.Typer` there.
    summary
        What the list of commands says of it.
    kind
        Class of the command.
    """

    place: str
    summary: str
    kind: type[TyperCommand] = TyperCommand


COMMANDS: Mapping[str, Known] = {
    "init": Known("start.begin", "Write a commented scenario to begin with."),
    "examples": Known("start.examples", "Write the examples that the documentation uses."),
    "validate": Known("start.validate", "Check scenario files without running them."),
    "run": Known("simulate.simulate", "Run a scenario file once."),
    "fit": Known("fit.explain_capture", "Find the scenarios that explain a captured connection."),
    "why": Known("why.explain", "Show what the sender of a flow learned and did."),
    "inspect": Known("inspect.inspect_capture", "Tell what limited the TCP connections of a capture."),
    "campaign": Known("campaign.campaign", "Run a scenario with every combination of some values."),
    "compare": Known("compare.compare_sides", "Compare two scenarios, runs or campaigns."),
    "bundle": Known("bundle.commands", "Make bundles of results that others can verify."),
    "list": Known("catalogue.show", "List what scenarios can name, or what results contain."),
    "schema": Known("catalogue.show_schema", "Print the JSON Schema of a scenario."),
    "version": Known("catalogue.show_version", "Print the version."),
    "cite": Known("cite.cite", "Print how to cite Dumbbell."),
    "reproduce": Known("reproduce.reproduce", "Reproduce a paper, or all papers, and write reports."),
    "cross-validate": Known("cross_validate.cross_validate", "Run grids here and in another simulator."),
    "evaluate": Known("evaluate.evaluate", "Evaluate an algorithm by RFC 9743."),
    "search": Known("search.search", "Search for the scenario in which an algorithm does worst."),
    "bench": Known("bench.commands", "Measure the speed of Dumbbell."),
    "new": Known("new.commands", "Scaffold an algorithm."),
    "trace": Known("trace.commands", "Make and describe traces of delivery opportunities."),
    "kernel": Known("kernel.commands", "Build the Linux kernels that run in simulated time."),
    "script": Known("script.play", "Play scripts of segments on the simulator or on a kernel."),
    "testbed": Known("testbed.commands", "Run scenarios in real time, with the TCP of the Linux kernel."),
    "shell": Known("shell.shell", "Run a program, or a shell, behind an emulated link.", Verbatim),
}


class Loaded(Mapping[str, Any]):
    """The commands of `COMMANDS`, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Commands(TyperGroup):
    """The group of these commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Loaded()  # type: ignore[assignment]  # which nothing changes

    # The types of contexts and formatters depend on the version of typer.
    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - of the class
        """Write the list of commands, without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, known.summary) for name, known in COMMANDS.items()])


@cache
def _loaded(name: str) -> Any:
    known = COMMANDS[name]
    found: list[Any] = []
    _load(known.place, found)
    if isinstance(found[0], typer.Typer):
        command = typer.main.get_command(found[0])
    else:
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        single.command(name, cls=known.kind)(guarded(found[0]))
        command = typer.main.get_command(single)
    command.name = name
    return command


@guarded
def _load(place: str, found: list[Any]) -> None:
    """Append what is at this place; a module that cannot be loaded, as without memory, is one sentence."""
    module, _, name = place.partition(".")
    found.append(getattr(import_module(f"dumbbell.cli.{module}"), name))
