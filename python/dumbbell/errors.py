"""What can go wrong, by name.

Bad input of any kind is a `ScenarioError` (a `ValueError`): it names the field, the value, what is accepted
and, for a misspelt name, a near miss. What is accepted but has no effect is a `ScenarioWarning`, and
replications that do not differ are an `IdenticalRunsWarning`. An interrupted batch is a `RunsInterrupted` (a
`KeyboardInterrupt`) that carries what was finished. An engine that finds itself at fault raises `EngineError`.
Files that cannot be read stay the `OSError` they are; of those that hold results it is a `ResultsError`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dumbbell._engine import EngineError, ScenarioError

if TYPE_CHECKING:
    from dumbbell.run import Runs

__all__ = [
    "EngineError",
    "IdenticalRunsWarning",
    "ResultsError",
    "RunsInterrupted",
    "ScenarioError",
    "ScenarioWarning",
    "refusal",
]


class ScenarioWarning(UserWarning):
    """A scenario that is run states something that has no effect, such as a start after the end.

    `dumbbell.Scenario.warnings` has the same sentences.
    """


class IdenticalRunsWarning(UserWarning):
    """Runs of one scenario with different seeds or numbers have equal fingerprints: they are one run, repeated.

    Statistics over such runs have intervals without width. Random starts (`dumbbell.Uniform`), tick phases, losses
    or traffic make replications differ.
    """


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
    near: str | None = None,
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
        The known names, among which a near miss is looked for.
    near
        What the near miss is to; `value` unless stated.
    problem
        What is wrong with the value, as the predicate of a sentence.
    quoted
        Whether a value that is text is shown in quotation marks: it is, unless it only describes what was
        found.
    """
    matches = difflib.get_close_matches(str(value) if near is None else near, list(names), n=1)
    suggestion = matches[0] if matches else None
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
