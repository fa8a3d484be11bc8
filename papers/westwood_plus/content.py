"""Content of the report: the paper's tables and figures with ours, by section.

All numbers in the text are computed from the runs or read from the paper's data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd

from dumbbell import statistics
from dumbbell.claims import Finding
from dumbbell.papers import Settings, examined
from dumbbell.papers.real_time import blocks_of
from dumbbell.report import Block, Cell, Column, Figure, Section, Table, Text
from dumbbell.sensitivity import Sensitivity

from . import conclusions, figures, printed, rules
from .assumptions import REASONS, VARIATIONS, Assumptions, Variation
from .evidence import Evidence, signed
from .figures import NAMES
from .live_claims import NAMES as SITE_NAMES
from .lossy_claims import bad_ms, goodputs
from .plan import DELAYED, EACH, VARIANTS, size
from .sensitivity import GROUPS, worst_miss
from .uploads import sessions

INTERVALS = ("0–250 s, quiet", "250–500 s, busy", "500–750 s, quiet", "750–1000 s, busy")

# A cell of Table I is reproduced if it is within a tenth of the paper's number.
NEAR = 0.10


def _words(*titles: str) -> list[Column]:
    return [Column(title=title, align="left") for title in titles]


def _numbers(*titles: str) -> list[Column]:
    return [Column(title=title) for title in titles]


def _set_up() -> Section:
    usual = Assumptions()
    spelled = {True: "yes", False: "no"}
    rows: list[list[Cell | str]] = []
    for item in fields(usual):
        value = getattr(usual, item.name)
        words, reason = REASONS[item.name]
        shown = (
            spelled[value]
            if isinstance(value, bool)
            else f"{value:g}"
            if isinstance(value, float)
            else str(value)
        )
        rows.append([words, shown, reason])
    return Section(
        anchor="set-up",
        title="Set-up",
        blocks=[
            Text(
                paragraphs=[
                    "As the paper states: packets of 1500 bytes, an initial window of three segments, timestamps, delayed acknowledgements "
                    "except at receivers of Vegas and SACK, receive windows and initial thresholds that are never reached, queues of rate times largest "
                    "round-trip time, runs of 1000 s. Goodput counts new data delivered, in whole packets.",
                    "What the paper leaves open is listed with our choice and its reason; the section on sensitivity varies the choices "
                    "one at a time. Where the paper is silent, its simulator decides: retransmission timer, recovery, Vegas, and the lossy "
                    "channel are the simulator's of the time. One choice differs from the most direct reading, because that reading misses printed numbers and "
                    "another admissible reading meets them: the queue on the reverse path of the single connection.",
                ]
            ),
            Table(
                caption="Open assumptions",
                columns=_words("assumption", "choice", "reason"),
                rows=rows,
            ),
            *[Figure(svg=svg, caption=caption) for svg, caption in figures.networks(usual)],
        ],
    )


def _rules(evidence: Evidence) -> Section:
    counted, acknowledged = rules.counted_by_engine(evidence.runs("alg/counting").iloc[0])
    rows: list[list[Cell | str]] = [
        [
            case.words,
            " ".join(map(str, case.acks)),
            " ".join(map(str, case.by_hand)),
            " ".join(map(str, rules.counted(case.acks))),
            f"{sum(case.by_hand)}",
            f"{case.delivered}",
        ]
        for case in rules.CASES
    ]
    return Section(
        anchor="rules",
        title="The rules of Westwood+ (§2.1, §2.2)",
        blocks=[
            Table(
                caption="Counting acknowledgements: cases worked by hand",
                columns=[
                    *_words(
                        "events",
                        "segments acknowledged (0: a duplicate)",
                        "counted, by hand",
                        "by the rule",
                    ),
                    *_numbers("counted, total", "delivered"),
                ],
                rows=rows,
                note="Only a partial acknowledgement makes the rule count a segment twice: it subtracts the "
                "retransmitted segment from those reported by duplicate ACKs.",
            ),
            Text(
                paragraphs=[
                    f"The engine's own count agrees: in a run with three single losses and two losses within one window, its bandwidth samples "
                    f"contain {counted:.0f} segments while {acknowledged:.0f} were acknowledged; the difference is due to the partial "
                    "ACK. Filter, samples, growth and reaction to losses are extracted from such runs and compared with "
                    "the formulas (claims `W-ALG-1` to `W-ALG-8`).",
                ]
            ),
        ],
    )


def _model(evidence: Evidence) -> Section:
    return Section(
        anchor="model",
        title="Throughput by loss rate and round-trip time (eqs. 2 and 3)",
        blocks=[
            Text(
                paragraphs=[
                    "One connection has independent losses and a constant queueing time. The throughput of Westwood+ is inversely proportional to the square root of the "
                    "round-trip time, that of Reno to the round-trip time itself, and both to the square root of the loss "
                    "rate. The two are equal only if the queueing time is half of the round-trip time; below "
                    "that, Westwood+ gets more, above it less.",
                ]
            ),
            Figure(
                svg=figures.model(evidence),
                caption="Throughput that eqs. 2 (New Reno) and 3 (Westwood+) predict, against the simulated one: losses of 0.03 % to 1 %, "
                "round-trip times of 40 to 250 ms, queueing times of 20 and 40 ms.",
            ),
        ],
    )


def _estimates(evidence: Evidence) -> Section:
    return Section(
        anchor="estimates",
        title="Bandwidth estimates (figs. 1 and 2)",
        blocks=[
            Figure(
                svg=figures.estimates(evidence),
                caption="Fig. 1: estimates at congestion of 20 flows on 10 Mbit/s with ten New Reno senders on the reverse path, of (a) Westwood+ "
                "and (b) the original Westwood. Dashed: the fair share. In the paper, Westwood+ is near 0.5 Mbit/s and Westwood up to 100 "
                "times higher.",
            ),
            Figure(
                svg=figures.filters(evidence),
                caption="Fig. 2: one Westwood+ connection on 1 Mbit/s; the same filter fed with acknowledged data and with cwnd/RTT.",
            ),
        ],
    )


def _cell(values: np.ndarray, paper: float) -> Cell:
    mean = float(values.mean())
    miss = mean / paper - 1
    detail = f"paper {paper:.2f}, {signed(100 * miss)} %"
    if values.size > 1:
        detail += f", ±{statistics.mean_interval(values).half_width:.3f}"
    return Cell(text=f"{mean:.2f}", detail=detail, tone="good" if abs(miss) <= NEAR else "bad")


def _table_1(evidence: Evidence) -> Table:
    rows: list[list[Cell | str]] = []
    for variant in VARIANTS:
        measured = evidence.stacked(f"table-1/{variant}", "intervals")
        rows.append(
            [
                NAMES[variant],
                *(_cell(measured[:, index], printed.table_1(variant)[index]) for index in range(4)),
            ]
        )
    return Table(
        caption="Table I: goodput of the single connection, Mbit/s",
        columns=[*_words(""), *_numbers(*INTERVALS)],
        rows=rows,
        note="Green: within 10 % of the paper's number. ±: 90 % interval over the runs.",
    )


def _readings_of_table_1(results: pd.DataFrame) -> Table:
    rows: list[list[Cell | str]] = []
    for reading in (None, *VARIATIONS):
        evidence = Evidence(results, reading.name if reading else "")
        if "table-1/newreno" not in evidence.counts():
            continue
        row: list[Cell | str] = [reading.label if reading else "main reading"]
        for variant in VARIANTS:
            means = evidence.stacked(f"table-1/{variant}", "intervals").mean(axis=0)
            for mean, paper in zip(means, printed.table_1(variant), strict=True):
                near = abs(mean / paper - 1) <= NEAR
                row.append(Cell(text=f"{mean:.2f}", tone="good" if near else "bad"))
        row.append(f"{worst_miss(evidence):.0f} %")
        rows.append(row)
    quarters = ("1", "2", "3", "4")
    return Table(
        caption="Table I under each reading, Mbit/s",
        columns=[*_words("reading"), *_numbers(*quarters * 3, "largest error")],
        rows=rows,
        groups=[("", 1), *[(NAMES[variant], 4) for variant in VARIANTS], ("", 1)],
        note="The reverse path is quiet in intervals 1 and 3 and busy in 2 and 4. Green: within 10 % of the paper's number.",
    )


def _connection(evidence: Evidence, results: pd.DataFrame) -> Section:
    return Section(
        anchor="connection",
        title="One connection (Table I, figs. 4 to 8)",
        blocks=[
            _table_1(evidence),
            Text(paragraphs=conclusions.table_1(evidence, results)),
            _readings_of_table_1(results),
            Figure(
                svg=figures.windows(
                    evidence,
                    [
                        ("newreno", "Fig. 4: New Reno"),
                        ("westwoodp", "Fig. 5: Westwood+"),
                        ("vegas", "Fig. 6: Vegas"),
                        ("vegas-vegas", "Fig. 7: Vegas, Vegas on the reverse path"),
                        ("reno", "Fig. 8: Reno"),
                    ],
                ),
                caption="Windows and thresholds of the first run; grey: the reverse path is busy. The window is drawn with its inflation by duplicate "
                "ACKs during recovery, which causes the spikes; those beyond the axis belong to the first recovery.",
            ),
        ],
    )


def _many_flows(evidence: Evidence) -> Section:
    rows: list[list[Cell | str]] = []
    for variant in ("newreno", "westwoodp", "vegas"):
        segments = evidence.stacked(f"fig-12/{variant}/20", "segments")
        ends = [segments.min(axis=1), segments.max(axis=1)]
        paper = printed.final_sequence_numbers(variant) if variant != "vegas" else (np.nan, np.nan)
        row: list[Cell | str] = [NAMES[variant]]
        for values, number in zip(ends, paper, strict=True):
            mean = float(values.mean())
            detail = (
                f"paper {number:.0f}, {signed(100 * (mean / number - 1))} %" if np.isfinite(number) else ""
            )
            row.append(Cell(text=f"{mean:.0f}", detail=detail))
        row.append(f"{float((ends[1] / ends[0]).mean()):.2f}")
        rows.append(row)
    return Section(
        anchor="many-flows",
        title="One bottleneck (figs. 12 to 16)",
        blocks=[
            Figure(
                svg=figures.many(evidence),
                caption="Figs. 12 and 13: total goodput and Jain's index against the number of connections; bars are 90 % intervals.",
            ),
            Figure(
                svg=figures.sequences(evidence),
                caption="Figs. 14 to 16: sequence numbers of 20 connections, first run. Black: the range printed in the paper.",
            ),
            Table(
                caption="Final sequence numbers of 20 connections, segments; means over the runs",
                columns=[*_words(""), *_numbers("smallest", "largest", "largest over smallest")],
                rows=rows,
            ),
            Text(paragraphs=conclusions.fairness(evidence)),
        ],
    )


def _hops(evidence: Evidence) -> Section:
    return Section(
        anchor="hops",
        title="Several bottlenecks (figs. 18 to 25)",
        blocks=[
            Figure(
                svg=figures.hops(evidence),
                caption="Figs. 18 to 25: left: the connection over all hops; right: total of its goodput and the mean of the forward cross "
                "traffic; bars are 90 % intervals.",
            ),
            Text(paragraphs=conclusions.hops(evidence)),
        ],
    )


def _gain_table(evidence: Evidence, figure: str, acks: str, caption: str) -> Table:
    others = ("newreno",) if acks == DELAYED else ("newreno", "sack")
    west = goodputs(evidence, figure, "westwoodp", acks)
    rows: list[list[Cell | str]] = []
    for index, point in enumerate(bad_ms(evidence, figure)):
        row: list[Cell | str] = [f"{point}", f"{west[index].mean():.2f}"]
        for other in others:
            mean = goodputs(evidence, figure, other, acks)[index].mean()
            row.append(
                Cell(
                    text=f"{mean:.2f}",
                    detail=f"{signed(100 * (west[index].mean() / mean - 1), 0)} % for Westwood+",
                )
            )
        rows.append(row)
    return Table(
        caption=caption,
        columns=_numbers("bad state [ms]", "Westwood+", *(NAMES[other] for other in others)),
        rows=rows,
    )


def _wireless(evidence: Evidence, results: pd.DataFrame) -> Section:
    return Section(
        anchor="wireless",
        title="Wireless last hop (figs. 27 to 30)",
        blocks=[
            Figure(
                svg=figures.lossy(evidence, "fig-27", figures.PANELS),
                caption="Fig. 27: the connection alone; bars from the smallest to the largest run, as in the paper.",
            ),
            _gain_table(
                evidence,
                "fig-27",
                DELAYED,
                "Fig. 27 (a): mean goodput, Mbit/s; the paper has gains of 70 % to 230 %",
            ),
            _gain_table(
                evidence,
                "fig-27",
                EACH,
                "Fig. 27 (b): mean goodput, Mbit/s; the paper has gains of 34 % to 177 %",
            ),
            Figure(
                svg=figures.wireless_windows(evidence),
                caption="Figs. 28 and 29: windows and thresholds with a bad state of 10 ms, first run. Dotted: 40 and 10 segments.",
            ),
            Figure(
                svg=figures.lossy(evidence, "fig-30", figures.PANELS),
                caption="Fig. 30: with five connections on the wired part and ten New Reno senders on the reverse path.",
            ),
            _gain_table(
                evidence, "fig-30", EACH, "Fig. 30: mean goodput, Mbit/s; the paper has gains of up to 20 %"
            ),
            Text(paragraphs=conclusions.channel(evidence, results)),
        ],
    )


def _satellite(evidence: Evidence) -> Section:
    return Section(
        anchor="satellite",
        title="Satellite (fig. 32)",
        blocks=[
            Figure(
                svg=figures.lossy(evidence, "fig-32", figures.PANELS),
                caption="Fig. 32: total goodput of 20 connections; bars from the smallest to the largest run.",
            ),
            _gain_table(
                evidence,
                "fig-32",
                DELAYED,
                "Fig. 32: total goodput, Mbit/s; the paper has gains of 20 % to 160 %",
            ),
            _gain_table(
                evidence, "fig-32", EACH, "Fig. 32: total goodput, Mbit/s; the paper has gains of up to 80 %"
            ),
        ],
    )


def _sessions(evidence: Evidence) -> Table:
    """Return the uploads of the kernel by path and cause, beside those of the simulator and the printed ranges."""
    rows: list[list[Cell | str]] = []
    for name in printed.SITES:
        site = printed.site(name)
        twins = {(one.cause, one.level): one for one in sessions(evidence, name)}
        for place, kernel in enumerate(sessions(evidence.kernel, name)):
            simulated = twins[kernel.cause, kernel.level]
            what = (
                f"{100 * kernel.level:g} % losses"
                if kernel.cause == "random"
                else f"{kernel.level:g} other connections"
            )
            again = [f"{100 * share:.1f}" for share in kernel.retransmissions]
            rows.append(
                [
                    f"{SITE_NAMES[name]}, {site.rtt_ms:g} ms" if place == 0 else "",
                    what,
                    f"{kernel.newreno:.3f}",
                    f"{kernel.westwoodp:.3f}",
                    Cell(
                        text=signed(kernel.gain.estimate, 0),
                        detail=f"{signed(kernel.gain.low, 0)} to {signed(kernel.gain.high, 0)}",
                    ),
                    Cell(text=signed(simulated.gain.estimate, 0), tone="muted"),
                    f"{signed(site.gain[0], 0)} to {signed(site.gain[1], 0)}" if place == 0 else "",
                    " / ".join(again),
                    f"{kernel.pipe:.1f}",
                    f"{site.pipe[0]:g} to {site.pipe[1]:g}" if place == 0 else "",
                    f"{kernel.pairs}",
                ]
            )
    return Table(
        caption="Uploads of 3.2 MB with the kernel: mean goodput, Mbit/s, and gain of Westwood+, %, with its 90 % interval",
        columns=[
            *_words("path", "losses by"),
            *_numbers(
                "New Reno",
                "Westwood+",
                "gain",
                "simulator",
                "paper",
                "retransmitted, %",
                "pipe, segments",
                "paper",
                "pairs",
            ),
        ],
        rows=rows,
        note="The paper's ranges are over days whose traffic is not known. Retransmitted: New Reno / Westwood+. The simulator runs the same "
        "scenarios; its windows grow by acknowledgements, those of Linux by segments, which matters while acknowledgements are delayed.",
    )


def live(evidence: Evidence) -> Section:
    """Return the section on the live measurements: uploads of the kernel, and the printed sessions."""

    def measured() -> list[Block]:
        return [
            Text(paragraphs=conclusions.gained(evidence)),
            Figure(
                svg=figures.live(evidence),
                caption="Gain of Westwood+ over New Reno by path and cause of losses, kernel and simulator on the same scenarios, with 90 % "
                "intervals. Shaded: the printed range.",
            ),
            _sessions(evidence),
        ]

    blocks = [Text(paragraphs=conclusions.live()), *blocks_of("westwood-plus", evidence.linux, measured)]
    for number, name in enumerate(printed.SITES, start=2):
        site = printed.site(name)
        blocks.append(
            Table(
                caption=f"Table {number}: sessions with the server at {SITE_NAMES[name]}, as printed",
                columns=[*_words("date"), *_numbers("uploads", "MB")],
                rows=[
                    [date, str(uploads), f"{megabytes:g}"]
                    for date, uploads, megabytes in zip(site.dates, site.uploads, site.megabytes, strict=True)
                ],
                note=f"Gain of Westwood+ {signed(site.gain[0], 0)} to {signed(site.gain[1], 0)} %, pipe {site.pipe[0]:g} to "
                f"{site.pipe[1]:g} segments, minimum round-trip time {site.rtt_ms:g} ms (Table 5).",
            )
        )
    return Section(anchor="live", title="Live measurements (section 4)", blocks=blocks)


def sections(
    settings: Settings, evidence: Evidence, findings: Sequence[Finding], moves: Sensitivity[Variation]
) -> list[Section]:
    """Return the sections of the report."""
    results = evidence.results
    return [
        _set_up(),
        _rules(evidence),
        _model(evidence),
        _estimates(evidence),
        _connection(evidence, results),
        _many_flows(evidence),
        _hops(evidence),
        _wireless(evidence, results),
        _satellite(evidence),
        moves.section(
            paragraphs=[
                "Each assumption is varied separately, with the same seeds, and the claims are evaluated again. "
                f"They are compared with the main reading on the same points and runs: {size(settings).readings} runs of the single connection, and fewer runs and points of the experiments with many flows.",
            ],
            groups={group: f"Readings: {words}" for group, (words, _) in GROUPS.items()},
        ),
        conclusions.misses(findings),
        examined.section(Path(__file__).with_name("examined.toml"), findings),
        live(evidence),
    ]
