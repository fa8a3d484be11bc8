"""Tables of the report: the paper's with ours, and further results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dumbbell.claims import Finding
from dumbbell.report import Cell, Column, Table
from dumbbell.report.numbers import number

from .cycles import shared_losses
from .evidence import Evidence, Values
from .figures import LABELS
from .linux import KINDS, UPLOADS
from .network import VARIANTS
from .printed import COLUMNS, data, interval
from .rule_claims import FIELDS
from .rules import table1
from .scenarios import PHASE_RATES, PHASES, START_SIZES
from .sensitivity import Study, nearest
from .sweep_claims import fairness
from .testbed_claims import queued, ratio_to_reno
from .uploads import rates, share_ratios

ROWS = {"Wold": "Wold", "alpha": "alpha", "beta": "beta", "Delta": "Delta", "W": "W"}


def _columns(first: str, *others: str) -> list[Column]:
    return [Column(title=first, align="left"), *(Column(title=title) for title in others)]


def table_1() -> Table:
    """Return Table 1, replayed and printed."""
    made, printed = table1(), data()["table1"]
    rows: list[list[Cell | str]] = []
    for name in ROWS:
        row: list[Cell | str] = [name]
        for column, one in enumerate(made):
            ours, theirs = f"{getattr(one, FIELDS[name]):g}", f"{printed[name][column]:g}"
            if name in ("alpha", "beta"):
                step, stated = getattr(one, FIELDS[f"{name}_inc"]), printed[f"{name}_inc"][column]
                ours += f" + {step:g}" if step else ""
                theirs += f" + {stated:g}" if stated else ""
            row.append(Cell(text=ours, detail=f"paper {theirs}", tone="good" if ours == theirs else "bad"))
        rows.append(row)
    return Table(
        caption="Table 1: NewVegas over six round trips, replayed by the rule",
        columns=_columns("", *(f"j + {index}" if index else "j" for index in range(6))),
        rows=rows,
        note="A change of a threshold takes effect in the next round trip.",
    )


def table_2(evidence: Evidence) -> Table:
    """Return Table 2, measured and printed, with the deterministic runs."""
    rows: list[list[Cell | str]] = []
    for rate in data()["table2"]["rates"]:
        row: list[Cell | str] = [f"{rate}"]
        place = data()["table2"]["rates"].index(rate)
        for kind in ("code", "newvegas", "vegas"):
            found = interval(fairness(evidence, kind, rate))
            printed = data()["table2"][kind][place]
            row.append(
                Cell(
                    text=f"{found.estimate:.3f}",
                    detail=f"paper {printed:.2f}",
                    tone="good" if abs(found.estimate - printed) <= 0.03 else "bad",
                    hint=f"95 % interval {found.low:.3f} to {found.high:.3f}",
                )
            )
        for kind in ("code", "newvegas", "vegas"):
            alone = evidence.all_runs(f"together/{kind}/{rate}")[0].of("goodput", "variant")
            row.append(Cell(text=f"{alone.sum() ** 2 / (alone.size * (alone**2).sum()):.3f}", tone="muted"))
        rows.append(row)
    return Table(
        caption="Table 2: fairness index of ten connections of one variant",
        columns=_columns("Mbit/s", "CODE", "NewVegas", "Vegas", "CODE", "NewVegas", "Vegas"),
        groups=(("", 1), ("main reading", 3), ("nothing random, one run", 3)),
        rows=rows,
        note="Green: within 0.03 of the printed index.",
    )


def table_3() -> Table:
    """Return Table 3 as printed, with its means and half-widths computed again."""
    printed = data()["table3"]
    rows: list[list[Cell | str]] = [
        [f"{index + 1}", *(f"{printed[column][index]:.2f}" for column in COLUMNS)] for index in range(10)
    ]
    means: list[Cell | str] = ["mean"]
    for column in COLUMNS:
        means.append(
            Cell(text=f"{np.mean(printed[column]):.2f}", detail=f"paper {printed['mean'][column]:.2f}")
        )
    rows.append(means)
    for level in ("99", "95", "90"):
        row: list[Cell | str] = [f"{level} % ±"]
        for column in COLUMNS:
            half = interval(printed[column], int(level) / 100).half_width
            row.append(Cell(text=f"{half:.2f}", detail=f"paper {printed['half_width'][level][column]:.2f}"))
        rows.append(row)
    return Table(
        caption="Table 3: throughput of uploads over the Internet as printed, KB/s",
        columns=_columns("round", "Reno", "Vegas", "Reno", "CODE"),
        groups=(("", 1), ("Reno against Vegas", 2), ("Reno against CODE", 2)),
        rows=rows,
        note="Means and half-widths are recomputed from the printed rounds.",
    )


def intervals(evidence: Evidence) -> Table:
    """Return the ratio to Reno of every variant in every figure, computed in three ways."""
    figures = (
        ("Fig. 9", "fig9"),
        ("Figs. 10-13 (a)", "rtt-a"),
        ("Figs. 10-13 (b)", "rtt-b"),
        ("Fig. 14", "fig14"),
        ("Fig. 15", "fig15"),
    )
    rows: list[list[Cell | str]] = []
    for title, figure in figures:
        far = evidence.distances(figure)
        nearest = min(far, key=far.__getitem__)
        for kind in VARIANTS:
            pooled, points = evidence.pooled(figure, kind), evidence.over_points(figure, kind)
            sums = np.sum(
                [
                    [part.sum() for part in evidence.goodputs(figure, kind, point)]
                    for point in evidence.swept(figure, kind)
                ],
                axis=0,
            )
            rows.append(
                [
                    title if kind == VARIANTS[0] else "",
                    Cell(text=LABELS[kind], tone="strong" if kind == nearest else ""),
                    f"{pooled.estimate:.3f}",
                    f"{pooled.low:.3f} to {pooled.high:.3f}",
                    f"{points.low:.3f} to {points.high:.3f}",
                    f"{sums[0] / sums[1]:.3f}",
                ]
            )
    return Table(
        caption="Throughput of a variant over that of Reno",
        columns=[
            Column(title="", align="left"),
            Column(title="variant", align="left"),
            Column(title="mean of ratios"),
            Column(title="95 % interval, all runs"),
            Column(title="95 % interval, means of points"),
            Column(title="ratio of sums"),
        ],
        rows=rows,
        note="Intervals by the paper's rule, the normal quantile. Bold: the variant nearest to 1. The paper prints its intervals "
        "inside figures that are lost.",
    )


def synchronisation(evidence: Evidence) -> Table:
    """Return how overflows hit the two connections of Fig. 5."""
    rows: list[list[Cell | str]] = []
    for title, key in (
        ("NewVegas and Reno, nothing random", "base/fig3"),
        ("CODE and Reno, nothing random", "base/fig5"),
        ("CODE and Reno, cross traffic", "fig5-cross"),
    ):
        runs = evidence.all_runs(key)
        both, mine, reno = np.sum([shared_losses(run) for run in runs], axis=0)
        ratio = interval([run.one("goodput", "variant") / run.one("goodput", "reno") for run in runs])
        total = both + mine + reno
        rows.append(
            [
                title,
                f"{total / len(runs):.1f}",
                f"{100 * both / total:.0f} %",
                f"{100 * mine / total:.0f} %",
                f"{100 * reno / total:.0f} %",
                f"{ratio.estimate:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]",
            ]
        )
    return Table(
        caption="Connections that lose packets when the queue overflows, 10 Mbit/s, 20 s to 200 s",
        columns=_columns("", "overflows in a run", "both", "variant alone", "Reno alone", "variant/Reno"),
        rows=rows,
    )


def phases(evidence: Evidence) -> Table:
    """Return how the shares in a network without anything random depend on a millisecond of the round-trip time."""
    rows: list[list[Cell | str]] = []
    for variant_ms, reno_ms in PHASES:
        row: list[Cell | str] = [f"{variant_ms:g} ms, {reno_ms:g} ms"]
        for kind in ("reno", "code"):
            for rate in PHASE_RATES:
                row.append(f"{phase_ratio(evidence, kind, rate, (variant_ms, reno_ms)):.2f}")
        rows.append(row)
    return Table(
        caption="Random starts only: throughput of the first connection over that of the second, Reno",
        columns=_columns(
            "base round-trip times", *[f"{rate} Mbit/s" for _ in range(2) for rate in PHASE_RATES]
        ),
        groups=(("", 1), ("Reno", len(PHASE_RATES)), ("CODE", len(PHASE_RATES))),
        rows=rows,
    )


def phase_ratio(evidence: Evidence, kind: str, rate: int, times: tuple[float, float]) -> float:
    """Return the mean ratio of a connection to Reno with base round-trip times that hardly differ."""
    runs = evidence.all_runs(f"phase/{kind}/{rate}/{times[0]:g}-{times[1]:g}")
    return float(np.mean([run.one("goodput", "variant") / run.one("goodput", "reno") for run in runs]))


def transfers(evidence: Evidence) -> Table:
    """Return how long short transfers take."""
    rows: list[list[Cell | str]] = []
    for size in START_SIZES:
        row: list[Cell | str] = [f"{size} kB"]
        for place in ("alone", "beside"):
            for kind in ("reno", "code"):
                runs = evidence.short(kind, size, place)
                row.append(f"{np.mean([run.one('completion', 'short') for run in runs]):.2f}")
        rows.append(row)
    return Table(
        caption="Mean time of a short transfer at 10 Mbit/s, s",
        columns=_columns("size", "Reno", "CODE", "Reno", "CODE"),
        groups=(("", 1), ("alone", 2), ("beside a Reno connection", 2)),
        rows=rows,
    )


def readings(moves: Study) -> Table:
    """Return Fig. 9's ratios under every reading."""
    rows: list[list[Cell | str]] = []
    for move, ratios in moves.in_figure_9:
        row: list[Cell | str] = [Cell(text=move.label, tone="strong" if move.variation is None else "")]
        first = nearest(ratios)
        for kind in VARIANTS:
            ratio = ratios[kind]
            row.append(
                Cell(
                    text=f"{ratio.estimate:.2f}",
                    detail=f"{ratio.low:.2f} to {ratio.high:.2f}",
                    tone="good" if kind == "code" == first else "bad" if kind == first else "",
                )
            )
        row.append(LABELS[first])
        rows.append(row)
    return Table(
        caption="Fig. 9 under every reading: throughput over that of Reno, pooled, with its 95 % interval",
        columns=_columns("reading", *(LABELS[kind] for kind in VARIANTS), "nearest to 1"),
        rows=rows,
        note="All readings at the same rates and repetitions.",
    )


