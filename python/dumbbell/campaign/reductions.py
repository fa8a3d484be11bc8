"""The default reduction of completed runs, and the digest of the code of a reduction."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dumbbell.campaign.sources import module_identity, own_sources
from dumbbell.errors import refusal
from dumbbell.runs import Runs

OF_RUNS = ("fingerprint", "simulated_s", "events")

ACCEPTED = "a named function of dumbbell.Runs that uses no variables of an enclosing function"


def tables(runs: Runs) -> pa.Table:
    """Return the tables of flows and links of each run, whole.

    Parameters
    ----------
    runs
        Completed runs.

    Returns
    -------
    pyarrow.Table
        One row per run, in the order of ``runs.jobs``: ``fingerprint``, ``simulated_s`` (seconds) and ``events``; ``flows``
        and ``links``, lists of structs with the other fields of ``Runs.flows`` and ``Runs.links``.
    """
    count = len(runs.jobs)
    flows = runs.arrow_flows
    # All flows of a run agree on this value.
    first = pc.index_in(pa.array(np.arange(count, dtype=np.uint32)), flows["job"].combine_chunks())
    columns: dict[str, Any] = {name: flows[name].combine_chunks().take(first) for name in OF_RUNS}
    columns["flows"] = _by_run(flows, count)
    columns["links"] = _by_run(runs.arrow_links, count)
    return pa.table(columns)


def _by_run(table: pa.Table, count: int) -> pa.Array:
    """Return the rows of each run as a list of structs, without the columns that name the run or are of it."""
    offsets = np.searchsorted(table["job"].to_numpy(), np.arange(count + 1)).astype(np.int32)
    names = [name for name in table.column_names if name not in ("job", "seed", "run", *OF_RUNS)]
    rows = table.select(names).combine_chunks().to_struct_array()
    if isinstance(rows, pa.ChunkedArray):
        rows = rows.combine_chunks()
    return pa.ListArray.from_arrays(pa.array(offsets), rows)


def function_identity(function: Callable[..., Any]) -> str:
    """Return a digest of the code of a reduction.

    For a function in a module, the digest covers its source file, that file's imports from its own folder, and the
    data files named there: see `dumbbell.campaign.sources`. For a function defined in a notebook, at the prompt or
    in the running script, where edits of other lines do not affect it, the digest covers its code, the functions it
    uses, and the values of the numbers and strings it uses.

    Parameters
    ----------
    function
        A named function.

    Raises
    ------
    ScenarioError
        It is not a named function, or uses something without a digest.
    """
    if function is tables:
        # It passes on the output of the engine, so only this file and that of `Runs` matter.
        names = [tables.__module__, Runs.__module__]
        content = b"".join(Path(str(sys.modules[name].__file__)).read_bytes() for name in names)
        return hashlib.blake2b(content, digest_size=6).hexdigest()
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>" or function.__closure__:
        raise refusal("reduce", _name(function), ACCEPTED, quoted=False)
    module = sys.modules.get(function.__module__)
    if function.__module__ != "__main__" and getattr(module, "__file__", None) is not None:
        return module_identity(function.__module__)
    digest = hashlib.blake2b(digest_size=6)
    for text in _parts(function, set()):
        digest.update(f"{len(text)}/{text}".encode())
    return digest.hexdigest()


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__name__)


def _parts(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """Yield the parts of a function that is not in a module."""
    if function in seen:
        return
    seen.add(function)
    yield function.__name__
    yield _value(function, "the default values", (function.__defaults__, function.__kwdefaults__))
    names: set[str] = set()
    for code in _codes(function.__code__):
        names.update(code.co_names)
        constants = [_constant(value) for value in code.co_consts if not isinstance(value, CodeType)]
        yield repr((code.co_code.hex(), code.co_names, code.co_varnames, constants))
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            if value.__closure__:
                raise refusal("reduce", _name(function), f"{ACCEPTED}; {name} has some", quoted=False)
            yield from _parts(value, seen)
        else:
            yield f"{name}={_value(function, name, value)}"


def _contents(module: str) -> str:
    """Return the files of a module that the user may edit."""
    return "".join(file.read_bytes().hex() for file in own_sources(module))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _constant(value: Any) -> str:
    # Sets are unordered.
    return repr(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


def _value(function: FunctionType, name: str, value: Any) -> str:
    """Return a text for the value of a name in a function."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(_value(function, name, item) for item in value)})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{key!r}: {_value(function, name, item)}' for key, item in value.items())})"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(_value(function, name, item) for item in value))})"
    if isinstance(value, ModuleType):
        return value.__name__ + _contents(value.__name__)
    if (inspect.isroutine(value) or inspect.isclass(value)) and value.__module__ != "__main__":
        return f"{value.__module__}.{value.__qualname__}" + _contents(value.__module__ or "")
    raise refusal(
        "reduce",
        f"{_name(function)} uses {name}, a {type(value).__name__}",
        "functions, modules, numbers and texts there; put the reduction into a module of its own",
        problem="which has no digest",
        quoted=False,
    )
