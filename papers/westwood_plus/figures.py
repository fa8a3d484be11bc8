"""The report's figures, each as SVG text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dumbbell import Scenario, plots, statistics, topologies
from dumbbell.models import throughput

from . import hops_claims, lossy_claims
from . import scenarios as shapes
from .algorithm_claims import throughputs
from .assumptions import Assumptions
from .connection_claims import FAIR_SHARE_MBPS, estimates_at_congestion, fig_2_filters
from .evidence import Evidence
from .live_claims import NAMES as SITE_NAMES
from .many_flows_claims import flows, jain
from .plan import DELAYED, EACH, LOSSY_VARIANTS, QUEUEING_MS, VARIANTS
from .printed import SITES, final_sequence_numbers, site
from .scenarios import EDGES_S
from .uploads import sessions

Values = NDArray[np.float64]
Series = dict[str | tuple[str, str], tuple[Values, Values, Values, Values]]

NAMES = {
    "newreno": "New Reno",
    "vegas": "Vegas",
    "westwoodp": "Westwood+",
    "westwood": "Westwood",
    "reno": "Reno",
    "sack": "SACK",
}

GREY = "#7f7f7f"


def _svg(ax: Axes) -> str:
    made = ax.get_figure(root=True)
    return plots.to_svg(made) if made is not None else ""


NETWORKS: Mapping[str, tuple[Callable[[Assumptions], Scenario], Mapping[str, str]]] = {
    "connection": (
        lambda usual: shapes.connection("newreno", usual),
        {"s1": "TCP under test", "s2": "on-off"},
    ),
    "many_flows": (lambda usual: shapes.many_flows("newreno", 20, usual), {}),
    "hops": (lambda usual: shapes.hops("newreno", "newreno", 3, usual), {"s1": "C1"}),
    "wireless": (
        lambda usual: shapes.wireless("newreno", 0.01, usual, delayed_ack=True, shared=True),
        {"s1": "TCP1"},
    ),
    "satellite": (lambda usual: shapes.satellite("newreno", 0.01, usual, delayed_ack=True), {}),
}
"""The networks, by name: a scenario on each, and labels of hosts."""


def network(name: str) -> str:
    """Draw one of `NETWORKS`."""
    scenario, labels = NETWORKS[name]
    return plots.to_svg(topologies.draw(scenario(Assumptions()), labels=labels))


def _banded(runs: Sequence[Values]) -> tuple[Values, Values, Values]:
    """Return means with their 90 % intervals, point by point."""
    means, lows, highs = [], [], []
    for values in runs:
        if values.size > 1:
            interval = statistics.mean_interval(values)
            lows.append(interval.low)
            highs.append(interval.high)
        else:
            lows.append(np.nan)
            highs.append(np.nan)
        means.append(values.mean())
    return np.array(means), np.array(lows), np.array(highs)


def estimates(evidence: Evidence) -> str:
    """Draw the estimates at congestion of Westwood+ and of the original Westwood (fig. 1), of the first run."""
    figure, axes = plots.figure(1, 2, width=4.8, height=3.4)
    for ax, variant in zip(axes[0], ("westwoodp", "westwood"), strict=True):
        look = plots.style(variant)
        row = evidence.runs(f"fig-1/{variant}").iloc[0]
        ax.plot(
            row["event_s"], row["event_estimate"], ".", color=look.colour, markersize=2.0, rasterized=True
        )
        means = [flow.mean() for flow in estimates_at_congestion(evidence, variant)[0]]
        ax.axhline(FAIR_SHARE_MBPS, color="black", linewidth=0.9, linestyle="--")
        ax.set_title(
            f"{NAMES[variant]}: flows' means {min(means):.2f} to {max(means):.2f} Mbit/s", fontsize=9
        )
        ax.set_yscale("log")
        ax.set_ylim(0.05, 1000)
        ax.set_xlabel("time [s]")
    axes[0, 0].set_ylabel("estimate at congestion [Mbit/s]")
    return plots.to_svg(figure)


def filters(evidence: Evidence) -> str:
    """Draw the filter of eq. 1 fed with acknowledged and with sent data (fig. 2)."""
    times, acks, sent = fig_2_filters(evidence)
    ax = plots.lines(
        {"acknowledged data": (times, acks), "cwnd/RTT": (times, sent)},
        x_label="time",
        x_unit="s",
        y_label="filtered rate",
        y_unit="Mbit/s",
    )
    ax.axhline(1.0, color="black", linewidth=0.9, linestyle="--")
    ax.set_ylim(0, 1.4)
    return _svg(ax)


WINDOWS = {
    "newreno": "Fig. 4: New Reno",
    "westwoodp": "Fig. 5: Westwood+",
    "vegas": "Fig. 6: Vegas",
    "vegas-vegas": "Fig. 7: Vegas, Vegas on the reverse path",
    "reno": "Fig. 8: Reno",
}
"""Titles of the panels of `windows`, by the end of the key of the runs."""


def windows(evidence: Evidence) -> str:
    """Draw window and threshold of the single connection over time (figs. 4 to 8)."""
    figure, axes = plots.figure(len(WINDOWS), 1, width=9.5, height=2.2)
    for ax, (key, title) in zip(axes[:, 0], WINDOWS.items(), strict=True):
        row = evidence.runs(f"table-1/{key}").iloc[0]
        _window(ax, row, key.split("-")[0], title)
        for index in (1, 3):
            ax.axvspan(EDGES_S[index], EDGES_S[index + 1], color="#dddddd", alpha=0.5, linewidth=0)
        ax.set_ylim(0, 160)
    axes[-1, 0].set_xlabel("time [s]")
    return plots.to_svg(figure)


def _window(ax: Any, row: Any, variant: str, title: str) -> None:
    look = plots.style(variant)
    ax.plot(row["cwnd_s"], row["cwnd"], color=look.colour, linewidth=0.7, label="cwnd")
    if len(row["ssthresh_s"]):
        ax.plot(
            np.append(row["ssthresh_s"], EDGES_S[-1]),
            np.append(row["ssthresh"], row["ssthresh"][-1]),
            color="black",
            linewidth=0.9,
            drawstyle="steps-post",
            label="ssthresh",
        )
    ax.set_title(title, fontsize=9)
    ax.set_ylabel("segments")
    ax.set_xlim(0, EDGES_S[-1])
    ax.legend(frameon=False, fontsize=7, loc="upper right", ncols=2)


def wireless_windows(evidence: Evidence) -> str:
    """Draw window and threshold over the wireless hop with a bad state of 10 ms (figs. 28 and 29)."""
    figure, axes = plots.figure(2, 1, width=9.5, height=2.4)
    for ax, variant in zip(axes[:, 0], ("westwoodp", "newreno"), strict=True):
        _window(ax, evidence.runs(f"fig-28/{variant}").iloc[0], variant, NAMES[variant])
        ax.axhline(40, color=GREY, linewidth=0.8, linestyle=":")
        ax.axhline(10, color=GREY, linewidth=0.8, linestyle=":")
        ax.set_ylim(0, 120)
    axes[-1, 0].set_xlabel("time [s]")
    return plots.to_svg(figure)


def many(evidence: Evidence) -> str:
    """Draw total goodput and Jain's index against the number of flows (figs. 12 and 13)."""
    figure, axes = plots.figure(1, 2, width=4.8, height=3.6)
    counts = flows(evidence)
    x = np.array(counts, dtype=np.float64)

    def curves(measure: Callable[[str, int], Values]) -> Series:
        return {
            (NAMES[variant], variant): (x, *_banded([measure(variant, count) for count in counts]))
            for variant in VARIANTS
        }

    plots.sweep(
        curves(lambda variant, count: evidence.total(f"fig-12/{variant}/{count}")),
        x_label="number of flows",
        y_label="total goodput",
        y_unit="Mbit/s",
        ax=axes[0, 0],
    )
    axes[0, 0].axhline(10, color=GREY, linewidth=0.8, linestyle=":")
    axes[0, 0].set_ylim(0, 10.5)
    plots.sweep(
        curves(lambda variant, count: jain(evidence, variant, count)),
        x_label="number of flows",
        y_label="Jain's index",
        ax=axes[0, 1],
    )
    return plots.to_svg(figure)


