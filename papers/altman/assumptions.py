"""What the paper leaves open: values chosen here, and how each one is varied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dumbbell import sensitivity

Mover = Literal["reno", "generation", "vegas"]
"""A source with cycles."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open, with the values chosen here.

    Parameters
    ----------
    exogenous
        How the exogenous packets are spaced: each at a random place of its gap, all equally, or exponentially. The model has
        a source of constant rate [aithellal2000 §3].
    phase
        Where in a service time the source's packets reach the queue: spread over the runs, or as the fixed delay of the
        grid has it.
    counts_service
        Whether the buffer counts the packet in service.
    increase
        How Vegas adds the packet granted by a test: at once, or with the acknowledgements of the round. The description of
        Vegas has it grow with each acknowledgement, as Reno does [aithellal2000 §2].
    numerator
        Numerator of the expected rate of Vegas: the window, or the packets in transit, as the paper defines it
        [aithellal2000 §2]. With a window that grows by shares, the two differ by up to a packet.
    partial_ack
        Whether every partial acknowledgement restarts the retransmission timer, or the first of a recovery alone.
    reduction_base
        What a loss reduces.
    """

    exogenous: Literal["jittered", "constant", "poisson"] = "constant"
    phase: Literal["spread", "as given"] = "spread"
    counts_service: bool = False
    increase: Literal["at-once", "spread"] = "spread"
    numerator: Literal["cwnd", "in-transit"] = "in-transit"
    partial_ack: Literal["slow-but-steady", "impatient"] = "slow-but-steady"
    reduction_base: Literal["whole-window", "flight"] = "whole-window"


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """A variation of an assumption.

    Parameters
    ----------
    kinds
        The experiments it bears on; others are taken from the base.
    reno
        Variant of Reno in the cycles.
    film
        Whether the video is the substitute for the film rather than the engine's synthetic video.
    service
        Reading of the smallest round-trip time in the model.
    """

    kinds: tuple[str, ...] = ()
    reno: Mover = "reno"
    film: bool = True
    service: str = "mu"

    @property
    def moved(self) -> Assumptions:
        """The assumptions with this one varied."""
        return replace(Assumptions(), **self.changes)


GRIDS = ("steady", "cycles", "threshold", "connections")


def _varied(name: str, kinds: tuple[str, ...], assumption: str, value: str, **rest: Any) -> Variation:
    return Variation(name=name, assumption=assumption, value=value, kinds=kinds, **rest)


VARIATIONS: Sequence[Variation] = (
    _varied(
        "jittered",
        GRIDS,
        "exogenous packets",
        "each at a random place of its gap instead of equally spaced",
        changes={"exogenous": "jittered"},
    ),
    _varied(
        "poisson",
        GRIDS,
        "exogenous packets",
        "a Poisson process of the same rate",
        changes={"exogenous": "poisson"},
    ),
    _varied(
        "phase",
        (*GRIDS, "video"),
        "phase of the source's packets",
        "right after a departure in most rows, as the grid's delays have it, instead of spread over the runs",
        changes={"phase": "as given"},
    ),
    _varied(
        "service",
        ("cycles", "threshold", "connections"),
        "packet in service",
        "counts towards the buffer",
        changes={"counts_service": True},
    ),
    _varied(
        "generation",
        ("cycles",),
        "growth of Reno",
        "a whole packet once a generation instead of 1/W with every acknowledgement",
        reno="generation",
    ),
    _varied(
        "at-once",
        ("steady", "threshold", "connections", "video"),
        "increase of Vegas",
        "a whole packet at the end of the round instead of shares with its acknowledgements",
        changes={"increase": "at-once"},
    ),
    _varied(
        "window",
        ("steady", "threshold", "connections", "video"),
        "expected rate of Vegas",
        "by the window, which may be a part of a packet more than is in transit",
        changes={"numerator": "cwnd"},
    ),
    _varied(
        "flight",
        ("cycles",),
        "what is halved",
        "the packets outstanding instead of the window",
        changes={"reduction_base": "flight"},
    ),
    _varied(
        "impatient",
        ("video",),
        "retransmission timer",
        "restarted by the first partial acknowledgement of a recovery only",
        changes={"partial_ack": "impatient"},
    ),
    _varied(
        "synthetic",
        ("video",),
        "video",
        "the engine's synthetic video instead of frames of a fixed pattern of types",
        film=False,
    ),
    _varied(
        "nu",
        (),
        "smallest round-trip time of the model",
        "contains 1/(mu - lambda) instead of 1/mu",
        service="nu",
    ),
)
"""The assumptions that are varied."""
