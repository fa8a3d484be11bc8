"""The result of a fit, and the fit itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.arguments import LARGEST_SEED, thread_count, whole_number
from dumbbell.errors import refusal
from dumbbell.inference import calibration
from dumbbell.inference.calibration import NONE_BELOW, Interval, Setting
from dumbbell.inference.connection import Connection
from dumbbell.inference.estimate import Estimate
from dumbbell.inference.fitting import CONTROLS, Explained, Likely, Search, accepted, likely
from dumbbell.inference.flags import flags_of
from dumbbell.inference.path import RECEIVER, SENDER, Ends
from dumbbell.inference.reading import read
from dumbbell.inference.whatif import WhatIf, what_if
from dumbbell.inference.written import to_toml
from dumbbell.inspection.captured import Captured
from dumbbell.inspection.overlaid import overlay
from dumbbell.inspection.reading import inspect
from dumbbell.plots.picture import Picture
from dumbbell.runs import run
from dumbbell.scenario import Scenario
from dumbbell.watched import watched

# Controls in the stated set, and the least likelihood there.
MOST_NAMED, LEAST_LIKELIHOOD = 3, 0.01


@dataclass(frozen=True, kw_only=True)
class Fit:
    """The scenarios that explain one captured connection.

    Parameters
    ----------
    scenario
        The one that explains it best, to be run as it is: losses at a queue that was not full are random in it.
    control
        Its congestion control, by its name in the registry.
    distance
        From the capture, 0 to about 1; `docs/fit.md` has the formula.
    accepted
        Paths and controls that explain the capture about as well, the best first.
    intervals
        Value and 90 % interval by parameter: ``rate_bps``, ``base_rtt_s``, ``buffer_packets`` (packets that wait; without an
        upper end if the buffer never overflowed), ``loss`` (probability of random loss), ``burst_bytes`` of a policer.
    likelihoods
        All controls that were tried, by relative likelihood.
    flags
        What the capture cannot tell, as sentences.
    setting
        What the capture is like, see `dumbbell.inference.calibration.Setting`.
    estimate
        What the capture tells without a simulation.
    ends
        What it tells of the hosts.
    sent
        Number of data segments in the capture.
    simulations
        Number of simulations.
    seed, threads
        Of the simulations.
    capture, flow
        Where the connection was read; ``None`` if its arrays were given.
    """

    scenario: Scenario
    control: str
    distance: float
    accepted: tuple[Explained, ...]
    intervals: Mapping[str, Interval]
    likelihoods: tuple[Likely, ...]
    flags: tuple[str, ...]
    setting: Setting
    estimate: Estimate
    ends: Ends
    sent: int
    simulations: int
    seed: int = 1
    threads: int | None = None
    capture: Path | None = None
    flow: int = 1

    @property
    def discipline(self) -> str:
        """Kind of the bottleneck's queue. A lone flow does not tell ``codel`` from ``fqcodel``."""
        return self.accepted[0].path.discipline

    @cached_property
    def controls(self) -> tuple[Likely, ...]:
        """The congestion controls that may have sent this, at most three, the most likely first."""
        return tuple(one for one in self.likelihoods[:MOST_NAMED] if one.likelihood >= LEAST_LIKELIHOOD)

    @property
    def kind(self) -> str:
        """Kind of capture, one of `dumbbell.inference.calibration.KINDS`."""
        return self.setting.kind

    @property
    def known_as_far(self) -> tuple[int, int]:
        """How many development captures of the same kind were as far from the control that sent them, and of how many."""
        return calibration.known_as_far(self.setting, min(one.distance for one in self.likelihoods))

    @property
    def p_value(self) -> float:
        """Conformal p-value of the hypothesis that one of the controls tried has sent this [vovk2005]."""
        as_far, count = self.known_as_far
        return (as_far + 1.0) / (count + 1.0)

    @property
    def is_of_none(self) -> bool:
        """Whether the sender's congestion control may be none of those that were tried: a fifth of known ones is so far."""
        return self.p_value < NONE_BELOW

    def what_if(self, changes: Mapping[str, str]) -> WhatIf:
        """Return what would have happened with a change, over all accepted paths.

        Parameters
        ----------
        changes
            ``tcp``, a congestion control of the registry; ``buffer``, the limit of a drop-tail queue such as ``"1 BDP"``;
            ``queue``, a discipline; ``rate``, such as ``"20 Mbit/s"``.

        Raises
        ------
        ScenarioError
            A change is not accepted.
        """
        loss = self.intervals["loss"].value if "loss" in self.intervals else 0.0
        return what_if(self.accepted, self.ends, loss, changes, self.setting, self.seed, self.threads)

    def simulated(self, at: str = SENDER) -> Captured:
        """Return the flow that is nearest to the captured one, as a capture at its sender or receiver shows it.

        The losses that the fit repeats are where they were in the capture, and what is random is as in the nearest of its
        simulations.
        """
        best = self.accepted[0]
        scenario = best.path.scenario(self.ends, best.control, probed=False)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "simulated.pcapng"
            run(scenario, seed=self.seed, run=best.run, pcap=file, node=at)
            return inspect(file, 1)

    def plot(self, *, style: str | None = None) -> Picture:
        """Return the captured flow and the nearest simulated one over each other.

        Parameters
        ----------
        style
            As of `dumbbell.Run.plot`.

        Raises
        ------
        ScenarioError
            The fit has no capture, or there is no such style.
        OSError
            The capture cannot be read.
        """
        if self.capture is None:
            raise refusal("capture", "none", "a fit of a capture: it is drawn beside it", quoted=False)
        seen = inspect(self.capture, self.flow)
        at = RECEIVER if seen.row["captured_at"] == RECEIVER else SENDER
        title = f"{self.capture.name}, connection {self.flow}, and {self.control} on the fitted path"
        return overlay({"capture": seen, "simulation": self.simulated(at)}, title=title, style=style)

    def to_toml(self) -> str:
        """Return the scenario as TOML, with the intervals and what the capture cannot tell as comments."""
        explained = f"{len(self.accepted)} of {self.simulations} simulations explain it about as well"
        named = ", ".join(f"{one.control} ({one.likelihood:.2f})" for one in self.controls)
        head = [
            "Fitted to a capture: the scenario that explains it best. Intervals of 90 % are beside the values.",
            f"Distance {self.distance:.3f}; {explained}.",
            f"Algorithm, by relative likelihood: {named}{'; perhaps none of those tried' if self.is_of_none else ''}.",
            *(f"{text[0].upper()}{text[1:]}." for text in self.flags),
        ]
        return to_toml(self.scenario, self.discipline, self.intervals, head)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the fit as plain data; an infinite end of an interval is ``None``."""
        return {
            "control": self.control,
            "controls": [vars(one) for one in self.controls],
            "none_of_these": self.is_of_none,
            "p_value": self.p_value,
            "known_as_far": list(self.known_as_far),
            "discipline": self.discipline,
            "kind": self.kind,
            "hosts": self.setting.hosts,
            "noise_s": self.setting.noise_s,
            "distance": self.distance,
            "intervals": {name: _plain(one) for name, one in self.intervals.items()},
            "flags": list(self.flags),
            "competitors": self.accepted[0].path.competitors,
            "accepted": len(self.accepted),
            "simulations": self.simulations,
        }


def _plain(one: Interval) -> dict[str, float | None]:
    return {"value": one.value, "low": one.low, "high": one.high if np.isfinite(one.high) else None}


def fit(
    capture: str | os.PathLike[str],
    *,
    flow: int = 1,
    controls: Sequence[str] | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Fit:
    """Return the scenarios that explain one connection of a capture.

    Parameters
    ----------
    capture
        A pcap or pcapng file that was captured at the sender of the connection.
    flow
        Number of the connection, from 1, as ``dumbbell inspect`` lists them.
    controls
        Congestion controls that are tried; by default those of `dumbbell.inference.fitting.CONTROLS`.
    seed
        Seed of the simulations.
    threads
        Number of threads; the default is the number of cores.
    progress
        ``True`` shows a bar; a function is told the numbers of finished and of planned simulations; ``False`` is silent.

    Raises
    ------
    ScenarioError
        There is no such connection, it cannot be fitted, or an argument is not accepted.
    OSError
        The file cannot be read.
    """
    found = fit_connection(
        read(capture, flow), controls=controls, seed=seed, threads=threads, progress=progress
    )
    return replace(found, capture=Path(capture), flow=flow)


def fit_connection(
    seen: Connection,
    *,
    controls: Sequence[str] | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Fit:
    """Return the scenarios that explain a connection whose arrays are known; see `fit`."""
    names = CONTROLS if controls is None else tuple(controls)
    for name in names:
        if name not in CONTROLS:
            raise refusal("controls", name, "one of " + ", ".join(CONTROLS), names=CONTROLS)
    if not names:
        raise refusal("controls", "none", "one of " + ", ".join(CONTROLS), quoted=False)
    search = Search(
        seen=seen,
        controls=names,
        seed=whole_number("seed", seed, 0, LARGEST_SEED),
        threads=thread_count(threads),
    )
    with watched(progress, len(names) * 6) as told:
        search.told = told
        tried = search.run()
    return result(search, tried)


def result(search: Search, tried: Sequence[Explained]) -> Fit:
    """Return the fit that a search has found."""
    best, found, seen = tried[0], search.found, search.seen
    explained = accepted(tried)
    setting = calibration.setting_of(found, best, seen.packet_bits)
    ends = Ends.of(seen)
    intervals = _intervals(search, explained, setting)
    loss = intervals["loss"].value if "loss" in intervals else 0.0
    path = best.path.to_be_run(loss)
    return Fit(
        scenario=path.scenario(ends, best.control, probed=False),
        control=best.control,
        distance=best.distance,
        accepted=tuple(explained),
        intervals=intervals,
        likelihoods=tuple(likely(tried)),
        flags=flags_of(search, best, setting.kind),
        setting=setting,
        estimate=found,
        ends=ends,
        sent=len(seen.sent_s),
        simulations=len(search.simulator.known),
        seed=search.seed,
        threads=search.threads,
    )


def _intervals(search: Search, explained: Sequence[Explained], setting: Setting) -> dict[str, Interval]:
    best, found = explained[0], search.found
    made: dict[str, Interval] = {}
    for name in calibration.PARAMETERS:
        value = calibration.parameter_of(best, name)
        if value is not None:
            low, high = calibration.spread(explained, name)
            made[name] = calibration.interval(setting, name, value, low, high)
    if best.path.discipline == "droptail" and best.path.buffer_packets is None:
        least = float(found.longest_packets)
        wider = calibration.factor(setting, calibration.BOUND) * setting.scale(calibration.BOUND, least)
        made["buffer_packets"] = Interval(least, max(0.0, least - wider), np.inf)
    if best.path.forced:
        one = proportion(len(best.path.forced), len(search.seen.sent_s))
        made["loss"] = calibration.interval(setting, calibration.LOSS, one.value, one.low, one.high)
    return made


def proportion(count: int, total: int) -> Interval:
    """Return a share and its 90 % interval by Wilson's score [wilson1927]."""
    deviation = 1.6448536269514722
    share = count / total
    centre = (share + deviation**2 / (2 * total)) / (1 + deviation**2 / total)
    half = (
        deviation
        / (1 + deviation**2 / total)
        * np.sqrt(share * (1 - share) / total + deviation**2 / (4 * total**2))
    )
    return Interval(share, max(0.0, float(centre - half)), min(1.0, float(centre + half)))
