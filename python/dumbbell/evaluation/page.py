"""The report of an evaluation: verdicts at a glance, and each item with its figure, its numbers and its command."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.evaluation.figures import figure_of
from dumbbell.evaluation.item import ORDER, Item, Judged, Verdict, verdict_of
from dumbbell.evaluation.study import Study
from dumbbell.judge.baseline import RELAXED, Comparison, Limit
from dumbbell.judge.quantity import CONFIDENCE, Quantity
from dumbbell.report import Block, Cell, Column, Details, Section, Table, Text, Tone, render_page
from dumbbell.statistics import Interval

TONES: dict[Verdict, Tone] = {
    "fails": "bad",
    "worse than the baselines": "bad",
    "pass": "good",
    "undecided": "strong",
    "reported": "",
    "not applicable": "muted",
    "not available": "muted",
}

GRAVE = ("fails", "worse than the baselines")

SHOWN_ROWS = 8
"""Longer tables are folded."""

SHOWN_FINDINGS = 6


def command(study: Study, item: Item) -> str:
    """Return the command that runs an item alone."""
    parts = ["dumbbell", "evaluate", study.subject.text]
    if study.against:
        parts += ["--against", ",".join(study.against)]
    if study.quick:
        parts.append("--quick")
    if study.seed != 1:
        parts += ["--seed", str(study.seed)]
    if study.runs != study.default_runs:
        parts += ["--seeds", str(study.runs)]
    return shlex.join([*parts, "--only", item.name])


def told(one: Comparison) -> str:
    """Return a comparison in words."""
    limit = one.limit
    unit = f" {limit.unit}" if limit.unit else ""
    of = f" ({one.against})" if one.against else ""
    return (
        f"{limit.label} {_scaled(one.subject, limit)}{unit}, limit {_digits(one.allowed * limit.scale)}{of}, "
        f"{one.point}"
    )


def _broken(judged: Sequence[Judged]) -> list[tuple[Judged, Limit, list[Comparison]]]:
    """Return the broken limits with their comparisons, the gravest first."""
    found = []
    for one in judged:
        for limit in dict.fromkeys(each.limit for each in one.comparisons):
            broken = [each for each in one.comparisons if each.limit is limit and each.state == "broken"]
            if broken:
                found.append((one, limit, broken))
    return sorted(
        found, key=lambda each: (ORDER.index(verdict_of(each[2][0])), -max(c.weight for c in each[2]))
    )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Something that stands out.

    Parameters
    ----------
    text
        What the algorithm does, a sentence without its full stop.
    measured
        The comparison that shows it most clearly.
    item
        Name of its item.
    trait
        What the algorithm is called for it, if anything.
    """

    text: str
    measured: str
    item: str
    trait: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.measured}; item {self.item})."


def findings(study: Study, judged: Sequence[Judged]) -> list[Finding]:
    """Return what the algorithm does that limits do not allow, traits such as unfairness first."""
    name = study.subject.label
    found = _broken(judged)
    traits: dict[str, tuple[float, Finding]] = {}
    # In the order of the items: the direct comparison of two flows comes first.
    for one in judged:
        for other, limit, broken in found:
            if other is one and limit.trait and limit.trait not in traits:
                points = sum(each.limit is limit for each in one.comparisons)
                text = f"{name} is {limit.trait}: it {limit.breaks} at {len(broken)} of {points} points"
                made = _finding(text, broken, one, limit.trait)
                traits[limit.trait] = (len(broken) / points, made)
    listed = [made for _, made in sorted(traits.values(), key=lambda each: -each[0])]
    said: set[str] = {limit.breaks for _, limit, _ in found if limit.trait}
    for one, limit, broken in found:
        if limit.breaks not in said:
            said.add(limit.breaks)
            listed.append(_finding(f"{name} {limit.breaks}", broken, one))
    return listed


def _finding(text: str, broken: Sequence[Comparison], one: Judged, trait: str = "") -> Finding:
    worst = max(broken, key=lambda each: each.weight)
    return Finding(text=text, measured=told(worst), item=one.item.name, trait=trait)


