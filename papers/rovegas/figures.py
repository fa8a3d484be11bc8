"""The report's figures, each as SVG text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dumbbell import plots

from . import linux
from .analysis import windows
from .evidence import Evidence, Values, interval
from .printed import at_points, data
from .reduction import SAMPLE_S
from .scenarios import ASYMMETRIES, BAND_PANELS, REROUTE_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VARIANTS = linux.VARIANTS
PANEL_TITLES = {
    "a": "(a) vegas, alpha = 1, beta = 3",
    "b": "(b) vegas, alpha = beta",
    "c": "(c) rovegas, alpha = 1, beta = 3",
    "d": "(d) rovegas, alpha = beta",
}
GREY = "#7F7F7F"


def _binned(evidence: Evidence, experiment: str, variant: str, point: float | str = "") -> list[list[Values]]:
    """Return for each connection the mean throughput in each second with the limits of its 90 % interval, kbit/s."""
    rows = evidence.rows(experiment, variant, point)
    connections = len(rows[0]["throughput"])
    table = np.array([np.asarray(row["bins"]).reshape(connections, -1) for row in rows])
    weights = evidence.weights(len(rows)) if len(rows) > 1 else np.ones((1, 1))
    resampled = np.einsum("wr,rcs->wcs", weights, table)
    low, high = np.quantile(resampled, (0.05, 0.95), axis=0)
    return [[resampled[0, index], low[index], high[index]] for index in range(connections)]


def _over_seconds(series: Mapping[str, tuple[ArrayLike, ArrayLike]], *, title: str, ax: Axes) -> None:
    """Draw throughputs over time."""
    plots.lines(series, x_label="time", x_unit="s", y_label="throughput", y_unit="kbit/s", title=title, ax=ax)


def single_connection(evidence: Evidence) -> str:
    """Draw window and both queues of Figs. 3 to 5."""
    figure, axes = plots.figure(1, 3, width=4.4, height=3.2)
    panels = (
        ("fig-3", "vegas", "Fig. 3: vegas, k = 0.5"),
        ("fig-4", "vegas", "Fig. 4: vegas, k = 2"),
        ("fig-5", "rovegas", "Fig. 5: rovegas, k = 2"),
    )
    for ax, (name, variant, title) in zip(axes[0], panels, strict=True):
        row = evidence.rows(name, variant)[0]
        time = SAMPLE_S * np.arange(len(row["sampled_window"]))
        plots.lines(
            {
                "window": (time, row["sampled_window"]),
                "forward queue": (time, row["sampled_forward"]),
                "backward queue": (time, row["sampled_backward"]),
            },
            x_label="time",
            x_unit="s",
            y_label="packets",
            title=title,
            ax=ax,
        )
        printed = data().get(name, {})
        for quantity in ("window", "forward_queue", "backward_queue"):
            if quantity in printed:
                ax.axhline(printed[quantity], color=GREY, linestyle="--", linewidth=0.8)
        ax.legend(frameon=False, fontsize=8)
    return plots.to_svg(figure)


def model(evidence: Evidence) -> str:
    """Draw windows of the fluid model against those simulated."""
    found = windows(evidence)
    figure, axes = plots.figure(width=4.6, height=3.6)
    plots.scatter_against(
        [row.by_model for row in found],
        [row.simulated for row in found],
        label="window",
        unit="packets",
        by=[row.variant for row in found],
        ax=axes[0, 0],
    )
    return plots.to_svg(figure)


def asymmetric(evidence: Evidence) -> str:
    """Draw throughput over time of Figs. 7 and 8, and its steady value against k."""
    figure, axes = plots.figure(1, 3, width=4.4, height=3.4)
    for ax, variant, title in zip(axes[0], VARIANTS, ("Fig. 7: vegas", "Fig. 8: rovegas"), strict=False):
        series = {}
        for k in ASYMMETRIES:
            curve = np.asarray(evidence.rows("ana", variant, k)[0]["bins"])
            # Ten seconds each, so that single packets do not show at large k.
            means = curve[: len(curve) // 10 * 10].reshape(-1, 10).mean(axis=1)
            series[f"k = {k}"] = (10 * np.arange(len(means)) + 5, means)
        _over_seconds(series, title=title, ax=ax)
        ax.set_ylim(0, 1700)
    printed = {"vegas": at_points("fig-7", "throughput"), "rovegas": at_points("fig-8", "throughput")}
    steady = {
        variant: tuple(
            np.array([(k, *interval(evidence.throughput("ana", variant, k))) for k in ASYMMETRIES]).T
        )
        for variant in VARIANTS
    }
    plots.sweep(
        {variant: (x, mean, low, high) for variant, (x, mean, low, high) in steady.items()},
        x_label="asymmetric factor k",
        y_label="throughput once settled",
        y_unit="kbit/s",
        paper={name: (list(points), list(points.values())) for name, points in printed.items()},
        log_x=True,
        log_y=True,
        ax=axes[0, 2],
    )
    axes[0, 2].minorticks_off()
    axes[0, 2].set_xticks(list(ASYMMETRIES), [str(k) for k in ASYMMETRIES])
    return plots.to_svg(figure)


def _over_time(
    evidence: Evidence,
    experiment: str,
    series: Mapping[str, tuple[str, str]],
    enters: Sequence[float],
    title: str,
) -> str:
    """Draw one run and the mean over all runs of several variants."""
    figure, axes = plots.figure(1, 2, width=6.0, height=3.4)
    one = {}
    many: dict[str | tuple[str, str], tuple[Values, Values, Values, Values]] = {}
    for label, (variant, point) in series.items():
        rows = evidence.rows(experiment, variant, point)
        mean, low, high = _binned(evidence, experiment, variant, point)[0]
        seconds = np.asarray(np.arange(len(mean)) + 0.5, dtype=np.float64)
        one[label] = (seconds, np.asarray(rows[0]["bins"])[: len(mean)])
        many[(label, variant)] = (seconds, mean, low, high)
    _over_seconds(one, title=f"{title}: one run", ax=axes[0, 0])
    plots.sweep(
        many,
        x_label="time",
        x_unit="s",
        y_label="throughput",
        y_unit="kbit/s",
        drawn="bands",
        title="mean over all runs",
        ax=axes[0, 1],
    )
    for line in axes[0, 1].get_lines():
        line.set_marker("")
    for ax in axes[0]:
        ax.set_ylim(0, 1700)
        for time in enters:
            ax.axvline(time, color=GREY, linestyle=":", linewidth=0.8)
    return plots.to_svg(figure)


def traffic(evidence: Evidence) -> str:
    """Draw throughput over time of Fig. 9."""
    return _over_time(evidence, "fig-9", {name: (name, "") for name in VARIANTS}, (50,), "Fig. 9")


def entering(evidence: Evidence) -> str:
    """Draw throughput over time of Fig. 12."""
    return _over_time(evidence, "fig-12", {name: (name, "") for name in VARIANTS}, (100, 200, 300), "Fig. 12")


def deployment(evidence: Evidence) -> str:
    """Draw throughput over time of Fig. 19."""
    series = {"vegas": ("vegas", ""), "rovegas": ("rovegas", "r2")}
    return _over_time(evidence, "fig-19", series, (), "Fig. 19")


def load_sweeps(evidence: Evidence) -> str:
    """Draw mean throughput and its ratio against the load of Figs. 10 and 13."""
    figure, axes = plots.figure(2, 2, width=5.2, height=3.2)
    for row, name in enumerate(("fig-10", "fig-13")):
        loads = evidence.points(name, "vegas")
        curves = {
            variant: [evidence.throughput(name, variant, load) for load in loads] for variant in VARIANTS
        }
        plots.sweep(
            {variant: _columns(loads, values) for variant, values in curves.items()},
            x_label="backward load",
            y_label="mean throughput",
            y_unit="kbit/s",
            title=f"{name.replace('fig-', 'Fig. ')}",
            ax=axes[row, 0],
        )
        ratios = [two / one for one, two in zip(curves["vegas"], curves["rovegas"], strict=True)]
        printed = at_points(name, "ratio")
        plots.sweep(
            {("rovegas over vegas", "rovegas"): _columns(loads, ratios)},
            x_label="backward load",
            y_label="ratio",
            paper={("rovegas over vegas", "rovegas"): (list(printed), list(printed.values()))},
            ax=axes[row, 1],
        )
    return plots.to_svg(figure)


def _columns(points: Sequence[float], values: Sequence[Values]) -> tuple[Values, Values, Values, Values]:
    table = np.array([interval(value) for value in values]).T
    return np.asarray(points, dtype=np.float64), table[0], table[1], table[2]


def persistent(evidence: Evidence) -> str:
    """Draw the bottleneck's queue over time of Fig. 15, one run and the mean over all."""
    figure, axes = plots.figure(1, 2, width=6.0, height=3.4)
    curves = {}
    for variant in VARIANTS:
        table = np.array([row["queue_bins"] for row in evidence.rows("fig-15", variant)])
        curves[variant] = (np.arange(table.shape[1]) + 0.5, table[0])
    plots.lines(
        curves,
        x_label="time",
        x_unit="s",
        y_label="queue, mean of a second",
        y_unit="packets",
        title="Fig. 15: one run",
        ax=axes[0, 0],
    )
    counts = list(range(1, 9))
    found = {variant: [evidence.queue_after(variant, n) for n in counts] for variant in VARIANTS}
    printed = {variant: at_points("fig-15", variant) for variant in VARIANTS}
    plots.sweep(
        {variant: _columns(counts, values) for variant, values in found.items()},
        x_label="connections",
        y_label="queue after their entry",
        y_unit="packets",
        paper={variant: (list(points), list(points.values())) for variant, points in printed.items()},
        title="mean over all runs",
        ax=axes[0, 1],
    )
    axes[0, 1].fill_between(counts, counts, [3 * n for n in counts], color=GREY, alpha=0.15, linewidth=0.0)
    return plots.to_svg(figure)


