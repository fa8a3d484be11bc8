"""The sections of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dumbbell.claims import Finding, number
from dumbbell.report import Block, Cell, Column, Figure, Section, Table, Text

from . import figures
from .assumptions import newest_recovery
from .evidence import Evidence

__all__ = ["sections"]

FAMILIES = {
    "CUBIC and AIMD": ("cubic", "aimd"),
    "recovery, slow start and timers": ("prr", "hs", "rack", "tlp", "rto", "delack", "iw"),
    "BBR": ("bbr", "cao", "ware"),
    "BBRv3": ("bbr3",),
    "DCTCP and Prague": ("dctcp", "prague"),
    "algorithms that keep delay short": ("ledbat", "copa", "vegas"),
    "algorithms for fast long paths": ("scal", "hstcp", "bic", "ill", "hybla", "veno"),
    "queues": ("codel", "fqc", "pie", "red", "dq", "tbf"),
    "emulators and evaluation suites": ("netem", "mm", "eval", "pico"),
}
"""The families of statements, by the first part of their names."""

BASES = {
    "read in the source": lambda source: (
        not any(mark in source for mark in ("third-hand", "from memory", "band proposed here"))
    ),
    "read in notes on the source (third-hand)": lambda source: "third-hand" in source,
    "from memory": lambda source: "from memory" in source,
    "range proposed here": lambda source: "band proposed here" in source,
}
"""How far a statement can be trusted, by what its source says. The last may come with another."""

VERDICTS = ("reproduced", "undecided", "not-reproduced", "not-checkable")


def _left(title: str) -> Column:
    return Column(title=title, align="left")


def _counts(findings: Sequence[Finding]) -> list[Cell | str]:
    found = Counter(finding.verdict for finding in findings)
    return [str(len(findings)), *(str(found[verdict]) for verdict in VERDICTS)]


def _overview(findings: Sequence[Finding]) -> Section:
    columns = [_left(""), *(Column(title=title.replace("-", " ")) for title in ("statements", *VERDICTS))]
    families = [
        [name, *_counts([finding for finding in findings if finding.claim.id.split("-")[0] in prefixes])]
        for name, prefixes in FAMILIES.items()
    ]
    bases = [
        [name, *_counts([finding for finding in findings if is_meant(finding.claim.source)])]
        for name, is_meant in BASES.items()
    ]
    return Section(
        anchor="overview",
        title="Statements by family, and by how they were read",
        blocks=[
            Text(
                paragraphs=[
                    "The statements come from RFCs, from the Linux kernel, from the tests of other implementations and from papers. "
                    "The tolerance of each was fixed before anything was measured. Where a source states a number or an "
                    "ordering, but no range, the accepted range is a proposal; these statements, and those that were not "
                    "read in the source itself, are marked in the column of sources.",
                    f"Flows under the rules of the RFCs recover with `{newest_recovery()}`. Flows of the experiments with Linux "
                    'have `rules = "linux"`. A statement whose scenario needs something that this engine does not have is not '
                    "checkable; the reason names what is missing, by the engine's own catalogue.",
                ]
            ),
            Table(caption="Statements by family", columns=columns, rows=families),
            Table(
                caption="Statements by how they were read",
                columns=columns,
                rows=bases,
                note="A statement may be in two rows.",
            ),
        ],
    )


def _pictures(evidence: Evidence) -> list[Section]:
    drawn = [
        (
            figures.law(evidence),
            "Mean window of CUBIC under periodic loss at a round-trip time of 0.1 s. Dashed: the law of RFC 9438.",
        ),
        (
            figures.shares(evidence),
            "Share of one BBRv1 flow against one CUBIC flow; each run is a point. Dashed: the model of Ware et al. 2019.",
        ),
    ]
    blocks: list[Block] = [Figure(svg=svg, caption=caption) for svg, caption in drawn if svg]
    return [Section(anchor="figures", title="Laws and models", blocks=blocks)] if blocks else []


# The cause of a miss, in words, with the evidence for it; the numbers are in the next column.
BEHIND: dict[str, str] = {
    "prr-01": "The rows of the figure contradict each other. ACKs 18 and 19 follow only if the segment sent again is not counted "
    "as in the network; the row of the data in the network counts it, and then ACK 17 releases a segment, and 18 and 19 "
    "none. The evidence has the formula worked for each reading.",
    "prr-03": "Lost retransmissions differ as stated; the number of timeouts hardly depends on the bound.",
    "hs-04": "The buffer of a bandwidth-delay product overflows in both cases, and hides the difference: without a limit, the "
    "largest queue with HyStart is a tenth. Acknowledgements of two segments are 2.4 ms apart, too far for a train, and the "
    "round-trip time rises in the round in which the buffer overflows.",
    "bbr3-04": "The case of the draft contradicts its state: Drain sends at half of the rate, so that a path a tenth slower still "
    "empties the queue by 0.9 - 0.5 of a path per round-trip time, and what the case asks for next, more than a path in flight for "
    "several rounds, does not come about. It does if the rate falls by more than half, and then the rounds end Drain.",
    "dctcp-04": "The stated alpha is that of the device queue of ns-3, in which CoDel sees no packet wait. In separate runs, "
    "ns-3.37 has 0.07 with a device of three packets and dynamic limits, as stated, but 0.13 with one of a packet and without "
    "these limits, and then also without delayed acknowledgements 0.14 to 0.18. The fluid model gives 0.21. The rate is as "
    "stated from 0.8 s after the start on.",
    "dctcp-05": "As for 10 ms: with a device of one packet, ns-3.37 has an alpha of 0.05 to 0.07 after 34 s. From 8 s on, the "
    "rates of both are within 3 %.",
    "cao-05": "Up to 12 %, BBR has what is published. At 18 %, 1.25 of a rate arrive as 1.03 of it, so that probes hardly find more: "
    "the estimate falls. More than 50/256 of what is delivered are lost, so that it also takes that for a policer, and does not probe. "
    "The kernel does the same: over the same shaper in the testbed, BBR of Linux 6.18 has 95 Mb/s at 12 % and 14 Mb/s at 18 %. The "
    "published number was read off a figure with few points.",
    "prague-01": "Two marks per round-trip time follow from smooth marking. Until a mark is answered, a round trip later, the "
    "window and the queue have grown by a packet, 0.3 ms: most of the ramp from 0.8 to 1.2 ms. One round trip in four has "
    "about 30 marks, the others none, and alpha follows the law of a step. The rules of Linux for DualPI2 mark alike.",
    "codel-03": "A queue of 5 ms is a tenth of the path. Reno's window is halved soon after it, so that the link idles. The same "
    "flow uses more than 90 % of the link on a path of 20 ms, and so does CUBIC, which keeps 70 % of its window; without "
    "CoDel, a queue of the same length gives the same utilization.",
    "eval-03": "The law counts one loss for each reduction, and assumes that path and buffer are always full. At a drop-tail "
    "queue, several packets are lost for one reduction. The rate of reductions is within 30 % of the law.",
    "eval-05": "All double their timeouts. Vegas and Vegas-A compare the mean of a round's samples: at a few segments, the "
    "acknowledgement of the last one is delayed, the mean rises, and the window stays at six segments. If every segment is "
    "acknowledged at once, both have the whole rate again.",
    "pico-01": "A slow start doubles the window every 0.6 s. That of picoquic raises it to half of the path's product by the rate "
    "of the first packets it sends, and ends when the delay rises, also with BBR where the round-trip time is above 250 ms. With such a "
    "window and HyStart, CUBIC takes 5.3 s here. This engine's BBR has no such start: its Startup goes on from that window, and "
    "loses packets.",
    "ware-03": "While BBR drains its data, the model leaves to the other flow its part of the buffer. In the runs all its data meet "
    "in the queue, which leads to a share of 1/2 + 4/(packets of path and buffer), less the time of ProbeRTT: 0.50. The kernel does the "
    "same: over the same links in the testbed, BBR of Linux 6.18 has 0.48 beside its CUBIC, and 0.90, 0.65 and 0.38 at 1, 2 and 32 "
    "bandwidth-delay products.",
    "ware-08": "At 4 bandwidth-delay products, for the same reason as at 10 Mb/s. The kernel has 0.45 there, too.",
}


def _misses(findings: Sequence[Finding]) -> Section:
    missed = [finding for finding in findings if finding.verdict == "not-reproduced"]
    return Section(
        anchor="misses",
        title="Claims not reproduced",
        blocks=[
            Table(
                caption="Claims not reproduced",
                columns=[
                    _left("claim"),
                    Column(title="measured"),
                    _left("accepted"),
                    _left("evidence"),
                    _left("cause"),
                ],
                rows=[
                    [
                        finding.claim.id,
                        number(finding.measured, digits=4),
                        finding.claim.rule(),
                        finding.why,
                        BEHIND.get(finding.claim.id, ""),
                    ]
                    for finding in missed
                ],
            )
            if missed
            else Text(paragraphs=["Every claim that could be checked is reproduced."]),
        ],
    )


def _unchecked(findings: Sequence[Finding]) -> Section:
    rows = [
        [finding.claim.id, finding.claim.statement, finding.why]
        for finding in findings
        if not finding.is_judged
    ]
    return Section(
        anchor="unchecked",
        title="Claims that could not be checked",
        blocks=[
            Table(
                caption="Claims that could not be checked",
                columns=[_left("claim"), _left("statement"), _left("why")],
                rows=rows,
            )
            if rows
            else Text(paragraphs=["Every claim could be checked."]),
        ],
    )


def sections(evidence: Evidence, findings: Sequence[Finding], moves: Any) -> list[Section]:
    """Return the sections of the report."""
    made = [_overview(findings), *_pictures(evidence), _misses(findings), _unchecked(findings)]
    if moves.varied:
        made.append(
            moves.section(
                paragraphs=[
                    "Each assumption was varied, one at a time; the affected runs were repeated with the first seed, and all "
                    "claims judged again on as many runs as with the chosen assumptions."
                ]
            )
        )
    return made
