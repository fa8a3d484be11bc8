"""From one connection to the scenarios that explain it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.inference.connection import Connection
from dumbbell.inference.estimate import LIMITED, Estimate, estimate
from dumbbell.inference.hypotheses import Hypothesis, around, hypotheses, policed, with_competitors
from dumbbell.inference.path import Ends, Path
from dumbbell.inference.simulate import Candidate, Simulator

# Controls that all hypotheses are tried with, and those that all others are compared with.
FIRST = ("cubic", "reno", "bbr", "scalable", "veno", "illinois")
# Congestion controls of the registry that are fitted, those of most hosts first: equal ones are named in this order.
CONTROLS = (
    "cubic", "reno", "bbr", "bbr3", "htcp", "westwoodl", "westwoodp", "westwood", "vegasl", "vegas", "bic", "illinois", "yeah",
    "veno", "highspeed", "scalable", "hybla", "compound", "copa", "ledbatpp",
)  # fmt: skip
# Controls that Linux does not ship, and how much farther they count.
RARE, RARE_FACTOR = ("bbr3", "compound", "copa", "ledbatpp"), 1.25
# Controls and paths with random events are run so many times; the nearest run counts.
RANDOM, RUNS = ("bbr", "bbr3"), 3
# What is compared ends after so many transmissions: later ones depend on all before.
MOST_SENT = 30_000
# Beyond this distance, other flows are tried.
FAR = 0.15
# Paths are accepted up to this factor of the smallest distance, and this much beyond it.
ACCEPTED_FACTOR, ACCEPTED_BEYOND = 1.5, 0.005
# The scale of likelihoods is this share of the smallest distance, and at least this.
LIKELIHOOD_FACTOR, LIKELIHOOD_LEAST = 0.25, 0.01
# A path is tried with all controls if its score is within this factor of the best.
WORTH = 1.6
# Controls whose paths are refined.
REFINED = 3


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A path and a control, and how far their flow is from the captured one.

    Parameters
    ----------
    path, control
        What was simulated.
    distance
        As `dumbbell.inference.distance.distance` defines it.
    cost
        What is added for losses that are repeated instead of explained.
    run
        Number of the replication, the nearest of several where something is random.
    """

    path: Path
    control: str
    distance: float
    cost: float = 0.0
    run: int = 0

    @property
    def score(self) -> float:
        """What hypotheses are ordered by."""
        return self.distance + self.cost


@dataclass(kw_only=True)
class Search:
    """The search for the paths and controls that explain one connection.

    Parameters
    ----------
    seen
        The connection, whole.
    controls
        Congestion controls that are tried.
    seed, threads
        See `Simulator`.
    told
        Called with the number of simulations done and of all, as far as it is known.
    """

    seen: Connection
    controls: Sequence[str] = CONTROLS
    seed: int = 1
    threads: int | None = None
    told: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        self.found: Estimate = estimate(self.seen)
        self.part = self.seen
        if len(self.seen.sent_s) > MOST_SENT:
            self.part = self.seen.before(float(self.seen.sent_s[MOST_SENT]))
        self.simulator = Simulator(
            seen=self.part, ends=Ends.of(self.part), base_rtt_s=self.found.base_rtt_s, seed=self.seed, threads=self.threads,
            told=self._tell,
        )  # fmt: skip
        self._planned = 0

    def run(self) -> list[Explained]:
        """Return what was tried, the nearest first."""
        first = [name for name in FIRST if name in self.controls] or list(self.controls[:3])
        # Behind a policer is a fast link: without it, a simulation sends ten times as much.
        tried = self._try(policed(self.found), first)
        if not self.found.is_policed:
            tried += self._try(hypotheses(self.seen, self.found), first)
        best = _best_paths(tried, 2)
        known = {(one.path, one.control) for one in tried}
        for one in best:
            tried += self._try([one], [name for name in self.controls if (one.path, name) not in known])
        tried.sort(key=lambda one: one.score)
        if tried[0].score > FAR and self.found.competes and tried[0].path.discipline != "policer":
            tried += self._try(
                with_competitors(self.found), [one.control for one in _best_controls(tried, 4)]
            )
            tried.sort(key=lambda one: one.score)
        return self._refined(tried)

    def _refined(self, tried: list[Explained]) -> list[Explained]:
        """Return what was tried, and paths near the best one."""
        best = tried[0]
        near = around(_hypothesis(best), best.distance, is_rate_certain=self.found.is_rate_certain)
        tried += self._try(near, [one.control for one in _best_controls(tried, REFINED)])
        tried.sort(key=lambda one: one.score)
        if tried[0].path != best.path:
            # One more step, from there, and all controls on the better path.
            again = tried[0]
            tried += self._try([_hypothesis(again)], self.controls)
            tried += self._try(
                around(_hypothesis(again), again.distance, is_rate_certain=True), [again.control]
            )
        return _once(tried)

    def _try(self, paths: Sequence[Hypothesis], controls: Sequence[str]) -> list[Explained]:
        pairs = [(one, control) for one in paths for control in controls]
        groups = [[Candidate(path=one.path, control=control, run=run) for run in _runs(one.path, control)]
                  for one, control in pairs]  # fmt: skip
        flat = [candidate for group in groups for candidate in group]
        self._planned += sum(candidate not in self.simulator.known for candidate in flat)
        self.simulator.distances(flat)
        nearest = [min(group, key=lambda one: self.simulator.known[one]) for group in groups]
        return [
            Explained(path=one.path, control=control, cost=one.cost, distance=self.simulator.known[candidate],
                      run=candidate.run)
            for (one, control), candidate in zip(pairs, nearest, strict=True)
        ]  # fmt: skip

    def _tell(self, done: int) -> None:
        if self.told is not None:
            self.told(done, max(self._planned, done))

    @property
    def is_limited_by_receiver(self) -> bool:
        """Whether the receive window limited the flow for much of the time."""
        return self.found.receiver_share > LIMITED


