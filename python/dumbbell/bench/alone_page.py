"""The report on flows alone."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.bench.alone_cases import Result, Rule
from dumbbell.campaign import engine_identity
from dumbbell.judge.criterion import Criterion, criteria_table
from dumbbell.report import Cell, Column, Section, Table, Text, render_page
from dumbbell.report.numbers import signed

METHOD = [
    "One flow on a link with a drop-tail queue, with unlimited buffers of hosts and without an initial threshold. The "
    "measurement begins after a minute and a hundred round trips, and lasts for at least a minute.",
    "The part of the link used is that of new data with its headers: what is sent twice does not count. The reference is "
    "what a window uses in theory that a loss halves and that grows by a segment per round trip. It counts whole packets "
    "and the round trip of the recovery; with delayed acknowledgements, a round trip is a packet longer. That of Tahoe "
    "has slow starts. Congestion controls that keep more of the window, or keep a queue, use more.",
    "What is below its reference is run again without a rule of its TCP. A rule explains the result if it reaches the "
    "reference without it.",
]


def page(
    results: Sequence[Result], rules: Sequence[Rule], *, criteria: Sequence[Criterion], quick: bool
) -> str:
    """Return the report as the text of one self-contained HTML file.

    Parameters
    ----------
    results
        Every flow on every link.
    rules
        Those to which results may be traced.
    criteria
        What was wanted.
    quick
        Whether fewer links were run.
    """
    links = len({one.setting for one in results})
    return render_page(
        title="One flow alone",
        subtitle="The part of a link that every TCP of every environment uses, compared with theory.",
        facts=[("Dumbbell", engine_identity()), ("links", str(links)), ("runs", f"{len(results):,}")],
        notice="A trial: fewer links." if quick else "",
        sections=[
            Section(anchor="criteria", title="Criteria", blocks=[criteria_table(criteria)]),
            Section(anchor="worst", title="Worst results", blocks=[_worst(results)]),
            Section(anchor="rules", title="Rules that leave a part unused", blocks=[_rules(results, rules)]),
            Section(anchor="how", title="Method", blocks=[Text(paragraphs=METHOD)]),
        ],
    )


def _worst(results: Sequence[Result]) -> Table:
    environments = list(dict.fromkeys(one.sender.rules for one in results))
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one.sender.variant, one.sender.rules), []).append(one)
    variants = dict.fromkeys(variant for variant, _ in groups)
    return Table(
        caption="The lowest result of each TCP less its reference, % of the link",
        columns=[*Column.words("variant"), *Column.numbers(*environments)],
        rows=[
            [variant, *(_cell(groups.get((variant, rules), [])) for rules in environments)]
            for variant in variants
        ],
        note="Below it, the results that are more than 2 % below the reference, if any. Pointing at a cell shows the link.",
    )


def _cell(results: Sequence[Result]) -> Cell | str:
    if not results:
        return "–"
    below = [one for one in results if one.is_below]
    untraced = [one for one in below if not one.rule]
    worst = min(untraced or below or results, key=lambda one: one.gap)
    return Cell(
        text=signed(100 * worst.gap),
        detail=f"{len(below)} of {len(results)}" if below else "",
        tone="bad" if untraced else "muted" if below else "good",
        hint=f"{worst.setting.label}: {worst.used:.3f} of {worst.reference:.3f}; {worst.rule}".rstrip("; "),
    )


def _rules(results: Sequence[Result], rules: Sequence[Rule]) -> Table:
    rows: list[list[Cell | str]] = []
    for rule in rules:
        explained = [one for one in results if one.rule == rule.name]
        worst = min(explained, key=lambda one: one.gap, default=None)
        rows.append(
            [
                Cell(text=rule.name, detail=rule.source),
                ", ".join(dict.fromkeys(one.sender.variant for one in explained)),
                f"{len(explained):,}",
                "" if worst is None else Cell(text=signed(100 * worst.gap), detail=worst.setting.label),
            ]
        )
    return Table(
        caption="Results that reach their reference without a rule",
        columns=[*Column.words("rule", "variants"), *Column.numbers("results", "lowest [% of the link]")],
        rows=rows,
    )
