"""Conclusions of the report: claims not reproduced and why, what limits the window, averaging times, inconsistencies of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims import Finding
from dumbbell.models import rovegas as model
from dumbbell.report import Block, Cell, Column, Section, Table, Text
from dumbbell.report.numbers import number

from .connection_claims import kept_target
from .evidence import Evidence, interval

MINUS = "−"

UNCERTAIN = (
    "its denominator is a few tens of kbit/s, determined by timeouts, so it is the most uncertain number of the paper. The robust result is that "
    "the gain is several times the gain over one bottleneck."
)


def _why(evidence: Evidence, missed: set[str]) -> list[str]:
    """Return the causes of misses, each with its evidence."""
    target = float(kept_target(evidence)[0])
    one, two = (float(evidence.queue_after("vegas", n)[0]) for n in (1, 2))
    reasons = {
        (
            "RV-F15-12",
            "RV-F15-13",
        ): "Units of the fluid model for Fig. 15. In the model every connection keeps the same number of packets "
        f"queued, {target:.2f} by least squares; in the simulation it may be any number from alpha to beta. The first two connections stop near alpha: "
        f"{one:.1f} packets are queued with one connection, {two:.1f} with two. They contribute little to the longer queues, so the queues of three and "
        "more connections agree.",
        (
            "RV-CTX-05",
        ): "Packets kept by every connection that joins. The second connection starts when few packets are queued, hardly overestimates its "
        "base round-trip time, and stays between alpha and beta; from the third on, each keeps more than beta.",
        ("RV-F13-01",): f"The ratio at load 1 of Fig. 13: {UNCERTAIN}",
        (
            "RV-F18-02",
            "RV-F18-05",
            "RV-F18-06",
        ): "Fig. 18, alpha equal to beta. All connections start together in an empty network, so even "
        "Vegas hardly overestimates its base round-trip times, and both variants are nearly fair. The contrast in the paper depends on the "
        "topology of its figure, which is lost.",
    }
    return [text for ids, text in reasons.items() if missed & set(ids)]


def misses(evidence: Evidence, findings: Sequence[Finding]) -> Section:
    """Return the section on claims not reproduced."""
    missed = [finding for finding in findings if finding.verdict == "not-reproduced"]
    rows: list[list[Cell | str]] = [
        [
            finding.claim.id,
            finding.claim.statement,
            number(finding.claim.paper_value) or finding.claim.rule(),
            number(finding.measured),
            finding.why,
        ]
        for finding in missed
    ]
    blocks: list[Block] = [
        Text(
            paragraphs=[
                f"{len(missed)} of {len(findings)} claims are not reproduced. Each is listed with the measured "
                "value and with the varied assumptions under which it holds.",
                *_why(evidence, {finding.claim.id for finding in missed}),
            ]
        )
    ]
    if rows:
        blocks.append(
            Table(
                caption="Claims not reproduced",
                columns=[
                    Column(title="", align="left"),
                    Column(title="claim", align="left"),
                    Column(title="paper, or the accepted values"),
                    Column(title="measured"),
                    Column(title="why", align="left"),
                ],
                rows=rows,
            )
        )
    return Section(anchor="misses", title="Claims not reproduced", blocks=blocks)


def limit_at_three(evidence: Evidence) -> Text:
    """Return what limits RoVegas's window to three packets per ACK."""
    guard = [evidence.rows("unit-keepup", "rovegas", k)[0]["guard"] for k in (8, 16, 32)]
    grew, held = max(row[0] for row in guard), min(row[1] for row in guard)
    paragraphs = [
        "The limit of three packets per ACK. The paper attributes it to the keep-up rule: no growth while the window "
        "exceeds the packets outstanding by more than two. The released code and ns-2 count the packet just acknowledged as "
        f"outstanding. With this count, the window grew at an excess of up to {grew:.3f} packets and was held from {held:.3f} on, in "
        "runs that begin in congestion avoidance and spread their growth over the ACKs. An ACK of three packets "
        "then gives an excess of two plus the fractional part of the window. The rule stops a window with a fractional part but not a whole "
        "one. Whole windows, as after slow start, are limited to three by the bound on the packets that an ACK may "
        "release (mechanism H)."
    ]
    if "bursts" in evidence.groups():
        without = evidence.varied("bursts", evidence.base, 1)
        ratios = [
            without.throughput("ana", "rovegas", k) / without.throughput("ana", "vegas", k)
            for k in (8, 16, 32)
        ]
        paragraphs.append(
            "Without that limit RoVegas reaches "
            + ", ".join(f"{ratio[0]:.2f}" for ratio in ratios)
            + " times Vegas at k = 8, 16 and 32, beyond the 3 of Eq. 20. The text of the paper counts the packets outstanding after the "
            "ACK, so that three packets are an excess of three. With this count, the rule alone would stop a whole window at "
            "three packets, and at k = 2 it would keep the window of Fig. 5 constant, as in the paper; here it varies by a packet or two."
        )
    if "access-0" in evidence.groups():
        shorter = evidence.varied("access-0", evidence.base, 1)
        rest = (
            shorter.first("window", 0, "ana", "rovegas", 2),
            shorter.first("steady", 3, "ana", "rovegas", 2),
        )
        paragraphs.append(
            "At k = 2 RoVegas has more than one steady state. With access links without delay, and so a round-trip time of 40 ms instead of "
            f"44 ms, slow start ends at a window of {rest[0][0]:.1f} packets. Diff is then {rest[1][0]:.1f}, between alpha and beta, and the "
            f"window remains constant: {shorter.throughput('ana', 'rovegas', 2)[0]:.0f} kbit/s, with part of the forward link unused. The 1587.2 kbit/s "
            "of the paper are reached where slow start overshoots and the window then grows from below."
        )
    return Text(paragraphs=paragraphs)


