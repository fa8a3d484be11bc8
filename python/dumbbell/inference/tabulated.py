"""The tables of ``docs/fit.md`` from rows of `dumbbell.inference.measuring`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]

# Limits of the tables, relative errors but for the packet.
RATE, RTT, BUFFER, PACKET, GOODPUT = 0.005, 0.005, 0.15, 1.0, 0.05
# Kinds in which the rate need only be within this, or flagged.
HARD, HARD_RATE = ("loss", "competitors"), 0.03


def tables(rows: Sequence[Row]) -> str:
    """Return all tables as Markdown."""
    return "\n".join(
        [
            parameters(rows),
            coverage(rows),
            algorithms(rows),
            confusion(rows),
            changes(rows),
            unknown(rows),
            costs(rows),
        ]
    )


def _of(rows: Sequence[Row], test: Callable[[Row], bool | None]) -> str:
    """Return how many of the rows for which a test has an answer pass it, as ``"9 of 10"``."""
    answers = [answer for row in rows if (answer := test(row)) is not None]
    return f"{sum(answers)} of {len(answers)}" if answers else "–"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(
        [
            "| " + " | ".join(head) + " |",
            "|" + "---|" * len(head),
            *("| " + " | ".join(line) + " |" for line in lines),
            "",
        ]
    )


def _kinds(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    return [*((kind, [row for row in rows if row["kind"] == kind]) for kind in kinds), ("all", list(rows))]


def _within(name: str, limit: float) -> Callable[[Row], bool | None]:
    return lambda row: abs(row[f"{name}_error"]) <= limit if f"{name}_error" in row else None


def _buffer(row: Row) -> bool | None:
    if "buffer_packets_value" not in row or row["buffer_packets_is_bound"]:
        return None
    off = abs(row["buffer_packets_value"] - row["truth"]["buffer_packets"])
    return bool(off <= max(PACKET, BUFFER * row["truth"]["buffer_packets"]))


def _bound(row: Row) -> bool | None:
    if "buffer_packets_value" not in row or not row["buffer_packets_is_bound"]:
        return None
    return bool(row["buffer_packets_covers"])


def _rate_or_flag(row: Row) -> bool:
    is_flagged = any(
        text.startswith("rate:") or "less certain" in text or "no scenario" in text for text in row["flags"]
    )
    return bool(abs(row["rate_bps_error"]) <= HARD_RATE or is_flagged)


def parameters(rows: Sequence[Row]) -> str:
    """Return how many captures have each parameter right, by kind."""
    head = ["captures", "n", "rate .5 %", "rate 3 % or flagged", "base RTT .5 %", "buffer 15 % or 1 packet",
            "lower bound holds", "discipline"]  # fmt: skip
    lines = [
        [kind, str(len(some)), _of(some, _within("rate_bps", RATE)), _of(some, _rate_or_flag),
         _of(some, _within("base_rtt_s", RTT)), _of(some, _buffer), _of(some, _bound),
         _of(some, lambda row: row["is_discipline"])]
        for kind, some in _kinds(rows)
    ]  # fmt: skip
    return _table(head, lines)


def coverage(rows: Sequence[Row]) -> str:
    """Return how many 90 % intervals contain the truth, by kind."""
    names = ("rate_bps", "base_rtt_s", "buffer_packets", "loss")

    def covers(name: str) -> Callable[[Row], bool | None]:
        return lambda row: row.get(f"{name}_covers")

    lines = [[kind, *(_of(some, covers(name)) for name in names)] for kind, some in _kinds(rows)]
    return _table(["captures", "rate", "base RTT", "buffer", "random loss"], lines)


def algorithms(rows: Sequence[Row]) -> str:
    """Return how often the control is among the three that are named, by kind."""
    lines = []
    for kind, some in _kinds(rows):
        enough = [row for row in some if row["packets"] >= 12]
        common = [row for row in some if row["control"] in {"reno", "cubic", "bbr"}]
        lines.append(
            [kind, *(_of(part, lambda row: row["is_named"]) for part in (some, enough, common)),
             _of(common, lambda row: row["likely"][0] == row["control"])]
        )  # fmt: skip
    return _table(
        ["captures", "named", "of a dozen packets", "of reno, cubic, bbr", "reno, cubic, bbr named first"],
        lines,
    )


def confusion(rows: Sequence[Row]) -> str:
    """Return which control is named first for each that sent, without captures that the receiver limited."""
    chosen = [row for row in rows if row["kind"] != "receiver"]
    lines = []
    for control in sorted({row["control"] for row in chosen}):
        some = [row for row in chosen if row["control"] == control]
        firsts = Counter(row["likely"][0] for row in some).most_common()
        named = _of(some, lambda row: row["is_named"])
        lines.append(
            [f"`{control}`", str(len(some)), named, ", ".join(f"{name} {count}" for name, count in firsts)]
        )
    return _table(["sent with", "n", "named", "named first"], lines)


def changes(rows: Sequence[Row]) -> str:
    """Return how near predictions of another control are, by kind."""
    lines = [
        [kind, _of(some, lambda row: abs(row["goodput_error"]) <= GOODPUT if "goodput_error" in row else None),
         _of(some, lambda row: row.get("queueing_is_near")), _median(some),
         _of(some, lambda row: row.get("goodput_covers")), _of(some, lambda row: row.get("queueing_covers"))]
        for kind, some in _kinds(rows)
    ]  # fmt: skip
    return _table(
        ["captures", "goodput within 5 %", "queueing time near", "median error of goodput", "interval of goodput",
         "interval of queueing time"],
        lines,
    )  # fmt: skip


def unknown(rows: Sequence[Row]) -> str:
    """Return how often "none of these" is right, by kind: with the control that sent, and without it."""

    def rejected(name: str) -> Callable[[Row], bool | None]:
        return lambda row: row[name].get("none")

    lines = [
        [
            kind,
            _of(some, lambda row: not row["none"]),
            _of(some, rejected("without")),
            _of(some, rejected("without_alike")),
        ]
        for kind, some in _kinds(rows)
    ]
    return _table(
        ["captures", "known: accepted", "left out: rejected", "left out with all as near: rejected"], lines
    )


def _median(rows: Sequence[Row]) -> str:
    errors = [abs(row["goodput_error"]) for row in rows if "goodput_error" in row]
    return f"{100 * float(np.median(errors)):.1f} %" if errors else "–"


def costs(rows: Sequence[Row]) -> str:
    """Return what the fits cost."""
    seconds, simulations = [row["seconds"] for row in rows], [row["simulations"] for row in rows]
    return (
        f"{len(rows)} fits: median {np.median(seconds):.1f} s, longest {max(seconds):.1f} s; "
        f"{np.median(simulations):.0f} simulations in the median.\n"
    )
