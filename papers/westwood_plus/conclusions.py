"""Conclusions of the report: Table I, fairness, hops, the channel, and misses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from dumbbell.claims import Finding
from dumbbell.papers.real_time import origin_of
from dumbbell.report import Cell, Column, Section, Table, Text
from dumbbell.report.numbers import number

from . import hops_claims, many_flows_claims, printed
from .assumptions import VARIATIONS
from .connection_claims import BUSY
from .evidence import Evidence, signed
from .linux import CAUSES
from .live_claims import NAMES as SITE_NAMES
from .lossy_claims import bad_ms, gains
from .plan import DELAYED, EACH
from .sensitivity import worst_miss
from .uploads import Session, sessions


def _mean(evidence: Evidence, variant: str, intervals: Sequence[int]) -> float:
    return float(evidence.stacked(f"table-1/{variant}", "intervals")[:, list(intervals)].mean())


def _order(results: pd.DataFrame) -> str:
    """Return in how many readings the three variants are in the paper's order while the reverse path is busy."""
    means = []
    for reading in ("", *(reading.name for reading in VARIATIONS)):
        evidence = Evidence(results, reading)
        if "table-1/newreno" in evidence.counts():
            means.append([_mean(evidence, variant, BUSY) for variant in ("westwoodp", "newreno", "vegas")])
    ahead = sum(west >= reno for west, reno, _ in means)
    thrice = sum(min(west, reno) >= 3 * vegas for west, reno, vegas in means)
    return (
        f"In {ahead} of {len(means)} readings Westwood+ has at least New Reno's goodput, and in {thrice} both have at least three times the goodput "
        "of Vegas."
    )


def table_1(evidence: Evidence, results: pd.DataFrame) -> list[str]:
    """Return the conclusions from Table I."""
    west, reno, vegas = (_mean(evidence, variant, BUSY) for variant in ("westwoodp", "newreno", "vegas"))
    printed_lead = [printed.table_1("westwoodp")[index] / printed.table_1("newreno")[index] for index in BUSY]
    first = {variant: _mean(evidence, variant, [0]) for variant in ("newreno", "westwoodp")}
    paper = printed.table_1("newreno")[0]
    paragraphs = [
        f"With a busy reverse path Westwood+ has {west / reno:.2f} times New Reno's goodput (the paper {printed_lead[0]:.2f} and {printed_lead[1]:.2f}), "
        f"and New Reno {reno / vegas:.1f} times that of Vegas. Vegas mistakes queueing on the reverse path for "
        "congestion: its goodput is its target backlog divided by the queueing time of acknowledgements. With its thresholds, 0.48 Mbit/s (40 segments per second) requires a mean queueing time of 25 to 90 ms. "
        "A queue of 40 packets of 6 ms each, kept more than half full by ten senders, delays ACKs by more.",
    ]
    full = Evidence(results, "full-duplex")
    if "table-1/vegas" in full.counts():
        paragraphs.append(
            f"With such a queue, the most direct reading, Vegas has {_mean(full, 'vegas', BUSY):.2f} and New Reno "
            f"{_mean(full, 'newreno', BUSY):.2f} Mbit/s; the largest error of a cell is {worst_miss(full):.0f} %. With 20 packets, the main reading, the largest error is "
            f"{worst_miss(evidence):.0f} %. {_order(results)}"
        )
    start = (
        "The first interval includes the start: slow start overshoots, and about 40 segments of one window are lost. New Reno has "
        f"{first['newreno']:.2f} Mbit/s there (the paper {paper:.2f}) and Westwood+ {first['westwoodp']:.2f} "
        f"({printed.table_1('westwoodp')[0]:.2f}). Until May 2003 the simulator removed all inflation at a partial ACK and "
        "sent one segment per round trip until the last loss was repaired."
    )
    deflation = Evidence(results, "deflation")
    if "table-1/newreno" in deflation.counts():
        start += (
            " If a partial ACK deflates the window only by the data it acknowledges, as in RFC 6582, duplicate ACKs keep the link busy "
            f"during recovery, and New Reno has {_mean(deflation, 'newreno', [0]):.2f} Mbit/s."
        )
    paragraphs.append(start)
    return paragraphs


def fairness(evidence: Evidence) -> list[str]:
    """Return the explanation of figs. 12 and 13."""
    counts = many_flows_claims.flows(evidence)
    parts = []
    for count in counts:
        if count in (10, 60, 200):
            key = f"fig-12/newreno/{count}"
            waits = float(evidence.stacked(key, "backlogs")[:, 0].mean()) * 1.2
            outs = float(evidence.total(key, "timeouts").mean()) / count
            parts.append(f"{waits:.0f} ms and {outs:.0f} timeouts per connection with {count} connections")
    return [
        "The paper explains the decreasing advantage of Westwood+ by the spacing of the round-trip times, but "
        "their ratio grows with the number of connections. The queueing time, which makes all round-trip times "
        f"similar, and the share of timeouts, after which all variants behave the same, grow as well. New Reno has {'; '.join(parts)}.",
    ]