def sequences(evidence: Evidence) -> str:
    """Draw the sequence numbers of 20 connections against time (figs. 14 to 16)."""
    figure, axes = plots.figure(1, 3, width=3.6, height=3.4)
    for ax, variant in zip(axes[0], ("newreno", "westwoodp", "vegas"), strict=True):
        lines = np.asarray(evidence.runs(f"fig-14/{variant}").iloc[0]["lines"]).reshape(20, -1)
        times = np.linspace(0, EDGES_S[-1], lines.shape[1] + 2)[1:-1]
        for line in lines:
            ax.plot(times, line / 1e3, color=plots.style(variant).colour, linewidth=0.6)
        if variant != "vegas":
            for end in final_sequence_numbers(variant):
                ax.plot([EDGES_S[-1]], [end / 1e3], "_", color="black", markersize=14, markeredgewidth=1.6)
        ax.set_title(NAMES[variant], fontsize=10)
        ax.set_ylim(0, 75)
        ax.set_xlabel("time [s]")
    axes[0, 0].set_ylabel("sequence number [1000 segments]")
    return plots.to_svg(figure)


def hops(evidence: Evidence) -> str:
    """Draw the connection's and the total goodput against the number of hops, by cross traffic (figs. 18 to 25)."""
    figure, axes = plots.figure(4, 2, width=4.8, height=2.9)
    counts = hops_claims.hop_counts(evidence)
    x = np.array(counts, dtype=np.float64)
    rows = [(NAMES[cross] + " cross traffic", cross) for cross in ("newreno", "westwoodp", "vegas")]
    for row, (title, cross) in enumerate([*rows, ("one variant everywhere", "")]):
        for column, measure in enumerate((hops_claims.goodput, hops_claims.total)):
            series: Series = {
                (NAMES[c1], c1): (
                    x,
                    *_banded([measure(evidence, cross or c1, c1, count) for count in counts]),
                )
                for c1 in VARIANTS
            }
            what = "goodput of the connection" if column == 0 else "total goodput"
            plots.sweep(
                series,
                x_label="hops",
                y_label=what,
                y_unit="Mbit/s",
                title=f"fig. {18 + 2 * row + column}: {title}",
                ax=axes[row, column],
            )
            axes[row, column].set_ylim(0, 10.5)
            axes[row, column].title.set_fontsize(9)
    return plots.to_svg(figure)


