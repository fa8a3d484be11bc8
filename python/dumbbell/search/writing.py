"""The files of a search: the worst scenario as TOML, and all numbers as JSON."""

from __future__ import annotations

from typing import Any

from dumbbell.files import write_json, write_text
from dumbbell.printable import printable
from dumbbell.search.found import Found
from dumbbell.search.objectives import Objective
from dumbbell.statistics import Interval

SCENARIO, RECORD = "worst.toml", "search.json"


def record(found: Found) -> dict[str, Any]:
    """Return the numbers of a search as plain data."""
    return {
        "algorithm": found.subject,
        "objective": found.objective,
        "seed": found.seed,
        "points": found.points,
        "elapsed_s": round(found.elapsed_s, 1),
        "value": _interval(found.value),
        "plain_value": _interval(found.plain_value),
        "changes": found.changes,
        "point": dict(found.point),
        "plain": dict(found.plain),
        "worst": dict(found.worst),
        "scenario": str(found.file),
        "hash": found.scenario.hash,
    }


def write(found: Found, objective: Objective) -> None:
    """Write the scenario with what was found as a comment, and the record.

    Raises
    ------
    ResultsError
        A file cannot be written.
    """
    lines = [
        f"The worst scenario of {found.subject} that a search of {found.points} points has found.",
        f"{found.objective}: {found.value:.3f}; of the plain scenario: {found.plain_value:.3f}.",
        f"That is the {objective.meaning}; means with 90 % intervals over 20 runs.",
        *(f"{change['meaning']}: {change['value']} (plain: {change['plain']})" for change in found.changes),
    ]
    comment = "".join(f"# {printable(' '.join(line.split()))}\n" for line in lines)
    write_text(found.file, f"{comment}\n{found.scenario.to_toml()}")
    write_json(found.file.with_name(RECORD), record(found))


def _interval(interval: Interval) -> dict[str, float]:
    return {"estimate": interval.estimate, "low": interval.low, "high": interval.high}