def misses(findings: Sequence[Finding]) -> Table:
    """Return every claim that was not reproduced, with its evidence."""
    rows: list[list[Cell | str]] = [
        [finding.claim.id, finding.claim.statement, number(finding.measured), finding.why]
        for finding in findings
        if finding.holds is False
    ]
    return Table(
        caption="Claims not reproduced",
        columns=[
            Column(title="claim", align="left"),
            Column(title="statement", align="left"),
            Column(title="measured"),
            Column(title="evidence", align="left"),
        ],
        rows=rows,
    )


def unchecked(findings: Sequence[Finding]) -> Table:
    """Return the claims that cannot be checked or await the testbed, with the reasons."""
    waiting = [finding for finding in findings if not finding.is_judged]
    groups: dict[tuple[str, str], list[str]] = {}
    for finding in waiting:
        groups.setdefault((finding.claim.source, finding.why), []).append(finding.claim.id)
    rows: list[list[Cell | str]] = [
        [source, f"{len(names)}", f"{names[0]} … {names[-1]}" if len(names) > 2 else ", ".join(names), why]
        for (source, why), names in groups.items()
    ]
    return Table(
        caption="Claims without a verdict",
        columns=[
            Column(title="source", align="left"),
            Column(title="claims"),
            Column(title="identifiers", align="left"),
            Column(title="reason", align="left"),
        ],
        rows=rows,
    )


