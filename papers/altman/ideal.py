"""Fig. 1 by the closed forms: windows and round-trip times of ideal sources over time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import numpy as np

from dumbbell.models import altman

from .evidence import Values
from .grid import Setting


def _curve(slots: Iterable[tuple[int, float, float]], until: float) -> tuple[Values, Values, Values]:
    """Return times, windows and round-trip times of mini-slots given by window, duration and round-trip time."""
    time, times, windows, rtts = 0.0, [], [], []
    for window, duration, rtt in slots:
        times.append(time)
        windows.append(float(window))
        rtts.append(rtt)
        time += duration
        if time > until:
            break
    return np.array(times), np.array(windows), np.array(rtts)


def _slot(setting: Setting, window: int, phase: altman.Phase) -> tuple[int, float, float]:
    slot = altman.mini_slot(setting.link, float(window), phase)
    return window, float(slot.duration), float(slot.rtt)


def reno(setting: Setting, until: float) -> tuple[Values, Values, Values]:
    """Return the ideal Reno: slow start to half of its loss window, then cycles; times, windows, round-trip times."""

    def slots() -> Iterator[tuple[int, float, float]]:
        cycle = setting.cycle
        window = 1
        while window < cycle.first_window:
            yield _slot(setting, window, "reno-slow-start")
            window *= 2
        for _ in itertools.count():
            for window in range(cycle.first_window, cycle.last_window + 1):
                yield _slot(setting, window, "growth")

    return _curve(slots(), until)


def vegas(setting: Setting, until: float) -> tuple[Values, Values, Values]:
    """Return the ideal Vegas: its slow start, growth and steady window; times, windows, round-trip times."""

    def slots() -> Iterator[tuple[int, float, float]]:
        end = int(altman.slow_start_threshold(setting.link, gamma=setting.gamma).window)
        window = 1
        while window < end:
            yield _slot(setting, window, "vegas-constant")
            window *= 2
            yield _slot(setting, window, "vegas-doubling")
        stable = altman.stable_window_reached(
            setting.link, alpha=setting.alpha, beta=setting.beta, start=window
        )
        while window != stable:
            window += 1 if window < stable else -1
            yield _slot(setting, window, "growth" if window <= stable else "constant")
        while True:
            yield _slot(setting, window, "constant")

    return _curve(slots(), until)
