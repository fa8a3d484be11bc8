"""Delivery opportunities of links in files: traces of Mahimahi, which scenario files name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell.errors import refusal
from dumbbell.files import read_text

LONGEST_MS = 10**12
"""Length of the longest trace that the engine accepts, ms."""

# Digits of a number; a longer one takes Python long to read.
LONGEST_NUMBER = 1000


def read_trace(path: Path) -> tuple[int, ...]:
    """Return the times of a trace, in milliseconds.

    Raises
    ------
    ScenarioError
        A line is no time, or is before the one above it; or the trace has no length. The message names file and line.
    OSError
        The file cannot be read.
    """
    times: list[int] = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        place, text = f"{path}, line {number}", line.strip()
        if not (text.isascii() and text.isdigit()):
            accepted = (
                "a whole number of milliseconds; `dumbbell trace import` makes a trace of a table of rates"
            )
            raise refusal(place, line, accepted)
        time = int(text) if len(text) <= LONGEST_NUMBER else LONGEST_MS + 1
        if time > LONGEST_MS:
            raise refusal(place, text, "a time of at most 10^12 milliseconds")
        if times and time < times[-1]:
            raise refusal(place, text, f"a time of at least that of the line before, {times[-1]}")
        times.append(time)
    if not times or times[-1] == 0:
        found = "no time" if not times else f"{len(times)} times of 0"
        raise refusal(str(path), found, "a trace whose last time, its length, is above 0", quoted=False)
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
