"""Claims on windows: CUBIC, AIMD, and the algorithms for fast long paths."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dumbbell import engine
from dumbbell.judge.estimate import NotMeasured, Outcome, farthest, held, listing, mean_of, ordering

from .evidence import Evidence, Run
from .network import FORWARD
from .register import claim, estimate
from .window_scenarios import EPOCHS_LEFT_OUT, law_key


def law_window(evidence: Evidence, name: str, every: int, rtt_ms: float) -> float:
    """Return the mean window under periodic loss, segments: segments per round-trip time between losses.

    Raises
    ------
    NotMeasured
        The run ended before the losses, or had a timeout.
    """
    run = evidence.one(law_key(name, every, rtt_ms))
    if run.events().of("timeout"):
        raise NotMeasured("A timeout ended an epoch.")
    times = run.trace("losses", FORWARD).times
    left_out = min(EPOCHS_LEFT_OUT, len(times) - 2)
    if left_out < 0:
        raise NotMeasured(f"The run ended after {len(times)} losses.")
    times = times[left_out:]
    return float(every * (len(times) - 1) / (times[-1] - times[0]) * rtt_ms / 1000)


@estimate
def mean_window_under_periodic_loss(
    evidence: Evidence, name: str, every: int, rtt_ms: float = 100, *, converging: bool = False
) -> Outcome:
    note = ""
    if converging:
        window = law_window(evidence, f"{name}-converging", every, rtt_ms)
        note = f"without fast convergence, as the law is; {window:.1f} with it"
    return mean_of(law_window(evidence, name, every, rtt_ms), note)


@claim("cubic-10")
def slope_of_the_window_over_the_loss_rate(evidence: Evidence) -> Outcome:
    rates = [5, 6, 7]
    windows = [law_window(evidence, "cubic", 10**rate, 100) for rate in rates]
    slope = np.polyfit([-rate for rate in rates], np.log10(windows), 1)[0]
    return mean_of(slope, listing([f"1e-{rate}" for rate in rates], windows, "{:.0f}"))


@claim("cubic-13")
def loss_rates_for_a_gigabit_per_second(evidence: Evidence) -> Outcome:
    aim = 1e9 / 8 / 1500 * 0.1
    low, high = (law_window(evidence, "cubic", 10**rate, 100) for rate in (6, 7))
    share = (math.log(aim) - math.log(low)) / (math.log(high) - math.log(low))
    cubic = 10 ** -(6 + share)
    reno = (law_window(evidence, "reno", 10**5, 100) / aim) ** 2 * 1e-5
    return farthest(
        {"CUBIC, 1e-7": (1e7 * cubic, 6.3), "Reno, 1e-8": (1e8 * reno, 2.0)},
        "between the windows measured at 1e-6 and 1e-7; Reno's from that at 1e-5 by its square root",
    )


def _epoch(run: Run) -> float:
    """Return the time at which the first recovery of a run ended, s."""
    times = run.events().of("recovery_exit").times
    if not len(times):
        raise NotMeasured("No recovery was completed.")
    return float(times[0])


def _window_after(run: Run, time_s: float) -> float:
    return float(run.trace("cwnd_base").at(_epoch(run) + time_s))


def _time_to_maximum(run: Run, maximum: float) -> float:
    """Return K by the window after 2 s: 0.4 (K - 2)^3 is what lacks to the maximum."""
    return float(2.0 + np.cbrt((maximum - _window_after(run, 2.0)) / 0.4))


@claim("cubic-08")
def cubic_function_after_a_window_of_100(evidence: Evidence) -> Outcome:
    run = evidence.one("cubic-epoch-100")
    return farthest(
        {
            "K": (_time_to_maximum(run, 100), 4.217),
            "W(2 s)": (_window_after(run, 2.0), 95.64),
            "W(6 s)": (_window_after(run, 6.0), 102.27),
        }
    )


@claim("cubic-09")
def cubic_function_after_larger_windows(evidence: Evidence) -> Outcome:
    return farthest(
        {
            "K, 250": (_time_to_maximum(evidence.one("cubic-epoch-250"), 250), 5.724),
            "K, 1000": (_time_to_maximum(evidence.one("cubic-epoch-1000"), 1000), 9.086),
        }
    )


@claim("cubic-11")
def maximum_after_a_second_loss_at_80(evidence: Evidence) -> Outcome:
    run = evidence.one("cubic-second-loss")
    begins = run.events().of("fast_retransmit")
    if len(begins) < 2:
        raise NotMeasured("There was one loss only.")
    before = begins[1]["cwnd_before_bytes"] / 1000
    after = float(run.trace("w_max").at(begins[1]["time_s"] + 0.01))
    return mean_of(80 * after / before, f"a loss at {before:.2f} segments leaves a maximum of {after:.2f}")


@claim("cubic-12")
def threshold_after_a_loss_at_100(evidence: Evidence) -> Outcome:
    exits = evidence.one("cubic-epoch-100").events().of("recovery_exit")
    if not exits:
        raise NotMeasured("No recovery was completed.")
    return mean_of(exits[0]["cwnd_bytes"] / 1000)


@claim("cubic-14")
def fastest_growth_per_round_trip(evidence: Evidence) -> Outcome:
    run = evidence.one("cubic-fastest")
    begin = _epoch(run)
    windows = run.trace("cwnd_base").at(np.arange(begin + 1, 20, 1.0))
    ratio = float(np.max(windows[1:] / windows[:-1]))
    return Outcome(measured=ratio, holds=ratio <= 1.5 + 1e-9)


@claim("cubic-15")
def slowest_growth_without_a_maximum(evidence: Evidence) -> Outcome:
    run = evidence.one("cubic-no-maximum")
    windows = run.trace("cwnd_base").at(np.arange(0.15, 2.9, 0.1))
    spare = windows[1:] - 1.05 * windows[:-1]
    growth = float(np.min(windows[1:] / windows[:-1]))
    return Outcome(
        measured=growth, holds=bool(np.all(spare >= -1.0)), note=f"least spare {spare.min():.2f} segments"
    )


@claim("cubic-16")
def reno_window_of_the_closed_form(evidence: Evidence) -> Outcome:
    known = {entry["name"]: entry for entry in engine.catalogue()["algorithms"]}
    if "cubic" not in known:
        raise NotMeasured("The engine lacks the congestion control `cubic`.")
    beta = next(entry["default"] for entry in known["cubic"]["parameters"] if entry["name"] == "beta")
    closed = 100 * beta + 3 * (1 - beta) / (1 + beta) * 6 / 0.3
    run = evidence.one("cubic-reno-window")
    return mean_of(
        closed,
        f"by the closed form with the beta of the engine; its window grows per acknowledgement, to "
        f"{_window_after(run, 6.0):.3f} after 6 s",
    )


@claim("cubic-18")
def cubic_over_reno_on_a_long_path(evidence: Evidence) -> Outcome:
    cubic, reno = (evidence.each(f"long-path-{name}", Run.goodput) for name in ("cubic", "reno"))
    return ordering(cubic - reno, lambda gain: gain > 0, f"{cubic.mean():.1f} against {reno.mean():.1f} Mb/s")


@claim("cubic-20")
def maximum_after_a_timeout(evidence: Evidence) -> Outcome:
    flags = {}
    notes = []
    for form in ("rfc9438", "linux"):
        run = evidence.one(f"cubic-timeout-{form}")
        timeouts = run.events().of("timeout")
        leaves = [
            event
            for event in run.events().of("slow_start_exit")
            if timeouts and event["time_s"] > timeouts[0]["time_s"]
        ]
        if not timeouts or not leaves:
            raise NotMeasured("There was no timeout, or no slow start after it ended.")
        begin = leaves[0]["time_s"]
        window = run.trace("cwnd_base")
        first, later = (float(window.at(begin + time)) for time in (0.02, 1.0))
        maximum = float(run.trace("w_max").at(begin - 0.02))
        notes.append(
            f"{form}: {first:.2f} segments, {later:.2f} a second later, maximum remembered {maximum:.2f}"
        )
        if form == "linux":
            flags["Linux forgets the maximum"] = maximum == 0
        else:
            # With K = 0, a second adds 0.4 segments; the function is looked up a round-trip time ahead.
            flags["RFC: K = 0"] = abs(later - first - 0.4) < 0.05
    return held(flags, "; ".join(notes))


@claim("aimd-02")
def window_of_aimd_over_reno(evidence: Evidence) -> Outcome:
    return mean_of(law_window(evidence, "aimd", 10**4, 100) / law_window(evidence, "reno", 10**4, 100))


@claim("scal-02")
def round_trips_to_regain_a_window(evidence: Evidence) -> Outcome:
    times = {}
    for window in (200, 2000):
        run = evidence.one(f"scalable-loss-{window}")
        begin = _epoch(run)
        trace = run.trace("cwnd_base")
        after = trace.times[(trace.times > begin) & (trace.values >= window)]
        if not len(after):
            raise NotMeasured("The window was not regained.")
        times[f"W {window}"] = ((float(after[0]) - begin) / 0.1, 13.4)
    return farthest(times)


@estimate
def delivered_over_reno(evidence: Evidence, name: str, every: int) -> Outcome:
    """Return what an algorithm delivers under periodic loss, over what Reno does in the same time."""
    own, reno = (evidence.one(law_key(each, every, 100)).flow("bytes_delivered") for each in (name, "reno"))
    return mean_of(own / reno)


@claim("ill-01")
def increase_and_decrease_of_illinois(evidence: Evidence) -> Outcome:
    run = evidence.one("illinois-delays")
    increase = run.trace("increase").between(20, 60).values
    backlog = run.trace("backlog", FORWARD)
    kept: dict[str, list[float]] = {"full": [], "empty": []}
    events = run.events().of("fast_retransmit", "recovery_exit")
    for begin, end in itertools.pairwise(events):
        if (begin["kind"], end["kind"]) == ("fast_retransmit", "recovery_exit") and begin["time_s"] > 20:
            before = float(backlog.at(begin["time_s"] - 0.2))
            place = "full" if before > 60 else "empty" if before < 2 else ""
            if place:
                # The data in flight are whole segments of 1000 bytes.
                kept[place].append(end["cwnd_bytes"] / (begin["cwnd_before_bytes"] // 1000 * 1000))
    for place, fractions in kept.items():
        if not fractions:
            raise NotMeasured(f"There was no loss at an {place} queue.")
    return farthest(
        {
            "least increase": (increase.min(), 0.3),
            "largest increase": (increase.max(), 10.0),
            "kept at a full queue": (float(np.mean(kept["full"])), 0.5),
            "kept at an empty queue": (float(np.mean(kept["empty"])), 0.875),
        }
    )


@claim("hybla-01")
def growth_of_hybla_per_round_trip(evidence: Evidence) -> Outcome:
    windows = evidence.one("hybla-long").trace("cwnd_base").at(np.arange(4, 11, 0.5))
    return mean_of(float(np.mean(np.diff(windows))))


@claim("veno-01")
def window_that_veno_keeps(evidence: Evidence) -> Outcome:
    pairs = {}
    for backlog, expected in ((2, 0.8), (5, 0.5)):
        run = evidence.one(f"veno-{backlog}")
        events = run.events()
        exits = events.of("recovery_exit")
        enters = events.of("recovery_enter")
        if not exits or not enters:
            raise NotMeasured("No recovery was completed.")
        kept = exits[0]["cwnd_bytes"] / (enters[0]["snd_max"] - enters[0]["snd_una"])
        pairs[f"{backlog} queued"] = (kept, expected)
    return farthest(pairs)


@claim("vegas-01")
def packets_that_vegas_keeps_queued(evidence: Evidence) -> Outcome:
    entry = next(entry for entry in engine.catalogue()["algorithms"] if entry["name"] == "vegas")
    limits = {parameter["name"]: parameter["default"] for parameter in entry["parameters"]}
    queued = evidence.one("vegas-alone").link("backlog_mean_packets")
    return Outcome(
        measured=queued,
        holds=limits["alpha"] <= queued <= limits["beta"],
        note="without the one in transmission, which the base round-trip time contains; "
        f"alpha {limits['alpha']:g}, beta {limits['beta']:g}",
    )
