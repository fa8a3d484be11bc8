"""The orderings that are not reproduced, one by one: what was tried, and which rule or reading is at fault.

[chan2010 §3, §4]

What was tried is every variation of an assumption whose runs the claim is judged on, so that figures and verdicts come
from runs. Only the causes are in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dumbbell.claims import Finding
from dumbbell.report import Block, Cell, Column, Details, Table, Text
from dumbbell.report.numbers import number

from .assumptions import Variation
from .sensitivity import Study

CAUSES: Mapping[str, str] = {
    "C-CONC-1": "The paper conjectures this and does not test it. CODE is slower where start-up decides, with the smallest transfers. With a base "
    "round-trip time of 50 ms, Reno's slow start overflows the queue in transfers of 500 and 1000 kB, and Reno waits for its "
    "retransmission timer; CODE has no loss there. The cause is plain Reno's recovery from several losses, not CODE.",
    "C-EPS-13": "Fig. 6 assumes that Delta stays above the scaled alpha after a loss. When both connections lose, Reno gives back half of its window as well, the "
    "queue shortens, and Delta falls below the scaled alpha at once: CODE grows from three quarters. When CODE loses alone, as with random traffic, "
    "it does decrease further, as in the figure.",
    "C-F5-1": "Without random traffic CODE's window is above Reno's by about as much as that of NewVegas is below it, and the order depends on the phase of the two "
    "starts. The paper shows one run. Random traffic in this figure as well would give the order.",
    "C-F12-2": "The paper says that the curves of NewVegas fluctuate; the rule compares coefficients of variation. Vegas gets so little that random traffic scatters "
    "it as much in relative terms, although less in bits per second.",
    "C-F13-4": "Only base round-trip times of 50 and 60 ms are out of order. The random traffic does not remove all phase effects where the "
    "times differ so little; with twice as much the ratio comes nearer to 1, and at 20 Mbit/s the order is right. The paper does not state the rate.",
    "C-F14b-1": "The mean ratio at ten packets is above 1, but random traffic takes places of a queue of ten packets, and single repetitions fall on either "
    "side. Without it Vegas-A gets more in all of them.",
    "C-F14d-3": "Random traffic brings CODE near an equal share, and the largest buffers fall on either side of it. Without random traffic CODE gets more at every "
    "buffer, but then also in Fig. 9(d), where the paper has it close to Reno with the same buffer of 100 packets. No reading tried gives both figures "
    "without contradicting the text of the paper.",
    "C-F15c-1": "NewVegas gets less in most mixes and gets ahead of Reno where nearly all connections are Reno. Losses are frequent there, "
    "and plain Reno halves at each or waits for its timer, while NewVegas keeps three quarters once a round trip. The paper states both rules. It does not "
    "state the rate of Fig. 15, and nothing in the text prefers the 10 Mbit/s at which the claim holds.",
    "C-F16-1": "Every scaling narrows the band between the thresholds. Without a floor it becomes narrower than a packet, and no window stays inside it.",
}
"""Which rule or reading is at fault, for a claim that is not reproduced."""

UNKNOWN = "No cause was found."
UNTRIED = "No variation was run on it in this reproduction."


def _missed(findings: Sequence[Finding]) -> list[Finding]:
    return [
        finding
        for finding in findings
        if finding.counts and finding.holds is False and finding.claim.kind in ("ordering", "sign", "shape")
    ]


def _tried(name: str, moves: Study) -> list[tuple[Variation, Finding, Finding]]:
    """Return each variation that a claim was judged with, and the finding before and after."""
    return [
        (move.variation, before, after)
        for move in moves.varied
        if move.variation is not None
        for before, after in move.judged
        if after.claim.id == name
    ]


def _summary(finding: Finding, moves: Study) -> list[Cell | str]:
    tried = _tried(finding.claim.id, moves)
    holds = [variation.label for variation, _, after in tried if after.holds]
    by_chance = (
        " (not beyond chance)" if moves.is_explained and finding.claim.id not in moves.explained else ""
    )
    return [
        finding.claim.id,
        finding.claim.statement,
        number(finding.measured),
        CAUSES.get(finding.claim.id, UNKNOWN),
        f"{len(holds)} of {len(tried)}" + (f": {'; '.join(holds)}{by_chance}" if holds else "")
        if tried
        else UNTRIED,
    ]


def _details(finding: Finding, moves: Study) -> Details | None:
    tried = _tried(finding.claim.id, moves)
    if not tried:
        return None
    rows: list[list[Cell | str]] = [
        [Cell(text="none", tone="strong"), "as chosen", "", number(tried[0][1].measured), _holds(tried[0][1])]
    ]
    rows += [
        [variation.assumption, variation.value, variation.text, number(after.measured), _holds(after)]
        for variation, _, after in tried
    ]
    return Details(
        title=f"{finding.claim.id}: {len(tried)} variations",
        blocks=[
            Table(
                caption=f"{finding.claim.statement}; {finding.claim.rule()}",
                columns=[
                    Column(title="assumption", align="left"),
                    Column(title="varied to", align="left"),
                    Column(title="the paper's text", align="left"),
                    Column(title="measured"),
                    Column(title="holds", align="left"),
                ],
                rows=rows,
                note="All at the points and repetitions of the section on sensitivity, fewer than those of the claim.",
            )
        ],
    )


def _holds(finding: Finding) -> Cell:
    held = bool(finding.holds)
    return Cell(text="yes" if held else "no", tone="good" if held else "bad", hint=finding.why)


def _floor(moves: Study) -> str:
    """Return what the floor under CODE's thresholds changes in Fig. 9, and which claims it turns."""
    move, ratios = moves.named("no-floor"), moves.ratios_of("no-floor")
    if move is None or not ratios:
        return ""
    chosen = moves.in_figure_9[0][1]
    turned = [finding.claim.id for finding in [*move.lost, *move.gained]]
    return (
        f"It raises CODE's share as well: in Fig. 9 CODE gets {chosen['code'].estimate:.2f} times Reno's throughput with the floor and "
        f"{ratios['code'].estimate:.2f} without, at the points of the section on sensitivity. "
        + (
            f"Claims with another verdict there without it: {', '.join(turned)}."
            if turned
            else "No verdict changes there without it."
        )
    )


def blocks(findings: Sequence[Finding], moves: Study) -> list[Block]:
    """Return what the report says about each ordering, sign and shape that is not reproduced."""
    missed = _missed(findings)
    if not missed:
        return [Text(paragraphs=["All measured orderings, signs and shapes are reproduced."])]
    details = (_details(finding, moves) for finding in missed)
    return [
        Text(
            paragraphs=[
                "Each ordering, sign and shape that is not reproduced was examined: which rule, reading or assumption is at fault. Readings were tried one at a time, "
                "with what the paper's text says about each. A reading under which a claim holds is not adopted for that reason: most of them contradict the text, "
                "and the others are not stated. One departure came out of this: the floor under CODE's thresholds, which the text supports and the pseudo-code lacks; "
                "it was adopted knowing that it brings the fairness of ten CODE connections (Table 2) and the windows of Fig. 16 near the paper's, and the section on readings shows the scoreboard without it. "
                + _floor(moves)
            ]
        ),
        Table(
            caption="Orderings, signs and shapes not reproduced, and the cause",
            columns=[
                Column(title="claim", align="left"),
                Column(title="statement", align="left"),
                Column(title="measured"),
                Column(title="cause", align="left"),
                Column(title="holds with", align="left"),
            ],
            rows=[_summary(finding, moves) for finding in missed],
        ),
        *(found for found in details if found is not None),
    ]
