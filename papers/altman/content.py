"""Content of the report: set-up and assumptions, tables and figures, sensitivity, and claims not reproduced.

All numbers in the text are computed from the runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dumbbell.claims import Finding
from dumbbell.models import altman
from dumbbell.papers import Settings, examined
from dumbbell.report import Column, Details, Figure, Section, Table, Text
from dumbbell.report.numbers import number
from dumbbell.sensitivity import Sensitivity

from . import figures, tables
from .assumptions import Variation
from .evidence import Evidence
from .grid import GRID
from .grid_claims import reno_errors, vegas_errors
from .plan import EVOLUTION, replications

MINUS = "−"


def _left(title: str) -> Column:
    return Column(title=title, align="left")


ASSUMPTIONS: Sequence[tuple[str, str, str]] = (
    ("parameters of the tables", "forty rows: mu of 100, 250 and 375 packets/s, loads of 0 to 0.8, d of 0.1 to 2 s, B of 20 to 120 packets", "the paper's numbers are lost"),
    ("thresholds", "alpha, beta, gamma of 1, 3, 1; 2, 4, 1; 2, 4, 2 packets, row by row", "the values of Vegas; the paper's are lost"),
    ("packets", "500 bytes on the wire, of both sources", "the paper says fixed size; the number is lost"),
    ("smallest round-trip time", "T = d + 1/mu", "the delay of a packet in an empty system; the text can also be read as d + 1/(mu - lambda)"),
    ("buffer", "does not count the packet in service", "the largest excess delay is then B/mu, as in the paper"),
    ("exogenous packets", "each at a random time within its interval", "exact spacing would lock the phases of the two sources"),
    ("phase of the source", "the runs of a row spread d evenly over one service time around its value", "most d of the grid are whole numbers of service times: a packet would then arrive at a busy queue right after a departure and always find room"),
    ("source link", "1000 mu, in addition to d", "fast enough not to affect the results"),
    ("growth of Reno", "1/W with every acknowledgement", "as in the engine's Reno; the window of the model grows by a packet with the last acknowledgement of a generation"),
    ("increase of Vegas", "a whole packet at once; tested once per round with the round's mean round-trip time and the congestion window", "as the paper describes it"),
    ("slow start of Vegas", "doubles every other round; tested after the round in which the window doubled", "the engine's Vegas tests only these rounds; the paper does not specify the slot"),
    ("window after slow start", "reduced by an eighth", "not configurable in the engine's Vegas; the paper keeps the window, and the steady state does not depend on it"),
    ("reaction to losses", "both halve the window, in whole packets, and repair all losses of a window (NewReno), with at most 4 packets per acknowledgement", "the model has one reduction per cycle and no timeouts"),
    ("timeouts", "none; with video and in the sweeps of small buffers at least 1 s", "assumption (ii) of the model: every loss is found by duplicate acknowledgements"),
    ("start", "congestion avoidance from a small window; Vegas and Fig. 1 from slow start", "averages are over whole cycles"),
    ("video", "24 frames/s, pattern IBBPBBPBBPBB, lognormal scenes and frames, 100 packets/s", "a substitute for the film; its trace can be used instead if available"),
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
                    "mu packets/s and holds B packets. The exogenous traffic uses lambda packets/s and "
                    "leaves nu = mu - lambda. The paper predicts windows, round-trip times and throughput of Vegas "
                    "and Reno in closed form. Here the engine provides the simulation. A second model, the fluid recursion over "
                    "generations, is compared with it as well.",
                    "The numbers in the paper's tables and figures are missing from the available copies, so its "
                    "formulas are compared with our engine. Statements of its text about errors are evaluated as claims.",
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
                f"B = {row.buffer} packets. Windows are shown without the inflation by duplicate ACKs in fast recovery.",
            ),
            Text(
                paragraphs=[
                    "Both curves of Vegas become constant. Reno's window oscillates between half of its loss window and the loss window. Its simulated cycles are longer than the ideal ones: the "
                    "round-trip time lags behind the window by mu/nu packets, one more generation is sent while the loss is being detected, and the window grows by a "
                    "little less than a packet per generation."
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
                    f"The throughput of Vegas is nu within {100.0 * vegas.max():.2g} % in every row, and its round-trip time follows from its window. The window settles "
                    f"{above.min():.1f} to {above.max():.1f} packets above nu T + alpha: it is the smallest whole number that passes the test, and while it grows, it is tested with the round-trip times "
                    f"of a window that is one packet smaller. This number, the column integer of Table 1, is {np.abs(window - reached).mean():.2f} packets off on average; the error of the fluid recursion is "
                    "similar.",
                    f"The throughput of Reno is {100.0 * reno.mean():.1f} % off on average. The closed forms omit the lag of the round-trip time, which grows with mu/nu; the fluid "
                    "recursion includes it, and the generation in which a loss is detected.",
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
                caption="Mean round-trip time of a mini-slot, relative to the minimum, against the window relative to the bandwidth-delay product.",
            ),
            Text(
                paragraphs=[
                    "Slow start of Reno and of Vegas follows the formulas, except in the transition to a queue that never empties: exogenous packets of the previous generation are still queued there, and "
                    "the closed forms do not count them. At a load of 0.8 this is still so when the previous window is three bandwidth-delay products. The fluid recursion counts them."
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
                caption="Left and centre: share of the runs in which Vegas still loses packets in the second half, against the buffer relative to B*. Right: the smallest buffer with which "
                "fewer than half of the runs do, against floor(B*) + 1.",
            ),
            Text(
                paragraphs=[
                    "Up to B*, nearly every run continues to lose packets, as the theorem says. Above B*, losses do not end immediately. In the fluid model, the window becomes constant with a full queue "
                    "and no losses. The simulated window is a whole number and leaves more than alpha packets in the queue, each accompanied by exogenous packets (mu/nu in total), "
                    "and the exogenous packets arrive at random times within their intervals. The queue then overflows occasionally. Which source loses depends on the phase: if the source's "
                    "packets arrive right after a departure, as with the delays of the grid unspread, they find room, the exogenous packets are lost, and slightly above B* Vegas loses nothing.",
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
                caption="Ratio of Vegas to Reno: losses and mean windows, with 90 % intervals. Dashed: a fifth of the losses, and equal windows.",
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
                    "Not part of this paper: the laws of [mathis1997] and [padhye1998], compared with the engine's Reno on a link with random losses, without other traffic and "
                    "without a queue. The laws of Mathis ignore recovery and timeouts; that of Padhye includes both."
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
    "ALT-03": "At a load of 0.8, the closed form does not count the exogenous packets that are queued when the burst arrives, even if the previous window is three bandwidth-delay products. The fluid recursion counts them and is within its bound everywhere.",
    "ALT-08": "The window is the smallest whole number that passes the test, one to two packets above nu T + alpha (column integer of Table 1); in the row with a bandwidth-delay product of 11 packets that is a tenth.",
    "ALT-13": "When the queue overflows, exogenous packets are lost as well, and Reno gets their share of the link.",
    "ALT-14": "With the phase of the source spread, more than one packet is lost in some cycles (last column of Table 3), and the recovery takes longer than the one retransmission of the recursion.",
    "ALT-15": "The row with the smallest windows at these loads: the closed form omits the lag of the round-trip time and the detection of a loss, whose relative effect is largest for small windows.",
    "ALT-20": "The whole-number window leaves more than alpha packets in the queue (last column of the table of buffers), and the random times of the exogenous packets lengthen the queue occasionally.",
    "ALT-21": "At a load of 0.8 the round-trip times of a round vary with the times of the exogenous packets, and near 0.8 B* some rounds pass the test; elsewhere both trajectories agree, at nearly all buffers to the last digit.",
    "ALT-24": "As for one connection. In addition, the n connections do not lose at the same time, as the formula for n connections assumes.",
    "ALT-28": "With the bursts of frames, a buffer of 20 packets is small for both variants; from 40 packets on, the ratio is far below a fifth.",
    "ALT-29": "With a buffer of 5 packets, a single frame of up to ten packets overflows it. Both windows are small, and timeouts determine which is larger. Runs differ by more than the claim allows.",
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
                        "when the window grows twice in succession, the second test does not see the first packet; windows are within one packet of the whole number of the rule",
                    ],
                    [
                        "growth of Reno",
                        "a packet with the last acknowledgement of a generation",
                        "1/W with every acknowledgement",
                        f"a little less than a packet per generation: at loads up to 1/2 cycles last {-100.0 * cycle[light].mean():.1f} % longer than the fluid recursion's on average, "
                        "recoveries of more than one packet included",
                    ],
                    [
                        "growth by whole packets",
                        "the lost packet is the last of its generation",
                        "the lost packet is the second of its generation, and the next test precedes the detection of its loss",
                        "two losses per cycle where Vegas behaves like Reno, and where Reno grows by whole packets",
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
                    "None: all results of the paper are analytic or simulated. One number is quoted from the experiments of another paper and is not evaluated here."
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
        examined.section(Path(__file__).with_name("examined.toml"), findings),
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
