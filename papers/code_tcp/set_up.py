"""The section on what the paper states and what is assumed."""

from __future__ import annotations

from dumbbell.report import Cell, Column, Table

from .assumptions import BASE

STATED = (
    ("packet", "1000 bytes", "section 4"),
    ("receiver's window, source", "never limits; always data to send", "section 4"),
    ("alpha, beta", "1 and 3 packets", "sections 2.4, 2.5"),
    ("epsilon; increase of CODE's thresholds", "0.68; two packets", "section 3.2"),
    (
        "reduction at a first loss",
        "to three quarters, once a round trip (mechanisms F and E)",
        "section 2.2.3, Eq. 4",
    ),
    ("order of the updates", "window first, then thresholds, with the updated window", "Table 1"),
    (
        "round-trip time of the thresholds",
        "NewVegas: that of the target packet; CODE: minimum of the last window",
        "sections 2.4, 4.5",
    ),
    ("starts, measurement", "within 25 s; 50 s to 200 s", "section 4.1"),
    ("repetitions", "20", "section 4.1"),
    ("buffer of Fig. 9", "100 packets", "section 4.1"),
    ("intervals", "normal quantile, recomputed from Table 3", "Table 3"),
)


def stated() -> Table:
    """Return what the paper states."""
    return Table(
        caption="Stated by the paper",
        columns=[
            Column(title="parameter", align="left"),
            Column(title="value", align="left"),
            Column(title="source", align="left"),
        ],
        rows=[list(row) for row in STATED],
    )


def assumed() -> Table:
    """Return what is assumed, and why."""
    rows = (
        (
            "access links",
            f"{BASE.access_rate}, {BASE.access_ms:g} ms each, no losses",
            "the labels of Figs. 7 and 8 are lost; another paper of the first author has 1 ms",
        ),
        (
            "bottleneck delay",
            f"{BASE.delay_ms:g} ms each way: 50 ms base round-trip time",
            "the link delay of the Linux experiments, which use Fig. 7 according to the paper",
        ),
        ("rates of Fig. 9", "5 to 50 Mbit/s in steps of 5", "the grid of Table 2"),
        (
            "rates of Figs. 10-13, 14, 15, 16-18",
            f"{BASE.rtt_rate}, {BASE.buffer_rate}, {BASE.mix_rate} and 5 Mbit/s",
            "5 Mbit/s is stated for Fig. 17; the others are varied",
        ),
        (
            "round-trip times of Figs. 10-13",
            "50 to 150 ms; in (a) the variant has 50 ms, in (b) Reno",
            "panel b is stated for Fig. 13",
        ),
        (
            "buffers of Fig. 14, mixes of Fig. 15",
            "10 to 100 packets; 1 to 9 Reno connections",
            "60 packets are mentioned",
        ),
        ("drop-tail buffer", "counts the packet in transmission", "as the simulator does"),
        (
            "wire size, ACKs, delayed ACKs, SACK, timestamps",
            "1000 bytes, 40 bytes, all off",
            "defaults of the simulator's one-way agents",
        ),
        (
            "initial and loss window",
            "two packets; loss window of Reno one",
            "the simulator's defaults; two after a timeout is stated for Vegas",
        ),
        ("minimum retransmission timeout", f"{BASE.minimum_rto}, clock of 10 ms", "the simulator since 2004"),
        ("gamma", "1 packet", "the simulator's value beside alpha 1 and beta 3"),
        (
            "Delta",
            "Eq. 1 with the window, and the mean round-trip time of the round",
            "the text calls the round-trip time smoothed",
        ),
        ("growth by a packet", "at the end of the round", "Eq. 2 and Table 1"),
        (
            "CODE's scaled thresholds",
            "real numbers, not below 1 and 3",
            'the pseudo-code has no floor, but the text calls CODE alone "a stable status as a Vegas source" (§1, §4.5)',
        ),
        (
            "timeout",
            "thresholds as at the start, then Vegas's slow start",
            "stated for NewVegas; not stated for CODE",
        ),
        (
            "thresholds in the round of a loss",
            "not compared with neighbouring rounds",
            "they belong to other windows",
        ),
        (
            "Vegas-A at a loss; at the ends of its band",
            "thresholds stay; holds",
            "losses are not mentioned; the pseudo-code uses strict inequalities",
        ),
        (
            "cross traffic where throughputs are averaged",
            f"Poisson datagrams of 1000 bytes, {100 * BASE.cross:g} % of the bottleneck",
            "see the section on the causes of the shares; the paper mentions none",
        ),
        (
            "processing time of senders in Figs. 10-13",
            "random, up to one service time",
            "see the section on the causes of the shares; the paper mentions none",
        ),
    )
    return Table(
        caption="Assumed",
        columns=[
            Column(title="parameter", align="left"),
            Column(title="choice", align="left"),
            Column(title="why", align="left"),
        ],
        rows=[[Cell(text=what, tone="strong"), choice, why] for what, choice, why in rows],
    )
