"""The command line in the process of a test."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from dumbbell.cli import app


def invoke(*arguments: object, **options: Any) -> Result:
    """Return the end of a command; the options are those of `CliRunner.invoke`."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **options)


def refused(*arguments: object, **allowed: Any) -> str:
    """Return the single line of the error with which a command ends, see `error_of`."""
    return error_of(invoke(*arguments), **allowed)


def error_of(result: Result, *, code: int = 2, warned: bool = False) -> str:
    """Return the single line of an error; nothing else was printed, or only warnings before it."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    lines = [line for line in lines if not (warned and line.startswith("warning: "))]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0]
