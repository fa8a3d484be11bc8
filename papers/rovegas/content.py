"""Content of the report: the paper's figures with ours, in the paper's order.

All numbers in the text are computed from the runs or read from the paper's data.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dumbbell.claims import Finding
from dumbbell.models import rovegas as model
from dumbbell.papers.real_time import blocks_of, origin_of
from dumbbell.report import Block, Cell, Column, Figure, Section, Table, Text
from dumbbell.report.numbers import number
from dumbbell.sensitivity import Sensitivity

from . import analysis, conclusions, figures, linux, set_up
from .assumptions import Variation
from .connection_claims import kept_target, true_delay_ms
from .evidence import Evidence, Values, interval
from .printed import at_points, data
from .scenarios import ASYMMETRIES, BAND_PANELS, REROUTE_S


def shown(values: Values, digits: int = 0, printed: float | None = None) -> Cell:
    """Return a quantity with its interval and, if printed, the paper's number."""
    mean, low, high = interval(values)
    text = f"{mean:.{digits}f}"
    details = [] if np.isnan(low) else [f"{low:.{digits}f} to {high:.{digits}f}"]
    if printed is not None:
        details.append(f"paper {printed:g}")
    return Cell(text=text, detail="; ".join(details))


def _right(*titles: str) -> list[Column]:
    return [Column(title=title) for title in titles]


def _single(evidence: Evidence) -> Section:
    rows: list[list[Cell | str]] = []
    for name, variant, k in (("fig-3", "vegas", "0.5"), ("fig-4", "vegas", "2"), ("fig-5", "rovegas", "2")):
        printed = data().get(name, {})
        row: list[Cell | str] = [
            f"{name.replace('fig-', 'Fig. ')}, {variant}, k = {k}",
            shown(evidence.first("window", 0, name, variant), 2, printed.get("window")),
        ]
        for way in ("forward_queue", "backward_queue"):
            row.append(shown(evidence.first(way, 0, name, variant), 2))
            row.append(shown(evidence.first(way, 1, name, variant), 0, printed.get(way)))
        row.append(shown(evidence.throughput(name, variant), 1))
        rows.append(row)
    compared = [
        [
            row.variant,
            f"{row.k:g}",
            f"{row.forward_queue:.2f}",
            f"{row.backward_queue:.2f}",
            f"{row.by_model:.2f}",
            f"{row.simulated:.2f}",
            f"{100 * row.error:+.1f} %".replace("-", "−"),
        ]
        for row in analysis.windows(evidence)
    ]
    return Section(
        anchor="analysis",
        title="Window and queues of one connection (Figs. 3 to 5), and the analysis",
        blocks=[
            Figure(
                svg=figures.single_connection(evidence),
                caption="Figs. 3 to 5: one connection, queues of ten packets. Dashed: the numbers of the paper's text.",
            ),
            Table(
                caption="Second half of 20 s",
                columns=[
                    Column(title="", align="left"),
                    *_right(
                        "window", "forward queue, mean", "maximum", "backward queue, mean", "maximum", "throughput [kbit/s]"
                    ),
                ],
                rows=rows,
                note="Windows and queues in packets; a packet in transmission is not counted. The paper's queue of two packets at k = 2 "
                "cannot be a mean: with its window of 33, Diff would be 5, above beta. It is read as the maximum.",
            ),
            Figure(
                svg=figures.model(evidence),
                caption="Windows by Eqs. 7, 10 and 14 from the measured queues, against the simulated ones: every k, both variants.",
            ),
            Table(
                caption="Windows by the model and simulated, with the queues in packets",
                columns=[
                    Column(title="variant", align="left"),
                    *_right("k", "forward queue", "backward queue", "window, model", "window, simulated", "error of the model"),
                ],
                rows=compared,
                note="If ACKs are dropped, packets stay in the window until a later ACK arrives. The fluid model has neither this effect nor the fractional part of the window, which is not sent.",
            ),
        ],
    )  # fmt: skip


