"""Delivery opportunities of links in files: traces of Mahimahi, which scenario files name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell.errors import refusal
from dumbbell.files import read_text

__all__ = ["read_trace", "with_traces"]


def read_trace(path: Path) -> tuple[int, ...]:
    """Return the times of a trace, in milliseconds; order and bounds are checked by the engine."""
    times = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not (line.strip().isascii() and line.strip().isdigit()):
            accepted = "a whole number of milliseconds"
            raise refusal(f"{path}, line {number}", f'"{line}"', accepted, quoted=False)
        times.append(int(line))
    return tuple(times)


def with_traces(data: Mapping[str, Any], folder: Path) -> dict[str, Any] | None:
    """Return the data of a scenario with the times of the traces that its links name as ``opportunities.file``.

    Relative names are those of files in ``folder``. The result is ``None`` if there are none.
    """
    links = data.get("links")
    if not isinstance(links, list) or not any(_file_of(link) for link in links):
        return None
    return {**data, "links": [_with_trace(link, folder) for link in links]}


def _file_of(link: Any) -> str | None:
    """Return the file that a link names; what is not as it should be is left to the engine."""
    stated = link.get("opportunities") if isinstance(link, Mapping) else None
    named = stated.get("file") if isinstance(stated, Mapping) and "times" not in stated else None
    return named if isinstance(named, str) and named else None


def _with_trace(link: Any, folder: Path) -> Any:
    file = _file_of(link)
    if file is None:
        return link
    rest = {member: value for member, value in link["opportunities"].items() if member != "file"}
    return {**link, "opportunities": {"times": list(read_trace(folder / file)), **rest}}
