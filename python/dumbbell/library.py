"""A congestion control of your own, compiled: a shared library with a C interface, or a WebAssembly module.

A `Library` is read once and identified by the digest of its bytes: a scenario states it, with the file's name and the
parameters. The bytes stay with the process, and travel with jobs to other processes and machines.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell import _engine, permission
from dumbbell.arguments import file_path
from dumbbell.errors import ScenarioError, refusal
from dumbbell.files import read_input
from dumbbell.parts import External, plain

# The bytes of the libraries of this process, by digest.
known: dict[str, bytes] = {}


class Library(External):
    """The algorithm of a compiled library, for ``tcp`` of a flow.

    Parameters
    ----------
    path
        Its file: a shared library for this machine, or a WebAssembly module; the content decides. A relative path counts
        from the working directory, and in a scenario file from the folder of that file.
    **parameters
        Values of the parameters that the library declares; its initial values for the others.

    Attributes
    ----------
    path : Path
        Its file, as an absolute path.
    digest : str
        Digest of the file's bytes: 16 hexadecimal digits.
    parameters, defaults : dict
        The values of all parameters, and their initial values.
    probes : tuple of str
        The quantities that it exposes; a probe names them with the prefix ``own.``.

    Raises
    ------
    ScenarioError
        The file cannot be read or loaded, is of another version of the interface, or lacks a parameter; or a value is out
        of range.
    """

    def __init__(self, path: str | Path, /, **parameters: Any) -> None:
        self.path = file_path("library", path).absolute()
        self._take(_content(path), parameters)

    @classmethod
    def _of(cls, path: str | Path, data: bytes, parameters: Mapping[str, Any]) -> Library:
        """Return the library with this content, which was read before."""
        made = cls.__new__(cls)
        made.path = Path(path).absolute()
        made._take(data, parameters)
        return made

    def _take(self, data: bytes, parameters: Mapping[str, Any]) -> None:
        given = json.dumps(plain(dict(parameters), "library.parameters"))
        loaded = json.loads(_engine.load_library(data, str(self.path), given))
        self.digest: str = loaded["digest"]
        self.parameters: dict[str, float] = loaded["parameters"]
        self.defaults: dict[str, float] = loaded["defaults"]
        self.probes: tuple[str, ...] = tuple(loaded["probes"])
        known[self.digest] = data

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "data": known[self.digest]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path = state["path"]
        self._take(state["data"], state["parameters"])

    def __eq__(self, other: object) -> bool:
        return self.stated() == other.stated() if isinstance(other, Library) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.path, self.digest, *self.parameters.values()))

    def __repr__(self) -> str:
        given = "".join(f", {name}={value!r}" for name, value in self.parameters.items())
        return f"Library({str(self.path)!r}{given})"

    def stated(self) -> dict[str, Any]:
        """Return what a scenario states: name, digest of the file, parameters and probes."""
        return {
            "name": f"{permission.LIBRARY}{self.path}",
            "digest": self.digest,
            "parameters": self.parameters,
            "probes": list(self.probes),
        }


def include() -> Path:
    """Return the folder of ``dumbbell.h``, for the option ``-I`` of a compiler."""
    return Path(__file__).parent / "include"


def stated(external: Mapping[str, Any], field: str, folder: Path | None) -> dict[str, Any]:
    """Return the complete statement of a library that a scenario names by its path.

    Parameters
    ----------
    external
        Its ``name``, and ``parameters`` and ``probes`` if it has any.
    field
        The path of the statement, for errors.
    folder
        The folder from which a relative path counts; the working directory by default.

    Raises
    ------
    ScenarioError
        The library cannot be read, is not allowed, cannot be loaded, or lacks a parameter.
    """
    path = Path(external["name"].removeprefix(permission.LIBRARY))
    path = path if folder is None else folder / path
    data = _content(path)
    if not is_wasm(data):
        if permission.left_out(f"{permission.LIBRARY}{path}"):
            name = f"{permission.LIBRARY}{path.absolute()}"
            return {**external, "name": name, "digest": permission.NOT_LOADED}
        permission.require(f"{permission.LIBRARY}{path}", f"{field}.name")
    made = Library._of(path, data, external.get("parameters", {})).stated()
    return {**made, **external, "name": made["name"], "parameters": made["parameters"]}


def identified(external: Mapping[str, Any]) -> dict[str, Any]:
    """Return the statement of a library without the folder of its file, which is no part of its identity."""
    return {
        **external,
        "name": f"{permission.LIBRARY}{Path(external['name'].removeprefix(permission.LIBRARY)).name}",
    }


def remember(data: bytes, name: str) -> None:
    """Let scenarios of this process find a library by its digest.

    Parameters
    ----------
    data
        The content of its file.
    name
        The name of its file, for errors.
    """
    known[json.loads(_engine.load_library(data, name, "{}"))["digest"]] = data


def data_of(external: Mapping[str, Any], field: str) -> bytes:
    """Return the bytes of a library that a scenario states, which are read if this process does not have them.

    Parameters
    ----------
    external
        The complete statement.
    field
        Its path, for errors.

    Raises
    ------
    ScenarioError
        The file cannot be read, has another digest, is not allowed, or cannot be loaded.
    """
    digest = external["digest"]
    if digest not in known:
        path = external["name"].removeprefix(permission.LIBRARY)
        data = _content(path)
        if digest_of(data) != digest:
            accepted = f"{digest_of(data)}, the digest of {path} as it is now"
            raise refusal(f"{field}.digest", digest, accepted, problem="is that of another version")
        if not is_wasm(data):
            permission.require(external["name"], f"{field}.name")
        Library._of(path, data, {})
    return known[digest]


def _content(path: str | Path) -> bytes:
    try:
        return read_input(Path(path))
    except OSError as error:
        accepted = "a shared library or a WebAssembly module"
        raise refusal("library", str(path), accepted, problem=f"cannot be read ({error.strerror})") from None


def digest_of(data: bytes) -> str:
    """Return the digest of a library as the engine computes it, without loading it."""
    return hashlib.sha256(data).hexdigest()[:16]


def is_module(external: Mapping[str, Any]) -> bool:
    """Return whether a statement with a digest names a WebAssembly module, as far as its file can be read."""
    if not external["name"].startswith(permission.LIBRARY):
        return False
    data = known.get(str(external["digest"]))
    if data is None:
        try:
            data = _content(external["name"].removeprefix(permission.LIBRARY))
        except ScenarioError:
            return False
    return is_wasm(data)


def is_wasm(data: bytes) -> bool:
    """Return whether a library is a WebAssembly module, which runs in a sandbox."""
    return data.startswith(b"\0asm")
