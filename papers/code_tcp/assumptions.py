"""What the paper leaves open, with our choice and its variations.

[chan2010 §4]

What the paper states is written where the scenarios are made; every field here is a choice of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from dumbbell import sensitivity

Figure = Literal["fig9", "rtt", "fig14", "fig15", "table2", "windows", "pairs", "startup"]

SWEEPS: tuple[Figure, ...] = ("fig9", "rtt", "fig14", "fig15")
"""The sweeps of throughput."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the paper leaves open.

    Parameters
    ----------
    delay_ms, access_ms
        One-way delays of the bottleneck and of each access link. The labels of Figs. 7 and 8 are lost; 23 ms is the delay
        of the experiments on Linux, whose network is that of Fig. 7, and four access links of 1 ms make 50 ms of it.
    access_rate
        Rate of the access links.
    buffer
        Packets the bottleneck's queue takes where the paper does not sweep it. Stated for Figs. 9 and 19.
    counts_service
        Whether the buffer counts the packet in transmission. The paper's simulator counts it.
    header
        Bytes on the wire in addition to the 1000 bytes of a packet.
    minimum_rto
        Least retransmission timeout, that of the simulator since 2004.
    reference
        The TCP called Reno. The text says Reno throughout, not NewReno.
    mechanisms
        Mechanisms of Vegas in all variants: F is the cut to three quarters, E allows one cut a round trip, both stated.
    numerator, rtt, round_diff
        How Delta is computed. Eq. 1 has the window and a round-trip time that the text calls smoothed, read as the mean of a
        round; the simulator's own Vegas takes packets in flight and rounds Delta to whole packets.
    increase
        Whether a variant takes its packet at the end of the round, as in Eq. 2 and Table 1, or in shares during the next.
    band_rtt
        Round-trip time that moves CODE's thresholds, stated in section 4.5; NewVegas takes that of the target packet, stated
        in section 2.4.
    epsilon
        Factor applied to CODE's thresholds at a loss. Stated.
    clamp, truncate
        Whether CODE's thresholds stop at their start when they are scaled or lowered, and whether they are cut to whole packets.
        The pseudo-code has no such floor. The text does: CODE returns to "a stable status as a Vegas source" (section 1) and is
        stable among its own kind (section 4.5), but every scaling narrows the band, and below one packet no window stays
        inside it; alpha is lowered only above its start (section 3.2); and scaling is to lower the thresholds less
        than the reset of NewVegas does (section 3.1), not further.
    inclusive
        Whether Vegas-A counts the ends of its band as within. The pseudo-code does not.
    timeout_avoidance
        Whether NewVegas continues in congestion avoidance after a timeout.
    cross
        Random datagrams at the bottleneck as a share of its rate, wherever throughputs are averaged over repetitions (Figs.
        9-15, Table 2), and by `window_cross` in Figs. 2, 3 and 5. Without anything random in it a drop-tail network locks in
        phase, and ties decide who loses.
    jitter
        Whether senders take a random processing time of up to one packet's service before each packet. Figs. 10-13 have it
        in any case: there the phases of the two connections differ, and cross traffic alone does not unlock them.
    rtt_rate, buffer_rate, mix_rate, window_rate
        Bottleneck of Figs. 10-13, 14, 15, and 2, 3 and 5, Mbit/s: one rate for all figures whose rate is not stated.
    window_cross
        Whether the cross traffic is there in Figs. 2, 3 and 5 as well. Section 4 names one network for the simulations of
        competing connections, that of Fig. 7, so it is; rules of the algorithms are read from runs without it.
    """

    delay_ms: float = 23.0
    access_ms: float = 1.0
    access_rate: str = "100 Mbit/s"
    buffer: int = 100
    counts_service: bool = True
    header: str = "0 bytes"
    minimum_rto: str = "200 ms"
    reference: str = "reno"
    mechanisms: str = "ABCDEFGHI"
    numerator: str = "cwnd"
    rtt: str = "mean"
    round_diff: bool = False
    increase: str = "at-once"
    band_rtt: str = "minimum"
    epsilon: float = 0.68
    clamp: bool = True
    truncate: bool = False
    inclusive: bool = False
    timeout_avoidance: bool = False
    cross: float = 0.05
    jitter: bool = False
    rtt_rate: int = 10
    buffer_rate: int = 10
    mix_rate: int = 10
    window_rate: int = 10
    window_cross: bool = True


BASE = Assumptions()
"""The main reading, the one we hold to be best supported."""

LITERAL = replace(BASE, cross=0.0, clamp=False)
"""The literal reading: the pseudo-code as printed, and no traffic and no processing times, as the paper states none."""

LITERAL_GROUP = "literal"
"""Its name in the keys of runs."""


@dataclass(frozen=True, kw_only=True)
class Variation(sensitivity.Variation):
    """A variation of one assumption.

    Parameters
    ----------
    assumptions
        The reading with the variation.
    text
        What the paper says about it, in a few words.
    figures
        The scenarios it is run on.
    """

    assumptions: Assumptions
    text: str = "not stated"
    figures: tuple[Figure, ...] = SWEEPS


AT_EQUAL_TIMES: tuple[Figure, ...] = ("fig9", "fig14", "fig15")
"""The sweeps with equal round-trip times."""

THRESHOLDS: tuple[Figure, ...] = (*AT_EQUAL_TIMES, "table2", "windows", "pairs")
"""What moves with the thresholds of the variants."""

FIG9: tuple[Figure, ...] = ("fig9",)

WINDOWS: tuple[Figure, ...] = ("windows",)


def _varied(
    name: str,
    assumption: str,
    value: str,
    *,
    text: str = "not stated",
    figures: tuple[Figure, ...] = SWEEPS,
    **changes: Any,
) -> Variation:
    return Variation(
        name=name,
        assumption=assumption,
        value=value,
        assumptions=replace(BASE, **changes),
        text=text,
        figures=figures,
    )


VARIATIONS = (
    _varied("quiet", "cross traffic", "none", text="as the paper", figures=(*SWEEPS, "startup"), cross=0.0),
    _varied("cross-1", "cross traffic", "1 %", text="none is mentioned", figures=AT_EQUAL_TIMES, cross=0.01),
    _varied("cross-10", "cross traffic", "10 %", text="none is mentioned", cross=0.1),
    _varied(
        "jitter",
        "sender jitter at equal round-trip times",
        "up to one service time",
        text="none is mentioned",
        figures=("fig9", "fig14"),
        jitter=True,
    ),
    _varied(
        "jitter-alone",
        "cross traffic",
        "none, sender jitter instead",
        text="none is mentioned",
        figures=("fig9", "fig14"),
        cross=0.0,
        jitter=True,
    ),
    _varied(
        "halving",
        "cut at a loss",
        "one half (F off)",
        text="against Eq. 4",
        figures=(*SWEEPS, "windows"),
        mechanisms="ABCDEGHI",
    ),
    _varied(
        "quiet-halving",
        "cross traffic and cut at a loss",
        "none, and one half",
        text="against Eq. 4",
        figures=FIG9,
        mechanisms="ABCDEGHI",
        cross=0.0,
    ),
    _varied(
        "every-loss",
        "cuts in one round trip",
        "one for every loss (E off)",
        text="against section 2.2.3",
        figures=(*AT_EQUAL_TIMES, "windows"),
        mechanisms="ABCDFGHI",
    ),
    _varied(
        "simulator",
        "Delta",
        "packets in flight, rounded, as in ns-2",
        text="against Eq. 1",
        figures=(*SWEEPS, "table2", "windows", "pairs", "startup"),
        numerator="ns2",
        round_diff=True,
    ),
    _varied(
        "minimum",
        "round-trip time in Delta",
        "smallest of the round",
        text='against "smoothed" in section 2.2.1',
        figures=THRESHOLDS,
        rtt="minimum",
    ),
    _varied(
        "newest",
        "round-trip time in Delta",
        "newest",
        text='against "smoothed" in section 2.2.1',
        figures=("fig9", "table2", "windows", "pairs"),
        rtt="newest",
    ),
    _varied(
        "spread",
        "growth by a packet",
        "in shares during the next round",
        text="against Eq. 2 and Table 1",
        figures=THRESHOLDS,
        increase="spread",
    ),
    _varied(
        "band-mean",
        "round-trip time that moves CODE's thresholds",
        "mean of the round",
        text="against section 4.5",
        figures=THRESHOLDS,
        band_rtt="actual",
    ),
    _varied(
        "no-floor",
        "scaled thresholds of CODE",
        "without a floor",
        text="as the pseudo-code; against sections 1 and 4.5",
        figures=(*SWEEPS, "table2", "windows", "pairs"),
        clamp=False,
    ),
    _varied(
        "truncate",
        "scaled thresholds of CODE",
        "whole packets",
        figures=(*AT_EQUAL_TIMES, "pairs"),
        truncate=True,
    ),
    _varied(
        "inclusive",
        "ends of the band of Vegas-A",
        "within",
        text="against the pseudo-code of section 2.5",
        figures=AT_EQUAL_TIMES,
        inclusive=True,
    ),
    _varied(
        "band-target",
        "round-trip time that moves CODE's thresholds",
        "that of the target packet",
        text="as section 2.4 for NewVegas; against section 4.5",
        figures=("fig9", "table2", "windows", "pairs"),
        band_rtt="target",
    ),
    _varied(
        "window-quiet",
        "cross traffic in Figs. 2, 3 and 5",
        "none",
        text="none is mentioned",
        figures=WINDOWS,
        window_cross=False,
    ),
    _varied(
        "window-rate-5",
        "rate of Figs. 2, 3 and 5",
        "5 Mbit/s",
        text="not stated; that of Fig. 17",
        figures=WINDOWS,
        window_rate=5,
    ),
    _varied("window-rate-20", "rate of Figs. 2, 3 and 5", "20 Mbit/s", figures=WINDOWS, window_rate=20),
    _varied(
        "newreno",
        "reference TCP",
        "NewReno",
        text="against sections 1 and 2.1, which say Reno",
        figures=(*SWEEPS, "startup"),
        reference="newreno",
    ),
    _varied("rtt-46", "base round-trip time", "46 ms", figures=(*THRESHOLDS, "startup"), access_ms=0.0),
    _varied("rtt-100", "base round-trip time", "100 ms", figures=(*THRESHOLDS, "startup"), delay_ms=48.0),
    _varied("access-1g", "access links", "1 Gbit/s", figures=("fig9", "table2"), access_rate="1 Gbit/s"),
    _varied("wire", "packet on the wire", "1040 bytes", figures=("fig9", "table2"), header="40 bytes"),
    _varied("rto", "minimum retransmission timeout", "1 s", figures=("fig9", "startup"), minimum_rto="1 s"),
    _varied(
        "burst",
        "packets sent back to back",
        "without limit (H off)",
        figures=("fig9", "table2"),
        mechanisms="ABCDEFGI",
    ),
    _varied("rtt-rate-5", "rate of Figs. 10-13", "5 Mbit/s", figures=("rtt",), rtt_rate=5),
    _varied("rtt-rate-20", "rate of Figs. 10-13", "20 Mbit/s", figures=("rtt",), rtt_rate=20),
    _varied("buffer-rate-5", "rate of Fig. 14", "5 Mbit/s", figures=("fig14",), buffer_rate=5),
    _varied("buffer-rate-20", "rate of Fig. 14", "20 Mbit/s", figures=("fig14",), buffer_rate=20),
    _varied("mix-rate-20", "rate of Fig. 15", "20 Mbit/s", figures=("fig15",), mix_rate=20),
    _varied("mix-rate-50", "rate of Fig. 15", "50 Mbit/s", figures=("fig15",), mix_rate=50),
)
"""The moves of the section on sensitivity."""


def assumptions_of(group: str) -> Assumptions:
    """Return the reading of the runs whose keys begin with a name."""
    known = {variation.name: variation.assumptions for variation in VARIATIONS}
    return (known | {LITERAL_GROUP: LITERAL}).get(group, BASE)
