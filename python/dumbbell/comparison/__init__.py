"""Comparisons of two sides: runs, campaigns, versions of an algorithm, or the simulator and a kernel.

`sides`
    What can be compared, read as runs.
`changes`
    What changed in the scenarios, field by field of the canonical form.
`pairing`
    Whether both sides draw the same random numbers.
`rows`
    Differences of quantities with intervals.
`compared`
    The result: tables, picture, JSON, page.

Intervals are those of `dumbbell.judge.estimate`.
"""

from dumbbell.comparison.compared import Comparison, compare

__all__ = ["Comparison", "compare"]
