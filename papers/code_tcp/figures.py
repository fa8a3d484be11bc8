"""The report's figures, each as SVG text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from dumbbell import plots, topologies
from dumbbell.models import code_tcp
from dumbbell.statistics import Interval, mean_interval

from .assumptions import BASE
from .cycles import cycles
from .evidence import Evidence, Run
from .linux import KINDS
from .network import BOTTLENECK, VARIANTS
from .printed import data, interval
from .scenarios import EPSILON_RATE, EPSILONS, rate_point, rtt_point
from .sensitivity import Moved
from .sweep_claims import fairness

LABELS = {"reno": "Reno", "vegas": "Vegas", "vegasa": "Vegas-A", "newvegas": "NewVegas", "code": "CODE"}
GREY = "#7F7F7F"

Curve = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]
LETTERS = "abcd"


def networks() -> tuple[str, str]:
    """Draw the networks of Figs. 7 and 8 with our rates and delays."""
    labels = {"s1": "variant", "s2": "Reno", "s3": "cross traffic"}
    return (
        plots.to_svg(topologies.draw(rate_point("code", 10, BASE), labels=labels)),
        plots.to_svg(topologies.draw(rtt_point("code", "b", 100, BASE), labels=labels)),
    )


def _curve(points: Sequence[float], each: Sequence[Interval]) -> Curve:
    """Return the points with the estimates there and the limits of their intervals."""
    values = ([getattr(item, name) for item in each] for name in ("estimate", "low", "high"))
    estimates, low, high = map(np.array, values)
    return np.array(points, dtype=np.float64), estimates, low, high


def _series(evidence: Evidence, figure: str, kind: str) -> dict[str | tuple[str, str], Curve]:
    """Return the mean goodputs of a variant and of Reno at each point with their 95 % intervals, Mbit/s."""
    swept = evidence.swept(figure, kind)
    found: dict[str | tuple[str, str], Curve] = {}
    for which, name in enumerate((kind, "reno")):
        each = [interval(evidence.goodputs(figure, kind, point)[which] / 1e6) for point in swept]
        found[LABELS[name], name] = _curve(swept, each)
    return found


def _panels(evidence: Evidence, figure: str, title: str, x_label: str, x_unit: str | None) -> str:
    """Draw the four panels of a figure that has one for each variant."""
    drawn, axes = plots.figure(1, 4, width=3.7, height=3.1)
    for ax, kind, letter in zip(axes[0], VARIANTS, LETTERS, strict=True):
        ratio = evidence.pooled(figure, kind)
        plots.sweep(
            _series(evidence, figure, kind),
            x_label=x_label,
            x_unit=x_unit,
            y_label="throughput",
            y_unit="Mbit/s",
            title=f"{title}({letter}) {LABELS[kind]}/Reno\n{ratio.estimate:.2f}, 95 %: {ratio.low:.2f} to {ratio.high:.2f}",
            ax=ax,
        )
        ax.set_ylim(bottom=0)
    return plots.to_svg(drawn)


def against_rate(evidence: Evidence) -> str:
    """Draw Fig. 9."""
    return _panels(evidence, "fig9", "Fig. 9", "bottleneck rate", "Mbit/s")


def _ratios(evidence: Evidence, kind: str, figure: str) -> Curve:
    """Return the mean ratio to Reno at each rate of a figure with its 90 % interval."""
    swept = evidence.swept(figure, kind)
    return _curve(swept, [mean_interval(evidence.ratios(figure, kind, rate)) for rate in swept])


def on_linux(evidence: Evidence) -> str:
    """Draw Fig. 19: the kernel, the simulator on the same scenarios and on Fig. 9, and what the paper states."""
    drawn, axes = plots.figure(1, len(KINDS), width=4.2, height=3.4)
    # Of Fig. 19 the text is left: almost equal (c), less than Reno (a, b).
    stated = {
        "code": "paper: almost equal",
        "vegas": "paper: much less than Reno",
        "newvegas": "paper: less than Reno",
    }
    for ax, kind, letter in zip(axes[0], KINDS, LETTERS, strict=False):
        series: dict[str | tuple[str, str], Curve] = {
            ("kernel", kind): _ratios(evidence.kernel, kind, "fig19"),
            ("simulator, same scenario", kind): _ratios(evidence.kernel_simulated, kind, "fig19"),
        }
        if evidence.has("fig9"):
            series["simulator, Fig. 9"] = _ratios(evidence, kind, "fig9")
        plots.sweep(
            series,
            x_label="bottleneck rate",
            x_unit="Mbit/s",
            y_label=f"{LABELS[kind]}/Reno",
            title=f"Fig. 19({letter}): {LABELS[kind]} and Reno",
            ax=ax,
        )
        ax.axhline(1.0, color=GREY, linewidth=0.9, linestyle="--", label=stated[kind])
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False, fontsize=8)
    return plots.to_svg(drawn)


def against_buffer(evidence: Evidence) -> str:
    """Draw Fig. 14."""
    return _panels(evidence, "fig14", "Fig. 14", "buffer", "packets")


def against_mix(evidence: Evidence) -> str:
    """Draw Fig. 15."""
    return _panels(evidence, "fig15", "Fig. 15", "Reno connections of ten", None)


def against_rtt(evidence: Evidence) -> str:
    """Draw Figs. 10 to 13, and two Reno connections in the same network."""
    drawn, axes = plots.figure(2, 5, width=3.4, height=3.0)
    for row, panel in enumerate("ab"):
        figure = f"rtt-{panel}"
        swept_one = "Reno's" if panel == "a" else "the other's"
        for ax, kind, number in zip(axes[row], (*VARIANTS, "reno"), (10, 11, 12, 13, 0), strict=True):
            if kind == "reno":
                series: dict[str | tuple[str, str], Curve] = {
                    ("Reno in the variant's place", "reno"): _reno(evidence, figure, "variant"),
                    ("Reno", "reno"): _reno(evidence, figure, "reno"),
                }
                title = f"({panel}) two Reno"
            else:
                ratio = evidence.pooled(figure, kind)
                series = _series(evidence, figure, kind)
                title = (
                    f"Fig. {number}({panel}) {LABELS[kind]}/Reno\n"
                    f"{ratio.estimate:.2f}, 95 %: {ratio.low:.2f} to {ratio.high:.2f}"
                )
            plots.sweep(
                series,
                x_label=f"{swept_one} base round-trip time",
                x_unit="ms",
                y_label="throughput",
                y_unit="Mbit/s",
                title=title,
                ax=ax,
            )
            ax.set_ylim(bottom=0)
    return plots.to_svg(drawn)


def _reno(evidence: Evidence, figure: str, name: str) -> Curve:
    swept = evidence.swept(figure, "reno")
    each = [
        interval([run.one("goodput", name) / 1e6 for run in evidence.point(figure, "reno", point)])
        for point in swept
    ]
    return _curve(swept, each)


def windows(evidence: Evidence) -> str:
    """Draw one run each of Figs. 2, 3 and 5, with alpha where it moves and instants i, j and k of a cycle."""
    drawn, axes = plots.figure(3, 1, width=11.0, height=2.7)
    for ax, (figure, kind) in zip(
        axes[:, 0], (("fig2", "vegas"), ("fig3", "newvegas"), ("fig5", "code")), strict=True
    ):
        run = evidence.traced(figure)[-1]
        for name, algorithm in (("variant", kind), ("reno", "reno")):
            time, cwnd = run.trace("cwnd", name)
            ax.plot(time, cwnd, color=plots.style(algorithm).colour, linewidth=0.9, label=LABELS[algorithm])
        if run.has_trace("alpha"):
            time, alpha = run.trace("alpha")
            ax.step(time, alpha, where="post", color=GREY, linewidth=0.7, label="alpha")
            for one in [cycle for cycle in cycles(run) if cycle.begin_s > 100][:1]:
                for letter, instant in zip("ijk", (one.begin_s, one.lowest_s, one.end_s), strict=True):
                    ax.axvline(instant, color=GREY, linewidth=0.7, linestyle=":")
                    ax.text(
                        instant, 1.0, letter, transform=ax.get_xaxis_transform(), ha="center", va="bottom"
                    )
        # Recoveries inflate windows far beyond what is sent.
        ax.set_ylim(0, 180)
        ax.set_xlim(0, 200)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("window [packets]")
        ax.set_title(f"Fig. {figure.removeprefix('fig')}: {LABELS[kind]} and Reno", loc="left")
        ax.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3)
    return plots.to_svg(drawn)


def cycle(evidence: Evidence) -> str:
    """Draw measured cycles of CODE and Reno over the idealised one of Fig. 6, in units of CODE's peak."""
    drawn, axes = plots.figure(width=6.6, height=3.8)
    ax = axes[0, 0]
    model = code_tcp.cycle(BASE.epsilon)
    first, whole = model.decrease_rounds, model.rounds
    ideal = {
        "code": ([0, first, whole], [0.75, BASE.epsilon, 1.0]),
        "reno": ([0, whole], [model.reno_peak / 2, model.reno_peak]),
    }
    for kind, (rounds, height) in ideal.items():
        ax.plot(
            np.array(rounds) / whole,
            height,
            color=plots.style(kind).colour,
            linestyle="--",
            label=f"{LABELS[kind]}, model",
        )
    grid = np.linspace(0.0, 1.0, 101)
    for name, kind in (("variant", "code"), ("reno", "reno")):
        shapes = [
            np.interp(one.begin_s + grid * (one.end_s - one.begin_s), *run.trace("cwnd", name)) / one.peak
            for run in evidence.traced("fig5")
            for one in cycles(run)
        ]
        ax.plot(
            grid,
            np.median(shapes, axis=0),
            color=plots.style(kind).colour,
            label=f"{LABELS[kind]}, measured (median)",
        )
    ax.set_ylim(0, 1.6)
    ax.set_xlabel("place in the cycle")
    ax.set_ylabel("window / CODE's peak")
    ax.legend(frameon=False, fontsize=8)
    return plots.to_svg(drawn)