def _asymmetric(evidence: Evidence) -> Section:
    plain, ours = at_points("fig-7", "throughput"), at_points("fig-8", "throughput")
    ratios = at_points("fig-8", "ratio")
    rows: list[list[Cell | str]] = []
    for k in ASYMMETRIES:
        vegas, rovegas = (evidence.throughput("ana", variant, k) for variant in ("vegas", "rovegas"))
        allowed = float(np.asarray(model.throughput_ratio_bounds(k).high))
        rows.append(
            [
                str(k),
                shown(vegas, 1, plain[k]),
                shown(rovegas, 1, ours.get(k)),
                shown(rovegas / vegas, 2, ratios[k]),
                f"{allowed:g}",
                shown(evidence.first("steady", 1, "ana", "rovegas", k), 2),
                shown(100 * evidence.first("steady", 0, "ana", "rovegas", k), 1),
                shown(evidence.first("steady", 3, "ana", "rovegas", k), 2),
                shown(evidence.first("window", 0, "ana", "rovegas", k), 1),
            ]
        )
    return Section(
        anchor="asymmetric",
        title="Asymmetric links (Figs. 7 and 8)",
        blocks=[
            Figure(
                svg=figures.asymmetric(evidence),
                caption="Figs. 7 and 8: throughput as ten-second means, and in steady state. Hollow: the paper's numbers; those of Vegas are u_f/k.",
            ),
            Table(
                caption="Second half of 200 s",
                columns=_right(
                    "k", "Vegas [kbit/s]", "RoVegas [kbit/s]", "ratio", "maximum by Eq. 20", "packets per ACK", "ACKs dropped [%]",
                    "Diff", "RoVegas window [packets]",
                ),
                rows=rows,
                note="Throughput of RoVegas without the bytes of the option. The scenarios are deterministic: there is one run of each.",
            ),
            conclusions.limit_at_three(evidence),
        ],
    )  # fmt: skip


def _traffic(evidence: Evidence) -> Section:
    printed = data()["fig-9"]
    rows: list[list[Cell | str]] = []
    for variant in ("vegas", "rovegas", "reno"):
        alone = evidence.rate("fig-9", variant, "", 0, 50)
        loaded = evidence.rate("fig-9", variant, "", 50, 200)
        rows.append(
            [
                variant,
                shown(alone, 0, printed["alone"].get(variant)),
                shown(loaded, 0, printed["loaded"].get(variant)),
                shown(loaded / alone, 3),
            ]
        )
    ratio = evidence.rate("fig-9", "rovegas", "", 50, 200) / evidence.rate("fig-9", "vegas", "", 50, 200)
    correlation = evidence.correlation("fig-9", ("vegas", "rovegas"), "", 50)
    sweeps = [_sweep(evidence, name) for name in ("fig-10", "fig-13")]
    return Section(
        anchor="traffic",
        title="Traffic on the reverse path (Figs. 9, 10, 12 and 13)",
        blocks=[
            Figure(
                svg=figures.traffic(evidence),
                caption="Fig. 9: a variable-rate source of load 0.9 starts on the reverse path at 50 s. Bands: 90 % intervals.",
            ),
            Table(
                caption="Mean throughput of Fig. 9 [kbit/s]",
                columns=[Column(title="variant", align="left"), *_right("0 to 50 s", "50 to 200 s", "ratio")],
                rows=rows,
                note=f"Ratio of RoVegas to Vegas from 50 s on: {number(float(ratio[0]))}; the paper's means give "
                f"{printed['loaded']['rovegas'] / printed['loaded']['vegas']:.2f}. Correlation of their throughputs from second to second: "
                f"{correlation[0]:.2f}. Reno is not in the figure; section 2 of the paper cites that it is affected less.",
            ),
            Figure(
                svg=figures.load_sweeps(evidence),
                caption="Figs. 10 and 13: mean throughput over 200 s, and the ratio of RoVegas to Vegas, with 90 % intervals. Hollow: the paper's ratios.",
            ),
            *sweeps,
            Text(paragraphs=[f"The ratio at load 1 in the parking lot: {conclusions.UNCERTAIN}"]),
            Figure(
                svg=figures.entering(evidence),
                caption="Fig. 12: in the parking lot, a variable-rate source of load 0.8 starts on one hop after another.",
            ),
            _entering(evidence),
        ],
    )  # fmt: skip


