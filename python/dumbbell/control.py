"""A congestion control of your own, in Python.

A subclass of `Control` has a window and reacts to acknowledgements and congestion. An instance of it states parameters,
and is passed as ``tcp`` of a flow; each connection then has a new object of the class. A scenario states the name of the
class, a digest of its source and the parameters, so that results of two versions have different hashes.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import importlib
import inspect
import json
import sys
import textwrap
import types
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, ClassVar, Self, cast, dataclass_transform

from dumbbell import permission
from dumbbell._engine import Ack, Congestion, Connection, RecoveryExit, Restart, Segment, Setup, Undo
from dumbbell.errors import ScenarioError, refusal
from dumbbell.parts import External, plain
from dumbbell.tracebacks import frames_of

__all__ = [
    "Ack",
    "Congestion",
    "Connection",
    "Control",
    "RecoveryExit",
    "Restart",
    "Segment",
    "Setup",
    "Undo",
    "class_of",
    "factory",
    "made",
    "remember",
    "stated",
    "where",
]

# Methods that the engine need not call unless a class has its own.
OPTIONAL = ("on_duplicate_ack", "on_loss", "on_recovery_enter", "on_sent")

HOOKS = ("on_ack", "on_congestion", "on_recovery_exit", "on_undo", "on_restart", *OPTIONAL)

# The classes of this process by name and digest, also those that cannot be imported.
known: dict[tuple[str, str], type[Control]] = {}

# The modules of this process that were found in the working folder, which other processes do not look into.
modules_of_folder: set[str] = set()


@dataclass_transform(kw_only_default=True, field_specifiers=(dataclasses.field,))
class Control(External):
    """The base of congestion controls in Python.

    A subclass has `on_ack` and `on_congestion`, which set `cwnd`. Its parameters are annotated attributes with defaults,
    as those of a keyword-only dataclass; other state is set in `start`. After each method, the engine reads `cwnd`,
    `ssthresh` and `pacing_rate`. A value out of range, or an exception, ends the run with that exception.

    Attributes
    ----------
    cwnd : float
        Congestion window, in bytes, finite, at least one segment. At the start, the initial window of the scenario.
    ssthresh : float
        Slow-start threshold, in bytes, above 0, possibly infinite. At the start, that of the scenario.
    pacing_rate : float or None
        Pacing rate, in bytes/s of payload, above 0; ``None`` if segments leave as the window allows.
    setup : Setup
        The setup of the connection: segment size, initial window and threshold, and a seed for random numbers.
    probes : sequence of str
        Attributes to expose, numbers or ``None``; a probe names them with the prefix ``own.``.
    rate_samples : bool
        Whether acknowledgements carry delivery rates.
    model_based : bool
        Whether the window follows from a model instead of growing. It then may also grow while it does not limit the sender.
    reacts_to_marks : bool
        Whether `on_ack` reacts to marks by itself; with exact feedback, `on_congestion` is then not called for them.

    Examples
    --------
    >>> import dumbbell
    >>> class Halving(dumbbell.Control):
    ...     decrease: float = 0.5
    ...
    ...     def on_ack(self, ack):
    ...         if not ack.in_recovery:
    ...             self.cwnd = ack.grown(self.cwnd, ack.mss * ack.mss / self.cwnd)
    ...
    ...     def on_congestion(self, congestion):
    ...         rest = max(congestion.flight_size * self.decrease, 2 * congestion.mss)
    ...         self.cwnd = congestion.loss_window if congestion.restarts else rest
    >>> Halving(decrease=0.7).parameters
    {'decrease': 0.7}
    """

    cwnd: float
    ssthresh: float
    pacing_rate: float | None = None
    setup: Setup
    probes: ClassVar[Sequence[str]] = ()
    rate_samples: ClassVar[bool] = False
    model_based: ClassVar[bool] = False
    reacts_to_marks: ClassVar[bool] = False
    source_digest: ClassVar[str | None] = None
    """Digest of the source of the class and its bases; ``None`` if the source cannot be read."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in vars(cls):
            text = f"{cls.__qualname__} has an __init__; expected parameters as annotated attributes, and state set in start"
            raise TypeError(text)
        dataclass(kw_only=True, eq=False)(cls)
        cls.source_digest = _digest(cls)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # An object that arrives from another process brings a class that this one may not be able to import.
        self.__dict__.update(state)
        remember(type(self))

    def start(self, setup: Setup) -> None:
        """Set the state at the start of a connection; `cwnd` and `ssthresh` are those of the scenario already."""

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """React to an acknowledgement of new data. Required."""

    @abstractmethod
    def on_congestion(self, congestion: Congestion) -> None:
        """React to congestion; afterwards `cwnd` is the window of the recovery. Required."""

    def on_duplicate_ack(self, ack: Ack) -> None:
        """React to a duplicate acknowledgement, which may report data as delivered."""

    def on_loss(self, segment: Segment) -> None:
        """React to each segment considered lost, before the reaction to congestion."""

    def on_recovery_enter(self, connection: Connection) -> None:
        """React to the beginning of a fast recovery."""

    def on_recovery_exit(self, exit: RecoveryExit) -> None:
        """React to the end of a fast recovery: by default, the window keeps the inflation that the environment keeps."""
        self.cwnd += exit.kept_inflation

    def on_undo(self, undo: Undo) -> None:
        """React to an undone reaction: by default, window and threshold return to their values, unless they are larger."""
        self.cwnd = max(self.cwnd, undo.cwnd)
        self.ssthresh = max(self.ssthresh, undo.ssthresh)

    def on_restart(self, restart: Restart) -> None:  # noqa: ARG002 - a subclass uses it
        """React to an idle period: by default, the window is at most the initial window (RFC 5681 §4.1)."""
        self.cwnd = min(self.cwnd, self.setup.initial_window)

    def on_sent(self, segment: Segment) -> None:
        """React to a segment that is about to be sent; this changes neither window nor threshold."""

    def fork(self) -> Self:
        """Return an independent copy, from which another run continues."""
        return copy.deepcopy(self)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters as plain data."""
        fields = dataclasses.fields(cast(Any, self))
        return {item.name: plain(getattr(self, item.name), item.name) for item in fields if item.init}

    def stated(self) -> dict[str, Any]:
        """Return what a scenario states: name, digest of the source, parameters and probes.

        Raises
        ------
        ScenarioError
            The source of the class cannot be read, so that the scenario would have no identity; or a parameter is not
            of the type of its annotation.
        """
        cls = type(self)
        if cls.source_digest is None:
            accepted = "a class defined in a file or a notebook, whose source can be read"
            raise refusal("tcp", name_of(cls), accepted)
        _check_kinds(self, "tcp")
        remember(cls)
        return {
            "name": name_of(cls),
            "digest": cls.source_digest,
            "parameters": self.parameters,
            "probes": list(cls.probes),
        }


def name_of(cls: type[Control]) -> str:
    """Return the name by which a scenario names a class."""
    return f"{permission.CLASS}{cls.__module__}.{cls.__qualname__}"


def remember(cls: type[Control]) -> None:
    """Let scenarios of this process find a class that cannot be imported, such as that of a script."""
    if cls.source_digest is not None:
        known[name_of(cls), cls.source_digest] = cls


def _digest(cls: type[Control]) -> str | None:
    """Return a digest of the sources of a class and of its bases below `Control`."""
    bases = [base for base in cls.__mro__ if issubclass(base, Control) and base is not Control]
    sources = [_source(base) for base in bases]
    if any(source is None for source in sources):
        return None
    return hashlib.sha256("\0".join(map(str, sources)).encode()).hexdigest()[:16]


def _source(cls: type) -> str | None:
    try:
        return textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        pass
    # A class of a notebook has no file; its functions have.
    functions = [item for item in vars(cls).values() if isinstance(item, types.FunctionType)]
    own = [item for item in functions if item.__qualname__.startswith(cls.__qualname__ + ".")]
    try:
        sources = [
            textwrap.dedent(inspect.getsource(item)) for item in own if not item.__name__.startswith("__")
        ]
    except (OSError, TypeError):
        return None
    return "\n".join(sources) or None


def _found(name: str, field: str) -> type[Control]:
    """Return the class with this name, which is imported if necessary."""
    with _findable(name.removeprefix(permission.CLASS).partition(".")[0]):
        return _imported(name, field)


@contextmanager
def _findable(module: str) -> Iterator[None]:
    """Let a module of the working folder be imported, and what it imports from there, until the end of the block.

    The folder is no part of the path otherwise: libraries import optional packages, which would be found there.
    """
    if module in sys.modules or where(module) is not None:
        yield
        return
    finder = _Folder()
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Folder(MetaPathFinder):
    """Finds modules in the working folder."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, _working_folder(), target) if path is None else None
        if found is not None:
            modules_of_folder.add(name)
        return found


