"""Errors and warnings of the command line: one line on standard error, an exit code, never a traceback."""

from __future__ import annotations

import functools
import io
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, ParamSpec, TextIO

import typer

from dumbbell.errors import (
    ControlError,
    IdenticalRunsWarning,
    RunsInterrupted,
    ScenarioError,
    ScenarioWarning,
)
from dumbbell.printable import printable

__all__ = ["UNFINISHED", "guarded", "note", "open_outputs", "refuse", "say", "say_json"]

UNFINISHED = 2  # of rejected input and of interrupts

Parameters = ParamSpec("Parameters")


def open_outputs() -> None:
    """Make standard output and standard error accept everything: they may be closed, or lack characters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # Closed by the caller, who wants nothing of it.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="dumbbell")


def say(text: str, *, controls: bool = False) -> None:
    """Write a line, or several, to standard output; with `controls`, a text of our own that has colours."""
    # In the encoding of the output, and with its handling of what it lacks, unlike `typer.echo`.
    sys.stdout.write(f"{text if controls else printable(text)}\n")


def say_json(value: object, *, indent: int | None = None) -> None:
    """Write a JSON document to standard output, with escapes where the output lacks a character."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=indent)
    say(text)


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
        except (ControlError, ScenarioError) as error:
            refuse(str(error))
        except BrokenPipeError:
            # The pipe was closed, as by `head`. The rest of the buffer cannot be written.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename is not None else ""
            refuse(f"{where}{error.strerror or error}")
        except RunsInterrupted as interrupt:
            note(str(interrupt))
            raise typer.Exit(UNFINISHED) from None
        except KeyboardInterrupt as interrupt:
            note(str(interrupt) or "interrupted")
            raise typer.Exit(UNFINISHED) from None

    return wrapped


def refuse(text: str) -> NoReturn:
    """Print the error in one line and exit with the code of bad input."""
    note("error: " + " ".join(text.split()))
    raise typer.Exit(UNFINISHED)