def fig_19(evidence: Evidence) -> Table:
    """Return the ratios of Fig. 19, of the kernel and of the simulator on the same scenarios."""
    rows: list[list[Cell | str]] = []
    for rate in evidence.kernel.swept("fig19", "code"):
        row: list[Cell | str] = [f"{rate}"]
        far = {}
        for kind in KINDS:
            kernel, simulator = (
                ratio_to_reno(each, kind, rate) for each in (evidence.kernel, evidence.kernel_simulated)
            )
            far[kind] = abs(kernel.estimate - 1)
            row += [
                Cell(text=f"{kernel.estimate:.3f}", detail=f"{kernel.low:.2f} to {kernel.high:.2f}"),
                Cell(
                    text=f"{simulator.estimate:.3f}",
                    detail=f"{simulator.low:.2f} to {simulator.high:.2f}",
                    tone="muted",
                ),
            ]
        nearest = min(far, key=far.__getitem__)
        row.append(Cell(text=LABELS[nearest], tone="good" if nearest == "code" else "bad"))
        row.append(f"{queued(evidence.kernel, 'vegas', rate).mean():.1f}")
        rows.append(row)
    return Table(
        caption="Fig. 19: goodput of a variant over that of Reno, with 90 % intervals",
        columns=_columns(
            "Mbit/s",
            *(title for _ in KINDS for title in ("kernel", "simulator")),
            "nearest to 1",
            "Vegas's packets waiting",
        ),
        groups=(("", 1), *((LABELS[kind], 2) for kind in KINDS), ("kernel", 2)),
        rows=rows,
    )


