"""One judge of results: what was measured, how sure that is, and whether it holds.

The way is one direction: runs, estimate, rule, verdict, page. Papers, evaluations, cross-validations and benchmarks are values
over it and do not know each other; nothing here knows a paper, a peer or an item.

`quantity`
    What is measured: column, label, unit, scale, digits and bounds.
`runs`, `pairs`
    Runs by key with resamples; pairs of runs of two sides.
`estimate`
    A value with its interval. The rule of intervals is stated there.
`rule`
    Within a tolerance, an ordering, a share; the judgement: holds, does not hold, undecided or not checkable, and why.
`bound`
    Comparisons with numbers, which judge and are printed.
`baseline`, `agreement`
    A limit against baselines; agreement of two sides at the points of a grid.
`criterion`
    Stated aims and whether they are reached, as rows of a report.
"""