def averages(evidence: Evidence) -> Table:
    """Return the table of results with other averaging times."""
    cases = (
        ("Fig. 9, load 0.9", "fig-9", "", (50, 60, 100)),
        ("Fig. 10, load 1", "fig-10", max(evidence.points("fig-10", "vegas")), (0, 10, 100)),
        ("Fig. 13, load 1", "fig-13", max(evidence.points("fig-13", "vegas")), (0, 10, 100)),
    )
    rows: list[list[Cell | str]] = []
    for title, name, point, starts in cases:
        for start in starts:
            vegas, rovegas = (
                evidence.rate(name, variant, point, start, 199) for variant in ("vegas", "rovegas")
            )
            mean, low, high = interval(rovegas / vegas)
            rows.append(
                [
                    title,
                    f"{start} to 199 s",
                    f"{vegas[0]:.0f}",
                    f"{rovegas[0]:.0f}",
                    Cell(text=f"{mean:.2f}", detail=f"{low:.2f} to {high:.2f}"),
                ]
            )
    return Table(
        caption="Averaging times, which the paper leaves open for these figures: mean throughput [kbit/s]",
        columns=[
            Column(title="", align="left"),
            Column(title="average over", align="left"),
            Column(title="Vegas"),
            Column(title="RoVegas"),
            Column(title="ratio"),
        ],
        rows=rows,
    )


def tensions(evidence: Evidence) -> Section:
    """Return the section on the paper's own inconsistencies."""
    base_s, window, queue_s = 0.0567, 33.0, 0.010
    diff = float(
        model.rovegas_diff(window=window, base_rtt=base_s, rtt=base_s + queue_s, backward_queueing=0.0)
    )
    mean = float(evidence.first("forward_queue", 0, "fig-5", "rovegas")[0])
    four = evidence.throughput("ana", "rovegas", 4) / evidence.throughput("ana", "vegas", 4)
    rows: list[list[Cell | str]] = [
        [
            "Eq. 18",
            "printed with RTT in its numerators; Eq. 17 gives RTT minus the backward queueing time, which is required for Eq. 19",
            "the form consistent with Eq. 19 is used",
        ],
        [
            "Fig. 5 and Eq. 19",
            f"a window of 33 packets and a mean forward queue of two are a Diff of {diff:.1f}, outside alpha and beta",
            f"mean queue {mean:.2f} packets; two is read as the maximum",
        ],
        [
            "base round-trip time",
            "Eq. 3 adopts every derived value and follows a reroute; the pseudocode of section 6.4 keeps the minimum and does not",
            "both are run; the section on rerouting shows the difference",
        ],
        [
            "ratio at k = 4",
            "Eq. 20 alone allows 3, Fig. 8 shows about 2",
            f"{four[0]:.2f}: Diff includes packets with queued ACKs and reaches alpha before the keep-up rule takes effect",
        ],
        [
            "4.1 times higher",
            "can mean a ratio of 4.1 or of 5.1",
            "read as 4.1",
        ],
    ]
    return Section(
        anchor="tensions",
        title="Inconsistencies within the paper",
        blocks=[
            Table(
                caption="Inconsistent statements of the paper",
                columns=[Column(title=name, align="left") for name in ("where", "what", "here")],
                rows=rows,
            )
        ],
    )