def _working_folder() -> list[str]:
    """Return the working folder, unless it has been removed."""
    try:
        return [str(Path.cwd())]
    except OSError:
        return []


def where(module: str, folders: Sequence[str] | None = None) -> ModuleSpec | None:
    """Return where a module is, of which nothing is run; ``None`` if it is not in these folders, or not on the path."""
    found: ModuleSpec | None = None
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        found = PathFinder.find_spec(".".join(parts[:end]), folders)
        if found is None:
            return None
        folders = found.submodule_search_locations
    return found


def _imported(name: str, field: str) -> type[Control]:
    """Return the class with this name from its module."""
    parts = name.removeprefix(permission.CLASS).split(".")
    deepest: types.ModuleType | None = None
    for length in range(len(parts) - 1, 0, -1):
        path = ".".join(parts[:length])
        if not all(parts[:length]):
            continue
        try:
            module = sys.modules.get(path) or importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is not None and not path.startswith(error.name):
                raise
            continue
        except (MemoryError, OSError):
            raise
        except Exception as error:
            if frames_of(error):
                raise
            # It has not run: its file is no module, such as one with NUL bytes.
            problem = f"cannot be imported ({error})"
            raise refusal(field, name, "a class in a module of Python", problem=problem) from error
        deepest = deepest or module
        found: Any = module
        for part in parts[length:]:
            found = getattr(found, part, None)
        if isinstance(found, type) and issubclass(found, Control) and found is not Control:
            return found
        if found is not None:
            raise refusal(field, name, _offered(module)[0], problem="is no congestion control")
    raise _not_found(name, parts, deepest, field)


