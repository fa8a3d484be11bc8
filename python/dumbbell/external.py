"""Congestion controls from outside the registry, wherever they come from: classes in Python, and compiled libraries.

A scenario states one as ``tcp.external``. This module completes what a user states, and carries the code of what scenarios
state to other processes.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, cast

from dumbbell import control, library
from dumbbell.scenario.parts import External

__all__ = [
    "PREFIXES",
    "canonical",
    "changed",
    "has_classes",
    "made",
    "pack",
    "prepare",
    "title",
    "unpack",
    "with_controls",
]

PREFIXES = (control.PREFIX, library.PREFIX)
"""Prefixes of the names of controls from outside the registry."""


def made(name: str, parameters: Mapping[str, Any], field: str) -> External:
    """Return the control with this name.

    Parameters
    ----------
    name
        As ``python:module.Class``, or ``library:`` and a path.
    parameters
        Its parameters.
    field
        The path of the name, for errors.

    Raises
    ------
    ScenarioError
        The class cannot be imported, the library cannot be loaded, or a parameter is not accepted.
    """
    if name.startswith(control.PREFIX):
        return control.made(name, parameters, field)
    return library.Library(name.removeprefix(library.PREFIX), **parameters)


def title(external: External) -> str:
    """Return the name of a control for people: that of its class or its file."""
    return external.path.name if isinstance(external, library.Library) else type(external).__qualname__


def changed(external: External) -> dict[str, Any]:
    """Return the parameters of a control that differ from their defaults."""
    defaults: Mapping[str, Any]
    if isinstance(external, library.Library):
        defaults = external.defaults
    else:
        defaults = {item.name: item.default for item in dataclasses.fields(cast(Any, external))}
    stated: dict[str, Any] = external.stated()["parameters"]
    return {name: value for name, value in stated.items() if value != defaults[name]}


def with_controls(data: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Return the data of a scenario in which the controls that flows name are stated completely.

    Parameters
    ----------
    data
        A scenario; what is not as it should be is left to the engine.
    folder
        The folder from which relative paths of libraries count; the working directory by default.

    Raises
    ------
    ScenarioError
        A class cannot be imported, a library cannot be loaded, or a parameter is not accepted.
    """

    def completed(external: Any, field: str) -> Any:
        if isinstance(external, External):
            return external.stated()
        if isinstance(external, str) and external.startswith(PREFIXES):
            external = {"name": external}
        if not isinstance(external, Mapping) or "digest" in external:
            return external
        name, parameters = external.get("name"), external.get("parameters", {})
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            return external
        if name.startswith(control.PREFIX):
            return control.stated(external, field)
        return library.stated(external, folder) if name.startswith(library.PREFIX) else external

    return _mapped(data, completed)


def canonical(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a scenario with complete controls, and libraries without the folders of their files."""

    def identified(external: Any, _field: str) -> Any:
        is_library = isinstance(external, Mapping) and str(external.get("name")).startswith(library.PREFIX)
        return library.identified(external) if is_library else external

    return _mapped(with_controls(data), identified)


def _mapped(data: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """Return the data of a scenario with its external controls changed by a function of one and its field."""
    flows = data.get("flows")
    if not isinstance(flows, Sequence) or isinstance(flows, str):
        return dict(data)

    def changed(flow: Any) -> Any:
        tcp = flow.get("tcp") if isinstance(flow, Mapping) else None
        if isinstance(tcp, str) and tcp.startswith(PREFIXES):
            tcp = {"external": tcp}
        if not isinstance(tcp, Mapping) or "external" not in tcp:
            return flow
        field = f"flows.{flow.get('name')}.tcp.external"
        return {**flow, "tcp": {**tcp, "external": change(tcp["external"], field)}}

    return {**data, "flows": [changed(flow) for flow in flows]}


def _stated_in(scenarios: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the statement of each control of `dumbbell.Scenario` objects, once."""
    yielded = set()
    for scenario in scenarios:
        if '"external"' not in scenario.canonical_json:
            continue
        for flow in with_controls(scenario.to_dict())["flows"]:
            tcp = flow.get("tcp")
            external = tcp.get("external") if isinstance(tcp, Mapping) else None
            if isinstance(external, Mapping) and (external["name"], external["digest"]) not in yielded:
                yielded.add((external["name"], external["digest"]))
                yield external


def _libraries(scenarios: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [one for one in _stated_in(scenarios) if one["name"].startswith(library.PREFIX)]


def _classes(scenarios: Iterable[Any]) -> list[type[control.Control]]:
    stated = [one for one in _stated_in(scenarios) if one["name"].startswith(control.PREFIX)]
    return [control.class_of(one["name"], one["digest"]) for one in stated]


def prepare(scenarios: Iterable[Any]) -> None:
    """Load the libraries of scenarios, which may come from another process.

    Raises
    ------
    ScenarioError
        A library is not here any more, or has changed.
    """
    for external in _libraries(scenarios):
        library.data_of(external)


def has_classes(scenarios: Iterable[Any]) -> bool:
    """Return whether a scenario states a control in Python."""
    return any(one["name"].startswith(control.PREFIX) for one in _stated_in(scenarios))


def pack(scenarios: Sequence[Any], *, everywhere: bool = False) -> bytes | None:
    """Return the code of the controls that scenarios state, for another process.

    The result is ``None`` if another process cannot have them: classes of a script or a notebook need cloudpickle.

    Parameters
    ----------
    scenarios
        `dumbbell.Scenario` objects.
    everywhere
        Whether the process may be on another machine, which has only modules that are installed.
    """
    classes = _classes(scenarios)
    libraries = [(library.data_of(one), Path(one["name"]).name) for one in _libraries(scenarios)]
    try:
        import cloudpickle
    except ImportError:
        if any(cls.__module__ == "__main__" or "<locals>" in cls.__qualname__ for cls in classes):
            return None
        return pickle.dumps((classes, libraries))
    is_there = _is_installed if everywhere else _can_be_imported
    modules = {sys.modules[cls.__module__] for cls in classes if not is_there(cls.__module__)}
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps((classes, libraries))
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return packed


def unpack(data: bytes) -> None:
    """Take the code of `pack`, so that scenarios of this process find it."""
    classes, libraries = pickle.loads(data)
    for cls in classes:
        control.remember(cls)
    for content, name in libraries:
        library.remember(content, name)


def _can_be_imported(name: str) -> bool:
    """Return whether another process with the same path finds a module. Tests and notebooks load theirs in other ways."""
    path: Sequence[str] | None = None
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        found = PathFinder.find_spec(".".join(parts[:end]), path)
        if found is None:
            return False
        path = found.submodule_search_locations
    return True


def _is_installed(name: str) -> bool:
    """Return whether a module is part of an installed package."""
    from dumbbell.campaign.sources import LIBRARIES

    file = getattr(sys.modules[name], "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(place) for place in LIBRARIES)
