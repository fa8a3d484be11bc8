"""Claims on windows against time: Figs. 2, 3, 5, 6 and 16-18, and those made in words.

[chan2010 §1, §3, §4.5, §5]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from dumbbell.judge.estimate import NotMeasured, Outcome, mean_of
from dumbbell.traces import StepFunction

from .assumptions import assumptions_of
from .cycles import WARM_UP_S, Cycle, cycles, reno_cuts
from .evidence import Evidence, Run, Values
from .network import BOTTLENECK
from .plan import RENO_START
from .register import claim, estimate, listed
from .scenarios import GAIN_BUFFERS, START_SIZES

# A value within this many packets of its end is steady.
SETTLED_PACKETS = 2.0


def _mean_window(run: Run, name: str) -> float:
    """Return the mean window after the slow starts, packets."""
    time, cwnd = run.trace("cwnd", name)
    return float(cwnd[time > WARM_UP_S].mean())


@claim("C-F2-1")
def cuts_of_reno_beside_vegas(evidence: Evidence) -> Outcome:
    counts = [len(reno_cuts(run)) for run in evidence.traced("fig2")]
    return Outcome.share(np.array(counts) >= 3, note=f"{np.mean(counts):.1f} cuts in 200 s")


@claim("C-F2-2")
def growth_of_vegas_while_queue_is_not_empty(evidence: Evidence) -> Outcome:
    flags = []
    for run in evidence.traced("fig2"):
        time, cwnd = run.trace("cwnd")
        backlog = np.interp(time, *run.trace("backlog", BOTTLENECK))
        cuts = [cut for cut in reno_cuts(run) if cut[0] > WARM_UP_S]
        for (_, begin), (end, _) in itertools.pairwise(cuts):
            chosen = (time > begin + 0.5) & (time < end - 0.5)
            if chosen.any() and backlog[chosen].min() > 0:
                flags.append(cwnd[chosen][-1] <= cwnd[chosen][0])
    return Outcome.share(flags, note="stretches between cuts of Reno")


@claim("C-F2-3")
def window_of_vegas_less_than_reno(evidence: Evidence) -> Outcome:
    pairs = [(_mean_window(run, "variant"), _mean_window(run, "reno")) for run in evidence.traced("fig2")]
    means = np.mean(pairs, axis=0)
    return Outcome.share(
        [vegas < reno for vegas, reno in pairs], note=f"{means[0]:.1f} against {means[1]:.1f} packets"
    )


def cycles_of(evidence: Evidence, figure: str) -> list[list[Cycle]]:
    """Return the complete cycles of each run of a figure.

    Raises
    ------
    NotMeasured
        There are none.
    """
    rate = assumptions_of(evidence.group).window_rate
    found = [cycles(run, rate) for run in evidence.traced(figure)]
    if not any(found):
        raise NotMeasured(f"There is no complete cycle in the runs of {figure}.")
    return [run for run in found if run]


def _pooled(runs: Sequence[Sequence[Cycle]], part: str) -> Values:
    """Return the slope of a part of all cycles of each run, packets a round trip."""
    return np.array(
        [
            sum(getattr(cycle, part).packets for cycle in run)
            / sum(getattr(cycle, part).rounds for cycle in run)
            for run in runs
        ]
    )


@estimate
def slope_of_newvegas(evidence: Evidence, part: Literal["rising", "falling"]) -> Outcome:
    return mean_of(_pooled(cycles_of(evidence, "fig3-quiet"), part))


def rising_slopes(evidence: Evidence) -> tuple[float, float]:
    """Return the mean slopes of CODE and of Reno from CODE's lowest window to its next loss, packets a round trip."""
    runs = cycles_of(evidence, "fig5-quiet")
    return float(_pooled(runs, "rising").mean()), float(_pooled(runs, "reno_rising").mean())


@claim("C-ALG-C5")
def rising_slope_of_code_over_reno(evidence: Evidence) -> Outcome:
    runs = cycles_of(evidence, "fig5-quiet")
    code, reno = _pooled(runs, "rising"), _pooled(runs, "reno_rising")
    return mean_of(code / reno, note=f"{code.mean():.2f} against {reno.mean():.2f} packets a round trip")


@claim("C-F3-1")
def packets_of_newvegas_cycle_over_reno(evidence: Evidence) -> Outcome:
    every = [cycle for run in cycles_of(evidence, "fig3") for cycle in run]
    ratio = np.mean([cycle.packets / cycle.reno_packets for cycle in every])
    return Outcome.share(
        [cycle.packets < cycle.reno_packets for cycle in every], note=f"cycles; mean ratio {ratio:.2f}"
    )