def _not_found(name: str, parts: Sequence[str], module: types.ModuleType | None, field: str) -> ScenarioError:
    """Return the error about a name of which the module, or only the class, is missing."""
    if module is not None:
        missing = ".".join(parts).removeprefix(f"{module.__name__}.")
        problem = f"cannot be imported: the module {module.__name__} has no class {missing}"
        accepted, names = _offered(module)
        return refusal(field, name, accepted, names=names, near=missing, problem=problem)
    accepted = f'the name of a subclass of dumbbell.Control that can be imported, such as "{permission.CLASS}module.Class"'
    if len(parts) < 2:
        return refusal(field, name, accepted, problem="names no class of a module")
    searched = ", ".join([*_own_folders(), "the installed packages"])
    problem = f"cannot be imported: there is no module {parts[0]} in {searched}"
    return refusal(field, name, accepted, problem=problem)


def _offered(module: types.ModuleType) -> tuple[str, list[str]]:
    """Return the controls of a module, in words and by name."""
    names = [
        name
        for name, item in vars(module).items()
        if isinstance(item, type) and issubclass(item, Control) and item is not Control
    ]
    if not names:
        return f"a subclass of dumbbell.Control; {module.__name__} has none", names
    return f"a congestion control of {module.__name__}: {', '.join(names)}", names


def _own_folders() -> list[str]:
    """Return the folders in which modules are looked up, without those of installed packages."""
    from dumbbell.campaign.sources import LIBRARIES

    # It is looked into last; a user expects it first.
    here = [Path(folder) for folder in _working_folder()]
    path = (Path(entry).resolve() for entry in sys.path if Path(entry).is_dir())
    return [
        f"the working directory {folder}" if folder in here else str(folder)
        for folder in dict.fromkeys([*here, *path])
        if not any(folder.is_relative_to(one) for one in LIBRARIES)
    ]


def _made(cls: type[Control], parameters: Mapping[str, Any], field: str) -> Control:
    names = [item.name for item in dataclasses.fields(cast(Any, cls)) if item.init]
    for name, value in parameters.items():
        if name not in names:
            accepted = ", ".join(names) or "no parameters"
            problem = f"is not a parameter of {cls.__qualname__}"
            raise refusal(
                f"{field}.parameters.{name}", value, accepted, names=names, near=name, problem=problem
            )
    for item in dataclasses.fields(cast(Any, cls)):
        has_default = (
            item.default is not dataclasses.MISSING or item.default_factory is not dataclasses.MISSING
        )
        if item.init and not has_default and item.name not in parameters:
            accepted = f"a value: {name_of(cls)} has no default for it"
            raise refusal(f"{field}.parameters.{item.name}", "nothing", accepted, quoted=False)
    if inspect.isabstract(cls):
        problem = f"has no {' and no '.join(sorted(cls.__abstractmethods__))}"
        raise refusal(f"{field}.name", name_of(cls), "a class with on_ack and on_congestion", problem=problem)
    made = cls(**parameters)
    _check_kinds(made, field)
    return made


