"""The report's figures, each as SVG text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dumbbell import plots, topologies

from .assumptions import calibrated
from .evidence import Evidence
from .printed import CELLS, EFFECT_TABLES, TERMS, effect_column
from .scenarios import BACKGROUNDS, LOADS, experiment

PAPER = "#9a9a9a"
OURS = plots.COLOURS[0]
SHORT = {"throughput": "thr", "retransmissions": "rtx"}
BACKGROUND_NAMES = {"reno": "Reno background", "vegasfix": "Vegas background"}


def topology() -> str:
    """Draw the network of Fig. 1 with our rates and delays."""
    wan = LOADS["wan"].changes
    drawing = topologies.draw(
        experiment("reno", "reno", "low", calibrated()),
        labels={"h1": "1 MB transfer", "h2": "tcplib conversations"},
        notes={"r1-r2": f"WAN: {wan['rate']}, {wan['delay']}\nqueues in the WAN 50 packets, in Fig. 2 25"},
    )
    return plots.to_svg(drawing)


def cells(evidence: Evidence) -> str:
    """Draw the means of the cells of the three-factor design with those implied by the paper's effects."""
    figure, axes = plots.figure(2, len(EFFECT_TABLES), width=2.75, height=2.7)
    for column, table in enumerate(EFFECT_TABLES):
        for row, background in enumerate(BACKGROUNDS):
            ax = axes[row, column]
            printed = effect_column(table, background)
            metric = SHORT[printed.metric]
            position = np.arange(len(CELLS))
            ax.plot(
                position,
                [printed.cell_mean(cell) for cell in CELLS],
                "_",
                color="black",
                markersize=13,
                markeredgewidth=1.6,
                label="paper",
            )
            intervals = [evidence.interval(metric, f"cell{cell}", background, printed.load) for cell in CELLS]
            ax.errorbar(
                position,
                [interval.estimate for interval in intervals],
                yerr=[interval.half_width for interval in intervals],
                fmt="o", color=OURS, markersize=4, capsize=2, linewidth=1, label="measured, 90 %",
            )  # fmt: skip
            ax.set_ylim(bottom=0)
            ax.set_xticks(position, CELLS, rotation=90, fontsize=7)
            unit = "KB/s" if metric == "thr" else "KB"
            ax.set_title(
                f"{table}: {'throughput' if metric == 'thr' else 'retransmitted'}, "
                f"{printed.load}\n{BACKGROUND_NAMES[background]}",
                fontsize=8.5,
            )
            ax.tick_params(axis="y", labelsize=7)
            if column == 0:
                ax.set_ylabel(f"mean [{unit}]", fontsize=8)
            if row == 1:
                ax.set_xlabel("ss ca rec", fontsize=8)
    axes[0, 0].legend(frameon=False, fontsize=7, loc="lower right")
    return plots.to_svg(figure)


def effects(evidence: Evidence) -> str:
    """Draw the effects of the three phases and their interactions with the paper's."""
    figure, axes = plots.figure(2, len(EFFECT_TABLES), width=2.75, height=2.5)
    position = np.arange(len(TERMS))[::-1]
    for column, table in enumerate(EFFECT_TABLES):
        for row, background in enumerate(BACKGROUNDS):
            ax = axes[row, column]
            printed = effect_column(table, background)
            ours = evidence.phases(SHORT[printed.metric], printed.load, background)
            ax.axvline(0, color="#888888", linewidth=0.8)
            ax.plot(
                [printed.effect[term] for term in TERMS],
                position,
                "|",
                color="black",
                markersize=11,
                markeredgewidth=1.6,
                label="paper",
            )
            ax.errorbar(
                [float(ours.terms[term][0]) for term in TERMS],
                position,
                xerr=float(ours.half_width[0]),
                fmt="o", color=OURS, markersize=4, capsize=2, linewidth=1, label="measured, 90 %",
            )  # fmt: skip
            ax.set_yticks(position, TERMS if column == 0 else [""] * len(TERMS), fontsize=7)
            ax.tick_params(axis="x", labelsize=7)
            unit = "KB/s" if printed.metric == "throughput" else "KB"
            ax.set_title(
                f"{table}: {printed.metric}, {printed.load}\n{BACKGROUND_NAMES[background]}", fontsize=8.5
            )
            if row == 1:
                ax.set_xlabel(f"effect [{unit}]", fontsize=8)
    axes[0, 0].legend(frameon=False, fontsize=7, loc="lower right")
    return plots.to_svg(figure)


