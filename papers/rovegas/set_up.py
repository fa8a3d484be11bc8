"""The section on the set-up: networks, traffic, and what the paper leaves open."""

from __future__ import annotations

from dataclasses import fields

from dumbbell.report import Column, Section, Table, Text

from .assumptions import Assumptions

__all__ = ["section"]

# What each assumption is, and why it has the value it has, by field of `assumptions.Assumptions`.
WORDS = {
    "burst": (
        "mean ON time of the variable-rate sources",
        "four packets of 1 KB, rounded to whole ones, at least one, as in ns-2. The paper gives rates and loads but no "
        "lengths; this one was chosen because lengths near it bring Figs. 9 and 12 near the paper's numbers, and those "
        "of half a second, the default of ns-2, do not",
    ),
    "burst_packet": ("packets of the variable-rate sources", "the size of data packets"),
    "sized_by_bytes": (
        "acknowledgement that the backward rate is set by for RoVegas [bytes]",
        "k is the ratio of packet rates, and the paper's RoVegas fills the forward link at k = 2, which it cannot with "
        "a rate set by 40 bytes",
    ),
    "layout": (
        "variable-rate sources of the parking lot",
        "one on each hop, against the acknowledgements: three of them do not fit on one link. The drawing is lost",
    ),
    "delays": ("delays of Fig. 18", "senders one hop apart in a row of six routers. The drawing is lost"),
    "bias_delay": (
        "delay of the bottleneck of Figs. 15 and 17",
        "that of Fig. 6; the numbers of the drawing are lost",
    ),
    "access_delay": ("delay of an access link", "that of Fig. 6, also for the analysis"),
    "round_diff": ("difference rounded to whole packets", "ns-2 does"),
    "rtt": ("round-trip time of the actual rate", "the mean of a round trip, as in ns-2"),
    "numerator": (
        "numerators of both rates",
        "the window, as in Eqs. 2 and 4; ns-2 takes what is in transit, and what was sent",
    ),
    "increase": (
        "increase of the window",
        "by a packet for the next round trip, as Eq. 4 says; ns-2 spreads it",
    ),
    "gamma": ("gamma [packets]", "value of ns-2"),
    "mechanisms": (
        "mechanisms of Vegas",
        "those of the released Vegas; H lets an acknowledgement release three packets at most",
    ),
    "equal_band": (
        "alpha and beta where they are equal [packets]",
        "the middle of 1 and 3; the paper says only that they are equal",
    ),
    "counts_service": (
        "limit of a queue counts the packet in transmission",
        "the window of 33 packets in Fig. 5 needs ten that wait",
    ),
    "base_rtt": ("base round-trip time of RoVegas", "Eq. 3: each probing packet yields it anew"),
    "base_rtt_mixed": (
        "base round-trip time in the mixed network (Fig. 19)",
        "the pseudocode of section 6.4: the least one",
    ),
    "hosts_stamp": (
        "hosts add the wait in their own queue",
        "otherwise packets sent together derive different base round-trip times on one route",
    ),
    "minimum_rto": ("least retransmission timeout", "default of ns-2 in the year of publication"),
    "tick": ("granularity of its clock", "an earlier default of ns-2"),
    "jitter_s": (
        "starts of connections are drawn within [s]",
        "replications of Figs. 15, 17 and 18 need something that differs",
    ),
}


def section() -> Section:
    """Return the section."""
    base = Assumptions()
    rows = []
    for item in fields(base):
        what, why = WORDS[item.name]
        value = getattr(base, item.name)
        text = {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
        rows.append([what, text, why])
    networks = [
        ["Figs. 2 to 10", "S1 - R1 - R2 - D1", "1.6 Mbit/s, 20 ms; back C_b, 20 ms", "10 packets in Figs. 3 to 8, else 50"],
        ["Figs. 11 to 13, 19", "S1 at R1, D1 at R4; a source against each hop", "three of 1.6 Mbit/s, 10 ms", "50 packets"],
        ["Figs. 14, 15, 17", "up to eight pairs over R1 - R2", f"1.6 Mbit/s, {base.bias_delay}", "50 packets"],
        ["Figs. 16, 18", "S1 to S5 at R1 to R5, all receivers at R6", "five of 1.6 Mbit/s, 10 ms", "50 packets"],
    ]  # fmt: skip
    return Section(
        anchor="set-up",
        title="Set-up",
        blocks=[
            Text(
                paragraphs=[
                    "Data packets have 1000 bytes on the wire, including the option; acknowledgements 40 bytes, or 48 "
                    "with the option. Throughput counts 1000 bytes of a packet of Vegas and 992 of one of RoVegas, so "
                    "that 1600 kbit/s on the link are 1587.2. Access links have 10 Mbit/s and queues without bound. "
                    "Sources always have data; every packet is acknowledged immediately; the initial "
                    "window is two packets and no other limit binds. A load L is a mean of 1.6 L Mbit/s in bursts of "
                    "3.2 Mbit/s. Runs of one number meet the same bursts with every variant.",
                    "Every result of the paper is of a simulation: nothing awaits a testbed.",
                ]
            ),
            Table(
                caption="Networks",
                columns=[
                    Column(title=name, align="left")
                    for name in ("figures", "hosts", "links between routers", "queues")
                ],
                rows=networks,
            ),
            Table(
                caption="Open assumptions, and the values chosen",
                columns=[Column(title=name, align="left") for name in ("assumption", "choice", "reason")],
                rows=rows,
                note="Each was varied, one at a time; the section on sensitivity shows the effects. The ON time "
                "determines Figs. 9 to 13 and 19: their agreement shows that one value fits all of them, not "
                "which value the paper used.",
            ),
        ],
    )
