"""Where an exception comes from: the lines of the user's own modules, from this process or another one."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """A line of code that was running: its file, number, function and text, and whether it raised the exception."""

    file: str
    line: int
    function: str
    text: str
    is_innermost: bool


class Elsewhere(Exception):  # noqa: N818 - the cause of an error
    """The cause of an exception that was raised in another process, whose traceback does not travel.

    Parameters
    ----------
    text
        The traceback.
    frames
        The lines of the user's own modules in it.
    """

    def __init__(self, text: str, frames: Sequence[Frame]) -> None:
        super().__init__(f"in the process that ran the job:\n{text}")
        self.text = text
        self.frames = frames

    def __reduce__(self) -> tuple[type[Elsewhere], tuple[str, Sequence[Frame]], dict[str, Any]]:
        return type(self), (self.text, self.frames), self.__dict__


def frames_of(error: BaseException) -> Sequence[Frame]:
    """Return the lines of the user's own modules in the traceback of an exception, the innermost last."""
    if isinstance(error.__cause__, Elsewhere):
        return error.__cause__.frames
    frames = traceback.extract_tb(error.__traceback__)
    found = [
        Frame(frame.filename, frame.lineno or 0, frame.name, frame.line or "", frame is frames[-1])
        for frame in frames
        if _is_own(frame.filename)
    ]
    if isinstance(error, SyntaxError) and error.filename and _is_own(error.filename):
        # Such a module has not run.
        text = (error.text or "").strip()
        found.append(Frame(error.filename, error.lineno or 0, "<module>", text, is_innermost=True))
    return found


def _is_own(file: str) -> bool:
    """Return whether a file is neither of this package nor of an installed one."""
    import dumbbell
    from dumbbell.campaign.sources import is_installed

    if file.startswith("<frozen ") or is_installed(file):
        return False
    return not Path(file).resolve().is_relative_to(Path(dumbbell.__file__).resolve().parent)
