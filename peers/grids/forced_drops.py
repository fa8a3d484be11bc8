"""Recoveries from forced drops: the segments of a transfer after losses within one window [fall1996 §3]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dumbbell import plots, report, topologies
from dumbbell.crossvalidation import Agreement, Case, Observed, Peer
from dumbbell.crossvalidation.figures import name_small, small_plots
from dumbbell.crossvalidation.tables import peer_title
from dumbbell.judge.criterion import criterion
from dumbbell.scenario import DropTail, Flow, Forced, Probe, Tcp, Transfer

from . import _bottlenecks as bottlenecks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VARIANTS = ("tahoe", "reno", "newreno", "sack")

FACTORS = ("variant", "dropped", "window", "window is", "first drop")

# The service time at the bottleneck is a binary fraction, so that equal times of departures and arrivals remain equal in
# floating point.
SERVICE_S = 2.0**-7
DELAY = "43 ms"
PHASE = "3.7 ms"
DURATION = "60 s"

# Drops within a window, counted from the first of them.
PATTERNS: tuple[tuple[int, ...], ...] = (
    (0,),
    (0, 1),
    (0, 3),
    (0, 1, 2),
    (0, 2, 5),
    (0, 1, 2, 3),
    (0, 2, 4, 6),
)

# Time shown before and after a recovery, s.
SHOWN_AROUND_S = 0.25

# Times closer than this, in s, are equal: traces are rounded.
ROUNDED_S = 2e-6


@dataclass(frozen=True, kw_only=True)
class Loss:
    """A window and the position of its first drop.

    Parameters
    ----------
    window
        The window, segments.
    kind
        ``"opening"``, in the initial slow start; or ``"held"`` by the receive buffer.
    offset
        Segments of the window before the first drop.
    """

    window: int
    kind: str
    offset: int

    @property
    def first(self) -> int:
        """The first packet that is dropped, counted from 1."""
        if self.kind == "opening":
            # Slow start from two segments: 2, 4, 8, ...; a round of w segments begins with the (w - 1)th.
            return self.window - 1 + self.offset
        return 4 * self.window + self.offset


LOSSES = (
    *(Loss(window=window, kind="opening", offset=offset) for window in (8, 16, 32) for offset in (0, 1)),
    *(
        Loss(window=window, kind="held", offset=offset)
        for window in (6, 10, 16, 28, 50)
        for offset in (0, window // 3)
    ),
)


class ForcedDrops:
    """One to four packets of a window are dropped."""

    name = "forced-drops"
    title = "Forced drops"
    order = 10
    question = (
        "After one to four packets of one window are lost, does the sender send the same segments at the same times on "
        "both sides, from the start of the transfer to its end?"
    )

    def cases(self, peer: Peer) -> list[Case]:
        """Return the cases: every recovery, window and pattern of drops; none for a peer of which only means are compared."""
        if bottlenecks.is_slow(peer):
            return []
        return [
            self._case(peer, variant, loss, pattern)
            for variant in VARIANTS
            if variant in peer.variants
            for loss in LOSSES
            for pattern in PATTERNS
            # Not beyond the window.
            if loss.offset + pattern[-1] < loss.window
        ]

    @staticmethod
    def _case(peer: Peer, variant: str, loss: Loss, pattern: tuple[int, ...]) -> Case:
        packets = [loss.first + further for further in pattern]
        dropped = " ".join(str(loss.offset + further + 1) for further in pattern)
        point = f"{variant}, {loss.window} segments {loss.kind}, dropped {dropped}"
        rate = round(bottlenecks.PACKET_BITS / SERVICE_S)
        tcp = bottlenecks.tcp(peer, variant)
        if loss.kind == "held":
            held = f"{loss.window} segments"
            tcp |= {"receive_buffer": held, "initial_ssthresh": held}
        shape = topologies.dumbbell(
            pairs=1,
            rate=f"{rate} bit/s",
            delay=DELAY,
            queue=DropTail(limit="1000 packets"),
            access_rate=f"{8 * rate} bit/s",
            impairments=[Forced(packets=packets)],
        )
        size = bottlenecks.PAYLOAD_BYTES * (packets[-1] + 6 * loss.window + 20)
        flow = Flow(
            name="f",
            from_="s1",
            to="d1",
            source=Transfer(size=f"{size} bytes"),
            tcp=Tcp.from_dict(tcp),
            start="0 s",
        )
        scenario = shape.scenario(
            name=point,
            rules="classic",
            duration=DURATION,
            flows=[flow],
            stop_when_complete=["f"],
            probes=[Probe(quantities=["seq_sent"], flows=["f"])],
        )
        return Case(
            key=point,
            point=point,
            factors=dict(
                zip(
                    FACTORS,
                    (variant, len(pattern), loss.window, loss.kind, f"segment {loss.offset + 1}"),
                    strict=True,
                )
            ),
            scenario=scenario.with_values({"nodes.s1.tick_phase": PHASE}),
        )

    def reduce(self, _case: Case, run: Observed) -> dict[str, Any]:
        """Return what was sent: numbers of segments, counted from 0, and times in ms, and how often the timer expired."""
        sent = run.traces["seq_sent"]
        numbers = (sent["value"].to_numpy() / bottlenecks.PAYLOAD_BYTES).round().astype(int)
        return {
            "sent": numbers.tolist(),
            "at_ms": (sent["time_s"].to_numpy() * 1e3).round(4).tolist(),
            "timeouts": int(run.flows["timeouts"].iloc[0]),
        }

    def judge(self, results: pd.DataFrame) -> Agreement:
        """Return for how many transfers the order of the segments is the same, and their times."""
        rows = list(_compared(results))
        points = pd.DataFrame(rows)
        if points.empty:
            points = pd.DataFrame(columns=["point", "same_order", "same_times", "agrees", "explanation"])
        return Agreement(
            criteria=(
                criterion(
                    "the same segments in the same order", points["same_order"], aim=1.0, of="transfers"
                ),
                criterion(
                    "each within one serialization time of the bottleneck",
                    points["same_times"],
                    aim=1.0,
                    of="transfers",
                ),
            ),
            points=points,
        )

    def sections(self, results: pd.DataFrame, agreement: Agreement) -> Sequence[report.Block]:
        """Return the recoveries of three drops in one window, drawn; and all transfers in a table."""
        table = _table(agreement.points)
        wanted = "28 segments held, dropped 1 3 6"
        keys = [key for key in dict.fromkeys(results["key"]) if key.endswith(wanted)]
        found: list[report.Block] = []
        if keys:
            found.append(_drawn(results, keys, f"Segments sent: {wanted}"))
        found.append(table)
        return found


def _compared(results: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for each case that both sides have."""
    for key, rows in results.groupby("key", sort=False):
        sides = {row["side"]: row for _, row in rows.iterrows()}
        if set(sides) != {"ours", "peer"}:
            continue
        ours, peer = sides["ours"], sides["peer"]
        same_order = list(ours["sent"]) == list(peer["sent"])
        apart = np.nan
        if same_order:
            apart = float(np.abs(np.subtract(ours["at_ms"], peer["at_ms"])).max())
        yield {
            "point": ours["point"],
            **{name: ours[name] for name in FACTORS},
            "segments": len(ours["sent"]),
            "sent again": len(ours["sent"]) - len(set(ours["sent"])),
            "timeouts": ours["timeouts"],
            "largest distance [ms]": apart,
            "same_order": same_order,
            "same_times": same_order and apart <= 1e3 * (SERVICE_S + ROUNDED_S),
            "agrees": same_order and apart <= 1e3 * (SERVICE_S + ROUNDED_S),
            "explanation": "" if same_order else f"first differs: {_first(ours, peer)}",
            "key": key,
        }


