"""Reading a campaign from a TOML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.campaign.points import Grid, grid_of
from dumbbell.documents import toml_of
from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import read_input
from dumbbell.scenario import Scenario
from dumbbell.scenario.opportunities import with_traces

FIELDS = ("base", "axes", "runs", "seed", "output", "add")


@dataclass(frozen=True, kw_only=True)
class Stated:
    """The content of a campaign file.

    Parameters
    ----------
    base
        The base scenario.
    grids
        The grids, at least one.
    seed
        Seed of all runs.
    output
        Folder of the store.
    """

    base: Scenario
    grids: tuple[Grid, ...]
    seed: int
    output: Path


def read(file: Path) -> Stated:
    """Return the content of a campaign file; raises what `Campaign.from_toml` raises."""
    data = toml_of(read_input(file), str(file))
    with _errors_name(file):
        return _stated(data, file)


@contextmanager
def _errors_name(file: Path) -> Iterator[None]:
    """Let what is wrong with a file begin with its name."""
    try:
        yield
    except ScenarioError as error:
        text = str(error)
        if text.startswith(f"{file}: "):
            raise
        named = ScenarioError(f"{file}: {text}")
        for name in ("field", "value", "accepted", "suggestion"):
            setattr(named, name, getattr(error, name, None))
        raise named from None


def _stated(data: Mapping[str, Any], file: Path) -> Stated:
    _known("", data, FIELDS)
    if "base" not in data:
        raise refusal("base", "nothing", "a scenario: a table, or the name of a file", quoted=False)
    further = data.get("add", [])
    if not isinstance(further, list) or not all(isinstance(one, dict) for one in further):
        raise refusal("add", str(further), "tables with axes and runs, written [[add]]")
    first = _grid("", data, data.get("runs", 1))
    grids = [first]
    for number, one in enumerate(further):
        _known(f"add.{number}", one, ("axes", "runs"))
        grids.append(_grid(f"add.{number}", one, one.get("runs", list(first.runs))))
    output = data.get("output", f"results/campaigns/{file.stem}")
    if not isinstance(output, str) or not output:
        raise refusal("output", str(output), "the name of a folder")
    return Stated(
        base=_base(data["base"], file), grids=tuple(grids), seed=data.get("seed", 1), output=Path(output)
    )


def _base(stated: Any, file: Path) -> Scenario:
    if isinstance(stated, dict):
        return Scenario.from_dict(with_traces(stated, file.parent) or stated)
    if isinstance(stated, str):
        base = file.parent / stated
        with _errors_name(base):
            return Scenario.from_file(base)
    raise refusal("base", str(stated), "a scenario: a table, or the name of a file")


def _grid(path: str, data: Mapping[str, Any], runs: Any) -> Grid:
    axes = data.get("axes", {})
    if not isinstance(axes, dict):
        raise refusal(f"{path}.axes".lstrip("."), str(axes), "a table of lists of values by addresses")
    return grid_of(dict(_flat(axes, "")), runs)


def _flat(axes: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the lists in a table of axes by address; TOML reads unquoted addresses as nested tables."""
    for name, value in axes.items():
        address = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            yield from _flat(value, address)
        else:
            yield address, value


def _known(path: str, data: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for name in data:
        if name not in names:
            raise refusal(
                path or "campaign", name, ", ".join(names), names=names, problem="is not a field here"
            )
