"""Errors and warnings of the command line: one line on standard error, an exit code, never a traceback.

An exception of a module of the user's is one line too, followed by the lines of that module that led to it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn, ParamSpec, TextIO

import typer

from dumbbell.cli.signals import exit_code
from dumbbell.errors import (
    ControlError,
    EngineError,
    IdenticalRunsWarning,
    ScenarioError,
    ScenarioWarning,
    TransportError,
)
from dumbbell.printable import printable
from dumbbell.tracebacks import frames_of

UNFINISHED = 2  # of rejected input

FAULTY = 1  # of an error of our own

# Lines of the user's modules that are shown of an exception.
MOST_FRAMES = 5

Parameters = ParamSpec("Parameters")


class _Messages(io.TextIOWrapper):
    """Standard error, on which a full disk loses messages and not the results."""

    def write(self, text: str, /) -> int:
        with contextlib.suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            super().flush()


def open_outputs() -> None:
    """Make standard output and standard error accept everything: they may be closed, or lack characters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the caller, who wants nothing of it.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dumbbell")
    if isinstance(sys.stderr, io.TextIOWrapper):
        encoding = sys.stderr.encoding
        sys.stderr = _Messages(sys.stderr.detach(), encoding, errors="dumbbell", line_buffering=True)


def say(text: str, *, controls: bool = False) -> None:
    """Write a line, or several, to standard output; with `controls`, a text of our own that has colours."""
    # In the encoding of the output, and with its handling of what it lacks, unlike `typer.echo`.
    try:
        sys.stdout.write(f"{text if controls else printable(text)}\n")
    except OSError as error:
        error.filename = "standard output"
        raise


def say_json(value: object, *, indent: int | None = None) -> None:
    """Write a JSON document to standard output, with escapes where the output lacks a character."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    say(text)


def end_outputs(code: int) -> int:
    """Write what is left of the outputs, and return the exit code: that of an error if the results cannot be written."""
    failure = _unwritten(sys.stdout)
    if failure is not None:
        note(f"error: standard output: {failure.strerror}")
        code = code or UNFINISHED
    if isinstance(sys.stderr, _Messages) and isinstance(sys.stderr.buffer, io.BufferedWriter):
        _unwritten(sys.stderr.buffer)
    return code


def _unwritten(stream: IO[Any]) -> OSError | None:
    """Return why a stream cannot be written, if it cannot; that nobody reads it, as behind `head`, is no error."""
    try:
        stream.flush()
    except OSError as error:
        # The interpreter would try it again at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return None if isinstance(error, BrokenPipeError) else error
    return None


def note(text: str) -> None:
    """Write one line to standard error; results are on standard output."""
    sys.stderr.write(f"{printable(text)}\n")


def guarded(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Return the command with warnings, bad input and interrupts turned into one line, and an exit code."""

    @functools.wraps(command)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            with warnings.catch_warnings():
                shown = warnings.showwarning

                def show(
                    message: Warning | str,
                    category: type[Warning],
                    filename: str,
                    lineno: int,
                    file: TextIO | None = None,
                    line: str | None = None,
                ) -> None:
                    if issubclass(category, ScenarioWarning | IdenticalRunsWarning):
                        note(f"warning: {message}")
                    else:
                        shown(message, category, filename, lineno, file, line)

                warnings.showwarning = show
                command(*args, **kwargs)
            sys.stdout.flush()
        except (ControlError, ScenarioError, TransportError) as error:
            refuse(str(error))
        except BrokenPipeError:
            _unwritten(sys.stdout)
            raise typer.Exit(0) from None
        except MemoryError as error:
            if frames_of(error):
                _report(error)
            refuse(
                f"not enough memory for this input ({error})"
                if str(error)
                else "not enough memory for this input"
            )
        except KeyboardInterrupt as interrupt:
            note(str(interrupt) or "interrupted")
            raise typer.Exit(exit_code()) from None
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, SystemExit) as error:
            _report(error)

    return wrapped


def refuse(text: str, code: int = UNFINISHED) -> NoReturn:
    """Print the error in one line and exit, by default with the code of bad input."""
    note("error: " + " ".join(text.split()))
    raise typer.Exit(code)


def _report(error: BaseException) -> NoReturn:
    """Say what went wrong in a module of the user's, in the system, or in this package."""
    frames = frames_of(error)
    if isinstance(error, OSError) and not (frames and frames[-1].is_innermost):
        if error.filename is None and (failure := _unwritten(sys.stdout)) is not None:
            refuse(f"standard output: {failure.strerror}")
        refuse(" ".join(filter(None, [_name_of(error), error.strerror or str(error)])))
    if isinstance(error, EngineError):
        refuse(str(error), FAULTY)
    text = ", ".join([_text_of(error), *map(str, getattr(error, "__notes__", ()))])
    if not frames:
        innermost = traceback.extract_tb(error.__traceback__)[-1]
        refuse(
            f"internal error, please report it: {text} (line {innermost.lineno} of {innermost.filename})",
            FAULTY,
        )
    note("error: " + " ".join(text.split()))
    for frame in frames[-MOST_FRAMES:]:
        note(" ".join(f"line {frame.line} of {frame.file}, in {frame.function}: {frame.text}".split()))
    raise typer.Exit(UNFINISHED)


def _name_of(error: OSError) -> str:
    return "" if error.filename is None else f"{error.filename}:"


def _text_of(error: BaseException) -> str:
    """Return class and message; the class may be the user's, and have no message."""
    try:
        message = str(error)
    except Exception:
        message = "without a message"
    return ": ".join(filter(None, [type(error).__name__, message]))
