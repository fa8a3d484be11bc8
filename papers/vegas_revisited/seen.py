"""Observations by name, each concluded from its runs when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.judge.reads import Remembered, RunsByKey

from .looks import PREFIX
from .observations import LOOKS, conclude

# The look that an observation of another name is concluded in.
CONCLUDED_IN = {"thresholds": "figure_2"}
SEVERAL = "long_flows"

TABLES, COMPARED = "tables_one_and_four", "compared/"


class Seen(Mapping[str, Any]):
    """What was observed in runs and in the engine, by name.

    Parameters
    ----------
    runs
        The runs by key.
    observed
        What was observed without runs.
    """

    def __init__(self, runs: RunsByKey, observed: Mapping[str, Any]) -> None:
        self._runs = runs
        self._observed = observed
        self._concluded: Remembered[str, dict[str, Any]] = Remembered()

    def _of_runs(self, prefix: str) -> dict[str, Any]:
        """Return the observations in the runs whose keys begin so, by name; none without such runs."""

        def concluded() -> dict[str, Any]:
            runs = self._runs.of(prefix)
            return {} if runs is None else conclude(runs)

        return self._concluded.of(prefix, concluded)

    def _found(self, name: str) -> dict[str, Any]:
        looks = {look.name for look in LOOKS}
        look = CONCLUDED_IN.get(name, name if name in looks else SEVERAL)
        return self._of_runs(COMPARED if name == TABLES else f"{PREFIX}/{look}/")

    def __getitem__(self, name: str) -> Any:
        """Return an observation."""
        return self._observed[name] if name in self._observed else self._found(name)[name]

    def __contains__(self, name: object) -> bool:
        """Return whether something of this name was observed."""
        return isinstance(name, str) and (name in self._observed or name in self._found(name))

    def __iter__(self) -> Iterator[str]:
        """Return the names."""
        places = [*(f"{PREFIX}/{look.name}/" for look in LOOKS), COMPARED]
        yield from self._observed
        for place in places:
            yield from self._of_runs(place)

    def __len__(self) -> int:
        """Return the number of observations."""
        return sum(1 for _ in self)
