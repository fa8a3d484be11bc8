"""Exceptions and warnings.

Bad input of any kind is a `ScenarioError` (a `ValueError`): it names the field, the value, what is accepted
and, for a misspelt name, a near miss. A setting that is accepted but has no effect gives a `ScenarioWarning`, and
replications that do not differ give an `IdenticalRunsWarning`. An interrupted batch raises `dumbbell.RunsInterrupted` (a
`KeyboardInterrupt`) with the completed runs. A run in real time raises `MachineError` if the machine lacks
something, and `RealTimeError` if something else went wrong. A congestion control of the user with an invalid window raises
`ControlError`, and a transport of others that cannot be started or fails a `TransportError`. An engine that detects an
internal error raises `EngineError`. Files that cannot be read raise `OSError`; result files raise `ResultsError`.
"""

from __future__ import annotations

import difflib
import shlex
import sys
from collections.abc import Iterable

from dumbbell._engine import ControlError, EngineError, ScenarioError, TransportError

# A longer value is cut in an error.
LONGEST_SHOWN = 200

__all__ = [
    "ControlError",
    "EngineError",
    "IdenticalRunsWarning",
    "MachineError",
    "RealTimeError",
    "ResultsError",
    "ScenarioError",
    "ScenarioWarning",
    "TransportError",
    "installation",
    "refusal",
]


class ScenarioWarning(UserWarning):
    """A scenario contains a setting without effect, such as a start after the end.

    `dumbbell.Scenario.warnings` lists the same sentences.
    """


class IdenticalRunsWarning(UserWarning):
    """Runs of one scenario with different seeds or run numbers have equal fingerprints, so they are identical.

    Intervals over such runs have zero width. Random starts (`dumbbell.Uniform`), tick phases, losses
    or traffic make replications differ.
    """


class ResultsError(OSError):
    """A file of results could not be read or written, as on a full disk; `filename` names it.

    Earlier results remain stored. When the cause is removed, the same command resumes.
    """

    def __str__(self) -> str:
        return super().__str__() if self.filename is None else f"{self.filename}: {self.strerror}"


class MachineError(RuntimeError):
    """The machine cannot run scenarios in real time; the message says what it lacks, and how to get it."""


class RealTimeError(RuntimeError):
    """A run in real time failed, and left nothing behind."""


def refusal(
    field: str,
    value: object,
    accepted: str,
    *,
    names: Iterable[str] = (),
    near: str | None = None,
    problem: str = "is not accepted",
    quoted: bool = True,
) -> ScenarioError:
    """Return a `ScenarioError` in the form used by the engine, for a check on the Python side.

    Parameters
    ----------
    field
        The path of the field, as ``flows.fg.tcp``.
    value
        The value found there.
    accepted
        The accepted values.
    names
        The known names, which are searched for a near miss.
    near
        The name to which the near miss is compared; `value` by default.
    problem
        What is wrong with the value, as the predicate of a sentence.
    quoted
        Whether a string is shown in quotation marks; false for descriptions of a value.
    """
    compared = str(value) if near is None and isinstance(value, str) else near or ""
    matches = difflib.get_close_matches(compared[:LONGEST_SHOWN], list(names), n=1)
    suggestion = matches[0] if matches else None
    shown = _shown(value, quoted=quoted)
    text = f"{field}: {shown} {problem}; expected {accepted}"
    if suggestion is not None:
        text += f" (did you mean `{suggestion}`?)"
    error = ScenarioError(text)
    error.field = field
    error.value = shown
    error.accepted = accepted
    error.suggestion = suggestion
    return error


def installation(extra: str) -> str:
    """Return the command that installs an extra of the package, for errors.

    It names the interpreter that runs: another one, or another `pip`, may not have this package, as in a checkout.
    """
    return f"{shlex.quote(sys.executable)} -m pip install 'dumbbell[{extra}]'"


def _shown(value: object, *, quoted: bool) -> str:
    """Return a value as an error shows it: whole if it is short, and never an error of its own."""
    try:
        text = str(value)
    except (RecursionError, ValueError):
        # A table that contains itself, or a number of thousands of digits.
        return f"this {type(value).__name__}"
    if len(text) > LONGEST_SHOWN:
        text = f"{text[:LONGEST_SHOWN]}…"
    return f'"{text}"' if isinstance(value, str) and quoted else text