def _sweep(evidence: Evidence, name: str) -> Table:
    printed = at_points(name, "ratio")
    rows: list[list[Cell | str]] = []
    for load in evidence.points(name, "vegas"):
        vegas, rovegas = (evidence.throughput(name, variant, load) for variant in ("vegas", "rovegas"))
        timeouts = [
            float(np.mean([row["timeouts"][0] for row in evidence.rows(name, variant, load)]))
            for variant in ("vegas", "rovegas")
        ]
        rows.append(
            [
                f"{load:g}",
                shown(vegas),
                shown(rovegas),
                shown(rovegas / vegas, 2, printed.get(load)),
                *(f"{count:.1f}" for count in timeouts),
            ]
        )
    return Table(
        caption=f"{name.replace('fig-', 'Fig. ')}: mean throughput [kbit/s], and timeouts per run",
        columns=_right("load", "Vegas", "RoVegas", "ratio", "timeouts, Vegas", "timeouts, RoVegas"),
        rows=rows,
    )


def _entering(evidence: Evidence) -> Table:
    printed = [None, *data()["fig-12"]["ratio"]]
    rows: list[list[Cell | str]] = []
    for index, start in enumerate((0, 100, 200, 300)):
        vegas, rovegas = (
            evidence.rate("fig-12", variant, "", start, start + 100) for variant in ("vegas", "rovegas")
        )
        rows.append(
            [
                f"{start} to {start + 100} s",
                str(index),
                shown(vegas),
                shown(rovegas),
                shown(rovegas / vegas, 2, printed[index]),
            ]
        )
    return Table(
        caption="Fig. 12: mean throughput [kbit/s]",
        columns=[Column(title="time", align="left"), *_right("sources", "Vegas", "RoVegas", "ratio")],
        rows=rows,
    )


def _persistent(evidence: Evidence) -> Section:
    fluid = model.persistent_queue(8)
    target = float(kept_target(evidence)[0])
    bound = at_points("fig-15", "vegas"), at_points("fig-15", "rovegas")
    rows: list[list[Cell | str]] = []
    for n in range(1, 9):
        rows.append(
            [
                str(n),
                shown(evidence.queue_after("vegas", n), 1, bound[0].get(n)),
                f"{target * fluid[n - 1]:.1f}",
                shown(evidence.first("base_rtt", 4 * n - 1, "fig-15", "vegas"), 1),
                shown(evidence.queue_after("rovegas", n), 1, bound[1].get(n)),
                f"{n} to {3 * n}",
                shown(evidence.first("base_rtt", 4 * n - 1, "fig-15", "rovegas"), 4),
            ]
        )
    true = {variant: true_delay_ms(evidence, variant) for variant in ("vegas", "rovegas")}
    return Section(
        anchor="persistent",
        title="Persistent congestion (Fig. 15)",
        blocks=[
            Figure(
                svg=figures.persistent(evidence),
                caption="Fig. 15: a connection starts every 20 s. Grey: alpha to beta packets for each connection. Hollow: the paper's numbers.",
            ),
            Table(
                caption="Queue in the ten seconds before the next connection starts [packets], and the last base RTT of the n-th connection [ms]",
                columns=_right(
                    "connections",
                    "Vegas",
                    "fluid model",
                    "base RTT, Vegas",
                    "RoVegas",
                    "alpha to beta per connection",
                    "base RTT, RoVegas",
                ),
                rows=rows,
                note=f"The fixed delay is {true['vegas']:.3f} ms for Vegas and {true['rovegas']:.4f} ms for RoVegas. In "
                "the fluid model, a connection takes the existing queue for part of its propagation delay. The only "
                f"parameter of the model, the target backlog of each connection, is {target:.2f} packets by least squares, between alpha and beta.",
            ),
        ],
    )