def hops(evidence: Evidence) -> list[str]:
    """Return the explanation of fig. 24."""
    counts = hops_claims.hop_counts(evidence)
    means = {
        name: [float(hops_claims.goodput(evidence, name, name, count).mean()) for count in counts]
        for name in ("vegas", "newreno", "westwoodp")
    }
    listed = ", ".join(
        f"{vegas:.2f} over {count}"
        for vegas, count in zip(means["vegas"], counts, strict=True)
        if count in (1, 3, 4, 5, 6)
    )
    others = ", ".join(
        f"{max(pair):.2f} over {count}"
        for pair, count in zip(zip(means["newreno"], means["westwoodp"], strict=True), counts, strict=True)
        if count in (1, 3, 4, 5, 6)
    )
    return [
        f"With one variant everywhere, the goodput of the Vegas connection in Mbit/s is {listed} hops; the better of the other two has {others}. In the paper, "
        "Vegas is ahead beyond three hops.",
    ]


def channel(evidence: Evidence, results: pd.DataFrame) -> list[str]:
    """Return the effects of what advances the channel."""
    shortest = bad_ms(evidence, "fig-27")[0]
    least = float(gains(evidence, "fig-27", DELAYED)[:, 0].max())
    shared = gains(evidence, "fig-30", EACH).max()
    paragraphs = [
        "The paper names its simulator, and the channel it describes, with fixed dwell times and a draw at the end of each, is that of the simulator's error model. "
        "That model looks at its state only when a packet arrives: after a dwell, every packet draws until the state changes. "
        "A packet takes 6 ms on the link, so that every bad state affects one or two packets, however short it is, and dwell times below 6 ms make no difference: "
        f"Westwood+ gains {least:.0f} % at {shortest} ms with delayed acknowledgements, and up to {shared:.0f} % in fig. 30. If the channel advances by time, as dwell times in seconds "
        "can also be read, hardly any packet meets a bad state that is shorter than its transmission. The sensitivity section compares both.",
    ]
    for name in ("polled", "timed"):
        other = Evidence(results, name)
        if not any(key.startswith("fig-27") for key in other.counts()):
            continue
        words = {reading.name: reading.label for reading in VARIATIONS}[name]
        ranges = [gains(other, "fig-27", acks) for acks in (DELAYED, EACH)]
        paragraphs.append(
            f"If {words}, the gains are {signed(ranges[0].min(), 0)} % to {signed(ranges[0].max(), 0)} % with delayed acknowledgements and "
            f"{signed(ranges[1].min(), 0)} % to {signed(ranges[1].max(), 0)} % without."
        )
    return paragraphs


def misses(findings: Sequence[Finding]) -> Section:
    """Return the section on claims not reproduced."""
    rows: list[list[Cell | str]] = [
        [
            finding.claim.id,
            finding.claim.statement,
            number(finding.claim.paper_value, digits=4),
            number(finding.measured, digits=4),
            f"{finding.why} {EVIDENCE.get(finding.claim.id, '')}".strip(),
        ]
        for finding in findings
        if finding.verdict == "not-reproduced"
    ]
    return Section(
        anchor="misses",
        title="Claims not reproduced",
        blocks=[
            Table(
                caption="Misses and their causes",
                columns=[
                    Column(title="claim", align="left"),
                    Column(title="statement", align="left"),
                    Column(title="paper"),
                    Column(title="measured"),
                    Column(title="evidence", align="left"),
                ],
                rows=rows,
            )
            if rows
            else Text(paragraphs=["Every claim that could be checked was reproduced."])
        ],
    )


EVIDENCE = {
    "W-F1-2": (
        "The overestimate is reproduced and larger than the paper's: the largest of thousands of estimates "
        "depends on the minimum spacing of acknowledgements, here their transmission time of 32 µs on the reverse "
        "link."
    ),
    "W-F32-4": (
        "At the shortest dwell times, the channel loses hardly any of the packets of 20 flows. Losses are queue drops, and "
        "Westwood+, which keeps the queue shorter, has slightly less goodput."
    ),
}
"""Causes of the misses, in addition to the explanation by the evaluation itself."""


def _gains(found: Sequence[Session], cause: str) -> str:
    gained = [session.gain.estimate for session in found if session.cause == cause]
    ends = (
        f"{signed(min(gained), 0)} to {signed(max(gained), 0)} %"
        if len(gained) > 1
        else f"{signed(gained[0], 0)} %"
    )
    return f"{ends} with {CAUSES[cause]}"


def live() -> list[str]:
    """Return why uploads are run with either cause of losses."""
    return [
        "Section 4 of the paper uploads files over the Internet with Linux implementations of New Reno and Westwood+. The traffic of those days is "
        "not known, and decides on the gain: with random losses, the bandwidth estimate keeps Westwood+ from reducing its window too far; "
        "where the losses are those of a full queue, it is near what the other connections leave. Uploads over paths of the printed "
        "round-trip times are therefore run with either cause, and a claim counts as reproduced only if it holds with both.",
    ]


def gained(evidence: Evidence) -> list[str]:
    """Return the results of the uploads of the kernel."""
    found = {name: sessions(evidence.kernel, name) for name in printed.SITES}
    listed = "; ".join(
        f"{SITE_NAMES[name]} " + ", ".join(_gains(each, cause) for cause in CAUSES)
        for name, each in found.items()
    )
    every = [session for each in found.values() for session in each]
    rho = float(
        stats.spearmanr(
            np.array([session.pipe for session in every]),
            np.array([session.gain.estimate for session in every]),
        ).statistic
    )
    return [
        f"The runs: {origin_of(evidence.linux)}. Gain of Westwood+ in goodput: {listed}. Over all sessions, the rank correlation of the "
        f"gain with the pipe is {number(rho, digits=2)}; the paper finds that it grows with the pipe.",
    ]
