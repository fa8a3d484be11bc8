"""What the paper leaves open, with our choice and its variations.

[chan2010 §4]

What the paper states is written where the scenarios are made; every field here is a choice of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dumbbell import sensitivity

Figure = Literal["fig9", "rtt", "fig14", "fig15", "table2", "windows", "pairs", "startup"]


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
        9-15, Table 2); windows against time are of networks without. Without anything random in it a drop-tail network locks
        in phase, and ties decide who loses.
    jitter
        Whether senders take a random processing time of up to one packet's service before each packet. Figs. 10-13 have it
        in any case: there the phases of the two connections differ, and cross traffic alone does not unlock them.
    rtt_rate, buffer_rate, mix_rate, window_rate
        Bottleneck of Figs. 10-13, 14, 15, and 2, 3 and 5, Mbit/s.
    window_cross
        Whether the cross traffic is there in Figs. 2, 3 and 5 as well.
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
    mix_rate: int = 20
    window_rate: int = 10
    window_cross: bool = False


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
    figures: tuple[Figure, ...] = ("fig9", "rtt", "fig14", "fig15")


FIG9: tuple[Figure, ...] = ("fig9",)

WINDOWS: tuple[Figure, ...] = ("windows",)

VARIATIONS = (
    Variation(
        name="quiet",
        assumption="cross traffic",
        value="none",
        assumptions=replace(BASE, cross=0.0),
        text="as the paper",
        figures=("fig9", "rtt", "fig14", "fig15", "startup"),
    ),
    Variation(
        name="cross-1",
        assumption="cross traffic",
        value="1 %",
        assumptions=replace(BASE, cross=0.01),
        text="none is mentioned",
        figures=("fig9", "fig14", "fig15"),
    ),
    Variation(
        name="cross-10",
        assumption="cross traffic",
        value="10 %",
        assumptions=replace(BASE, cross=0.1),
        text="none is mentioned",
        figures=("fig9", "rtt", "fig14", "fig15"),
    ),
    Variation(
        name="jitter",
        assumption="sender jitter at equal round-trip times",
        value="up to one service time",
        assumptions=replace(BASE, jitter=True),
        text="none is mentioned",
        figures=("fig9", "fig14"),
    ),
    Variation(
        name="jitter-alone",
        assumption="cross traffic",
        value="none, sender jitter instead",
        assumptions=replace(BASE, cross=0.0, jitter=True),
        text="none is mentioned",
        figures=("fig9", "fig14"),
    ),
    Variation(
        name="halving",
        assumption="cut at a loss",
        value="one half (F off)",
        assumptions=replace(BASE, mechanisms="ABCDEGHI"),
        text="against Eq. 4",
        figures=("fig9", "rtt", "fig14", "fig15", "windows"),
    ),
    Variation(
        name="quiet-halving",
        assumption="cross traffic and cut at a loss",
        value="none, and one half",
        assumptions=replace(BASE, cross=0.0, mechanisms="ABCDEGHI"),
        text="against Eq. 4",
        figures=FIG9,
    ),
    Variation(
        name="every-loss",
        assumption="cuts in one round trip",
        value="one for every loss (E off)",
        assumptions=replace(BASE, mechanisms="ABCDFGHI"),
        text="against section 2.2.3",
        figures=("fig9", "fig14", "fig15", "windows"),
    ),
    Variation(
        name="simulator",
        assumption="Delta",
        value="packets in flight, rounded, as in ns-2",
        assumptions=replace(BASE, numerator="ns2", round_diff=True),
        text="against Eq. 1",
        figures=("fig9", "rtt", "fig14", "fig15", "table2", "windows", "pairs", "startup"),
    ),
    Variation(
        name="minimum",
        assumption="round-trip time in Delta",
        value="smallest of the round",
        assumptions=replace(BASE, rtt="minimum"),
        text='against "smoothed" in section 2.2.1',
        figures=("fig9", "fig14", "fig15", "table2", "windows", "pairs"),
    ),
    Variation(
        name="newest",
        assumption="round-trip time in Delta",
        value="newest",
        assumptions=replace(BASE, rtt="newest"),
        text='against "smoothed" in section 2.2.1',
        figures=("fig9", "table2", "windows", "pairs"),
    ),
    Variation(
        name="spread",
        assumption="growth by a packet",
        value="in shares during the next round",
        assumptions=replace(BASE, increase="spread"),
        text="against Eq. 2 and Table 1",
        figures=("fig9", "fig14", "fig15", "table2", "windows", "pairs"),
    ),
    Variation(
        name="band-mean",
        assumption="round-trip time that moves CODE's thresholds",
        value="mean of the round",
        assumptions=replace(BASE, band_rtt="actual"),
        text="against section 4.5",
        figures=("fig9", "fig14", "fig15", "table2", "windows", "pairs"),
    ),
    Variation(
        name="no-floor",
        assumption="scaled thresholds of CODE",
        value="without a floor",
        assumptions=replace(BASE, clamp=False),
        text="as the pseudo-code; against sections 1 and 4.5",
        figures=("fig9", "rtt", "fig14", "fig15", "table2", "windows", "pairs"),
    ),
    Variation(
        name="truncate",
        assumption="scaled thresholds of CODE",
        value="whole packets",
        assumptions=replace(BASE, truncate=True),
        figures=("fig9", "fig14", "fig15", "pairs"),
    ),
    Variation(
        name="inclusive",
        assumption="ends of the band of Vegas-A",
        value="within",
        assumptions=replace(BASE, inclusive=True),
        text="against the pseudo-code of section 2.5",
        figures=("fig9", "fig14", "fig15"),
    ),
    Variation(
        name="band-target",
        assumption="round-trip time that moves CODE's thresholds",
        value="that of the target packet",
        assumptions=replace(BASE, band_rtt="target"),
        text="as section 2.4 for NewVegas; against section 4.5",
        figures=("fig9", "table2", "windows", "pairs"),
    ),
    Variation(
        name="window-cross",
        assumption="cross traffic in Figs. 2, 3 and 5",
        value="as in Fig. 9",
        assumptions=replace(BASE, window_cross=True),
        text="none is mentioned",
        figures=WINDOWS,
    ),
    Variation(
        name="window-rate-5",
        assumption="rate of Figs. 2, 3 and 5",
        value="5 Mbit/s",
        assumptions=replace(BASE, window_rate=5),
        text="not stated; that of Fig. 17",
        figures=WINDOWS,
    ),
    Variation(
        name="window-rate-20",
        assumption="rate of Figs. 2, 3 and 5",
        value="20 Mbit/s",
        assumptions=replace(BASE, window_rate=20),
        figures=WINDOWS,
    ),
    Variation(
        name="newreno",
        assumption="reference TCP",
        value="NewReno",
        assumptions=replace(BASE, reference="newreno"),
        text="against sections 1 and 2.1, which say Reno",
        figures=("fig9", "rtt", "fig14", "fig15", "startup"),
    ),
    Variation(
        name="rtt-46",
        assumption="base round-trip time",
        value="46 ms",
        assumptions=replace(BASE, access_ms=0.0),
        figures=("fig9", "fig14", "fig15", "table2", "windows", "pairs", "startup"),
    ),
    Variation(
        name="rtt-100",
        assumption="base round-trip time",
        value="100 ms",
        assumptions=replace(BASE, delay_ms=48.0),
        figures=("fig9", "fig14", "fig15", "table2", "windows", "pairs", "startup"),
    ),
    Variation(
        name="access-1g",
        assumption="access links",
        value="1 Gbit/s",
        assumptions=replace(BASE, access_rate="1 Gbit/s"),
        figures=("fig9", "table2"),
    ),
    Variation(
        name="wire",
        assumption="packet on the wire",
        value="1040 bytes",
        assumptions=replace(BASE, header="40 bytes"),
        figures=("fig9", "table2"),
    ),
    Variation(
        name="rto",
        assumption="minimum retransmission timeout",
        value="1 s",
        assumptions=replace(BASE, minimum_rto="1 s"),
        figures=("fig9", "startup"),
    ),
    Variation(
        name="burst",
        assumption="packets sent back to back",
        value="without limit (H off)",
        assumptions=replace(BASE, mechanisms="ABCDEFGI"),
        figures=("fig9", "table2"),
    ),
    Variation(
        name="rtt-rate-5",
        assumption="rate of Figs. 10-13",
        value="5 Mbit/s",
        assumptions=replace(BASE, rtt_rate=5),
        figures=("rtt",),
    ),
    Variation(
        name="rtt-rate-20",
        assumption="rate of Figs. 10-13",
        value="20 Mbit/s",
        assumptions=replace(BASE, rtt_rate=20),
        figures=("rtt",),
    ),
    Variation(
        name="buffer-rate-5",
        assumption="rate of Fig. 14",
        value="5 Mbit/s",
        assumptions=replace(BASE, buffer_rate=5),
        figures=("fig14",),
    ),
    Variation(
        name="buffer-rate-20",
        assumption="rate of Fig. 14",
        value="20 Mbit/s",
        assumptions=replace(BASE, buffer_rate=20),
        figures=("fig14",),
    ),
    Variation(
        name="mix-rate-10",
        assumption="rate of Fig. 15",
        value="10 Mbit/s",
        assumptions=replace(BASE, mix_rate=10),
        figures=("fig15",),
    ),
    Variation(
        name="mix-rate-50",
        assumption="rate of Fig. 15",
        value="50 Mbit/s",
        assumptions=replace(BASE, mix_rate=50),
        figures=("fig15",),
    ),
)
"""The moves of the section on sensitivity."""


def assumptions_of(group: str) -> Assumptions:
    """Return the reading of the runs whose keys begin with a name."""
    known = {variation.name: variation.assumptions for variation in VARIATIONS}
    return (known | {LITERAL_GROUP: LITERAL}).get(group, BASE)