def _fairness(evidence: Evidence) -> Section:
    fluid = model.persistent_shares(5)
    blocks: list[Block] = []
    for name, words in (
        ("fig-17", "equal delays, a connection starts every 30 s"),
        ("fig-18", "unequal delays, all start together; connection 1 has the longest"),
    ):
        rows: list[list[Cell | str]] = []
        for panel in (*BAND_PANELS, *(("reno",) if name == "fig-18" else ())):
            rates = evidence.throughputs(name, panel)
            title = figures.PANEL_TITLES.get(panel, "reno, for comparison")
            rows.append([title, *(shown(rate) for rate in rates), shown(evidence.jain(name, panel), 3)])
        blocks += [
            Figure(
                svg=figures.fairness(evidence, name),
                caption=f"{name.replace('fig-', 'Fig. ')}: {words}. One run of each panel, means of five seconds.",
            ),
            Table(
                caption=f"{name.replace('fig-', 'Fig. ')}: mean throughput of the last 40 s [kbit/s], and fairness index per run",
                columns=[
                    Column(title="panel", align="left"),
                    *_right("1", "2", "3", "4", "5", "fairness index"),
                ],
                rows=rows,
                note=(
                    "Shares of the fluid model for panel (b): "
                    + ", ".join(f"{share:.3f}" for share in fluid)
                    + ". The paper states only that shares are unequal in (a) to (c) and equal in (d)."
                )
                if name == "fig-17"
                else "",
            ),
        ]
    return Section(anchor="fairness", title="Fairness (Figs. 17 and 18)", blocks=blocks)


def _deployment(evidence: Evidence) -> Section:
    vegas = evidence.throughput("fig-19", "vegas")
    rows: list[list[Cell | str]] = [["vegas", shown(vegas), "", ""]]
    for point, words in (
        ("none", "no router"),
        ("r2", "R2 only"),
        ("all", "all four routers, minimum base RTT kept"),
    ):
        rate = evidence.throughput("fig-19", "rovegas", point)
        least = evidence.mean_of(
            evidence.rows("fig-19", "rovegas", point), lambda row: float(row["base_rtt"][3])
        )
        rows.append([f"rovegas, option at {words}", shown(rate), shown(rate / vegas, 2), shown(least, 3)])
    return Section(
        anchor="deployment",
        title="Gradual deployment (Fig. 19)",
        blocks=[
            Figure(
                svg=figures.deployment(evidence),
                caption="Fig. 19: parking lot, load 0.8 on every hop from 0 s, the option at R2 only.",
            ),
            Table(
                caption="Mean throughput over 200 s [kbit/s], and the final base RTT [ms]",
                columns=[Column(title="", align="left"), *_right("throughput", "ratio to Vegas", "base RTT")],
                rows=rows,
                note="Without such a router, RoVegas is Vegas with larger ACKs. R2 measures one of the three backward queues.",
            ),
        ],
    )


def _rerouting(evidence: Evidence) -> Section:
    begin, end = REROUTE_S
    rows: list[list[Cell | str]] = []
    for by, words in (("delay", "links of twice the delay"), ("path", "path over a third router")):
        for variant in ("vegas", "rovegas", "rovegas-minimum"):
            row = evidence.rows("ext", variant, by)[0]
            rates = [
                float(evidence.rate("ext", variant, by, *times)[0])
                for times in ((20, begin), (begin + 20, end), (end + 20, 178))
            ]
            base = [float(row["base_curve"][int(second) - 1]) for second in (begin - 1, end - 1, 178)]
            label = "rovegas, minimum base RTT kept" if variant.endswith("minimum") else variant
            rows.append(
                [label, words, *(f"{rate:.0f}" for rate in rates), *(f"{value:.4f}" for value in base)]
            )
    return Section(
        anchor="rerouting",
        title="Rerouting (sections 2.2.1 and 3.1; argued in the paper, not simulated)",
        blocks=[
            Figure(
                svg=figures.rerouting(evidence),
                caption=f"One connection; its path is longer from {begin:.0f} to {end:.0f} s. The curves of Vegas and of RoVegas with the "
                "minimum base RTT coincide.",
            ),
            Table(
                caption="Mean throughput [kbit/s] and base RTT [ms] before, during and after the longer path",
                columns=[
                    Column(title="variant", align="left"),
                    Column(title="longer by", align="left"),
                    *_right("before", "longer", "after", "base RTT before", "longer", "after"),
                ],
                rows=rows,
                note="Throughput without the first 20 s of each part. RoVegas as in Eq. 3 adopts the new fixed delay with the first "
                "ACK that took the new path in both directions; with the minimum base RTT, as for "
                "mixed networks, it cannot distinguish a longer path from a queue, like Vegas.",
            ),
        ],
    )