def fairness(evidence: Evidence, number: str) -> str:
    """Draw the throughput of every connection over time in the four panels of Fig. 17 or 18, one run of each."""
    figure, axes = plots.figure(2, 2, width=5.2, height=2.9)
    for ax, panel in zip(axes.flat, BAND_PANELS, strict=True):
        row = evidence.rows(f"fig-{number}", panel)[0]
        table = np.asarray(row["bins"]).reshape(len(row["throughput"]), -1)
        # Five seconds each: a packet in a second is 8 kbit/s.
        usable = table[:, : table.shape[1] // 5 * 5].reshape(len(table), -1, 5).mean(axis=2)
        seconds = 5 * np.arange(usable.shape[1]) + 2.5
        _over_seconds(
            {f"connection {index + 1}": (seconds, curve) for index, curve in enumerate(usable)},
            title=PANEL_TITLES[panel],
            ax=ax,
        )
        ax.legend(frameon=False, fontsize=7, ncols=2)
    return plots.to_svg(figure)


def rerouting(evidence: Evidence) -> str:
    """Draw throughput and base round-trip time on a path that is longer for a while."""
    figure, axes = plots.figure(2, 2, width=5.2, height=2.9)
    labels = {"vegas": "vegas", "rovegas": "rovegas", "rovegas-minimum": "rovegas, least base RTT kept"}
    titles = {"delay": "links of twice the delay", "path": "a path over a third router"}
    for column, (by, title) in enumerate(titles.items()):
        rates, bases = {}, {}
        for variant, label in labels.items():
            row = evidence.rows("ext", variant, by)[0]
            rates[label] = (np.arange(len(row["bins"])) + 0.5, row["bins"])
            bases[label] = (np.arange(len(row["base_curve"])) + 1.0, row["base_curve"])
        _over_seconds(rates, title=title, ax=axes[0, column])
        plots.lines(bases, x_label="time", x_unit="s", y_label="base RTT", y_unit="ms", ax=axes[1, column])
        for ax in axes[:, column]:
            ax.set_ylim(bottom=0)
            for time in REROUTE_S:
                ax.axvline(time, color=GREY, linestyle=":", linewidth=0.8)
    return plots.to_svg(figure)


def on_linux(evidence: Evidence) -> str:
    """Draw throughput and its ratio against the asymmetric factor, of the kernel and of the simulator."""
    figure, axes = plots.figure(1, 2, width=5.6, height=3.6)
    factors = evidence.kernel.points(linux.ALONE, "vegas")
    sides = (("kernel", evidence.kernel), ("simulator", evidence))
    found = {
        (variant, side): [each.throughput(linux.ALONE, variant, k) for k in factors]
        for variant in VARIANTS
        for side, each in sides
    }
    printed = {
        variant: at_points(name, "throughput")
        for variant, name in zip(VARIANTS, ("fig-7", "fig-8"), strict=True)
    }
    plots.sweep(
        {
            (f"{variant}, {side}", variant): _columns(factors, values)
            for (variant, side), values in found.items()
        },
        x_label="asymmetric factor k",
        y_label="throughput",
        y_unit="kbit/s",
        log_x=True,
        paper={
            (f"{variant}, kernel", variant): _shown_points(points, factors)
            for variant, points in printed.items()
        },
        ax=axes[0, 0],
    )
    ratios = {
        side: [two / one for one, two in zip(found["vegas", side], found["rovegas", side], strict=True)]
        for side, _ in sides
    }
    plots.sweep(
        {(side, "rovegas"): _columns(factors, values) for side, values in ratios.items()},
        x_label="asymmetric factor k",
        y_label="rovegas over vegas",
        log_x=True,
        paper={("kernel", "rovegas"): _shown_points(at_points("fig-8", "ratio"), factors)},
        ax=axes[0, 1],
    )
    axes[0, 1].set_ylim(bottom=0)
    return plots.to_svg(figure)


def _shown_points(points: Mapping[float, float], swept: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the printed values at points that were run."""
    known = [point for point in points if point in swept]
    return known, [points[point] for point in known]


def rerouting_on_linux(evidence: Evidence) -> str:
    """Draw throughput on a path that is longer for a while, of the kernel and of the simulator."""
    figure, axes = plots.figure(1, 2, width=5.6, height=3.2)
    titles = {"delay": "links of twice the delay", "path": "a path over a third router"}
    for ax, way in zip(axes[0], linux.WAYS, strict=True):
        series = {}
        for variant in VARIANTS:
            for side, each in (("kernel", evidence.kernel), ("simulator", evidence)):
                curve = np.asarray(each.rows(linux.REROUTED, variant, way)[0]["bins"], dtype=np.float64)
                series[f"{variant}, {side}"] = (np.arange(len(curve)) + 0.5, curve)
        _over_seconds(series, title=titles[way], ax=ax)
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False, fontsize=7)
        for time in REROUTE_S:
            ax.axvline(time, color=GREY, linestyle=":", linewidth=0.8)
    return plots.to_svg(figure)
