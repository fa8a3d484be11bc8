"""Warnings about runs: settings without effect, and replications that do not differ."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

from dumbbell.errors import IdenticalRunsWarning, ScenarioWarning
from dumbbell.scenario import Scenario

# Maximum number of items in one warning; the others are counted.
MOST_WARNINGS = 5


def warn_of(scenarios: Iterable[Scenario]) -> None:
    """Warn the caller's caller once of all that scenarios state without effect."""
    found = dict.fromkeys(text for scenario in scenarios for text in scenario.warnings)
    if found:
        shown = list(found)[:MOST_WARNINGS]
        more = [f"and {len(found) - len(shown)} more"] if len(found) > len(shown) else []
        warnings.warn("; ".join(shown + more), ScenarioWarning, stacklevel=3)


def warn_of_identical_runs(alike: Sequence[tuple[Scenario, int, int]], *, stacklevel: int = 3) -> None:
    """Warn once of replications that do not differ.

    Parameters
    ----------
    alike
        Scenarios, each with its number of runs and of distinct fingerprints.
    stacklevel
        Whom to warn; the caller's caller by default.
    """
    said = [
        f'{runs} runs of "{scenario.name or "unnamed"}" have only {distinct} distinct '
        f"fingerprint{'' if distinct == 1 else 's'}"
        for scenario, runs, distinct in alike[:MOST_WARNINGS]
    ]
    if len(alike) > MOST_WARNINGS:
        said.append(f"and so on for {len(alike) - MOST_WARNINGS} more")
    warnings.warn(
        f"{', '.join(said)}: identical runs are not replications; make something random, such as "
        'start=Uniform(uniform=("0 s", "1 s")), or use one run',
        IdenticalRunsWarning,
        stacklevel=stacklevel,
    )