def strengths(study: Study, judged: Sequence[Judged]) -> list[Finding]:
    """Return what the algorithm does much better than the baselines at most points of an item."""
    listed: dict[str, Finding] = {}
    for one in judged:
        for limit in dict.fromkeys(each.limit for each in one.comparisons):
            compared = [each for each in one.comparisons if each.limit is limit]
            better = [each for each in compared if each.is_strength]
            if not limit.strength or 2 * len(better) <= len(compared) or limit.strength in listed:
                continue
            best = min(better, key=lambda each: each.weight)
            listed[limit.strength] = Finding(
                text=f"{study.subject.label} {limit.strength}, at {len(better)} of {len(compared)} points",
                measured=told(best),
                item=one.item.name,
            )
    return list(listed.values())


def page(study: Study, judged: Sequence[Judged], *, facts: Sequence[tuple[str, str]], notice: str) -> str:
    """Return the report as the text of one self-contained HTML file.

    Parameters
    ----------
    study
        What was evaluated.
    judged
        The items with their verdicts.
    facts
        Pairs of name and value for the head.
    notice
        A remark for the top, or an empty text.
    """
    metrics = _metrics(study, judged)
    against = ", ".join(one.label for one in study.baselines)
    return render_page(
        title=f"Evaluation of {study.subject.label}",
        subtitle=" ".join(
            [
                f"By RFC 9743 and the common TCP evaluation suite, against {against}.",
                *(f"{one.text}." for one in findings(study, judged) if one.trait),
            ]
        ),
        facts=facts,
        sections=[
            Section(anchor="glance", title="At a glance", blocks=_glance(study, judged)),
            *([Section(anchor="metrics", title="Metrics of RFC 5166", blocks=[metrics])] if metrics else []),
            *(
                Section(anchor=one.item.name, title=one.item.title, blocks=_blocks(study, one))
                for one in judged
            ),
            Section(anchor="verdicts", title="How verdicts are decided", blocks=[Text(paragraphs=VERDICTS)]),
        ],
        notice=notice,
    )


VERDICTS = (
    "Each limit is evaluated at each point, by replication: what the algorithm exceeds the limit by is averaged over "
    f"replications, which share their random numbers, with Student's {CONFIDENCE:.0%} interval. The limit is broken if the "
    "whole interval is above zero, undecided if only the estimate is, and kept otherwise. A limit relative to baselines is "
    "broken only if it is broken with respect to each of them. If a baseline itself breaks an absolute limit at a point, the "
    f"algorithm may be up to {RELAXED:.0%} worse than it.",
    "The verdict of an item is the gravest of its limits at its points. `fails`: an absolute limit or one of starvation is "
    "broken. `worse than the baselines`: a limit relative to the baselines is broken. `undecided`: more replications could "
    "decide. `pass`: every limit is kept. `not applicable`: the item does not concern this algorithm. `not available`: the "
    "registry lacks what the item needs.",
)


def _glance(study: Study, judged: Sequence[Judged]) -> list[Block]:
    counts = Counter(one.verdict for one in judged)
    counted = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ORDER if counts[verdict])
    listed = findings(study, judged)
    better = strengths(study, judged)
    toned: tuple[tuple[Tone, Sequence[Finding]], ...] = (("bad", listed[:SHOWN_FINDINGS]), ("good", better))
    said: list[list[Cell | str]] = [
        [Cell(text=one.text, tone=tone), one.measured, Cell(text=one.item, link=f"#{one.item}")]
        for tone, several in toned
        for one in several
    ]
    hidden = len(listed) - SHOWN_FINDINGS
    blocks: list[Block] = [Text(paragraphs=[f"{len(judged)} items: {counted}."])]
    if not listed:
        blocks.append(Text(paragraphs=[f"{study.subject.label} breaks no limit."]))
    if said:
        blocks.append(
            Table(
                caption="Findings",
                columns=Column.words("finding", "measured", "item"),
                rows=said,
                note=f"{hidden} further limits are broken; see the items." if hidden > 0 else "",
            )
        )
    rows = [
        [
            Cell(text=one.item.title, detail=one.item.section, link=f"#{one.item.name}"),
            Cell(text=one.verdict, tone=TONES[one.verdict]),
            Cell(text=_sentence(one)),
        ]
        for one in judged
    ]
    verdicts = Table(
        caption="Verdicts",
        columns=Column.words("item", "verdict", "decided by"),
        rows=rows,
    )
    return [*blocks, verdicts]


