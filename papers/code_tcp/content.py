"""Content of the report: the paper's figures and tables with ours, in the paper's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dumbbell.claims import Finding
from dumbbell.papers import Reading
from dumbbell.papers.real_time import blocks_of
from dumbbell.report import Block, Details, Figure, Section, Text

from . import conclusions, examined, figures, literal, set_up, tables
from .evidence import Evidence
from .sensitivity import Study


def sections(
    evidence: Evidence, findings: Sequence[Finding], moves: Study, judged: Sequence[Reading]
) -> list[Section]:
    """Return the sections of the report."""
    equal, different = figures.networks()
    return [
        Section(
            anchor="headline",
            title="Coexistence of CODE and Reno (Fig. 9)",
            blocks=[
                Text(paragraphs=conclusions.headline(evidence, moves)),
                Figure(
                    svg=figures.against_rate(evidence),
                    caption="Fig. 9: throughput of one variant and one Reno connection against the bottleneck's rate; bars: 95 % intervals. The paper's curves are lost.",
                ),
                tables.intervals(evidence),
                tables.readings(moves),
                Figure(svg=figures.readings(moves), caption="Throughput ratios under each reading."),
            ],
        ),
        Section(
            anchor="decides",
            title="Causes of the shares, and the main reading",
            blocks=[
                Text(paragraphs=conclusions.decides(evidence, moves)),
                tables.phases(evidence),
                tables.synchronisation(evidence),
                Figure(svg=figures.against_rate(replace(evidence, group="quiet")), caption="Fig. 9 without cross traffic; fewer rates and repetitions."),
            ],
        ),
        literal.compared(judged, evidence),
        Section(
            anchor="assumptions",
            title="Stated and assumed parameters",
            blocks=[
                Figure(svg=equal, caption="The network of Fig. 7 with our choices; shown with 10 Mbit/s."),
                Figure(svg=different, caption="The network of Fig. 8, shown with 100 ms for the variant. Datagrams that leave at the first router simulate random processing times of senders."),
                set_up.stated(),
                set_up.assumed(),
            ],
        ),
        Section(
            anchor="windows",
            title="Windows against time (Figs. 2, 3, 5)",
            blocks=[
                Figure(svg=figures.windows(evidence), caption="One run each, without cross traffic. i: a loss of the variant, j: its lowest window, k: its next loss."),
                Text(paragraphs=conclusions.traces(evidence)),
            ],
        ),
        Section(anchor="table-1", title="The rule of NewVegas (Table 1, Fig. 4)", blocks=[tables.table_1(), Figure(svg=figures.guests(evidence), caption="Each variant with a competing Reno connection (guest) that grows from 10 s to 40 s in a queue that never overflows.")]),
        Section(
            anchor="epsilon",
            title="The analysis of epsilon (section 3.3, Fig. 6)",
            blocks=[
                Text(paragraphs=conclusions.analysis(evidence)),
                Figure(svg=figures.cycle(evidence), caption="Fig. 6: the model's cycle, and the median of the measured cycles of Fig. 5, each scaled to the same length."),
                Figure(svg=figures.epsilon(evidence), caption="CODE/Reno against epsilon: Fig. 9 at one rate; bars: 95 % intervals."),
            ],
        ),
        Section(
            anchor="rtts",
            title="Different round-trip times (Figs. 10 to 13)",
            blocks=[Figure(svg=figures.against_rtt(evidence), caption="Panels a: the variant has 50 ms and Reno's base round-trip time is swept; panels b: vice versa. Right: two Reno connections. Bars: 95 % intervals.")],
        ),
        Section(anchor="buffers", title="Buffers (Fig. 14)", blocks=[Figure(svg=figures.against_buffer(evidence), caption="Fig. 14: throughput against the buffer; bars: 95 % intervals.")]),
        Section(anchor="mixes", title="Ten connections (Fig. 15)", blocks=[Figure(svg=figures.against_mix(evidence), caption="Fig. 15: mean throughput of a connection of each class; bars: 95 % intervals.")]),
        Section(
            anchor="homogeneous",
            title="Several CODE connections (Figs. 16 to 18, Table 2)",
            blocks=[
                Figure(svg=figures.newcomers(evidence), caption="Windows and queues: a second connection joins at 20 s (Fig. 16) or 50 s. One run each, without cross traffic."),
                Text(paragraphs=conclusions.homogeneous(evidence)),
                tables.table_2(evidence),
                Figure(svg=figures.homogeneous(evidence), caption="Table 2: fairness index against the rate; bars: 95 % intervals; hollow: the paper."),
            ],
        ),
        Section(anchor="transfers", title="Short transfers (section 5)", blocks=[tables.transfers(evidence)]),
        moves.section(
            paragraphs=[
                "Every assumption was varied, one at a time. The claims on Figs. 9 to 15 and Table 2 were "
                "evaluated again on runs with the same seeds, at some of the rates, round-trip times, buffers and "
                "mixes, and compared with the main reading at the same points and repetitions."
            ]
        ),
        Section(anchor="misses", title="Claims not reproduced, and why", blocks=[*examined.blocks(findings, moves), tables.misses(findings)]),
        on_testbed(evidence, findings),
    ]  # fmt: skip


def on_testbed(evidence: Evidence, findings: Sequence[Finding]) -> Section:
    """Return the section on real machines: connections of the kernel, and what cannot be checked."""

    def measured() -> list[Block]:
        return [
            Text(paragraphs=conclusions.on_linux(evidence)),
            Figure(
                svg=figures.on_linux(evidence),
                caption="Fig. 19: a variant's throughput over that of Reno; kernel and simulator run the same scenarios. Bars: 90 % intervals. "
                "The paper's curves are lost; its text gives the dashed line, to which CODE is almost equal.",
            ),
            tables.fig_19(evidence),
            tables.uploads(evidence),
        ]

    blocks = [
        *blocks_of("code-tcp", evidence.linux, measured),
        Text(paragraphs=conclusions.internet()),
        tables.unchecked(findings),
        Details(title="Table 3 as printed", blocks=[tables.table_3()]),
    ]
    return Section(
        anchor="testbed", title="On Linux and over the Internet (Figs. 19, 20, Table 3)", blocks=blocks
    )
