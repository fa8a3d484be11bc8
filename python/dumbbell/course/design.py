"""Tasks whose answer is a congestion control: it runs alone and against CUBIC, and has to meet criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dumbbell
from dumbbell.course.kinds import Judgement
from dumbbell.course.networks import alone, two
from dumbbell.errors import ControlError

RUNS = 3
DEEP = "8 BDP"


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A bound of a measured quantity.

    Parameters
    ----------
    quantity
        A key of `MEASURES`.
    low, high
        Accepted values, in its unit.
    hint
        For a control that misses it.
    """

    quantity: str
    low: float = float("-inf")
    high: float = float("inf")
    hint: str

    def is_met(self, value: float) -> bool:
        """Return whether a value is within the bounds."""
        return self.low <= value <= self.high

    def bounds(self) -> str:
        """Return the bounds in words."""
        if self.low == float("-inf"):
            return f"at most {self.high:g}"
        if self.high == float("inf"):
            return f"at least {self.low:g}"
        return f"{self.low:g} to {self.high:g}"


MEASURES = {
    "utilization alone": "%",
    "queueing delay alone": "ms",
    "share beside CUBIC": "%",
}
"""What is measured of a control, with units: alone behind a buffer of 8 bandwidth-delay products, and beside CUBIC behind
one of a single product; means over runs."""


def measured(control: Any) -> Mapping[str, float]:
    """Return the `MEASURES` of a control."""

    def runs(scenario: dumbbell.Scenario) -> dumbbell.Runs:
        # One thread: other processes cannot have the class of a notebook without further packages.
        return dumbbell.run_many(scenario, runs=RUNS, seed=1, threads=1, progress=False)

    single = runs(alone(control, queue=DEEP, duration="25 s")).links.query("name == 'r1-r2'")
    beside = runs(two(control, "cubic", names=("own", "cubic"))).flows
    goodput = beside.groupby("name").goodput_bps.mean()
    values = (
        100 * single.utilization.mean(),
        1e3 * single.wait_mean_s.mean(),
        100 * goodput["own"] / goodput.sum(),
    )
    return dict(zip(MEASURES, map(float, values), strict=True))


@dataclass(frozen=True, kw_only=True)
class Design:
    """A task whose answer is a `dumbbell.Control`.

    Parameters
    ----------
    criteria
        What the control has to meet. Quantities without a criterion are shown as well.
    """

    criteria: Sequence[Criterion]

    def expected(self) -> str:
        """Return what is expected and the criteria."""
        stated = "; ".join(f"{one.quantity} {one.bounds()} {MEASURES[one.quantity]}" for one in self.criteria)
        return f"a subclass of dumbbell.Control, or an object of one, with {stated}"

    def judged(self, answer: Any) -> Judgement:
        """Check the control, run it, and compare what it reaches with the criteria."""
        is_class = isinstance(answer, type) and issubclass(answer, dumbbell.Control)
        if not is_class and not isinstance(answer, dumbbell.Control):
            return "rejected", f"Expected {self.expected()}."
        try:
            control = answer() if is_class else answer
            dumbbell.check(control)
            values = measured(control)
        except ControlError as error:
            return "rejected", f"The engine refuses the class: {error}"
        except Exception as error:
            notes = " ".join(getattr(error, "__notes__", ()))
            return "rejected", f"The class raised {type(error).__name__}: {error}. {notes}".strip()
        missed = [one for one in self.criteria if not one.is_met(values[one.quantity])]
        text = "\n".join([*(one.hint for one in missed), "", *self._table(values)])
        return ("rejected" if missed else "accepted"), text if missed else f"All criteria are met.\n{text}"

    def _table(self, values: Mapping[str, float]) -> list[str]:
        """Return the lines of a table of quantities, values, criteria and whether these are met."""
        stated = {one.quantity: one for one in self.criteria}
        lines = [f"{'quantity':<22}{'unit':<6}{'value':>8}  {'criterion':<14}met"]
        for name, unit in MEASURES.items():
            one = stated.get(name)
            met = "" if one is None else "yes" if one.is_met(values[name]) else "no"
            bounds = "-" if one is None else one.bounds()
            lines.append(f"{name:<22}{unit:<6}{values[name]:>8.1f}  {bounds:<14}{met}".rstrip())
        return lines
