"""Conclusions of the report; every number is computed from the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dumbbell.models import code_tcp
from dumbbell.papers.real_time import origin_of
from dumbbell.sensitivity import Move
from dumbbell.statistics import Interval

from .assumptions import BASE, Variation
from .evidence import Evidence
from .figures import LABELS, epsilon_ratio
from .linux import EACH_ACKNOWLEDGED, KINDS
from .network import VARIANTS
from .printed import data
from .scenarios import EPSILONS, PHASE_RATES, PHASES
from .sensitivity import Study, nearest
from .sweep_claims import lead, reno_against_reno
from .tables import phase_ratio
from .window_claims import rising_slopes


def _words(ratio: Interval) -> str:
    return f"{ratio.estimate:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


def _measured(move: Move[Variation] | None, name: str) -> float | None:
    """Return the measured value of a claim with a move."""
    found = () if move is None else move.findings
    return next((finding.measured for finding in found if finding.claim.id == name), None)


def _share_of_order(evidence: Evidence) -> float:
    """Return the share of points at which, of two Reno connections, the one with the shorter round-trip time gets more."""
    short, long = (reno_against_reno(evidence, panel)[1:] for panel in ("rtt-a", "rtt-b"))
    return float(np.mean(np.concatenate([short > 1, long < 1])))


def headline(evidence: Evidence, moves: Study) -> list[str]:
    """Return the result for the paper's main claim, with its reading."""
    ahead, _ = lead(evidence, "fig9")
    ratios = "; ".join(f"{LABELS[kind]} {_words(evidence.pooled('fig9', kind))}" for kind in VARIANTS)
    known = [(move, nearest(ratios)) for move, ratios in moves.in_figure_9 if move.variation is not None]
    ahead_in = sum(kind == "code" for _, kind in known)
    others = "; ".join(move.label for move, kind in known if kind != "code")
    return [
        f"Over all rates of Fig. 9 the throughput of each variant over that of Reno, with its 95 % interval, is: {ratios}. "
        + (
            f"CODE is nearest to an equal share; the next variant is farther by {ahead:.2f}."
            if ahead > 0
            else f"CODE is not nearest to an equal share; another variant is nearer by {-ahead:.2f}."
        ),
        "This is the main reading: the algorithms as the paper states them (a reduction to three quarters, one reduction per round trip, Delta by "
        "Eq. 1), with a floor under CODE's thresholds that the pseudo-code lacks, and a little random traffic at the bottleneck, which the paper does not mention. "
        f"CODE is nearest to 1 in {ahead_in} of the {len(known)} other readings tried on Fig. 9"
        + (f"; it is not with: {others}." if others else "."),
        *_alone(evidence, moves),
    ]


def _alone(evidence: Evidence, moves: Study) -> list[str]:
    """Return the result for the claim in the network as described by the paper."""
    quiet = moves.ratios_of("quiet")
    if not quiet:
        return []
    first = nearest(quiet)
    if first == "code":
        return ["In a network with only these two connections, CODE is nearest to 1 as well."]
    means = replace(evidence, group="quiet").means("fig9", first)
    return [
        "In a network with only these two connections, as described in the paper, the claim does not hold: CODE gets more than "
        f"Reno, {_words(quiet['code'])}, and the variant nearest to 1 on average is {LABELS[first]}, with mean ratios from "
        f"{means.min():.2f} to {means.max():.2f} over the rates."
    ]