def lossy(evidence: Evidence, number: str) -> str:
    """Draw goodput against the bad state's dwell time, with the range of the runs; a panel for each way of acknowledging."""
    figure, axes = plots.figure(1, 2, width=4.8, height=3.6)
    points = np.array([float(point) for point in lossy_claims.bad_ms(evidence, f"fig-{number}")])
    for ax, acks in zip(axes[0], (DELAYED, EACH), strict=True):
        series: Series = {}
        for variant, own in LOSSY_VARIANTS:
            if own != acks:
                continue
            runs = lossy_claims.goodputs(evidence, f"fig-{number}", variant, acks)
            series[NAMES[variant], variant] = (
                points,
                np.array([values.mean() for values in runs]),
                np.array([values.min() for values in runs]),
                np.array([values.max() for values in runs]),
            )
        plots.sweep(
            series,
            x_label="dwell time of the bad state",
            x_unit="ms",
            y_label="goodput",
            y_unit="Mbit/s",
            log_x=True,
            title="delayed acknowledgements" if acks == DELAYED else "an acknowledgement for each segment",
            ax=ax,
        )
        ax.set_ylim(bottom=0)
        ax.title.set_fontsize(9)
    return plots.to_svg(figure)


def model(evidence: Evidence) -> str:
    """Draw the throughputs that eqs. 2 and 3 predict against the simulated ones."""
    simulated: list[float] = []
    predicted: list[float] = []
    variants: list[str] = []
    for variant in ("newreno", "westwoodp"):
        for queueing_ms in QUEUEING_MS:
            losses, rtts, rates, measured = throughputs(evidence, variant, queueing_ms)
            for row, loss in enumerate(losses):
                for column in range(rtts.size):
                    rtt = measured[row, column]
                    law = (
                        throughput.reno(loss_rate=loss, rtt=rtt)
                        if variant == "newreno"
                        else throughput.westwood_plus(
                            loss_rate=loss, rtt=rtt, queueing_time=queueing_ms / 1e3
                        )
                    )
                    predicted.append(float(law))
                    simulated.append(float(rates[row, column]))
                    variants.append(variant)
    ax = plots.scatter_against(
        predicted, simulated, label="throughput", unit="segments/s", by=variants, log=True
    )
    return _svg(ax)


def live(evidence: Evidence) -> str:
    """Draw the gains of the uploads by path and cause, of the kernel and of the simulator, and the printed ranges."""
    made, axes = plots.figure(1, len(SITES), width=4.2, height=3.4)
    sides = (("kernel", evidence.kernel, -0.12, "o"), ("simulator", evidence, 0.12, "s"))
    for ax, name in zip(axes[0], SITES, strict=True):
        low, high = site(name).gain
        ax.axhspan(low, high, color=GREY, alpha=0.2, linewidth=0, label="paper")
        ax.axhline(0.0, color=GREY, linewidth=0.7)
        shown = [(session.cause, session.level) for session in sessions(evidence.kernel, name)]
        for (label, side, shift, marker), algorithm in zip(sides, ("westwoodp", "newreno"), strict=True):
            of_side = {(session.cause, session.level): session.gain for session in sessions(side, name)}
            gained = [of_side[point] for point in shown]
            middle = np.array([gain.estimate for gain in gained])
            ends = np.array([[gain.low, gain.high] for gain in gained]).T
            ax.errorbar(
                np.arange(len(shown)) + shift,
                middle,
                yerr=np.abs(ends - middle),
                color=plots.style(algorithm).colour,
                marker=marker,
                linestyle="",
                capsize=2,
                label=label,
            )
        words = [
            f"{100 * level:g} %\nlosses" if cause == "random" else f"{level:g}\nothers"
            for cause, level in shown
        ]
        ax.set_xticks(range(len(shown)), words)
        ax.set_title(f"{SITE_NAMES[name]}, {site(name).rtt_ms:g} ms", loc="left")
    axes[0, 0].set_ylabel("gain of Westwood+ [%]")
    axes[0, 0].legend(frameon=False, fontsize=8)
    return plots.to_svg(made)