def _first(ours: pd.Series[Any], peer: pd.Series[Any]) -> str:
    """Return the first segment that is sent on one side only."""
    pairs = list(zip(ours["sent"], peer["sent"], strict=False))
    at = next((index for index, (one, other) in enumerate(pairs) if one != other), len(pairs))
    shown = [
        f"{title} {row['sent'][at]} at {row['at_ms'][at]:.3f} ms"
        if at < len(row["sent"])
        else f"{title} none"
        for title, row in (("ours", ours), ("peer", peer))
    ]
    return ", ".join(shown)


def _table(points: pd.DataFrame) -> report.Table:
    """Return the transfers of each recovery by number of drops: their number, identical ones, retransmissions and timeouts."""
    rows: list[list[report.Cell | str]] = []
    for (variant, dropped), group in points.groupby(list(FACTORS[:2]), sort=False) if len(points) else ():
        alike = int(group["same_order"].sum())
        largest = group["largest distance [ms]"].max()
        rows.append(
            [
                str(variant),
                str(dropped),
                str(len(group)),
                report.Cell(text=str(alike), tone="" if alike == len(group) else "bad"),
                f"{group['sent again'].mean():.1f}",
                f"{group['timeouts'].mean():.2f}",
                f"{largest:.4f}" if np.isfinite(largest) else "–",
            ]
        )
    return report.Table(
        caption="Transfers by recovery and number of drops",
        columns=[
            *report.Column.words("recovery"),
            *report.Column.numbers(
                "drops",
                "transfers",
                "the same segments in the same order",
                "sent again, mean",
                "timeouts, mean",
                "largest distance of times [ms]",
            ),
        ],
        rows=rows,
        note=f"A packet takes {1e3 * SERVICE_S:g} ms on the bottleneck.",
    )


def _show_repair(ax: Axes, row: pd.Series[Any]) -> None:
    """Limit a plot to the time from shortly before the first retransmission to shortly after the last one."""
    numbers, at = np.asarray(row["sent"]), np.asarray(row["at_ms"]) / 1e3
    _, firsts = np.unique(numbers, return_index=True)
    again = np.setdiff1d(np.arange(len(numbers)), firsts)
    if not len(again):
        return
    shown = (at[again[0]] - SHOWN_AROUND_S, at[again[-1]] + SHOWN_AROUND_S)
    inside = numbers[(at >= shown[0]) & (at <= shown[1])]
    ax.set_xlim(*shown)
    ax.set_ylim(inside.min() - 3, inside.max() + 3)


def _drawn(results: pd.DataFrame, keys: Sequence[str], caption: str) -> report.Figure:
    """Draw the segments sent over time on both sides, a plot for each case."""
    made, axes = plots.figure(-(-len(keys) // 2), min(2, len(keys)), width=5.6, height=3.0)
    looks = {"ours": ("o", 5.0, plots.COLOURS[0]), "peer": ("x", 3.5, plots.COLOURS[1])}
    titles = {"ours": "Dumbbell", "peer": peer_title(results)}
    for ax, key in zip(axes.flat, keys, strict=False):
        rows = results[results["key"] == key]
        for _, row in rows.iterrows():
            marker, size, colour = looks[row["side"]]
            ax.plot(
                np.asarray(row["at_ms"]) / 1e3,
                row["sent"],
                marker=marker,
                markersize=size,
                linestyle="",
                markerfacecolor="none",
                markeredgecolor=colour,
                markeredgewidth=0.8,
                label=titles[row["side"]],
            )
        _show_repair(ax, rows.iloc[0])
        name_small(ax, key, y_label="segment")
    return small_plots(made, axes, len(keys), caption)


GRID = ForcedDrops()
