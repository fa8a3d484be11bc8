"""Congestion controls from outside the registry, wherever they come from: classes in Python, and compiled libraries.

A scenario states one as ``tcp.external``. This module completes what a user states, and carries the code of what scenarios
state to other processes.
"""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from dumbbell import control, library, permission
from dumbbell.parts import External


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
    if name.startswith(permission.CLASS):
        return control.made(name, parameters, field)
    return library.Library(name.removeprefix(permission.LIBRARY), **parameters)


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
        A class cannot be imported, a library cannot be loaded, a parameter is not accepted, or a module of a kernel is not
        allowed.
    """

    def completed(external: Any, field: str) -> Any:
        if isinstance(external, External):
            return external.stated()
        if isinstance(external, str) and external.startswith(permission.PREFIXES):
            external = {"name": external}
        if not isinstance(external, Mapping):
            return external
        name, parameters = external.get("name"), external.get("parameters", {})
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            return external
        if "digest" in external:
            if name.startswith(permission.PREFIXES) and not library.is_module(external):
                permission.left_out(name)
            return external
        if name.startswith(permission.CLASS):
            made = control.stated(external, field)
        elif name.startswith(permission.LIBRARY):
            made = library.stated(external, field, folder)
        else:
            return external
        # Without its code, a control has whatever is probed.
        return made if "probes" in made else {**made, "probes": _probed(data)}

    _require_modules(data)
    return _mapped(data, completed)


def _require_modules(data: Mapping[str, Any]) -> None:
    """Refuse modules of kernels that are not allowed; scenarios that are only inspected load none."""
    for flow in _list(data.get("flows")):
        transport = flow.get("transport") if isinstance(flow, Mapping) else None
        module = transport.get("module") if isinstance(transport, Mapping) else None
        if isinstance(module, str) and not permission.left_out(f"{permission.MODULE}{module}"):
            permission.require(f"{permission.MODULE}{module}", f"flows.{flow.get('name')}.transport.module")


def _probed(data: Mapping[str, Any]) -> list[str]:
    """Return the names of quantities of controls that the probes of a scenario state; what is wrong is left to the engine."""
    probes = data.get("probes")
    lists = [probe.get("quantities") for probe in _list(probes) if isinstance(probe, Mapping)]
    texts = [name for names in lists for name in _list(names) if isinstance(name, str)]
    own = (re.fullmatch(r"own\.(\w{1,40})", name, re.ASCII) for name in texts)
    return list(dict.fromkeys(found[1] for found in own if found))


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def canonical(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a scenario with complete controls, and libraries without the folders of their files."""

    def identified(external: Any, _field: str) -> Any:
        is_library = isinstance(external, Mapping) and str(external.get("name")).startswith(
            permission.LIBRARY
        )
        return library.identified(external) if is_library else external

    return _mapped(with_controls(data), identified)


def _mapped(data: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """Return the data of a scenario with its external controls changed by a function of one and its field."""
    flows = data.get("flows")
    if not isinstance(flows, Sequence) or isinstance(flows, str):
        return dict(data)

    def changed(flow: Any) -> Any:
        tcp = flow.get("tcp") if isinstance(flow, dict | Mapping) else None
        if isinstance(tcp, str):
            if not tcp.startswith(permission.PREFIXES):
                return flow
            tcp = {"external": tcp}
        if not isinstance(tcp, dict | Mapping) or "external" not in tcp:
            return flow
        field = f"flows.{flow.get('name')}.tcp.external"
        return {**flow, "tcp": {**tcp, "external": change(tcp["external"], field)}}

    return {**data, "flows": [changed(flow) for flow in flows]}


def stated_in(scenarios: Iterable[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the field and the statement of each control of `dumbbell.Scenario` objects, once."""
    yielded = set()
    for scenario in scenarios:
        if not scenario.stated.names_external():
            continue
        for flow in with_controls(scenario.to_dict())["flows"]:
            tcp = flow.get("tcp")
            external = tcp.get("external") if isinstance(tcp, Mapping) else None
            if isinstance(external, Mapping) and (external["name"], external["digest"]) not in yielded:
                yielded.add((external["name"], external["digest"]))
                yield f"flows.{flow['name']}.tcp.external", external


def names_in(canonical_json: str) -> tuple[str | None, list[str]]:
    """Return the name of a scenario in canonical form, and those of the controls that it states."""
    data = json.loads(canonical_json)
    return data.get("name"), list(dict.fromkeys(external["name"] for external in _controls_in(data)))


def _controls_in(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the controls that the data of a scenario in canonical form states."""
    stated = (tcp.get("external") for flow in data["flows"] if isinstance(tcp := flow.get("tcp"), dict))
    return [external for external in stated if external]


def not_loaded(canonical_json: str) -> list[str]:
    """Return the names of the controls of a scenario in canonical form that were not loaded, so that it lacks a hash."""
    controls = _controls_in(json.loads(canonical_json))
    unknown = [external["name"] for external in controls if external["digest"] == permission.NOT_LOADED]
    return list(dict.fromkeys(unknown))


def prepare(scenarios: Iterable[Any]) -> tuple[list[type[control.Control]], list[tuple[str, bytes]]]:
    """Load the controls of scenarios, which may come from another process or a file.

    Returns
    -------
    tuple of two lists
        The classes; and the libraries, each as the name of its file and its content.

    Raises
    ------
    ScenarioError
        The code of a control is not here any more, has changed, or is not allowed.
    """
    classes: list[type[control.Control]] = []
    libraries: list[tuple[str, bytes]] = []
    for field, one in stated_in(scenarios):
        if one["name"].startswith(permission.CLASS):
            classes.append(control.class_of(one["name"], one["digest"], field))
        elif one["name"].startswith(permission.LIBRARY):
            libraries.append((Path(one["name"]).name, library.data_of(one, field)))
    return classes, libraries


def has_classes(scenarios: Iterable[Any]) -> bool:
    """Return whether a scenario states a control in Python."""
    return any(one["name"].startswith(permission.CLASS) for _, one in stated_in(scenarios))


def pack(scenarios: Sequence[Any], *, everywhere: bool = False) -> bytes | None:
    """Return the code of the controls that scenarios state, for another process.

    The result is ``None`` if another process cannot have them: classes of a script, a notebook or the working folder need
    cloudpickle.

    Parameters
    ----------
    scenarios
        `dumbbell.Scenario` objects.
    everywhere
        Whether the process may be on another machine, which has only modules that are installed.
    """
    classes, libraries = prepare(scenarios)
    try:
        import cloudpickle
    except ImportError:
        if any("<locals>" in cls.__qualname__ or not _can_be_imported(cls.__module__) for cls in classes):
            return None
        return pickle.dumps((classes, libraries))
    is_there = _is_installed if everywhere else _can_be_imported
    names = {cls.__module__ for cls in classes} | control.modules_of_folder
    modules = {sys.modules[name] for name in names if name in sys.modules and not is_there(name)}
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
    for name, content in libraries:
        library.remember(content, name)


def _can_be_imported(name: str) -> bool:
    """Return whether another process with the same path finds a module. Tests and notebooks load theirs in other ways."""
    return control.where(name) is not None


def _is_installed(name: str) -> bool:
    """Return whether a module is part of an installed package."""
    from dumbbell.campaign.sources import LIBRARIES

    file = getattr(sys.modules[name], "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(place) for place in LIBRARIES)
