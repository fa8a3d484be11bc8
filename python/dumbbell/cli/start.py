"""``dumbbell init``, ``examples`` and ``validate``: scenarios to begin with, and what is wrong with one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

from dumbbell import engine, permission
from dumbbell.checkout import folder_of
from dumbbell.cli.options import Allow, Set
from dumbbell.cli.refusals import UNFINISHED, note, say, say_json
from dumbbell.cli.settings import changes
from dumbbell.cli.simulate import is_standard_input, read_scenario
from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import make_folder, read_bytes, replacing, write_text
from dumbbell.scenario import Scenario

SCHEMA_FILE = "scenario.schema.json"
"""The JSON Schema beside a scenario, which its line ``#:schema`` names for editors."""


def begin(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="Name of the scenario file.")] = Path(
        "scenario.toml"
    ),
) -> None:
    """Write a commented scenario to begin with, and the JSON Schema by which editors complete and check it."""
    if file.suffix != ".toml":
        raise refusal("FILE", str(file), "a name that ends in .toml")
    if file.exists():
        raise refusal("FILE", str(file), "a name without such a file", problem="exists")
    text = resources.files("dumbbell.cli").joinpath("start.toml").read_text(encoding="utf-8")
    schema = file.with_name(SCHEMA_FILE)
    write_text(schema, json.dumps(engine.schema(), indent=1) + "\n")
    write_text(file, text)
    say(f"wrote {file} and {schema}")
    say(f"Run it with: dumbbell run {file} --plot {file.with_suffix('.png')}")


def examples(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder to write; it must not exist.")
    ] = Path("examples"),
) -> None:
    """Write the examples that the documentation uses: scenarios, programs, notebooks, the course and the gallery."""
    if folder.exists() or folder.is_symlink():
        raise refusal("DIR", str(folder), "a folder that does not exist yet", problem="exists")
    source = folder_of("examples")
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    for file in files:
        target = folder / file.relative_to(source)
        make_folder(target.parent)
        with replacing(target) as written:
            written.write(read_bytes(file))
    say(f"wrote {len(files)} files to {folder}")
    say(f"Run one with: dumbbell run {folder / 'vegas-vs-reno.toml'} --plot picture.png")


def validate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Scenario files, TOML or JSON; - for standard input.", show_default=False
        ),
    ],
    changed: Set = None,
    allow: Allow = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print a JSON list with a table per file.")
    ] = False,
) -> None:
    """Check scenario files without running them, and list settings without effect.

    Code that a file names is not loaded unless it is allowed; its parameters and probes are then not checked.
    """
    permission.allow(*allow or ())
    values = changes(changed)
    found = [_judged(file, values) for file in files]
    if json_output:
        say_json([one.to_dict() for one in found], indent=2)
    for one in found if not json_output else ():
        if one.scenario is None:
            note(f"error: {one.error}")
            continue
        say(f"{one.file}: valid, {len(one.scenario.flows)} flows, {len(one.scenario.links)} links")
        for text in one.scenario.derived_limits:
            say(f"{one.file}: {text}")
        for name in one.not_loaded:
            note(
                f"note: {one.file}: the code of {name} was not loaded, so its parameters and probes are not checked; "
                f"add --allow {shlex.quote(name)} if you trust it"
            )
        for text in one.scenario.warnings:
            note(f"warning: {one.file}: {text}")
    if any(one.scenario is None for one in found):
        raise typer.Exit(UNFINISHED)


@dataclass(frozen=True, kw_only=True)
class _Judged:
    """A file, and the scenario in it or what is wrong with it; and the code that it names and that was not loaded."""

    file: str
    scenario: Scenario | None = None
    error: str | None = None
    not_loaded: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        found = self.scenario
        return {
            "file": self.file,
            "valid": found is not None,
            "error": self.error,
            # That of a control includes its code.
            "hash": None if found is None or self.not_loaded else found.hash,
            "derived_limits": [] if found is None else [*found.derived_limits],
            "warnings": [] if found is None else [*found.warnings],
            "not_loaded": [*self.not_loaded],
        }


def _judged(file: Path, values: Mapping[str, Any]) -> _Judged:
    name = "standard input" if is_standard_input(file) else str(file)
    try:
        with permission.without_loading() as not_loaded:
            return _Judged(file=name, scenario=read_scenario(file, values), not_loaded=not_loaded)
    except ScenarioError as error:
        return _Judged(file=name, error=" ".join(str(error).split()))
    except OSError as error:
        # A file that the scenario names, such as a trace.
        other = f"{error.filename}: " if error.filename not in (None, str(file)) else ""
        return _Judged(file=name, error=f"{name}: {other}{error.strerror or error}")