def epsilon_ratio(evidence: Evidence, value: float) -> Interval:
    """Return the mean of CODE/Reno at an epsilon, with its 95 % interval."""
    runs = evidence.all_runs(f"epsilon/{value}")
    return interval([run.one("goodput", "variant") / run.one("goodput", "reno") for run in runs])


def epsilon(evidence: Evidence) -> str:
    """Draw CODE/Reno against epsilon, measured and by the model."""
    drawn, axes = plots.figure(width=6.6, height=3.8)
    ax = axes[0, 0]
    each = [epsilon_ratio(evidence, value) for value in EPSILONS]
    plots.sweep(
        {(f"simulated at {EPSILON_RATE} Mbit/s", "code"): _curve(EPSILONS, each)},
        x_label="epsilon",
        y_label="CODE/Reno",
        ax=ax,
    )
    grid = np.linspace(EPSILONS[0], EPSILONS[-1], 71)
    ax.plot(grid, code_tcp.throughput_ratio(grid), color=GREY, linestyle="--", label="fluid model")
    ax.axhline(1.0, color=GREY, linewidth=0.7)
    ax.axvline(BASE.epsilon, color=GREY, linewidth=0.7)
    ax.set_ylim(0, 3)
    ax.legend(frameon=False, fontsize=8)
    return plots.to_svg(drawn)