# The values that annotations accept, in words; another annotation accepts any plain data.
KINDS = {"float": "a number", "int": "a whole number", "bool": "true or false", "str": "text"}


def _check_kinds(made: Control, field: str) -> None:
    """Refuse a parameter that is not of the type of its annotation, unless it is the default, which may be of another."""
    for item in dataclasses.fields(cast(Any, made)):
        # Annotations that are not evaluated are text.
        kind = item.type if isinstance(item.type, str) else getattr(item.type, "__name__", "")
        value = getattr(made, item.name)
        is_default = value is item.default or (type(value) is type(item.default) and value == item.default)
        if not item.init or kind not in KINDS or is_default:
            continue
        path = f"{field}.parameters.{item.name}"
        found = type(plain(value, path)).__name__
        if found != kind and (kind, found) != ("float", "int"):
            raise refusal(path, value, KINDS[kind])


def stated(external: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Return the complete statement of a class that a scenario names.

    Parameters
    ----------
    external
        Its ``name``, as ``python:module.Class``, and ``parameters`` and ``probes`` if it has any.
    field
        The path of the statement, for errors.

    Raises
    ------
    ScenarioError
        The class is not allowed, cannot be imported, is no `Control`, or lacks a parameter.
    """
    name = external["name"]
    if permission.left_out(name):
        module, *rest = name.removeprefix(permission.CLASS).split(".")
        if not (rest and module and (where(module) or where(module, _working_folder()))):
            raise _not_found(name, [module, *rest], None, f"{field}.name")
        return {**external, "digest": permission.NOT_LOADED}
    permission.require(name, f"{field}.name")
    return {**made(name, external.get("parameters", {}), field).stated(), **external}


def made(name: str, parameters: Mapping[str, Any], field: str) -> Control:
    """Return an object of a class by its name and parameters; see `stated`."""
    return _made(_found(name, f"{field}.name"), parameters, field)


@dataclass(frozen=True, kw_only=True)
class Factory:
    """What the engine needs of a class.

    Parameters
    ----------
    new
        Returns a new object, which has not started.
    title
        The name of the class in errors.
    hooks
        The methods to call.
    rate_samples, model_based, reacts_to_marks
        As of `Control`.
    """

    new: Callable[[], Control]
    title: str
    hooks: tuple[str, ...]
    rate_samples: bool
    model_based: bool
    reacts_to_marks: bool


def class_of(name: str, digest: str, field: str = "tcp.external") -> type[Control]:
    """Return the class with this name and digest of its source.

    Parameters
    ----------
    name, digest
        As a scenario states them.
    field
        The path of the statement, for errors.

    Raises
    ------
    ScenarioError
        The class is not allowed, cannot be imported, or has another digest.
    """
    cls = known.get((name, digest))
    if cls is not None:
        return cls
    permission.require(name, f"{field}.name")
    cls = _found(name, f"{field}.name")
    if cls.source_digest != digest:
        accepted = f"{cls.source_digest}, the digest of {name} as it is now"
        raise refusal(f"{field}.digest", digest, accepted, problem="is that of another version")
    return cls


def factory(name: str, digest: str, parameters: str) -> Factory:
    """Return the factory of a control that a scenario states.

    Parameters
    ----------
    name
        As ``python:module.Class``.
    digest
        Digest of the source of the class.
    parameters
        Parameters, as JSON text.

    Raises
    ------
    ScenarioError
        The class cannot be imported, or has another digest.
    """
    cls = class_of(name, digest)
    stated = json.loads(parameters)
    _made(cls, stated, "tcp.external")
    return Factory(
        new=lambda: cls(**copy.deepcopy(stated)),
        title=cls.__qualname__,
        hooks=tuple(
            hook for hook in HOOKS if hook not in OPTIONAL or getattr(cls, hook) is not getattr(Control, hook)
        ),
        rate_samples=bool(cls.rate_samples),
        model_based=bool(cls.model_based),
        reacts_to_marks=bool(cls.reacts_to_marks),
    )
