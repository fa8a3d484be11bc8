"""How ns-3's defaults and faults were matched, for the report."""

from __future__ import annotations

from dumbbell.crossvalidation import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    Rule(
        aspect="Size of packets",
        peer="A segment carries 2 bytes of PPP, 20 of IP and 20 of TCP; an acknowledgement is 42 bytes and, while data are "
        "missing, 4 more and 8 for each of up to four SACK blocks.",
        matched="Our tables have a header and acknowledgements of 42 bytes and 8 for each of up to three SACK blocks. In a table "
        "with another header ns-3's segments are as long as ours on the wire, and its bytes are told as segments of ours.",
    ),
    Rule(
        aspect="Timestamps",
        peer="On by default, with 12 bytes in every packet.",
        matched="Off; without them ns-3 takes a sample from every acknowledgement of a segment sent once. Ours do from every "
        "acknowledgement, without bytes for it.",
    ),
    Rule(
        aspect="Links",
        peer="A channel has one delay for both directions.",
        matched="Two links of ours that go back and forth with the same delay share a channel, others have one each; packets "
        "follow stated host routes.",
    ),
    Rule(
        aspect="Queue discipline",
        peer="The address helper installs FqCoDel above every device, and a full device then blocks instead of dropping.",
        matched="Interfaces are made without the helper: no queue disc and no flow control, so that a full device queue drops.",
    ),
    Rule(
        aspect="Queue limit",
        peer="The device queue holds what waits behind the packet in transmission, but an arrival passes through it even if "
        "the transmitter is idle.",
        matched="The limit is the scenario's (less one where the packet in service counts, at least one); backlogs that last "
        "no time are not counted.",
    ),
    Rule(
        aspect="Impairments",
        peer="A receive error model loses packets after they have crossed the link.",
        matched="The same in ours. Bernoulli and two-state losses are drawn by other generators; where both sides disagree "
        "ns-3 is also given the losses of ours. The packet that opens a connection counts as data, as in ours.",
    ),
    Rule(
        aspect="Selective acknowledgements",
        peer="Without them ns-3 resends a third of its packets at 10 Mbit/s: it has no usable Reno or NewReno of RFC 6582. "
        "What was reported is remembered through a timeout, what was sent again until it is acknowledged, and an acknowledgement "
        "without a new report is no duplicate.",
        matched="Always on. Our counterpart of its NewReno is Reno's window with recovery from a scoreboard (sack), in which "
        "an acknowledgement without a new report is no duplicate either; it forgets reports at a timeout and, with each "
        "recovery, what was sent again.",
    ),
    Rule(
        aspect="Recovery",
        peer="Proportional rate reduction with the slow-start reduction bound. Its classic recovery lets out what the "
        "threshold leaves beside the pipe, which with SACK is RFC 6675. But a partial acknowledgement before a segment that was "
        "not sent again yet sends one at once, whatever the pipe: the first lost one, else new data, else that segment.",
        matched="The classic recovery is used, and RFC 6675 with that exception in ours (the recovery ns3sack). "
        "At the end of its data ns-3 also sends again what lies above the highest report; ours does not.",
    ),
    Rule(
        aspect="Halving",
        peer="Half of the pipe at the loss: without what is SACKed or marked lost, about one or two segments below cwnd.",
        matched="reduction_base pipe for NewReno. ns-3 also counts what was sent again and is reported since, until it is "
        "acknowledged. Before its first sample a loss leaves Westwood+ half of its window in ours (reduction_base whole-window), "
        "two segments in ns-3.",
    ),
    Rule(
        aspect="Timer in recovery",
        peer="Only the first partial acknowledgement restarts the retransmission timer, with SACK as well: a recovery that "
        "takes longer than the timeout, 1 s, ends in one.",
        matched="Not matched: ours restarts it at each. It matters after overruns of slow start on long paths.",
    ),
    Rule(
        aspect="Round-trip times over holes",
        peer="An acknowledgement that fills a hole gives no sample: its oldest segment was sent again. Congestion controls are "
        "told of the last one again.",
        matched="No sample either, and nothing is told: the newest segment was reported before, or sent again. The timeout is "
        "computed from what a timestamp would echo, the segment that filled the hole.",
    ),
    Rule(
        aspect="Rescue retransmission",
        peer="RFC 6675's rule 4 is left out.",
        matched="Left out of the recovery ns3sack.",
    ),
    Rule(
        aspect="Growth",
        peer="mss * mss / cwnd truncated to whole bytes per acknowledgement in congestion avoidance.",
        matched="growth whole-bytes.",
    ),
    Rule(
        aspect="Retransmission timeout",
        peer="At least 1 s, in steps of 1 ms, at most 60 s. A smaller minimum gives spurious timeouts once the round-trip time "
        "is longer. It gives up after 6 expiries in a row.",
        matched="The minimum is stated and kept at 1 s; giving up is put off to 1000 expiries.",
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
        peer="Data written are sent even if the application stops.",
        matched="The source writes 256 segments ahead of what is sent, and 4 if it has a stop; a connection is never closed.",
    ),
    Rule(
        aspect="Vegas",
        peer="A descendant of Linux's module: whole segments, rounds that end when all that was sent before them is acknowledged "
        "and begin anew after losses, Reno's step in rounds of at most two samples, thresholds that losses leave where they are.",
        matched="By a congestion control of ours that has these rules (nsvegas), with the same alpha, beta and gamma; a lone "
        "flow of ns-3 has our window. Only duplicates differ: ns-3 counts the last sample once more with each. The first "
        "threshold is 2 segments on both sides, which leaves no first slow start to overrun.",
    ),
    Rule(
        aspect="Vegas: round-trip times",
        peer="It is given the smoothed round-trip time, which begins with that of the short SYN, so that its base is below any "
        "segment's.",
        matched="The gain of the estimator is 1, so that it is given the samples, as ours is.",
    ),
    Rule(
        aspect="Westwood+: filter",
        peer="0.9 of the past and 0.1 of the mean of the last two samples, beginning with 0; in the first twenty round trips "
        "the estimate is far too low.",
        matched="Off on both sides (filter 0): the threshold is the last sample times the smallest round-trip time. A table "
        "with filter 0.9 gets ns-3's filter, whose beginning ours does not have.",
    ),
    Rule(
        aspect="Westwood+: samples",
        peer="An interval begins with the acknowledgement that follows the last one, lasts a smoothed round-trip time and counts "
        "its first acknowledgement. The acknowledgement that ends a recovery counts all it covers, though duplicates have told "
        "of most of it. An estimate above the window raises it.",
        matched="interval_rtt smoothed, only_reduce off. Ours counts what follows the first acknowledgement, one segment less, "
        "and each segment once. Where losses follow one another within a few round trips ns-3's thresholds are far above the "
        "link's share; with each segment counted once in ns-3, too, both sides agree.",
    ),
    Rule(
        aspect="Timeouts counted",
        peer="There is no counter.",
        matched="Counted where the timeout doubles; expiries at the bound of 60 s are not seen.",
    ),
)