def _hypothesis(one: Explained) -> Hypothesis:
    return Hypothesis(path=one.path, cost=one.cost)


def _runs(path: Path, control: str) -> range:
    return range(RUNS if control in RANDOM or path.discipline == "pie" else 1)


def _best_paths(tried: Sequence[Explained], count: int) -> list[Hypothesis]:
    """Return the paths with the smallest scores, up to `count`, that may still be the best with another control."""
    paths: dict[Path, Explained] = {}
    for one in sorted(tried, key=lambda one: one.score):
        paths.setdefault(one.path, one)
    chosen = list(paths.values())[:count]
    return [_hypothesis(one) for one in chosen if one.score <= WORTH * chosen[0].score]


def _best_controls(tried: Sequence[Explained], count: int) -> list[Explained]:
    """Return the best of each control on the best path."""
    path = min(tried, key=lambda one: one.score).path
    return sorted((one for one in tried if one.path == path), key=lambda one: one.score)[:count]


def _once(tried: Sequence[Explained]) -> list[Explained]:
    """Return the same without repetitions; of equal ones, the control that most hosts have is first."""
    order = {name: place for place, name in enumerate(CONTROLS)}
    ordered = sorted(tried, key=lambda one: (round(one.score, 3), order.get(one.control, len(order))))
    return list(dict.fromkeys(ordered))


def accepted(tried: Sequence[Explained]) -> list[Explained]:
    """Return what explains the capture about as well as the best does, with the same kind of bottleneck."""
    best = tried[0]
    limit = max(ACCEPTED_FACTOR * best.distance, best.distance + ACCEPTED_BEYOND)
    return [one for one in tried if one.distance <= limit and _kind(one.path) == _kind(best.path)]


def _kind(path: Path) -> tuple[object, ...]:
    return path.discipline, path.buffer_packets is None, bool(path.forced), path.competitors > 0


@dataclass(frozen=True, kw_only=True)
class Likely:
    """A congestion control, by how well it explains a capture.

    Parameters
    ----------
    control
        Its name in the registry.
    distance
        The smallest on any path with the bottleneck that explains the capture best.
    likelihood
        Relative likelihood: 1 for the best.
    """

    control: str
    distance: float
    likelihood: float


def likely(tried: Sequence[Explained]) -> list[Likely]:
    """Return all controls by their likelihood, the best first.

    The likelihood falls by a factor of e for each quarter of the smallest distance, and at least for each hundredth.
    Controls that Linux does not ship count as farther by a quarter.
    """
    best = tried[0]
    nearest: dict[str, float] = {}
    for one in tried:
        if _kind(one.path) == _kind(best.path):
            nearest[one.control] = min(one.distance, nearest.get(one.control, np.inf))
    weighed = {name: value * (RARE_FACTOR if name in RARE else 1.0) for name, value in nearest.items()}
    least = min(weighed.values())
    scale = max(LIKELIHOOD_FACTOR * least, LIKELIHOOD_LEAST)
    order = {name: place for place, name in enumerate(CONTROLS)}
    ordered = sorted(nearest, key=lambda name: (round(weighed[name], 3), order.get(name, len(order))))
    return [
        Likely(
            control=name, distance=nearest[name], likelihood=float(np.exp((least - weighed[name]) / scale))
        )
        for name in ordered
    ]