def on_testbed(evidence: Evidence) -> Section:
    """Return the section on connections of the kernel, an addition to the paper."""
    title = "On Linux: asymmetric links and rerouting with real packets (an addition)"
    return Section(
        anchor="testbed",
        title=title,
        blocks=blocks_of("rovegas", evidence.linux, lambda: _on_linux(evidence)),
    )


def _mean_backlog(kernel: Evidence, variant: str, k: float, way: int) -> Values:
    """Return the mean backlog of the bottleneck, forwards (0) or backwards (1), with resamples."""
    rows = kernel.rows(linux.ALONE, variant, k)
    return kernel.mean_of(rows, lambda row: float(row["backlogs"][way]))


def _on_linux(evidence: Evidence) -> list[Block]:
    """Return figures and tables of the runs of the kernel."""
    kernel = evidence.kernel
    rows: list[list[Cell | str]] = []
    for k in kernel.points(linux.ALONE, "vegas"):
        row: list[Cell | str] = [f"{k:g}"]
        for variant in linux.VARIANTS:
            row.append(shown(kernel.throughput(linux.ALONE, variant, k)))
            row.append(shown(evidence.throughput(linux.ALONE, variant, k)))
        both = [kernel.throughput(linux.ALONE, variant, k) for variant in ("rovegas", "vegas")]
        row.append(shown(both[0] / both[1], 2, at_points("fig-8", "ratio").get(k)))
        for variant in linux.VARIANTS:
            waiting = [_mean_backlog(kernel, variant, k, way) for way in (0, 1)]
            row.append(" / ".join(f"{values[0]:.1f}" for values in waiting))
        rows.append(row)
    blocks: list[Block] = [
        Text(
            paragraphs=[
                "All results of the paper are simulated; this is an addition. Real packets carry the queueing time in a TCP option that the emulated "
                "links update, and eBPF twins of Vegas and RoVegas use it. The simulator runs the same scenarios. "
                f"The runs: {origin_of(evidence.linux)}."
            ]
        ),
        Figure(
            svg=figures.on_linux(evidence),
            caption="Throughput against the asymmetric factor, and RoVegas over Vegas. Hollow: the paper.",
        ),
        Table(
            caption="Mean throughput over asymmetric links [kbit/s], and packets waiting forward and backward",
            columns=_right(
                "k", "kernel", "simulator", "kernel", "simulator", "RoVegas / Vegas", "Vegas", "RoVegas"
            ),
            groups=[("", 1), ("Vegas", 2), ("RoVegas", 2), ("kernel", 1), ("waiting, kernel", 2)],
            rows=rows,
            note="Packets of 1500 bytes, acknowledgements of 52 bytes, or 60 with the option; one acknowledgement for each packet.",
        ),
    ]
    if kernel.has(linux.REROUTED):
        blocks.append(
            Figure(
                svg=figures.rerouting_on_linux(evidence),
                caption=f"One connection whose path is longer from {REROUTE_S[0]:.0f} to {REROUTE_S[1]:.0f} s; the first run of the kernel, and the simulator.",
            )
        )
    return blocks


def sections(evidence: Evidence, findings: Sequence[Finding], moves: Sensitivity[Variation]) -> list[Section]:
    """Return the sections of the report, in order.

    Parameters
    ----------
    evidence
        The results of the runs.
    findings
        The evaluated claims.
    moves
        The effects of varying the assumptions.
    """
    return [
        conclusions.misses(evidence, findings),
        set_up.section(),
        _single(evidence),
        _asymmetric(evidence),
        _traffic(evidence),
        _persistent(evidence),
        _fairness(evidence),
        _deployment(evidence),
        _rerouting(evidence),
        moves.section(
            paragraphs=[
                "Every open assumption was varied, one at a time, and all claims were evaluated again on runs "
                "with the same seeds and on the same number of baseline runs. Unaffected runs were not repeated. "
                "Verdicts on claims close to their limit also change by chance. Relevant are assumptions that change many "
                "verdicts, or a quantity by more than 10 % (bold)."
            ],
            note="Figs. 8 to 13: RoVegas over Vegas. Fig. 15: queue with eight connections, packets. Figs. 17 and 18: fairness index.",
            further=[conclusions.averages(evidence)],
        ),
        conclusions.tensions(evidence),
        on_testbed(evidence),
    ]
