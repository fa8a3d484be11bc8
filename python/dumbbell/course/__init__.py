"""The checks of the course: six sheets of 90 minutes, in ``examples/course``.

`check` judges the answer to a task. It calculates or measures the truth at that moment, on the networks that the sheets
use: `alone`, `two`, `many` and `call`. Nothing is stored. ``docs/course.md`` describes the course for teachers.

Examples
--------
>>> from dumbbell.course import check
>>> check("1.1", 10e6 * 0.040 / 8 / 1500)
Task 1.1: accepted. 33.33 packets: rate times round-trip time over the packet size.
>>> check("1.1", 10e6 * 0.040 / 1500)
Task 1.1: rejected. Bits or bytes? Check both numbers of the fraction.
>>> check("1.1", ...)
Task 1.1: unanswered. Not answered yet; expected is a number (packets), within 2.5 %.
"""

from __future__ import annotations

from typing import Any

from dumbbell.course import bbr_cubic, bufferbloat, buffers, own, slow_start, unfairness
from dumbbell.course.kinds import Task
from dumbbell.course.networks import alone, call, many, two
from dumbbell.course.verdicts import Verdict
from dumbbell.errors import refusal

__all__ = ["Verdict", "alone", "call", "check", "many", "tasks", "two"]

_SHEETS = (slow_start, buffers, unfairness, bufferbloat, bbr_cubic, own)
_TASKS: dict[str, Task] = {name: task for sheet in _SHEETS for name, task in sheet.TASKS.items()}


def tasks() -> list[str]:
    """Return the names of all tasks, as ``"1.3"`` for the third one of the first sheet."""
    return list(_TASKS)


def check(task: str, answer: Any = None) -> Verdict:
    """Judge the answer to a task.

    Parameters
    ----------
    task
        Name of the task, as ``"1.3"``.
    answer
        A number in the unit that the task states, a letter, a text, or a congestion control. ``None`` and ``...`` are
        unanswered.

    Returns
    -------
    Verdict
        Whether the answer is accepted, with the truth; or rejected, with a hint. No answer raises an exception.

    Raises
    ------
    ScenarioError
        There is no such task.
    """
    if not isinstance(task, str) or task not in _TASKS:
        raise refusal("task", task, f'a task of the course, "{tasks()[0]}" to "{tasks()[-1]}"', names=_TASKS)
    asked = _TASKS[task]
    if answer is None or answer is ...:
        return Verdict(
            task=task, outcome="unanswered", text=f"Not answered yet; expected is {asked.expected()}."
        )
    outcome, text = asked.judged(answer)
    return Verdict(task=task, outcome=outcome, text=text)
