"""Content of the report: set-up and assumptions, tables and figures, sensitivity, and claims not reproduced.

All numbers in the text are computed from the runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dumbbell.claims import Finding, number
from dumbbell.models import altman
from dumbbell.papers import Settings
from dumbbell.report import Column, Details, Figure, Section, Table, Text
from dumbbell.sensitivity import Sensitivity

from . import figures, tables
from .assumptions import Variation
from .evidence import Evidence
from .grid import GRID
from .grid_claims import reno_errors, vegas_errors
from .plan import EVOLUTION, replications

__all__ = ["sections"]

MINUS = "−"


def _left(title: str) -> Column:
    return Column(title=title, align="left")


ASSUMPTIONS: Sequence[tuple[str, str, str]] = (
    ("parameters of the tables", "forty rows: mu of 100, 250 and 375 packets/s, loads of 0 to 0.8, d of 0.1 to 2 s, B of 20 to 120 packets", "the paper's numbers are lost"),
    ("thresholds", "alpha, beta, gamma of 1, 3, 1; 2, 4, 1; 2, 4, 2 packets in turn", "the values of Vegas; the paper's are lost"),
    ("packets", "500 bytes on the wire, of both sources", "the paper says fixed size; the number is lost"),
    ("smallest round-trip time", "T = d + 1/mu", "what a packet meets in an empty system; the text may also be read as 1/(mu - lambda)"),
    ("buffer", "the packet in service does not count", "then the largest excess delay is B/mu, as the paper has it"),
    ("exogenous packets", "each at a random place of its gap", "exact spacing locks the two sources into a phase"),
    ("phase of the source", "the runs of a row spread d evenly over one service time around its value", "most d of the grid are whole numbers of service times: a packet then reaches a busy queue right after another left it and always finds room"),
    ("source link", "1000 mu, on top of d", "large enough not to matter"),
    ("growth of Reno", "1/W with every acknowledgement", "the engine's Reno; the model grows by a packet with the last acknowledgement of a generation"),
    ("increase of Vegas", "a whole packet at once, tested once a round with the mean round-trip time of the round and the congestion window", "as the paper describes it"),
    ("slow start of Vegas", "every other round, tested after the round in which the window doubled", "the engine's Vegas tests no other; the paper leaves the slot open"),
    ("window after slow start", "an eighth less than where it ended", "the engine's Vegas has no switch for it; the paper keeps the window, and what stands in the end does not depend on it"),
    ("reaction to losses", "both halve the window, in whole packets, and repair all holes of a window (NewReno), at most 4 packets an acknowledgement", "the model has one reduction a cycle and no timeouts"),
    ("timeouts", "none; with video and in the sweeps of small buffers at least 1 s", "assumption (ii) of the model: every loss is found by duplicate acknowledgements"),
    ("start", "congestion avoidance from a small window; Vegas and Fig. 1 from slow start", "averages are over whole cycles"),
    ("video", "24 frames/s, pattern IBBPBBPBBPBB, lognormal scenes and frames, 100 packets/s", "a stand-in for the film, whose trace may be put in its place"),
)  # fmt: skip


def _set_up(settings: Settings) -> Section:
    counts = replications(settings)
    return Section(
        anchor="set-up",
        title="Set-up and assumptions",
        blocks=[
            Text(
                paragraphs=[
                    "One greedy TCP source and constant-rate traffic share a first-in-first-out queue that serves "
                    "mu packets/s and holds B packets. The exogenous traffic uses lambda packets/s of it and "
                    "leaves nu = mu - lambda. The paper predicts windows, round-trip times and throughput of Vegas "
                    "and Reno in closed form; here the engine provides the simulation, and the fluid recursion over generations is compared as well as the closed forms as a second "
                    "model.",
                    "The numbers in the paper's tables and figures are missing from the available copies, so its "
                    "formulas are compared with our engine. Statements about errors in the text became claims.",
                    f"Runs for each row of the tables: {counts.grid}, for each buffer of a sweep {counts.threshold}, for each case with video {counts.video}. "
                    "Intervals are bootstrapped over them.",
                ]
            ),
            Table(
                caption="Open or lost parameters, and the values chosen",
                columns=[_left("what"), _left("here"), _left("why")],
                rows=[list(row) for row in ASSUMPTIONS],
            ),
        ],
    )


def _figure_1(evidence: Evidence) -> Section:
    row = EVOLUTION
    return Section(
        anchor="figure-1",
        title="Figure 1: windows and round-trip times over time",
        blocks=[
            Figure(
                svg=figures.evolution(evidence),
                caption=f"Ideal (dashed) and simulated sources, one initial slow start: mu = {row.service_rate:g} packets/s, load {row.load:g}, d = {row.fixed_delay:g} s, "
                f"B = {row.buffer} packets. Windows are shown without what duplicate acknowledgements add in fast recovery.",
            ),
            Text(
                paragraphs=[
                    "Both curves of Vegas become constant. Reno goes between half of its loss window and all of it. Its simulated cycles are longer than the ideal ones: the "
                    "round-trip time lags behind the window by mu/nu packets, one more generation is sent while the loss is being detected, and the window grows a "
                    "little less than a packet a generation."
                ]
            ),
        ],
    )


def _tables(evidence: Evidence) -> Section:
    vegas = np.abs(vegas_errors(evidence, "throughput", lambda row: row.link.available_rate)[0])
    reno = np.abs(reno_errors(evidence, "throughput", lambda row: row.cycle.throughput)[0])
    window = evidence.mean(evidence.table("steady", "window"))[0]
    low = evidence.mean(evidence.model("steady", lambda row: row.stable.low))[0]
    above = window - low
    reached = evidence.mean(
        evidence.model(
            "steady",
            lambda row: float(altman.stable_window_reached(row.link, alpha=row.alpha, beta=row.beta)),
        )
    )[0]
    return Section(
        anchor="tables",
        title="Tables 1 to 3: the model against the simulation",
        blocks=[
            tables.summary(evidence),
            Text(
                paragraphs=[
                    f"The throughput of Vegas is nu within {100.0 * vegas.max():.2g} % in every row, and its round-trip time follows from its window. The window itself stands "
                    f"{above.min():.1f} to {above.max():.1f} packets above nu T + alpha: it is the smallest whole number that passes the test, and while it grows the round-trip times it is tested "
                    f"with are those of a packet less. That whole number, the column integer of Table 1, is {np.abs(window - reached).mean():.2f} packets off on average, the fluid recursion's "
                    "about as much.",
                    f"The throughput of Reno is {100.0 * reno.mean():.1f} % off on average. What the closed forms leave out grows with mu/nu, the lag of the round-trip time; the fluid "
                    "recursion contains it and the generation in which a loss is detected.",
                ]
            ),
            Figure(
                svg=figures.scatter(evidence),
                caption="Both models against the simulation, all forty rows. On the diagonal they agree.",
            ),
            Details(title="Table 1: windows of Vegas, row by row", blocks=[tables.windows(evidence)]),
            Details(
                title="Table 2: averages of Vegas, row by row", blocks=[tables.averages_of_vegas(evidence)]
            ),
            Details(
                title="Table 3: averages of Reno, row by row", blocks=[tables.averages_of_reno(evidence)]
            ),
        ],
    )


def _theorem_1(evidence: Evidence) -> Section:
    return Section(
        anchor="mini-slots",
        title="Theorem 1: single mini-slots",
        blocks=[
            Figure(
                svg=figures.mini_slots(evidence),
                caption="Mean round-trip time of a mini-slot over the smallest one, against the window over the bandwidth-delay product.",
            ),
            Text(
                paragraphs=[
                    "Slow start of Reno and of Vegas follows the formulas, except where the queue begins to stay filled: there the exogenous packets of the generation before still wait, which "
                    "the closed forms do not count. At a load of 0.8 they still do when the window before is three bandwidth-delay products. The fluid recursion has them."
                ]
            ),
            tables.mini_slots(evidence),
        ],
    )


def _theorem_2(evidence: Evidence) -> Section:
    return Section(
        anchor="thresholds",
        title="Theorem 2: where Vegas behaves like Reno",
        blocks=[
            Figure(
                svg=figures.thresholds(evidence),
                caption="Left and centre: share of the runs in which Vegas still loses packets in the second half, against the buffer over B*. Right: the smallest buffer with which "
                "fewer than half of the runs do, against floor(B*) + 1.",
            ),
            Text(
                paragraphs=[
                    "Up to B* nearly every run goes on losing packets, as the theorem says. Above it the losses do not end at once. In the fluid the window stands with a queue that is full "
                    "to the brim and loses nothing; the simulated one stands at a whole number, which leaves more than alpha packets in the queue, each of them mu/nu with its exogenous "
                    "neighbours, and the exogenous packets come at random places of their gaps. The queue then overflows at times, and who loses depends on the phase: where the source's "
                    "packets come right after a departure, as with the delays of the grid unspread, they find room, the exogenous ones lose, and Vegas loses nothing soon above B*.",
                ]
            ),
            tables.thresholds(evidence),
            tables.connections(evidence),
            Details(title="trajectories below the threshold", blocks=[tables.identity(evidence)]),
        ],
    )


def _figure_3(evidence: Evidence) -> Section:
    return Section(
        anchor="figure-3",
        title="Figure 3: coexistence with video",
        blocks=[
            Figure(svg=figures.video_windows(evidence), caption="Windows over the first 100 s of one run."),
            Figure(
                svg=figures.video_ratios(evidence),
                caption="Losses and mean windows of Vegas over those of Reno, 90 % intervals. Dashed: a fifth of the losses, and equal windows.",
            ),
            tables.video(evidence),
        ],
    )


def _laws(evidence: Evidence) -> Section:
    return Section(
        anchor="laws",
        title="Other models: throughput from losses",
        blocks=[
            Text(
                paragraphs=[
                    "Not of this paper: the laws of [mathis1997] and [padhye1998] against the engine's Reno on a link that loses packets on purpose, without other traffic and "
                    "without a queue. The laws of Mathis leave out recovery and timeouts; that of Padhye has both."
                ]
            ),
            Figure(
                svg=figures.laws(evidence), caption="Prediction of the laws divided by the simulated value."
            ),
            tables.laws(evidence),
        ],
    )


# The cause of a miss, in words; the numbers are in the next column.
BEHIND = {
    "ALT-03": "At a load of 0.8 the exogenous packets that wait when the burst comes are not counted by the closed form, still so where the window before is three bandwidth-delay products. The fluid recursion, which counts them, is within its bound everywhere.",
    "ALT-08": "The window is the smallest whole number that passes the test, one to two packets above nu T + alpha (column integer of Table 1); in the row with 11 packets of path that is a tenth.",
    "ALT-13": "When the queue overflows, exogenous packets are lost too, and Reno gets their share.",
    "ALT-14": "With the phase of the source spread, more than one packet is lost in some cycles (last column of Table 3), and the recovery takes longer than the one retransmission of the recursion.",
    "ALT-15": "The row with the smallest windows of those loads: the lag of the round-trip time and the detection of a loss, which the closed form leaves out, are largest beside them.",
    "ALT-20": "The whole-number window leaves more in the queue than alpha packets (last column of the table of buffers), and random places of the exogenous packets make the queue longer at times.",
    "ALT-21": "At a load of 0.8 the round-trip times of a round vary with the places of the exogenous packets, and near 0.8 B* some rounds pass the test; elsewhere both go the same way, to the last digit at nearly all buffers.",
    "ALT-24": "As for one connection; besides, n windows do not lose at the same time, as the form for n connections assumes.",
    "ALT-28": "Beside the bursts of frames a buffer of 20 packets is small for both; from 40 packets on the ratio is far below a fifth.",
    "ALT-29": "With 5 packets of buffer a frame of up to ten packets overflows it alone; both windows are small, and timeouts decide which is the larger. Runs differ by more than the claim allows.",
}  # fmt: skip


def _misses(findings: Sequence[Finding]) -> Section:
    missed = [finding for finding in findings if finding.verdict == "not-reproduced"]
    return Section(
        anchor="misses",
        title="Claims not reproduced",
        blocks=[
            Table(
                caption="Claims not reproduced",
                columns=[
                    _left("claim"),
                    Column(title="measured"),
                    _left("accepted"),
                    _left("evidence"),
                    _left("cause"),
                ],
                rows=[
                    [
                        finding.claim.id,
                        number(finding.measured, digits=4),
                        finding.claim.rule(),
                        finding.why,
                        BEHIND.get(finding.claim.id, ""),
                    ]
                    for finding in missed
                ],
            )
            if missed
            else Text(paragraphs=["Every claim that could be checked is reproduced."]),
        ],
    )


def _rules(evidence: Evidence) -> Section:
    cycle = evidence.errors(
        evidence.model("cycles", lambda row: row.fluid_reno.duration), evidence.table("cycles", "cycle_s")
    )[0]
    light = np.array([row.load <= 0.5 for row in GRID])
    return Section(
        anchor="rules",
        title="Differences between the rules of the engine and the model",
        blocks=[
            Table(
                caption="Differences and their effects",
                columns=[_left("rule"), _left("model"), _left("engine"), _left("effect")],
                rows=[
                    [
                        "when Vegas tests",
                        "with the last acknowledgement of a generation",
                        "with the first acknowledgement of the next one, on the round-trip times of the generation before",
                        "the first of two packets granted in turn is not seen by the second test; windows stand at the whole number of the rule within a packet",
                    ],
                    [
                        "growth of Reno",
                        "a packet with the last acknowledgement of a generation",
                        "1/W with every acknowledgement",
                        f"a little less than a packet a generation: at loads up to 1/2 cycles last {-100.0 * cycle[light].mean():.1f} % longer than the fluid recursion's on average, "
                        "recoveries of more than one packet included",
                    ],
                    [
                        "growth by whole packets",
                        "the packet that is lost is the last of its generation",
                        "the packet that is lost is the second of its generation, and the next test comes before its loss is seen",
                        "two losses a cycle where Vegas behaves like Reno, and where Reno is made to grow so",
                    ],
                    [
                        "test in slow start",
                        "any mini-slot",
                        "those in which the window has doubled",
                        "none: the difference is larger in them",
                    ],
                ],
            )
        ],
    )


def _awaiting() -> Section:
    return Section(
        anchor="testbed",
        title="Claims awaiting the Linux testbed",
        blocks=[
            Text(
                paragraphs=[
                    "Nothing: all results of the paper are analytic or simulated. One number is quoted from another paper's experiments and not judged here."
                ]
            )
        ],
    )


def sections(
    settings: Settings, evidence: Evidence, findings: Sequence[Finding], moves: Sensitivity[Variation]
) -> list[Section]:
    """Return the sections of the report."""
    return [
        _set_up(settings),
        _figure_1(evidence),
        _tables(evidence),
        _theorem_1(evidence),
        _theorem_2(evidence),
        _figure_3(evidence),
        _misses(findings),
        moves.section(
            paragraphs=[
                "Each assumption was varied, one at a time; the affected runs were repeated and all claims "
                "evaluated again. There are fewer varied runs, so verdicts on claims close to their limit also "
                "change by chance."
            ]
        ),
        _rules(evidence),
        _laws(evidence),
        _awaiting(),
    ]
