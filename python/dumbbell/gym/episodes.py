"""Episodes of a flow that an agent controls: scenarios, seeds and steps, for one run or for many."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from gymnasium.utils import seeding
from numpy.typing import ArrayLike, NDArray

from dumbbell import _engine, control, external
from dumbbell.arguments import MOST_RUNS, function, thread_count, whole_number
from dumbbell.errors import ScenarioWarning, refusal
from dumbbell.gym.intervals import Intervals, PowerReward, Reward
from dumbbell.quantities import bits_per_second, nanoseconds
from dumbbell.runs import cores
from dumbbell.scenario import Data, Scenario

Given = Scenario | Data | str | os.PathLike[str]
"""A scenario, as `Scenario.of` reads it."""

Draw = Callable[[np.random.Generator], Scenario]
"""Returns the scenario of an episode, drawn with the generator of the environment."""

ACTIONS = ("window", "rate")

INTERVALS = '"ack", round trips such as "1 rtt", or a time such as "20 ms"'

AGENT = {"name": "agent:flow", "digest": "1"}
"""How the scenario of an episode names the control of the flow; only the environment can run it."""

CHOSEN = ("variant", "congestion", "mechanisms", "external")
"""Fields of a flow's TCP that name a congestion control, which the agent replaces."""


class Episodes:
    """Several runs with one agent's flow in each; see `dumbbell.gym.FlowEnv` for the parameters.

    Parameters
    ----------
    count
        Number of runs.
    scenario, flow, interval, action, factor, capacity, reward
        As of `dumbbell.gym.FlowEnv`.
    threads
        Number of threads of the engine; all cores by default.
    """

    def __init__(
        self,
        count: int,
        scenario: Given | Draw,
        *,
        flow: str | None,
        interval: str,
        action: str,
        factor: float,
        capacity: str | None,
        reward: Reward | None,
        threads: int | None,
    ) -> None:
        self.count = whole_number("num_envs", count, 1, MOST_RUNS)
        self._draw = scenario if callable(scenario) else None
        first = self._drawn(seeding.np_random(0)[0]) if self._draw else Scenario.of(cast(Any, scenario))
        self._flow = _flow(first, flow)
        if action not in ACTIONS:
            raise refusal("action", action, ", ".join(ACTIONS), names=ACTIONS)
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1.0 < factor < math.inf:
            raise refusal("factor", factor, "a finite number above 1")
        self._capacity = None if capacity is None else bits_per_second(capacity, "capacity") / 8
        self._reward = (
            PowerReward() if reward is None else function("reward", reward, "a function of Intervals")
        )
        # What the engine has read, and the rate of the bottleneck, of the scenario that all episodes share.
        self._shared = None if self._draw else self._prepared(first)
        self._engine = _engine.Episodes(
            self.count,
            self._flow,
            **_pause(interval),
            paces=action == "rate",
            factor=float(factor),
            threads=thread_count(threads) or cores(),
            controls=control.factory,
        )
        self._capacities = np.ones(self.count)
        self._generators: list[np.random.Generator | None] = [None] * self.count

    def seed(self, place: int, generator: np.random.Generator) -> None:
        """Set the generator from which the scenario and the seed of each further episode at a place are drawn."""
        self._generators[place] = generator

    def begin(self, places: Sequence[int]) -> Intervals:
        """Begin new episodes at some places, run each through its first interval, and return these."""
        scenarios, seeds = [], []
        for place in places:
            generator = self._generators[place]
            if generator is None:
                generator = self._generators[place] = seeding.np_random(None)[0]
            stated, capacity = self._shared or self._prepared(self._drawn(generator))
            self._capacities[place] = capacity
            scenarios.append(stated)
            seeds.append(int(generator.integers(2**63)))
        return self._intervals(self._engine.reset(places, scenarios, seeds), places)

    def step(self, places: Sequence[int], actions: NDArray[np.float64]) -> Intervals:
        """Act on the runs at some places, one action for each, and return their next intervals."""
        return self._intervals(self._engine.step(places, actions.tolist()), places)

    def rewards(self, intervals: Intervals) -> NDArray[np.float64]:
        """Return the rewards of intervals, shape (n,).

        Raises
        ------
        ScenarioError
            The reward is not a finite number for each interval.
        """
        values = np.asarray(self._reward(intervals), dtype=np.float64)
        if values.shape != (len(intervals),) or not np.isfinite(values).all():
            shown = f"values {values.tolist()}"
            raise refusal("reward", shown, f"{len(intervals)} finite numbers, one per interval", quoted=False)
        return values

    def _intervals(self, values: bytes, places: Sequence[int]) -> Intervals:
        rows = np.frombuffer(values).reshape(len(places), -1)
        return Intervals(rows, self._capacities[list(places)])

    def _drawn(self, generator: np.random.Generator) -> Scenario:
        assert self._draw is not None
        drawn: object = self._draw(generator)
        if not isinstance(drawn, Scenario):
            accepted = "a function that returns a dumbbell.Scenario"
            raise refusal("scenario", type(drawn).__name__, accepted, quoted=False)
        return drawn

    def _prepared(self, scenario: Scenario) -> tuple[_engine.Stated, float]:
        """Return a scenario whose flow has an agent, as the engine has read it, and the rate of its bottleneck in bytes/s."""
        data = scenario.to_dict()
        _flow(scenario, self._flow)
        if all(flow["name"] != self._flow for flow in data["flows"]):
            raise refusal("flow", self._flow, "a flow of its own, not one of a group")
        if data.pop("probes", None):
            warnings.warn(
                "probes: an environment records none; its steps return intervals",
                ScenarioWarning,
                stacklevel=2,
            )
        data["flows"] = [_steered(flow) if flow["name"] == self._flow else flow for flow in data["flows"]]
        capacity = self._capacity
        if capacity is None:
            links = scenario.resolved()["links"]
            capacity = min(bits_per_second(link["rate"], "links.rate") for link in links) / 8
        steered = Scenario.from_dict(data)
        external.prepare([steered])
        return steered.stated, capacity


