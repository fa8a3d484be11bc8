"""What can go wrong, by name.

Bad input of any kind is a `ScenarioError` (a `ValueError`): it names the field, the value, what is accepted
and, for a misspelt name, a near miss. An interrupted batch is a `RunsInterrupted` (a `KeyboardInterrupt`)
that carries what was finished. An engine that finds itself at fault raises `EngineError`. Files that cannot be
read stay the `OSError` they are; of those that hold results it is a `ResultsError`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dumbbell._engine import EngineError, ScenarioError

if TYPE_CHECKING:
    from dumbbell.run import Runs

__all__ = ["EngineError", "ResultsError", "RunsInterrupted", "ScenarioError", "refusal"]


class ResultsError(OSError):
    """A file of results could not be read or written, as on a full disk; `filename` names it.

    What was kept before is kept: the same command goes on from there when the cause is gone.
    """


class RunsInterrupted(KeyboardInterrupt):
    """A batch of runs was interrupted; `runs` holds the finished ones.

    Parameters
    ----------
    runs
        The finished part. Its `completed` is smaller than the number of its `jobs`.
    """

    def __init__(self, runs: Runs) -> None:
        super().__init__(f"interrupted after {runs.completed} of {len(runs.jobs)} runs")
        self.runs = runs


def refusal(
    field: str,
    value: object,
    accepted: str,
    *,
    names: Iterable[str] = (),
    problem: str = "is not accepted",
    quoted: bool = True,
) -> ScenarioError:
    """Return a `ScenarioError` in the form the engine's own have, for a check made on the Python side.

    Parameters
    ----------
    field
        The path of the field, as ``flows.fg.tcp``.
    value
        What was found there.
    accepted
        What would have been accepted.
    names
        The known names, among which a near miss to `value` is looked for.
    problem
        What is wrong with the value, as the predicate of a sentence.
    quoted
        Whether a value that is text is shown in quotation marks: it is, unless it only describes what was
        found.
    """
    near = difflib.get_close_matches(str(value), list(names), n=1)
    suggestion = near[0] if near else None
    shown = f'"{value}"' if isinstance(value, str) and quoted else str(value)
    text = f"{field}: {shown} {problem}; expected {accepted}"
    if suggestion is not None:
        text += f" (did you mean `{suggestion}`?)"
    error = ScenarioError(text)
    error.field = field
    error.value = shown
    error.accepted = accepted
    error.suggestion = suggestion
    return error