def _draw_pair(ax: Axes, run: Run, kinds: Sequence[str]) -> None:
    names = {"first": "first", "second": "newcomer"}
    for (name, word), kind, line in zip(names.items(), kinds, ("-", "--"), strict=True):
        time, cwnd = run.trace("cwnd", name)
        label = f"{LABELS[kind]}, {word}"
        ax.plot(time, cwnd, color=plots.style(kind).colour, linestyle=line, linewidth=0.9, label=label)


def newcomers(evidence: Evidence) -> str:
    """Draw windows and queues of Figs. 16 to 18, and of CODE with Vegas."""
    drawn, axes = plots.figure(2, 5, width=3.6, height=2.6)
    columns = (
        ("fig16", ("code", "code"), "Fig. 16: two CODE"),
        ("together", ("code", "code"), "two CODE, both from 0 s"),
        ("fig17-vegas", ("vegas", "vegas"), "Figs. 17(a), 18: two Vegas"),
        ("fig17-code", ("code", "code"), "Figs. 17(b), 18: two CODE"),
        ("mixed", ("code", "vegas"), "CODE, then Vegas"),
    )
    for column, (key, kinds, title) in enumerate(columns):
        run = evidence.traced(key)[0]
        top, bottom = axes[0, column], axes[1, column]
        _draw_pair(top, run, kinds)
        top.set_ylim(0, 150)
        top.set_title(title, fontsize=10)
        top.legend(frameon=False, fontsize=8)
        time, backlog = run.trace("backlog", BOTTLENECK)
        bottom.plot(time, backlog, color="black", linewidth=0.7)
        bottom.set_ylim(0, 105)
        bottom.set_xlabel("time [s]")
        if column == 0:
            top.set_ylabel("window [packets]")
            bottom.set_ylabel("queue [packets]")
    return plots.to_svg(drawn)