def decides(evidence: Evidence, moves: Study) -> list[str]:
    """Return the causes of the shares of CODE and Reno, and the reasons for the main reading."""
    quiet, jitter, halving = (moves.ratios_of(name) for name in ("quiet", "jitter-alone", "halving"))
    ratios = {
        kind: [phase_ratio(evidence, kind, rate, times) for rate in PHASE_RATES for times in PHASES]
        for kind in ("code", "reno")
    }
    ordered = _measured(moves.named("quiet"), "C-F13-4")
    paragraphs = [
        "Without random elements, a drop-tail network has phase effects. An ACK-clocked connection "
        "sends one packet for each packet that leaves the queue. A full queue then drops the packet of the connection "
        "that grows in that round trip, and packets that "
        "arrive at the same instant are served in the order of components, not at random. An additional delay of a third of a millisecond on one connection's access links "
        f"changes CODE/Reno between {min(ratios['code']):.2f} and {max(ratios['code']):.2f}, and the share of one Reno over another between "
        f"{min(ratios['reno']):.2f} and {max(ratios['reno']):.2f} (table below). The delays of Figs. 7 and 8 are lost, so these phases cannot be "
        "reproduced, and their effects are not properties of the algorithms."
        + (
            ""
            if ordered is None
            else f" The paper's premise that, of two Reno connections, the one with the shorter round-trip time gets more holds "
            f"in such a network at {100 * ordered:.0f} % of the points of Figs. 10 to 13."
        ),
        "The main reading therefore removes phase effects in the two ways recommended by Floyd and Jacobson: a little random traffic at the bottleneck wherever "
        f"throughputs are averaged over repetitions ({100 * BASE.cross:g} % of its rate, as in this laboratory's other comparisons of long-lived "
        "connections), and in Figs. 10 to 13, where phases differ from the start, random processing times of senders as well. Two Reno connections, without any "
        f"variant, are then in the expected order at {100 * _share_of_order(evidence):.0f} % of the points. Windows against time (Figs. 2, 3, 5, 16 to "
        "18) are from networks without either. The paper mentions neither, and the choice was made with knowledge of the results for Fig. 9 with and "
        "without it. The results of every other choice are therefore shown as well.",
    ]
    if quiet:
        paragraphs.append(
            "With phase effects, CODE gets more than Reno: "
            + "; ".join(f"{LABELS[kind]} {_words(quiet[kind])}" for kind in VARIANTS)
            + ". Reno grows in every round trip and loses at every overflow; CODE grows in about half of them and loses nothing at some overflows "
            "(table below). Its window does fall to three quarters at each of its losses, as in Eq. 4; but the "
            "two losses shorten the queue until Delta is below epsilon times alpha, and CODE grows "
            "immediately, whereas it decreases in Fig. 6."
        )
    if jitter:
        paragraphs.append(
            "Processing times alone, without cross traffic, remove simultaneous arrivals but hardly change which connection grows at an overflow: "
            + "; ".join(f"{LABELS[kind]} {_words(jitter[kind])}" for kind in VARIANTS)
            + ". The cross traffic brings CODE close to an equal share: it distributes the losses (table below), and its variation "
            "decreases round-trip times often enough for CODE's thresholds to fall between two increases."
        )
    if halving:
        paragraphs.append(
            "With a reduction to one half, as in Linux but not stated in the paper, CODE/Reno is "
            f"{_words(halving['code'])} in the network of the main reading."
        )
    return paragraphs


def traces(evidence: Evidence) -> list[str]:
    """Return the conclusions from windows against time."""
    code, reno = rising_slopes(evidence)
    return [
        "Figs. 2 and 3 are as described: Vegas stays at a few packets below Reno's sawtooth. NewVegas decreases by one packet per round trip "
        "after each loss until Delta is in its band again, and grows by one packet in two round trips until the next loss, while Reno grows by one in each.",
        "In Fig. 5 CODE's window is nearer to Reno's than NewVegas's is on average, but above it: without cross traffic CODE gets more than Reno. "
        f"From its lowest window on it grows by {code:.2f} packets per round trip, Reno by {reno:.2f}. Reno also increases CODE's Delta, and the band "
        "between the scaled thresholds narrows with each loss (2 packets at the start, 1.36 after one, 0.92 after two), so that the window shrinks "
        "where it would be constant with a wider band.",
    ]


def analysis(evidence: Evidence) -> list[str]:
    """Return the conclusions about the analysis of epsilon."""
    measured = {value: epsilon_ratio(evidence, value).estimate for value in EPSILONS}
    first, last = EPSILONS[0], EPSILONS[-1]
    roots = code_tcp.epsilon_roots()
    return [
        f"The quadratic and both roots follow from the model: {roots.smaller:.4f} and {roots.larger:.4f}. The larger one would make CODE's window "
        "fall for a negative time, and Reno's peak negative.",
        "Two premises do not hold in the closed loop: after a common loss, CODE's window does not decrease to "
        "epsilon times its peak, and its growth is not always two thirds of Reno's. In the network with cross traffic the measured ratio is "
        f"{measured[BASE.epsilon]:.2f} at epsilon = {BASE.epsilon:g}, but it depends on epsilon less than in the model: from {measured[first]:.2f} at "
        f"{first:g} to {measured[last]:.2f} at {last:g}, where the model predicts {float(np.asarray(code_tcp.throughput_ratio(first))):.2f} and "
        f"{float(np.asarray(code_tcp.throughput_ratio(last))):.2f}. Overflows with a loss in only one connection weaken the dependence.",
    ]


