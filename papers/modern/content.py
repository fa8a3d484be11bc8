"""The sections of the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dumbbell.claims import Finding, Verdict
from dumbbell.judge.estimate import NotMeasured
from dumbbell.report import Block, Cell, Column, Figure, Section, Table, Text
from dumbbell.report.numbers import number

from . import figures
from .assumptions import newest_recovery
from .evidence import Evidence
from .published import bbr_shares
from .sharing_scenarios import WARE, ware_key

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

BASES: dict[str, Callable[[str], bool]] = {
    "read in the source": lambda source: (
        not any(mark in source for mark in ("third-hand", "from memory", "band proposed here"))
    ),
    "read in notes on the source (third-hand)": lambda source: "third-hand" in source,
    "from memory": lambda source: "from memory" in source,
    "range proposed here": lambda source: "band proposed here" in source,
}
"""How far a statement can be trusted, by what its source says. The last may come with another."""

VERDICTS: tuple[Verdict, ...] = ("reproduced", "undecided", "not-reproduced", "not-checkable")


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


def _against_cubic(evidence: Evidence) -> list[Block]:
    """Return the table of BBRv1 against CUBIC; empty if nothing was measured."""

    def spread(values: np.ndarray) -> str:
        return f"{values.mean():.2f} ({values.min():.2f} to {values.max():.2f})"

    rows: list[list[Cell | str]] = []
    differences = []
    for mbps, rtt_ms, buffer in WARE:
        try:
            ours = evidence.each(ware_key(mbps, buffer), lambda run: run.share("bbr"))
        except NotMeasured:
            continue
        others = bbr_shares(mbps, rtt_ms)[buffer]
        model = figures.predicted_share(mbps, rtt_ms, buffer)
        differences.append((abs(ours.mean() - others.mean()), abs(model - others.mean())))
        path = f"{mbps:g} Mb/s, {rtt_ms:g} ms"
        rows.append([path, f"{buffer:g}", f"{model:.2f}", spread(others), spread(ours)])
    if not rows:
        return []
    by_ours, by_model = np.mean(differences, axis=0)
    return [
        Table(
            caption="Share of one BBRv1 flow against one CUBIC flow: mean (least to most)",
            columns=[
                _left("path"),
                *(Column(title=title) for title in ("buffer, BDP", "model", "Linux hosts", "measured here")),
            ],
            rows=rows,
            note="Model: [ware2019b]. Linux hosts: three runs each, published with their data [sarpkaya2025]. Their means "
            f"differ from ours by {by_ours:.2f} on average, and from the model by {by_model:.2f}.",
        )
    ]


def _pictures(evidence: Evidence) -> list[Section]:
    drawn = [
        (
            figures.law(evidence),
            "Mean window of CUBIC under periodic loss at a round-trip time of 0.1 s. Dashed: the law of RFC 9438.",
        ),
        (
            figures.shares(evidence),
            "Share of one BBRv1 flow against one CUBIC flow; each run is a point. Dashed: the model [ware2019b]. Open: "
            "means of three runs on Linux hosts [sarpkaya2025].",
        ),
    ]
    blocks: list[Block] = [Figure(svg=svg, caption=caption) for svg, caption in drawn if svg]
    blocks += _against_cubic(evidence)
    return [Section(anchor="figures", title="Laws and models", blocks=blocks)] if blocks else []


# The cause of a miss, in words, with the evidence for it; the numbers are in the next column.
BEHIND: dict[str, str] = {
    "prr-01": "The rows of the figure contradict each other. At ACKs 18 and 19 it sends ssthresh - pipe "
    "segments, of a threshold of 10 and a pipe of 11 and 10 in its own row: none. They follow only if the segment "
    "sent again is not counted as in the network, which leaves 9 there; the row of the pipe counts it, and then ACK "
    "17 releases a segment, and 18 and 19 none. The evidence has the formula worked for each reading.",
    "prr-03": "Lost retransmissions differ as stated; the number of timeouts hardly depends on the bound.",
    "hs-04": "The buffer of a bandwidth-delay product overflows in both cases, and hides the difference: without "
    "a limit, the largest queue with HyStart is a tenth. Acknowledgements of two segments are 2.4 ms apart, too far "
    "for a train of 2 ms, and the samples of a round show the queue of the round before: slow start ends at 96 "
    "segments, a round after the path is full. With an acknowledgement for each segment the train ends it at 38, and "
    "the statement holds.",
    "bbr3-04": "The case of the draft contradicts its state: Drain sends at half of the rate, so that a path a tenth slower still "
    "empties the queue by 0.9 - 0.5 of a path per round-trip time, and what the case asks for next, more than a path in flight for "
    "several rounds, does not come about. It does if the rate falls by more than half, and then the rounds end Drain.",
    "dctcp-04": "ns-3.37, run as stated, leaves the stated range of alpha itself: 0.056 to 0.088, in 16 of 710 "
    "windows. That its alpha is lower than here is due to the dynamic limits of its device queue. Without them, a "
    "device of 1, 3 or 10 packets has 0.128, 0.124 or 0.107 on average, and without delayed acknowledgements 0.169, "
    "0.165 or 0.154. With a device of one packet it has 0.112 to 0.146 and 48.1 to 48.2 Mb/s. The fluid model gives "
    "0.21. The rate is as stated from 0.8 s after the start on.",
    "dctcp-05": "ns-3.37, run as stated, has an alpha of 0.016 to 0.030 after 34 s. With a device of one packet "
    "and without dynamic limits, it has 0.043 to 0.073 and 47.0 to 48.2 Mb/s, as here. From 8 s on, the rates of "
    "both are within 3 %.",
    "cao-05": "Up to 12 %, BBR has what is published. At 18 %, 1.25 of a rate arrive as 1.03 of it, so that probes hardly find more: "
    "the estimate falls. More than 50/256 of what is delivered are lost, so that it also takes that for a policer, and does not probe. "
    "The kernel does the same: over the same shaper in the testbed, BBR of Linux 6.18 has 95 Mb/s at 12 % and 14 Mb/s at 18 %. The "
    "published number was read off a figure with few points.",
    "prague-01": "Two marks per round-trip time follow from smooth marking. The ramp of 0.4 ms is steep for a "
    "path of 25 ms: until a mark is answered, a round trip later, the window grows by a packet, and with it the "
    "marks of a round trip to the path's length over twice the ramp, 31, at any rate. One round trip in four has "
    "about so many, the others few or none. Ramps of 2, 8 and 20 ms have 4.6, 2.6 and 2.4 marks, a step at 1 ms has "
    "12.4, and the law of a step 12.9. The rules of Linux for DualPI2 mark alike.",
    "codel-03": "RFC 8289 §3.2 itself has (3 + 6f - f^2)/(4(1 + f)) of the rate for one Reno flow whose queue is "
    "f of its round-trip time: 82 % for 5 of 50 ms. CoDel drops one packet of each cycle, at a window of 50 "
    "segments, and 25 leave a path of 42 idle. On paths of 20, 30, 75 and 100 ms the same flow uses 93, 89, 81 and "
    "78 % (by the formula 89, 85, 80 and 79). CUBIC keeps 70 % of its window and uses 95 %, four Reno flows use 97 "
    "%, and without CoDel a queue of the same length gives the same utilization.",
    "eval-03": "The law, which RFC 7928 calls a projection, counts one loss for each reduction, and assumes that path and "
    "buffer are always full. A drop-tail queue drops for as long as it is full, and 1.3 packets are lost for a reduction; path "
    "and buffer are full to 92 %. The rate of reductions is within 30 % of the law. Access links of 10 to 1000 Mb/s leave "
    "0.15 to 0.21 % for 0.1 %, other recoveries 0.15 to 0.16 %.",
    "pico-01": "A slow start doubles the window every 0.6 s. That of picoquic raises it to half of the path's product by the rate "
    "of the first packets it sends, and ends when the delay rises, also with BBR where the round-trip time is above 250 ms. With such a "
    "window and HyStart, CUBIC takes 5.3 s here. This engine's BBR has no such start: its Startup goes on from that window, and "
    "loses packets.",
    "ware-03": "While BBR drains its data, the model leaves to the other flow its part of the buffer. In the runs all its data meet "
    "in the queue, which leads to a share of 1/2 + 4/(packets of path and buffer), less the time of ProbeRTT: 0.50. The kernel does the "
    "same: over the same links in the testbed, BBR of Linux 6.18 has 0.48 beside its CUBIC, and 0.90, 0.65 and 0.38 at 1, 2 and 32 "
    "bandwidth-delay products. On the Linux hosts of others it has 0.50 [sarpkaya2025].",
    "ware-08": "At 4 bandwidth-delay products, for the same reason as at 10 Mb/s. The kernel has 0.45 there, too, and the Linux hosts "
    "of others have 0.46 [sarpkaya2025].",
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