def guests(evidence: Evidence) -> str:
    """Draw window, Delta and alpha of each variant with a guest."""
    drawn, axes = plots.figure(1, 4, width=3.7, height=2.9)
    for ax, kind in zip(axes[0], VARIANTS, strict=True):
        run = evidence.all_runs(f"algorithm/guest-{kind}")[0]
        for quantity, label, line in (
            ("cwnd", "window", "-"),
            ("vegas_diff", "Delta", "--"),
            ("alpha", "alpha", ":"),
        ):
            if run.has_trace(quantity):
                time, value = run.trace(quantity)
                ax.step(
                    time, value, where="post", color=plots.style(kind).colour, linestyle=line, label=label
                )
        ax.set_title(LABELS[kind])
        ax.set_xlim(0, 60)
        ax.set_ylim(0, 200)
        ax.set_xlabel("time [s]")
        ax.legend(frameon=False, fontsize=8)
    axes[0, 0].set_ylabel("packets")
    return plots.to_svg(drawn)


def homogeneous(evidence: Evidence) -> str:
    """Draw the fairness indices of Table 2 with those printed."""
    drawn, axes = plots.figure(1, 3, width=4.4, height=3.0)
    for ax, kind in zip(axes[0], ("code", "newvegas", "vegas"), strict=True):
        swept = evidence.swept("table2", kind)
        each = [interval(fairness(evidence, kind, rate)) for rate in swept]
        plots.sweep(
            {(LABELS[kind], kind): _curve(swept, each)},
            paper={(LABELS[kind], kind): (data()["table2"]["rates"], data()["table2"][kind])},
            x_label="bottleneck rate",
            x_unit="Mbit/s",
            y_label="fairness index",
            ax=ax,
        )
        ax.set_ylim(0.8, 1.005)
    return plots.to_svg(drawn)


def readings(known: Sequence[Moved]) -> str:
    """Draw every variant's pooled ratio in Fig. 9 under each reading."""
    drawn, axes = plots.figure(1, 1, width=9.0, height=1.0 + 0.28 * len(known))
    ax = axes[0, 0]
    for row, (_, ratios) in enumerate(known):
        for kind, ratio in ratios.items():
            look = plots.style(kind)
            ax.plot([ratio.low, ratio.high], [row, row], color=look.colour, linewidth=1.6)
            ax.plot(
                ratio.estimate,
                row,
                color=look.colour,
                marker=look.marker,
                linestyle="",
                label=LABELS[kind] if row == 0 else None,
            )
    ax.axvline(1.0, color=GREY, linewidth=0.9, linestyle="--")
    ax.set_yticks(range(len(known)), [move.label for move, _ in known])
    ax.set_ylim(len(known) - 0.5, -0.5)
    ax.set_xlim(left=0)
    ax.set_xlabel("variant/Reno in Fig. 9, 95 % interval")
    ax.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=len(VARIANTS))
    return plots.to_svg(drawn)
