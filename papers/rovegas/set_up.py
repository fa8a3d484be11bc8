"""The section on the set-up: networks, traffic, and what the paper leaves open."""

from __future__ import annotations

from dataclasses import fields

from dumbbell.report import Column, Section, Table, Text

from .assumptions import Assumptions

# What each assumption is, and why it has the value it has, by field of `assumptions.Assumptions`.
WORDS = {
    "burst": (
        "mean ON time of the variable-rate sources",
        "four packets of 1 KB, rounded to whole packets, at least one, as in ns-2. The paper gives rates and loads but no "
        "lengths; with lengths near this value, Figs. 9 and 12 are close to the paper's numbers, and with half a second, "
        "the default of ns-2, they are not",
    ),
    "burst_packet": ("packets of the variable-rate sources", "the size of data packets"),
    "sized_by_bytes": (
        "size of an ACK from which the backward rate is computed for RoVegas [bytes]",
        "k is the ratio of packet rates, and the paper's RoVegas fills the forward link at k = 2, which is impossible with "
        "a rate computed from 40 bytes",
    ),
    "layout": (
        "variable-rate sources of the parking lot",
        "one on the reverse path of each hop: three do not fit on one link. The figure is lost",
    ),
    "delays": ("delays of Fig. 18", "senders one hop apart in a row of six routers. The figure is lost"),
    "bias_delay": (
        "delay of the bottleneck of Figs. 15 and 17",
        "that of Fig. 6; the numbers of the figure are lost",
    ),
    "access_delay": ("delay of an access link", "that of Fig. 6, also for the analysis"),
    "round_diff": ("difference rounded to whole packets", "ns-2 does"),
    "rtt": ("round-trip time of the actual rate", "the mean of a round trip, as in ns-2"),
    "numerator": (
        "numerators of both rates",
        "the window, as in Eqs. 2 and 4; ns-2 uses the packets in flight, and those sent",
    ),
    "increase": (
        "increase of the window",
        "by a packet for the next round trip, as in Eq. 4; ns-2 spreads it over the ACKs",
    ),
    "gamma": ("gamma [packets]", "value of ns-2"),
    "mechanisms": (
        "mechanisms of Vegas",
        "those of the released Vegas; H limits an ACK to releasing three packets",
    ),
    "equal_band": (
        "alpha and beta where they are equal [packets]",
        "the middle of 1 and 3; the paper says only that they are equal",
    ),
    "counts_service": (
        "limit of a queue counts the packet in transmission",
        "the window of 33 packets in Fig. 5 requires ten queued packets",
    ),
    "base_rtt": ("base round-trip time of RoVegas", "Eq. 3: every probing packet yields a new value"),
    "base_rtt_mixed": (
        "base round-trip time in the mixed network (Fig. 19)",
        "the pseudocode of section 6.4: the minimum",
    ),
    "hosts_stamp": (
        "hosts add the queueing time in their own queue",
        "otherwise packets sent back to back yield different base round-trip times on one route",
    ),
    "minimum_rto": ("minimum retransmission timeout", "default of ns-2 in the year of publication"),
    "tick": ("granularity of its clock", "an earlier default of ns-2"),
    "jitter_s": (
        "range of the random start times of connections [s]",
        "makes the replications of Figs. 15, 17 and 18 differ",
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
        ["Figs. 2 to 10", "S1 - R1 - R2 - D1", "1.6 Mbit/s, 20 ms; back C_b, 20 ms", "10 packets in Figs. 3 to 8, otherwise 50"],
        ["Figs. 11 to 13, 19", "S1 at R1, D1 at R4; reverse-path source at each hop", "three of 1.6 Mbit/s, 10 ms", "50 packets"],
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
                    "with the option. Throughput counts 1000 bytes per packet of Vegas and 992 per packet of RoVegas, so "
                    "that 1600 kbit/s on the link are 1587.2. Access links have 10 Mbit/s and unlimited queues. "
                    "Sources always have data; every packet is acknowledged immediately; the initial "
                    "window is two packets and nothing else limits it. A load L is a mean rate of 1.6 L Mbit/s in bursts of "
                    "3.2 Mbit/s. Runs with the same number have the same bursts with every variant.",
                    "All results of the paper are simulated: no claim needs a testbed.",
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
