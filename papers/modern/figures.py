"""The report's figures, each as SVG text; an empty text if what they show was not measured."""

from __future__ import annotations

import numpy as np

from dumbbell import plots
from dumbbell.judge.estimate import NotMeasured

from .evidence import Evidence
from .published import bbr_shares
from .sharing_scenarios import WARE, ware_key
from .window_claims import law_window
from .window_scenarios import CUBIC_LOSSES


def predicted_share(mbps: float, rtt_ms: float, share: float, duration_s: float = 400.0) -> float:
    """Return the share of one BBRv1 flow against loss-based ones by the model [ware2019b], from 0 to 1.

    Parameters
    ----------
    mbps, rtt_ms
        Rate and base round-trip time of the path.
    share
        Buffer in bandwidth-delay products.
    duration_s
        Duration.
    """
    queue_s = share * rtt_ms / 1000
    packets = queue_s * mbps * 1e6 / 8 / 1514
    others = max(0.0, 0.5 - 1 / (2 * share) - 4 / packets)
    probing = (queue_s + 0.2 + rtt_ms / 1000) / 10 * duration_s
    return (1 - others) * (duration_s - probing) / duration_s


def law(evidence: Evidence) -> str:
    """Draw the mean windows of CUBIC under periodic loss, measured and by the law of RFC 9438."""
    try:
        points = [
            (1 / every, law_window(evidence, "cubic", every, rtt))
            for every, rtt, _ in CUBIC_LOSSES
            if rtt == 100
        ]
    except NotMeasured:
        return ""
    figure, axes = plots.figure(width=5.6, height=3.6)
    ax = axes[0][0]
    rates = np.logspace(-7, -3, 50)
    formula = np.maximum(1.054 * (0.1 / rates) ** 0.75, 1.2 / np.sqrt(rates))
    ax.plot(rates, formula, color="0.5", linewidth=1.0, linestyle="--", label="RFC 9438")
    colour = plots.styles(["cubic"])["cubic"].colour
    ax.plot(*zip(*points, strict=True), "o", color=colour, label="measured")
    ax.set(xscale="log", yscale="log", xlabel="loss rate", ylabel="mean window [segments]")
    ax.legend(frameon=False)
    return plots.to_svg(figure)


def shares(evidence: Evidence) -> str:
    """Draw the share of one BBRv1 flow against one of CUBIC over the buffer: ours, by the model, and by others' hosts."""
    figure, axes = plots.figure(width=5.6, height=3.6)
    ax = axes[0][0]
    looks = plots.styles(["bbr", "cubic"])
    for colour, mbps, rtt in ((looks["bbr"].colour, 10, 40), (looks["cubic"].colour, 50, 30)):
        try:
            points = [
                (share, evidence.each(ware_key(rate, share), lambda run: run.share("bbr")))
                for rate, _, share in WARE
                if rate == mbps
            ]
        except NotMeasured:
            return ""
        buffers = np.logspace(0, 6, 60, base=2)
        ax.plot(
            buffers,
            [predicted_share(mbps, rtt, share) for share in buffers],
            color=colour,
            linewidth=1.0,
            linestyle="--",
        )
        for index, (share, values) in enumerate(points):
            ax.plot(
                [share] * len(values),
                values,
                "o",
                color=colour,
                markersize=3,
                label=f"{mbps} Mb/s, {rtt} ms" if index == 0 else None,
            )
        published = bbr_shares(mbps, rtt)
        ax.plot(
            list(published),
            [values.mean() for values in published.values()],
            "D",
            color=colour,
            markerfacecolor="none",
            markersize=6,
        )
    ax.set_xscale("log", base=2)
    ax.set(xlabel="buffer [bandwidth-delay products]", ylabel="share of BBR", ylim=(0, 1))
    ax.legend(frameon=False)
    return plots.to_svg(figure)