def actions_of(action: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return actions as numbers from -1 to 1, shape (count,).

    Raises
    ------
    ScenarioError
        They are not `count` finite numbers.
    """
    values = np.asarray(action, dtype=np.float64)
    if values.size != count or not np.isfinite(values).all():
        shown = f"an array of shape {values.shape}" if values.size != count else str(values.tolist())
        raise refusal("action", shown, f"{count} finite numbers from -1 to 1", quoted=False)
    return np.clip(values.reshape(count), -1.0, 1.0)


def _flow(scenario: Scenario, name: str | None) -> str:
    """Return the name of the agent's flow: a flow with TCP, the only one if none is named."""
    names = [flow["name"] for flow in scenario.resolved()["flows"] if flow.get("tcp") is not None]
    if name is None:
        if len(names) == 1:
            return str(names[0])
        raise refusal(
            "flow",
            "None",
            f"the flow to control, one of: {', '.join(names) or 'none with TCP'}",
            quoted=False,
        )
    if name not in names:
        raise refusal("flow", name, f"a flow with TCP: {', '.join(names) or 'none'}", names=names)
    return name


def _steered(flow: dict[str, Any]) -> dict[str, Any]:
    """Return a flow whose congestion control is an agent; its recovery is SACK unless another one is stated."""
    stated = flow.get("tcp")
    kept = {} if stated is None or isinstance(stated, str) else dict(stated)
    for name in CHOSEN:
        kept.pop(name, None)
    return {**flow, "tcp": {"recovery": "sack", **kept, "external": AGENT}}


def _pause(interval: str) -> dict[str, Any]:
    """Return when a step ends, as the engine takes it."""
    if not isinstance(interval, str):
        raise refusal("interval", interval, INTERVALS)
    if interval == "ack":
        return {"interval_ns": None, "rtts": None}
    if found := re.fullmatch(r"(\d+(?:\.\d+)?) rtt", interval):
        rtts = float(found[1])
        if not 0.0 < rtts <= 1000.0:
            raise refusal("interval", interval, "above 0 and at most 1000 rtt")
        return {"interval_ns": None, "rtts": rtts}
    if interval[:1].isdigit():
        length = nanoseconds(interval, "interval")
        if length:
            return {"interval_ns": length, "rtts": None}
    raise refusal("interval", interval, INTERVALS)
