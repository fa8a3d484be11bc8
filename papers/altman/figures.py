"""The report's figures, each as SVG text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dumbbell import plots
from dumbbell.models import throughput

from . import ideal, slots
from .evidence import Evidence, Sweep, Values
from .grid import Connections
from .plan import EVOLUTION, LAW_PROBABILITIES, VIDEO_BUFFERS, VIDEO_RATES
from .quantities import OF_RENO, OF_VEGAS
from .scenarios import evolution_seconds
from .slots import SlotErrors
from .threshold_claims import connection_sweeps, row_sweeps
from .video_claims import ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSED = "closed form"
FLUID = "fluid recursion"


def evolution(evidence: Evidence) -> str:
    """Draw Fig. 1: windows and mean round-trip times over time, simulated and ideal."""
    figure, axes = plots.figure(1, 2, width=5.6, height=3.6)
    left, right = axes[0]
    looks = plots.styles(["vegas", "reno"])
    for name, draw in (("reno", ideal.reno), ("vegas", ideal.vegas)):
        row = evidence.frame(f"evolution/{name}").iloc[0]
        times, window = np.asarray(row["curve_times"]), np.asarray(row["curve"])
        # The last mini-slots of Reno are truncated by the end; a steady window records no change.
        end = evolution_seconds(EVOLUTION)
        times, window = np.append(times, end), np.append(window, window[-1])
        colour = looks[name].colour
        label = name.capitalize()
        left.step(times, window, where="post", color=colour, linewidth=1.2, label=label)
        right.plot(
            np.asarray(row["times"]), np.asarray(row["rtts"]), color=colour, linewidth=1.2, label=label
        )
        ideal_times, windows, rtts = draw(EVOLUTION, end)
        left.step(
            ideal_times,
            windows,
            where="post",
            color=colour,
            linewidth=1.0,
            linestyle="--",
            label=f"{label}, ideal",
        )
        right.step(
            ideal_times,
            rtts,
            where="post",
            color=colour,
            linewidth=1.0,
            linestyle="--",
            label=f"{label}, ideal",
        )
    left.set_ylabel("window [packets]")
    right.set_ylabel("mean round-trip time of a mini-slot [s]")
    for ax in (left, right):
        ax.set_xlabel("time [s]")
        ax.set_xlim(0.0, 4.0 * EVOLUTION.fluid_reno.duration)
        ax.set_ylim(bottom=0.0)
    left.legend(frameon=False, fontsize=8, ncols=2, loc="lower right")
    return plots.to_svg(figure)


def scatter(evidence: Evidence) -> str:
    """Draw every quantity of Tables 1 to 3 by the two models against the simulation."""
    figure, axes = plots.figure(2, 4, width=3.4, height=3.2)
    for ax, quantity in zip(axes.flat, (*OF_VEGAS, *OF_RENO), strict=True):
        simulated = quantity.simulated(evidence)
        low, high = np.nanquantile(simulated[1:], (0.05, 0.95), axis=0)
        predicted = quantity.predicted(evidence)
        rows = simulated.shape[1]
        plots.scatter_against(
            np.concatenate(predicted),
            np.tile(simulated[0], 2),
            label=quantity.label,
            unit=quantity.unit,
            by=[CLOSED] * rows + [FLUID] * rows,
            low=np.tile(low, 2),
            high=np.tile(high, 2),
            log=True,
            ax=ax,
        )
        ax.set_title("")
        for text in ax.texts:
            text.set_text(_errors_by_model(simulated[0], predicted))
    return plots.to_svg(figure)


def _errors_by_model(simulated: Values, predicted: list[Values]) -> str:
    parts = []
    for name, values in zip((CLOSED, FLUID), predicted, strict=True):
        errors = 100.0 * np.abs(values / simulated - 1.0)
        parts.append(f"{name}: median {np.median(errors):.2g} %, largest {errors.max():.2g} %")
    return "\n".join(parts)


def mini_slots(evidence: Evidence) -> str:
    """Draw the mean round-trip time of mini-slots against the window, by phase and load."""
    phases: list[tuple[str, list[SlotErrors]]] = [
        ("constant window", slots.standing(evidence)),
        ("growth", slots.growth(evidence)),
        ("slow start of Reno", slots.slow_start(evidence, "reno-slow-start")),
    ]
    vegas = slots.slow_start(evidence, "vegas-slow-start")
    phases += [
        ("slow start of Vegas, doubling", [slot for slot in vegas if slot.phase == "vegas-doubling"]),
        ("slow start of Vegas, standing", [slot for slot in vegas if slot.phase == "vegas-constant"]),
    ]
    figure, axes = plots.figure(1, len(phases), width=3.0, height=3.2)
    for ax, (title, found) in zip(axes[0], phases, strict=True):
        for index, slot in enumerate(found):
            scale = slot.setting.link.base_rtt
            colour = plots.COLOURS[index]
            x = slot.windows / slot.setting.link.bdp
            ax.plot(
                x,
                slot.rtt / scale,
                linestyle="",
                marker=plots.MARKERS[index],
                markersize=2.5,
                color=colour,
                label=f"simulated, load {slot.setting.load:g}",
            )
            ax.plot(x, slot.paper / scale, color=colour, linewidth=1.0, linestyle="--")
            ax.plot(x, slot.fluid / scale, color=colour, linewidth=0.9)
        if title.startswith("slow"):
            ax.set_xscale("log")
            ax.set_yscale("log")
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("window / (nu T)")
    axes[0, 0].set_ylabel("mean round-trip time / T")
    axes[0, 0].plot([], [], color="#333333", linestyle="--", linewidth=1.0, label=CLOSED)
    axes[0, 0].plot([], [], color="#333333", linewidth=0.9, label=FLUID)
    axes[0, 0].legend(frameon=False, fontsize=7)
    return plots.to_svg(figure)


def _losing(sweep: Sweep) -> tuple[Values, Values]:
    found = np.array(sorted(sweep.shares))
    return found / sweep.critical, np.array([sweep.shares[buffer] for buffer in found])


def thresholds(evidence: Evidence) -> str:
    """Draw the buffer sweeps: runs with losses, and the smallest buffer without losses against the theorem."""
    rows, cases = row_sweeps(evidence), connection_sweeps(evidence)
    figure, axes = plots.figure(1, 3, width=4.2, height=3.5)
    loads = (0.0, 0.2, 0.5, 0.8)
    for index, load in enumerate(loads):
        chosen = [sweep for case, sweep in rows if case.setting.load == load]
        for number, sweep in enumerate(chosen):
            x, share = _losing(sweep)
            axes[0, 0].plot(
                x, share, color=plots.COLOURS[index], linewidth=0.9, label="" if number else f"load {load:g}"
            )
    for index, flows in enumerate((1, 2, 4)):
        chosen = [sweep for case, sweep in cases if case.flows == flows]
        for number, sweep in enumerate(chosen):
            x, share = _losing(sweep)
            axes[0, 1].plot(
                x, share, color=plots.COLOURS[index], linewidth=0.9, label="" if number else f"n = {flows}"
            )
    for ax, title in ((axes[0, 0], "one connection"), (axes[0, 1], "n connections")):
        ax.axvline(1.0, color="#555555", linestyle="--", linewidth=0.9)
        ax.axhline(0.5, color="#555555", linestyle=":", linewidth=0.9)
        ax.set_xlim(0.0, 4.0)
        ax.set_xlabel("B / B*")
        ax.set_ylabel("share of runs that still lose packets")
        ax.set_title(title, fontsize=9)
        ax.legend(frameon=False, fontsize=8)
    _smallest(axes[0, 2], rows + cases)
    return plots.to_svg(figure)


def _smallest(ax: Axes, sweeps: list[tuple[Connections, Sweep]]) -> None:
    plots.scatter_against(
        [float(sweep.predicted) for _, sweep in sweeps],
        [float(sweep.smallest_stable) for _, sweep in sweeps],
        label="smallest buffer without losses",
        unit="packets",
        by=[f"n = {case.flows}" for case, _ in sweeps],
        log=True,
        ax=ax,
    )


def video_windows(evidence: Evidence) -> str:
    """Draw Fig. 3: windows with video traffic, with a small buffer and with a large one."""
    panels = ((300.0, 5), (300.0, 40), (600.0, 40))
    figure, axes = plots.figure(1, len(panels), width=4.2, height=3.2)
    looks = plots.styles(["vegas", "reno"])
    for ax, (rate, buffer) in zip(axes[0], panels, strict=True):
        for name in ("reno", "vegas"):
            row = evidence.frame(f"video/{name}/{rate:.0f}/{buffer}").iloc[0]
            times, window = np.asarray(row["curve_times"]), np.asarray(row["curve"])
            shown = times <= 100.0
            ax.step(
                times[shown],
                window[shown],
                where="post",
                color=looks[name].colour,
                linewidth=0.9,
                label=name.capitalize(),
            )
        ax.set_title(f"{rate:.0f} packets/s, {buffer} packets of buffer", fontsize=9)
        ax.set_xlabel("time [s]")
        ax.set_ylabel("window [packets]")
        ax.set_ylim(bottom=0.0)
        ax.legend(frameon=False, fontsize=8)
    return plots.to_svg(figure)


def video_ratios(evidence: Evidence) -> str:
    """Draw losses and mean windows of Vegas over those of Reno with video traffic, by buffer and rate."""
    figure, axes = plots.figure(1, 2, width=4.8, height=3.4)
    for ax, (column, label) in zip(
        axes[0],
        (("losses", "losses of Vegas / of Reno"), ("window", "mean window of Vegas / of Reno")),
        strict=True,
    ):
        series: dict[str | tuple[str, str], tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]] = {}
        for rate in VIDEO_RATES:
            ratios = np.array([ratio(evidence, column, rate, buffer) for buffer in VIDEO_BUFFERS])
            low, high = np.nanquantile(ratios[:, 1:], (0.05, 0.95), axis=1)
            series[f"{rate:.0f} packets/s"] = (VIDEO_BUFFERS, ratios[:, 0], low, high)
        plots.sweep(series, x_label="buffer", x_unit="packets", y_label=label, log_x=True, ax=ax)
        ax.axhline(0.2 if column == "losses" else 1.0, color="#555555", linestyle="--", linewidth=0.9)
        ax.set_xticks(VIDEO_BUFFERS, [str(buffer) for buffer in VIDEO_BUFFERS])
        ax.minorticks_off()
        ax.set_ylim(bottom=0.0)
    return plots.to_svg(figure)


def laws(evidence: Evidence) -> str:
    """Draw the throughput of Reno with imposed losses over that predicted by the laws."""
    figure, axes = plots.figure(1, 2, width=4.8, height=3.4)
    p = np.array(LAW_PROBABILITIES)
    panels = (
        ("periodic", "periodic losses", {"Mathis, periodic": "periodic"}),
        (
            "random",
            "random losses",
            {"Padhye": "full", "Padhye, approximate": "approximate", "Mathis, random": "random"},
        ),
    )
    for ax, (kind, title, formulas) in zip(axes[0], panels, strict=True):
        series: dict[str | tuple[str, str], tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]] = {}
        for label, formula in formulas.items():
            ratios = law_ratios(evidence, kind, formula)
            low, high = np.nanquantile(ratios[:, 1:], (0.05, 0.95), axis=1) if ratios.shape[1] > 1 else (p, p)
            series[label] = (p, ratios[:, 0], low, high)
        plots.sweep(series, x_label="loss probability", y_label="model / simulation", log_x=True, ax=ax)
        ax.axhline(1.0, color="#555555", linestyle="--", linewidth=0.9)
        ax.set_title(title, fontsize=9)
    return plots.to_svg(figure)


def law_ratios(evidence: Evidence, kind: str, formula: str) -> Values:
    """Return the prediction of a law divided by the simulated value, with resamples: shape (probabilities, 1 + resamples).

    The inputs of the law are measured in the run: round-trip time, timeout, and loss indications per packet.
    """
    found = []
    for probability in LAW_PROBABILITIES:
        name = f"law/{kind}/{probability:g}"
        rtt, rate, rto = (evidence.column(name, column) for column in ("rtt", "loss_rate", "rto"))
        if formula == "full":
            predicted = throughput.padhye(loss_rate=rate, rtt=rtt, rto=rto)
        elif formula == "approximate":
            predicted = throughput.padhye_approximate(loss_rate=rate, rtt=rtt, rto=rto)
        else:
            predicted = throughput.mathis(
                loss_rate=rate, rtt=rtt, losses="random" if formula == "random" else "periodic"
            )
        simulated = evidence.column(name, "throughput")
        found.append(evidence.mean(np.asarray(predicted)) / evidence.mean(simulated))
    return np.array(found)