@claim("C-F3-2")
def newvegas_falls_while_reno_grows(evidence: Evidence) -> Outcome:
    every = [cycle for run in cycles_of(evidence, "fig3") for cycle in run]
    known = [cycle for cycle in every if cycle.reno_falling.rounds > 0 and cycle.falling.rounds > 0]
    return Outcome.share(
        [cycle.falling.slope < 0 < cycle.reno_falling.slope for cycle in known], note="cycles"
    )


@claim("C-F3-3")
def newvegas_rises_more_slowly_than_reno(evidence: Evidence) -> Outcome:
    every = [cycle for run in cycles_of(evidence, "fig3") for cycle in run]
    known = [cycle for cycle in every if cycle.reno_rising.rounds > 0]
    return Outcome.share([cycle.rising.slope < cycle.reno_rising.slope for cycle in known], note="cycles")


@claim("C-F5-1")
def nearness_of_code_mean_window_to_reno(evidence: Evidence) -> Outcome:
    far = {
        figure: np.array(
            [
                abs(_mean_window(run, "variant") / _mean_window(run, "reno") - 1)
                for run in evidence.traced(figure)
            ]
        )
        for figure in ("fig3", "fig5")
    }
    return Outcome.share(
        far["fig5"] < far["fig3"],
        note=f"mean distance {far['fig5'].mean():.2f} (CODE), {far['fig3'].mean():.2f} (NewVegas)",
    )


@claim("C-EPS-12")
def packets_of_code_cycle_over_reno(evidence: Evidence) -> Outcome:
    runs = cycles_of(evidence, "fig5")
    ratios = [sum(c.packets for c in run) / sum(c.reno_packets for c in run) for run in runs]
    return mean_of(ratios, note="complete cycles")


@claim("C-EPS-13")
def lowest_window_of_code_over_peak(evidence: Evidence) -> Outcome:
    runs = cycles_of(evidence, "fig5")
    return mean_of([np.mean([cycle.lowest / cycle.peak for cycle in run]) for run in runs])


def _smooth(cwnd: Values) -> Values:
    """Return a window without the inflation of recoveries, which lasts a few samples."""
    padded = np.pad(cwnd, 10, mode="edge")
    windows: Values = np.median(np.lib.stride_tricks.sliding_window_view(padded, 21), axis=1)
    return windows


def _halves(run: Run, name: str, share: float) -> Values:
    """Return the last share of a window against time."""
    time, cwnd = run.trace("cwnd", name)
    found: Values = cwnd[time > (1 - share) * time[-1]]
    return found


@claim("C-F16-1")
def largest_deviation_of_settled_code_windows(evidence: Evidence) -> Outcome:
    return mean_of(
        [
            max(float(_halves(run, name, 0.5).std()) for name in ("first", "second"))
            for run in evidence.traced("fig16")
        ]
    )


@claim("C-F16-2")
def peak_of_first_code_window(evidence: Evidence) -> Outcome:
    """Return when the window of the first connection is highest; the note has the highest of both windows."""
    first, either = [], []
    for run in evidence.traced("fig16"):
        peaks = [(_smooth(cwnd).max(), time[_smooth(cwnd).argmax()]) for time, cwnd in _windows(run)]
        first.append(peaks[0][1])
        either.append(max(peaks)[1])
    return mean_of(first, note=f"the highest of both windows is at {np.mean(either):.1f} s")


def _windows(run: Run) -> list[StepFunction]:
    return [run.trace("cwnd", name) for name in ("first", "second")]


def settled_s(quantity: StepFunction, from_s: float) -> float:
    """Return the time after `from_s` until a quantity stays near its mean of the last quarter, s."""
    time, value = quantity
    final = value[time > 0.75 * time[-1]].mean()
    away = time[np.abs(value - final) > SETTLED_PACKETS]
    return max(0.0, float(away[-1]) - from_s) if away.size else 0.0


def _settling(run: Run) -> float:
    return max(settled_s(window, 50.0) for window in _windows(run))


@estimate
def settled_ratio(evidence: Evidence, kind: str) -> Outcome:
    runs = evidence.traced(f"fig17-{kind}")
    ratios = np.array([run.one("goodput", "first") / run.one("goodput", "second") for run in runs])
    inside = float(np.mean((ratios >= 0.75) & (ratios <= 1.25)))
    return mean_of(ratios, note=f"within 0.75 and 1.25 in {100 * inside:.0f} % of the repetitions")


def _pairs(evidence: Evidence) -> list[tuple[Run, Run]]:
    return list(zip(evidence.traced("fig17-code"), evidence.traced("fig17-vegas"), strict=True))