def _shown(values: Values, digits: int = 0) -> Cell:
    found = interval(values)
    return Cell(text=f"{found.estimate:.{digits}f}", detail=f"± {found.half_width:.{digits}f}")


def uploads(evidence: Evidence) -> Table:
    """Return the uploads of Table 3 under both readings of its path, by the kernel and the simulator."""
    printed = data()["table3"]
    rows: list[list[Cell | str]] = [
        [
            "printed",
            "",
            *(
                f"{printed['mean'][column]:.0f} ± {printed['half_width']['95'][column]:.1f}"
                for column in COLUMNS
            ),
            f"{printed['mean']['RV-Reno'] / printed['mean']['RV-Vegas']:.2f}",
            f"{printed['mean']['RC-CODE'] / printed['mean']['RC-Reno']:.3f}",
            "10 of 10",
        ]
    ]
    for reading, words in UPLOADS.items():
        for side, each in (("kernel", evidence.kernel), ("simulator", evidence.kernel_simulated)):
            vegas, code = (rates(each, reading, kind) for kind in ("vegas", "code"))
            first = int((vegas["reno"] > vegas["variant"]).sum())
            rows.append(
                [
                    words if side == "kernel" else "",
                    side,
                    *(_shown(one[name]) for one in (vegas, code) for name in ("reno", "variant")),
                    *(_shown(values, 3) for values in share_ratios(vegas, code)),
                    f"{first} of {vegas['reno'].size}",
                ]
            )
    return Table(
        caption="Table 3: throughput of two uploads, KB/s, with 95 % intervals of the mean",
        columns=[
            Column(title="path", align="left"),
            Column(title="", align="left"),
            *(
                Column(title=title)
                for title in ("Reno", "Vegas", "Reno", "CODE", "Reno/Vegas", "CODE/Reno", "Reno first")
            ),
        ],
        groups=(("", 2), ("against Vegas", 2), ("against CODE", 2), ("", 3)),
        rows=rows,
        note="The rate of the first path and the limits of the second are set; the latter to the printed mean of Reno beside "
        "CODE. What the runs tell are ratios and orders.",
    )
