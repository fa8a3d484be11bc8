"""What a bottleneck may be, given the estimates from a capture."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dumbbell.inference.connection import Connection
from dumbbell.inference.estimate import Estimate
from dumbbell.inference.path import Path, ordinals

# What a loss costs that a hypothesis does not explain but repeats, as a share of all losses: a hypothesis that repeats
# every loss of a capture is always near it.
REPEATED_LOSS = 0.12
# The same where a queue overflowed, too, so that most losses are explained.
REPEATED_SOME = 0.06
# What leaving an estimate costs, as a share of the distance there.
LEFT = 0.13
# Competitors that are tried, and what they send with.
COMPETITORS, COMPETING = (1, 2, 3), ("cubic", "reno", "bbr")
# Relative changes of a buffer, a rate and a round-trip time that are tried around their estimates.
AROUND_BUFFER = (0.94, 0.97, 1.03, 1.06)
AROUND_PACKETS = (-2, -1, 1, 2)
AROUND_BURST = (0.9, 0.95, 1.05, 1.1)
AROUND_RATE = (0.995, 0.998, 1.002, 1.005)


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A path that may have caused what was seen.

    Parameters
    ----------
    path
        The path.
    cost
        What is added to its distance, for losses that it repeats instead of explaining them.
    """

    path: Path
    cost: float = 0.0


def hypotheses(seen: Connection, found: Estimate) -> list[Hypothesis]:
    """Return what the bottleneck may be, but for policers."""
    lost, early = ordinals(seen.is_lost), ordinals(found.is_early)
    plain = Path(rate_bps=found.rate_bps, base_rtt_s=found.base_rtt_s)
    made: list[Hypothesis] = []
    if found.has_overflowed and not found.is_exceeded:
        made.append(Hypothesis(path=_with(plain, buffer_packets=found.buffer_packets)))
        if early:
            path = _with(plain, buffer_packets=found.buffer_packets, forced=early)
            made.append(Hypothesis(path=path, cost=REPEATED_SOME * len(early) / len(lost)))
    made.append(Hypothesis(path=_with(plain, forced=lost), cost=REPEATED_LOSS if lost else 0.0))
    if lost:
        made += [Hypothesis(path=_with(plain, discipline=kind)) for kind in ("codel", "pie")]
    return made


def policed(found: Estimate) -> list[Hypothesis]:
    """Return what a policer may be."""
    plain = Path(rate_bps=found.rate_bps, base_rtt_s=found.base_rtt_s, discipline="policer")
    return [
        Hypothesis(path=_with(plain, policed_bps=one.rate_bps, burst_bytes=one.burst_bytes))
        for one in found.policers
    ]


def with_competitors(found: Estimate) -> list[Hypothesis]:
    """Return drop-tail bottlenecks that other flows share."""
    path = Path(rate_bps=found.rate_bps, base_rtt_s=found.base_rtt_s, buffer_packets=found.buffer_packets)
    return [
        Hypothesis(path=_with(path, competitors=count, competing=control))
        for count in COMPETITORS
        for control in COMPETING
    ]


def around(chosen: Hypothesis, distance: float, *, is_rate_certain: bool) -> list[Hypothesis]:
    """Return paths near a hypothesis with this distance, which change one parameter each."""
    path = chosen.path
    made: list[Path] = []
    if path.buffer_packets is not None:
        buffers = {round(path.buffer_packets * factor) for factor in AROUND_BUFFER}
        buffers |= {path.buffer_packets + change for change in AROUND_PACKETS}
        made += [
            _with(path, buffer_packets=size) for size in sorted(buffers - {path.buffer_packets}) if size >= 1
        ]
    if not is_rate_certain and path.discipline != "policer":
        made += [_with(path, rate_bps=path.rate_bps * factor) for factor in AROUND_RATE]
        made += [_with(path, base_rtt_s=path.base_rtt_s * factor) for factor in AROUND_RATE]
    if path.discipline == "policer":
        made += [_with(path, burst_bytes=path.burst_bytes * factor) for factor in AROUND_BURST]
    return [Hypothesis(path=one, cost=chosen.cost + LEFT * distance) for one in made]


def _with(path: Path, **changes: object) -> Path:
    return replace(path, **changes)  # type: ignore[arg-type]  # of the fields of a path