@claim("C-F17-3")
def code_settles_later_than_vegas(evidence: Evidence) -> Outcome:
    times = np.array([(_settling(code), _settling(vegas)) for code, vegas in _pairs(evidence)])
    means = times.mean(axis=0)
    return Outcome.share(times[:, 0] > times[:, 1], note=f"{means[0]:.1f} s against {means[1]:.1f} s")


def _queue(run: Run) -> StepFunction:
    return run.trace("backlog", BOTTLENECK)


def _last_queue(run: Run) -> Values:
    time, backlog = _queue(run)
    found: Values = backlog[time > 0.75 * time[-1]]
    return found


@claim("C-F18-1")
def larger_deviation_of_settled_queue(evidence: Evidence) -> Outcome:
    spread = {
        kind: np.array([_last_queue(run).std() for run in evidence.traced(f"fig17-{kind}")])
        for kind in ("vegas", "code")
    }
    return mean_of(
        np.maximum(spread["vegas"], spread["code"]),
        note=f"Vegas {spread['vegas'].mean():.2f}, CODE {spread['code'].mean():.2f}",
    )


@claim("C-F18-2")
def settled_queue_of_code_less_that_of_vegas(evidence: Evidence) -> Outcome:
    means = np.array(
        [(_last_queue(code).mean(), _last_queue(vegas).mean()) for code, vegas in _pairs(evidence)]
    )
    code, vegas = means.mean(axis=0)
    return mean_of(means[:, 0] - means[:, 1], note=f"CODE {code:.1f}, Vegas {vegas:.1f} packets")


@claim("C-F18-3")
def queue_settles_later_with_code(evidence: Evidence) -> Outcome:
    times = np.array(
        [(settled_s(_queue(code), 50.0), settled_s(_queue(vegas), 50.0)) for code, vegas in _pairs(evidence)]
    )
    means = times.mean(axis=0)
    return Outcome.share(times[:, 0] > times[:, 1], note=f"{means[0]:.1f} s against {means[1]:.1f} s")


@claim("C-MIX-1")
def alpha_of_code_beside_vegas_less_initial(evidence: Evidence) -> Outcome:
    left = []
    for run in evidence.traced("mixed"):
        alpha, end = run.trace("alpha", "first"), float(run.trace("cwnd", "first").time[-1])
        left.append(float(alpha.resample(0.75 * end, end, 0.05).value.mean()) - 1.0)
    return mean_of(left)


@claim("C-CONC-1")
def share_of_short_transfers_reno_finishes_first(evidence: Evidence) -> Outcome:
    flags: list[bool] = []
    factors = []
    for size in START_SIZES:
        for place in ("alone", "beside"):
            reno, code = (
                np.array([run.one("completion", "short") for run in evidence.short(kind, size, place)])
                for kind in ("reno", "code")
            )
            flags.extend(bool(flag) for flag in reno < code)
            factors.append(float(np.mean(code / reno)))
    return Outcome.share(flags, note=f"CODE takes {min(factors):.2f} to {max(factors):.2f} times as long")


@claim("C-CONC-2")
def gain_of_code_by_slow_start_of_reno(evidence: Evidence) -> Outcome:
    """Return by how much the time of CODE's short transfers over Reno's falls with Reno's slow start, mean over sizes."""
    own, other = [], []
    for size in START_SIZES:
        for place in ("alone", "beside"):
            times = [
                np.mean([run.one("completion", "short") for run in runs])
                for runs in (
                    evidence.short("reno", size, place),
                    evidence.short("code", size, place),
                    evidence.all_runs(f"{RENO_START}/{size}/{place}"),
                )
            ]
            own.append(times[1] / times[0])
            other.append(times[2] / times[0])
    return Outcome(
        measured=float(np.mean(own) - np.mean(other)),
        note=f"by size, alone and beside Reno: {listed(range(len(own)), own)} and {listed(range(len(other)), other)}",
    )


def _gains(evidence: Evidence) -> Values:
    """Return by how much Vegas's transfers alone are faster than Reno's at small buffers, %."""
    times = {
        kind: np.array(
            [
                evidence.all_runs(f"gain/{kind}/{buffer}")[0].one("completion", "short")
                for buffer in GAIN_BUFFERS
            ]
        )
        for kind in ("reno", "vegas")
    }
    gains: Values = 100 * (times["reno"] / times["vegas"] - 1)
    return gains


@estimate
def gain_of_vegas_over_reno(evidence: Evidence, extreme: Literal["least", "largest"]) -> Outcome:
    gains = _gains(evidence)
    found = gains.min() if extreme == "least" else gains.max()
    return Outcome(measured=float(found), note=f"by buffer in packets: {listed(GAIN_BUFFERS, gains)}")