def homogeneous(evidence: Evidence) -> list[str]:
    """Return the conclusions about several CODE connections."""
    runs = evidence.traced("fig17-code")
    alone = [float(run.trace("cwnd", "first").between(0.0, 50.0).value.max()) for run in runs]
    return [
        "Here the literal rule of Table 1 does not reproduce the results of the paper. A packet that CODE adds "
        "increases its own round-trip times; one round trip later the window does not grow, but the measured time has increased, and the thresholds rise by two; "
        "the next round takes back only one. A single CODE connection thus raises its own thresholds, up to "
        f"{np.mean(alone):.0f} packets with a pipe of 31 in the first 50 s of Fig. 17. NewVegas, which raises its thresholds by one, does not.",
        "Two CODE connections eventually reach a steady state, but at arbitrary thresholds and with a longer "
        "queue than Vegas; and a new connection that measures its BaseRTT while the queue is long overestimates the BaseRTT of "
        "the path. The paper's curves need a rule that "
        "compares the window with that of the round in which the round-trip time was measured; its Table 1 contradicts such a rule.",
    ]


def on_linux(evidence: Evidence) -> list[str]:
    """Return the result of the experiments on Linux."""
    rates = evidence.kernel.swept("fig19", "code")
    nearest_at = [
        min(KINDS, key=lambda kind: abs(float(evidence.kernel.ratios("fig19", kind, rate).mean()) - 1))
        for rate in rates
    ]
    codes = nearest_at.count("code")
    ratios = {
        kind: [float(evidence.kernel.ratios("fig19", kind, rate).mean()) for rate in rates] for kind in KINDS
    }
    spans = "; ".join(f"{LABELS[kind]} {_span(values, 2)} times" for kind, values in ratios.items())
    each = _each_acknowledged(evidence)
    return [
        "Two connections of the kernel share a bottleneck of 100 packets with a delay of 23 ms, as in the experiments on Linux. The congestion "
        "controls are eBPF twins of the simulated ones; the scenarios are those of the simulator, without random traffic. "
        f"The runs: {origin_of(evidence.linux)}.",
        f"At {_span(rates, 0)} Mbit/s the variants get, of Reno's throughput: {spans}. CODE is nearest to an equal share at {codes} of "
        f"{len(rates)} rates.",
        "One difference between kernel and simulator is known on these scenarios: nothing in them is random but the starts. In the simulator, phase "
        "effects then decide who loses, and equal round-trip times tie, while the timing of real packets has noise of its own. The main reading of "
        "Fig. 9 has random traffic against phase effects. " + each,
    ]


def _span(values: Sequence[float], digits: int) -> str:
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def _each_acknowledged(evidence: Evidence) -> str:
    """Return the effect of a receiver that acknowledges every segment."""
    found = []
    for each in (evidence.kernel, evidence.kernel_simulated):
        rates = each.swept(EACH_ACKNOWLEDGED, "code")
        found.append(float(each.ratios(EACH_ACKNOWLEDGED, "code", rates[0]).mean()))
    usual = float(evidence.kernel.ratios("fig19", "code", rates[0]).mean())
    return (
        f"With an acknowledgement for every segment, CODE at {rates[0]} Mbit/s gets {found[0]:.2f} times Reno's throughput on the kernel "
        f"(with delayed ones {usual:.2f}) and {found[1]:.2f} times in the simulator."
    )


def internet() -> list[str]:
    """Return the conclusions about the uploads over the Internet."""
    printed = data()["table3"]
    means = {column: float(np.mean(printed[column])) for column in ("RV-Vegas", "RC-Reno", "RC-CODE")}
    slower = 2 * min(means["RC-Reno"], means["RC-CODE"])
    return [
        "The uploads over the Internet (Fig. 20, Table 3) crossed a path that the paper does not describe. Its limits can only be set to what is printed, so that "
        "the values of single rounds cannot be checked; ratios and orders can be measured. The means and all twelve half-widths were recomputed from the "
        "printed rounds and agree to the last digit.",
        "The numbers themselves raise one doubt. Two equal files that share a bottleneck of rate K are complete when both have been sent, so the later "
        f"one averages K/2 for any division of the rate. The rounds with Vegas imply K = {2 * means['RV-Vegas']:.0f} KB/s, those with CODE, minutes later on the "
        f"same path, about {slower:.0f} KB/s. The numbers are more consistent with senders that are each limited to about 550 KB/s and hardly share a bottleneck.",
    ]
