"""One judge of results: what was measured, how sure that is, and whether it holds.

The way is one direction: runs, `estimate`, `rule`, `verdict`, `table`. Papers, evaluations, cross-validations and benchmarks
are values over it and do not know each other; nothing here knows a paper, a peer or an item.

`quantity`
    What is measured: column, label, unit, scale, digits and bounds.
`runs`, `pairs`
    Runs by key, pooled or resampled; pairs of runs that share their random numbers.
`estimate`
    A value with its interval. The rule of intervals is stated there.
`rule`, `baseline`, `agreement`
    Within a tolerance, an ordering, a share; a limit against a baseline; agreement of two sides.
`verdict`
    Holds, does not hold, undecided or not checkable, with the reason.
`criterion`, `table`
    Verdicts and comparisons as rows of a report.
"""