def _sentence(one: Judged) -> str:
    return f"{one.why}; not included: {one.lacking}" if one.lacking else one.why


def _blocks(study: Study, one: Judged) -> list[Block]:
    item = one.item
    texts = [f"{item.section}. {item.question}"]
    if item.criterion:
        texts.append(f"Criterion: {item.criterion}.")
    if item.note:
        texts.append(item.note)
    blocks: list[Block] = [
        Text(paragraphs=texts),
        Table(
            caption="",
            columns=Column.words("verdict", "decided by"),
            rows=[[Cell(text=one.verdict, tone=TONES[one.verdict]), Cell(text=_sentence(one))]],
        ),
    ]
    figure = figure_of(one, study)
    if figure is not None:
        blocks.append(figure)
    tables = [
        _limit_table(study, one, limit) for limit in dict.fromkeys(each.limit for each in one.comparisons)
    ]
    reported = _reported(study, one)
    for table in [*tables, *([reported] if reported else [])]:
        folded = len(table.rows) > SHOWN_ROWS
        blocks.append(
            Details(title=f"{table.caption}: {len(table.rows)} points", blocks=[table]) if folded else table
        )
    if not one.results.empty:
        blocks.append(Text(paragraphs=[f"Run this item alone: `{command(study, item)}`"]))
    return blocks


STATES: dict[str, Tone] = {"kept": "good", "undecided": "strong", "broken": "bad"}


def _limit_table(study: Study, one: Judged, limit: Limit) -> Table:
    """Return a limit at all points."""
    compared = [each for each in one.comparisons if each.limit is limit]
    roles = list(dict.fromkeys(role for each in compared for role in each.baselines))
    labels = study.labels()
    rows: list[list[Cell | str]] = []
    for each in compared:
        cells: list[Cell | str] = [each.point, _interval_cell(each.subject, limit)]
        cells += [
            _interval_cell(each.baselines[role], limit) if role in each.baselines else "" for role in roles
        ]
        cells.append(Cell(text=_digits(each.allowed * limit.scale), detail=each.against))
        cells.append(Cell(text=each.state, tone=STATES[each.state]))
        rows.append(cells)
    return Table(
        caption=limit.title,
        columns=[
            *Column.words("point"),
            *Column.numbers(study.subject.label),
            *(Column(title=labels[role]) for role in roles),
            *Column.numbers("limit"),
            *Column.words("state"),
        ],
        rows=rows,
    )


def _reported(study: Study, one: Judged) -> Table | None:
    """Return the quantities without a limit; none if there are none."""
    measures = [each for each in one.item.reports if each.column in one.results.columns]
    if not measures:
        return None
    shown = one.results[~one.results["role"].str.startswith("_")]
    rows: list[list[Cell | str]] = []
    labels = study.labels()
    order = {str(point): number for number, point in enumerate(dict.fromkeys(shown["point"]))}
    parts = sorted(shown.groupby(["point", "role"], sort=False), key=lambda each: order[str(each[0][0])])
    for (point, role), part in parts:
        cells: list[Cell | str] = [str(point), labels[str(role)]]
        for measure in measures:
            cells.append(_interval_cell(measure.mean(part), measure))
        if any(cells[2:]):
            rows.append(cells)
    return Table(
        caption="Reported",
        columns=[
            *Column.words("point", "algorithm"),
            *(Column(title=measure.title) for measure in measures),
        ],
        rows=rows,
    )