def figure_2(measured: Mapping[str, Any]) -> str:
    """Draw the windows of the five connections over time, and their windows in the end over all runs."""
    figure, axes = plots.figure(1, 2, width=5.4, height=3.4)
    names = list(measured["curves"])
    left, right = axes[0]
    for index, name in enumerate(names):
        time, value = measured["curves"][name]
        left.step(
            np.append(time, 30.0),
            np.append(value, value[-1]),
            where="post",
            color=plots.COLOURS[index],
            linewidth=1.2,
            label=f"connection {index + 1}",
        )
    left.set_xlabel("time [s]")
    left.set_ylabel("congestion window [segments]")
    left.set_xlim(0, 30)
    left.set_ylim(0, 30)
    left.legend(frameon=False, fontsize=8, ncols=2)
    left.set_title("one run", fontsize=9)
    window = measured["window"]
    for index in range(window.shape[1]):
        jitter = np.linspace(-0.18, 0.18, window.shape[0])
        right.plot(
            index + 1 + jitter, np.sort(window[:, index]), ".", color=plots.COLOURS[index], markersize=4
        )
        right.plot([index + 0.7, index + 1.3], [window[:, index].mean()] * 2, color="black", linewidth=1.4)
    right.set_xlabel("connection, by time of start")
    right.set_ylabel("mean window from 20 to 30 s [segments]")
    right.set_ylim(bottom=0)
    right.set_title(f"all {window.shape[0]} runs; bars are means", fontsize=9)
    return plots.to_svg(figure)


def main_effects(evidence: Evidence) -> str:
    """Draw the shares of the seven algorithms' main effects."""
    figure, axes = plots.figure(1, 2, width=5.2, height=3.0)
    letters = "ABCDEFG"
    for ax, metric, title in zip(axes[0], ("thr", "rtx"), ("throughput", "retransmitted data"), strict=True):
        for index, (load, background) in enumerate(
            (load, background) for load in ("low", "high") for background in BACKGROUNDS
        ):
            shares = evidence.seven(metric, load, background).percent
            ax.bar(
                np.arange(len(letters)) + (index - 1.5) * 0.2,
                [float(shares[letter][0]) for letter in letters],
                width=0.19,
                color=plots.COLOURS[index],
                label=f"{load}, {BACKGROUND_NAMES[background]}",
            )
        ax.set_xticks(np.arange(len(letters)), letters)
        ax.set_ylabel("share of variation [%]")
        ax.set_title(title, fontsize=9)
    axes[0, 0].legend(frameon=False, fontsize=7)
    return plots.to_svg(figure)


def scan(calibration: Mapping[str, Any]) -> str:
    """Draw every point of the calibration's grid by the two fitted numbers."""
    rows, chosen, targets = calibration["scan"], calibration["chosen"], calibration["targets"]
    figure, axes = plots.figure(width=6.4, height=3.6)
    ax = axes[0, 0]
    for index, warm_up in enumerate(sorted({row["warm_up_s"] for row in rows})):
        points = [(row["throughput"], row["retransmitted"]) for row in rows if row["warm_up_s"] == warm_up]
        x, y = zip(*points, strict=True)
        ax.plot(
            x,
            y,
            plots.MARKERS[index % len(plots.MARKERS)],
            color=plots.COLOURS[index % len(plots.COLOURS)],
            markersize=4,
            label=f"warm-up {warm_up:g} s",
        )
    ax.plot(
        targets["throughput"], targets["retransmitted"], "+", color="black", markersize=16, markeredgewidth=2
    )
    ax.plot(
        chosen["throughput"],
        chosen["retransmitted"],
        "o",
        markersize=12,
        markerfacecolor="none",
        color="black",
    )
    ax.set_xlabel("throughput [KB/s]")
    ax.set_ylabel("retransmitted data [KB]")
    ax.legend(frameon=False, fontsize=8)
    return plots.to_svg(figure)
