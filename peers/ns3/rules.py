"""How ns-3's defaults and faults were matched, for the report."""

from __future__ import annotations

from dumbbell.crossvalidation import Rule

RULES: tuple[Rule, ...] = (
    Rule(
        aspect="Size of packets",
        peer="A segment carries 2 bytes of PPP, 20 of IP and 20 of TCP; an acknowledgement is 42 bytes and, while data are "
        "missing, 4 more and 8 for each of up to four SACK blocks.",
        matched="Our tables have a header and acknowledgements of 42 bytes and 8 for each of up to three SACK blocks. If "
        "a table has a different header, ns-3's segments have our length on the wire, and its bytes are reported "
        "as our segments.",
    ),
    Rule(
        aspect="Timestamps",
        peer="On by default, with 12 bytes in every packet.",
        matched="Off; without them, ns-3 takes a sample from every acknowledgement of a segment sent once. Our "
        "timestamps give a sample for every acknowledgement and use no bytes.",
    ),
    Rule(
        aspect="Links",
        peer="A channel has one delay for both directions.",
        matched="Two of our links in opposite directions with the same delay share a channel, others have "
        "separate ones; packets follow explicit host routes.",
    ),
    Rule(
        aspect="Queue discipline",
        peer="The address helper installs FqCoDel above every device, and a full device then blocks instead of dropping.",
        matched="Interfaces are created without it: no queue disc and no flow control, so that a full device queue drops.",
    ),
    Rule(
        aspect="Queue limit",
        peer="The device queue holds packets behind the one in transmission, but an arrival passes through it "
        "even if the transmitter is idle.",
        matched="The limit is that of the scenario (minus one if the packet in service counts, at least one); "
        "backlogs of zero duration are not counted.",
    ),
    Rule(
        aspect="Impairments",
        peer="A receive error model loses packets after they have crossed the link.",
        matched="The same in ours. Bernoulli and two-state losses come from different generators; if both sides "
        "disagree, ns-3 also runs with our losses. The packet that opens a connection counts as data, as in ours.",
    ),
    Rule(
        aspect="Selective acknowledgements",
        peer="Without them ns-3 resends a third of its packets at 10 Mbit/s: it has no usable Reno or NewReno of RFC 6582. "
        "Reports are kept at a timeout, retransmissions are remembered until they are acknowledged, and an "
        "acknowledgement without a new report is not a duplicate ACK.",
        matched="Always on. Our counterpart of its NewReno is Reno's window with recovery from a scoreboard (sack), in which "
        "an acknowledgement without a new report is not a duplicate ACK either; it clears reports at a timeout, "
        "and the record of retransmissions with each recovery.",
    ),
    Rule(
        aspect="Recovery",
        peer="Proportional rate reduction with the slow-start reduction bound. Its classic recovery sends up to "
        "ssthresh minus the pipe, which with SACK is RFC 6675. But a partial acknowledgement before a segment "
        "that was not retransmitted yet immediately sends one segment, regardless of the pipe: the first lost "
        "one, otherwise new data, otherwise that segment.",
        matched="The classic recovery is used, and RFC 6675 with that exception in ours (the recovery ns3sack). "
        "At the end of its data, ns-3 also retransmits data above the highest report; ours does not.",
    ),
    Rule(
        aspect="Halving",
        peer="Half of the pipe at the loss, which excludes SACKed and lost data and is about one or two segments below cwnd.",
        matched="reduction_base pipe for NewReno. ns-3 also counts retransmissions that have been reported, until "
        "they are acknowledged. Before its first sample, a loss halves the window of Westwood+ in ours "
        "(reduction_base whole-window) and sets it to two segments in ns-3.",
    ),
    Rule(
        aspect="Timer in recovery",
        peer="Only the first partial acknowledgement restarts the retransmission timer, with SACK as well: a recovery that "
        "takes longer than the timeout, 1 s, ends in one.",
        matched="Not matched: ours restarts it at each. This matters after slow-start overshoot on long paths.",
    ),
    Rule(
        aspect="Round-trip times over holes",
        peer="An acknowledgement that fills a hole gives no sample: its oldest segment was retransmitted. "
        "Congestion controls get the last sample again.",
        matched="No sample either, and congestion controls get none: the newest segment was reported before, or "
        "retransmitted. The timeout is computed from what a timestamp would echo, the segment that filled the "
        "hole.",
    ),
    Rule(
        aspect="Rescue retransmission",
        peer="Rule 4 of RFC 6675 is omitted.",
        matched="Omitted from the recovery ns3sack.",
    ),
    Rule(
        aspect="Growth",
        peer="mss * mss / cwnd truncated to whole bytes per acknowledgement in congestion avoidance.",
        matched="growth whole-bytes.",
    ),
    Rule(
        aspect="Retransmission timeout",
        peer="At least 1 s, in steps of 1 ms, at most 60 s. A smaller minimum gives spurious timeouts once the round-trip time "
        "is longer. It gives up after 6 consecutive expiries.",
        matched="The minimum is set to 1 s; the limit for giving up is raised to 1000 expiries.",
    ),
    Rule(
        aspect="Initial window and delayed acknowledgement",
        peer="10 segments; every second segment is acknowledged.",
        matched="Both are set to the scenario's: 2 segments, and every segment acknowledged.",
    ),
    Rule(
        aspect="Handshake",
        peer="Always; its round trip counts for the smallest round-trip time of Westwood+, which is the smallest smoothed one.",
        matched="handshake on. Ours takes the smallest round-trip time of data segments, longer by their time of transmission: "
        "the threshold after a loss is a segment higher in ours, which counts where the product of rate and delay is a few.",
    ),
    Rule(
        aspect="Buffers",
        peer="128 KiB by default. A flow that fills the advertised window crashes the simulator at its first loss.",
        matched="The send buffer is the smaller of the scenario's two, at most 512 MiB, and the receive buffer twice that.",
    ),
    Rule(
        aspect="Application",
        peer="Data written before the application stops is sent.",
        matched="The source writes 256 segments ahead of the data sent, or 4 if it has a stop; a connection is never closed.",
    ),
    Rule(
        aspect="Vegas",
        peer="Derived from the Linux module: whole segments, rounds that end when all previously sent data is "
        "acknowledged and restart after losses, Reno's step in rounds of at most two samples, thresholds that "
        "losses do not change.",
        matched="Our congestion control nsvegas has these rules, with the same alpha, beta and gamma; a single "
        "flow of ns-3 has our window. Only duplicate ACKs differ: ns-3 counts the last sample once more with "
        "each. The initial threshold is 2 segments on both sides, so that there is no initial slow start to "
        "overshoot.",
    ),
    Rule(
        aspect="Vegas: round-trip times",
        peer="It receives the smoothed round-trip time, which starts with that of the short SYN, so that its base "
        "is below that of any segment.",
        matched="The gain of the estimator is 1, so that it receives the samples, like ours.",
    ),
    Rule(
        aspect="Westwood+: filter",
        peer="0.9 of the past and 0.1 of the mean of the last two samples, starting with 0; during the first "
        "twenty round trips, the estimate is far too low.",
        matched="Off on both sides (filter 0): the threshold is the last sample times the smallest round-trip time. A "
        "table with filter 0.9 gets ns-3's filter, whose initial value differs from ours.",
    ),
    Rule(
        aspect="Westwood+: samples",
        peer="An interval begins with the acknowledgement that follows the last one, lasts a smoothed round-trip time and counts "
        "its first acknowledgement. The acknowledgement that ends a recovery counts everything it covers, "
        "although duplicate ACKs have reported most of it. An estimate above the window raises it.",
        matched="interval_rtt smoothed, only_reduce off. Ours counts what follows the first acknowledgement, one segment less, "
        "and each segment once. If losses occur within a few round trips of each other, ns-3's thresholds are far "
        "above the fair share; with each segment counted once in ns-3 as well, both sides agree.",
    ),
    Rule(
        aspect="Timeouts counted",
        peer="There is no counter.",
        matched="Counted when the timeout doubles; expiries at the limit of 60 s are not detected.",
    ),
)