METRICS: tuple[tuple[str, str, str, tuple[Quantity, ...]], ...] = (
    (
        "§2.1",
        "bufferbloat",
        "1 flow, 1 BDP",
        (
            Quantity(column="utilization", most=1.0, label="throughput by capacity", unit="%"),
            Quantity(column="delay_mean", label="mean queueing delay", unit="ms"),
            Quantity(column="delay_p95", label="95th percentile of the delay", unit="ms"),
            Quantity(column="delay_p99", label="99th percentile of the delay", unit="ms"),
            Quantity(column="drop_rate", most=1.0, label="loss rate", unit="%"),
        ),
    ),
    (
        "§2.1",
        "short-flows",
        "with a long flow, load 20%",
        (Quantity(column="completion_mean", label="mean completion time of short flows", unit="s"),),
    ),
    (
        "§2.2.1",
        "response",
        "one loss on an idle path",
        (
            Quantity(column="responsiveness", label="responsiveness: congestion events until half"),
            Quantity(
                column="aggressiveness", label="aggressiveness: largest growth per RTT", unit="segments"
            ),
            Quantity(column="smoothness", most=1.0, label="smoothness: largest reduction", unit="%"),
        ),
    ),
    (
        "§2.2.2",
        "bufferbloat",
        "1 flow, 1 BDP",
        (Quantity(column="oscillation", label="oscillation: coefficient of variation of the queue"),),
    ),
    (
        "§2.3",
        "own-fairness",
        "2 flows, same RTT",
        (
            Quantity(column="jain", most=1.0, label="Jain's index"),
            Quantity(column="epsilon", most=1.0, label="epsilon-fairness: smallest by largest goodput"),
        ),
    ),
    (
        "§2.3",
        "own-fairness",
        "2 flows, the second starts late",
        (Quantity(column="converged", label="0.1-fair convergence time", unit="s"),),
    ),
    (
        "§2.4",
        "wireless",
        "random loss 1.0%",
        (Quantity(column="goodput", label="robustness: goodput at 1 % loss", unit="Mbit/s"),),
    ),
)
"""Section of RFC 5166, item, point and quantities."""


def _metrics(study: Study, judged: Sequence[Judged]) -> Table | None:
    """Return the metrics of RFC 5166 of all algorithms; none if their items were not run."""
    by_name = {one.item.name: one.results for one in judged if not one.results.empty}
    labels = study.labels()
    rows: list[list[Cell | str]] = []
    listed = [
        (section, item, point, measure) for section, item, point, measures in METRICS for measure in measures
    ]
    for section, item, point, measure in listed:
        results = by_name.get(item)
        if results is None or measure.column not in results.columns:
            continue
        at = results[results["point"] == point]
        cells: list[Cell | str] = [Cell(text=measure.title, detail=f"{section}; {item}, {point}")]
        for role in labels:
            cells.append(_interval_cell(measure.mean(at[at["role"] == role]), measure))
        if any(cells[1:]):
            rows.append(cells)
    if not rows:
        return None
    return Table(
        caption="Means with intervals",
        columns=[
            *Column.words("metric"),
            *(Column(title=label) for label in labels.values()),
        ],
        rows=rows,
    )


def _interval_cell(interval: Interval | None, measure: Quantity) -> Cell | str:
    if interval is None:
        return ""
    low, high = (_digits(value * measure.scale) for value in (interval.low, interval.high))
    return Cell(text=_digits(interval.estimate * measure.scale), detail=f"{low} to {high}")


def _scaled(interval: Interval, measure: Quantity) -> str:
    estimate, low, high = (
        _digits(value * measure.scale) for value in (interval.estimate, interval.low, interval.high)
    )
    return f"{estimate} [{low}, {high}]"


def _digits(value: float) -> str:
    """Return a number with three digits, without an exponent for usual ones."""
    size = abs(value)
    if size < 1e-9:
        return "0"
    if size >= 1e5 or size < 1e-4:
        return f"{value:.2e}"
    return f"{value:.0f}" if size >= 100.0 else f"{value:.3g}"
