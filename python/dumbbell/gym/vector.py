"""A vector environment of Gymnasium: one flow in each of many runs, which the engine's threads advance together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from dumbbell.errors import refusal
from dumbbell.gym.environment import action_space, check_options, observation_space
from dumbbell.gym.episodes import Draw, Episodes, Given, actions_of
from dumbbell.gym.intervals import Intervals, Reward, observation


class FlowVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]):
    """Several independent copies of `dumbbell.gym.FlowEnv`. A step advances them on threads of the engine.

    The copy at place i of an environment with the seed s has the bits of a single environment with the seed s + i,
    whatever the number of threads. A copy whose episode has ended begins another one in its next step, whose action is
    ignored and whose reward is 0 (``AutoresetMode.NEXT_STEP``).

    Parameters
    ----------
    scenario, flow, interval, action, factor, capacity, reward
        As of `dumbbell.gym.FlowEnv`, with its errors.
    num_envs
        Number of copies.
    threads
        Number of threads; all cores by default.

    Examples
    --------
    >>> import numpy as np
    >>> from dumbbell import Flow, topologies
    >>> from dumbbell.gym import FlowVectorEnv
    >>> shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno")
    >>> environments = FlowVectorEnv(shape.scenario(duration="10 s", flows=[flow]), num_envs=4)
    >>> observed, info = environments.reset(seed=1)
    >>> observed, rewards, terminated, truncated, info = environments.step(np.zeros((4, 1)))
    >>> observed.shape, rewards.shape
    ((4, 7), (4,))
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as Gymnasium does

    def __init__(
        self,
        scenario: Given | Draw,
        num_envs: int = 1,
        *,
        flow: str | None = None,
        interval: str = "1 rtt",
        action: str = "window",
        factor: float = 2.0,
        capacity: str | None = None,
        reward: Reward | None = None,
        threads: int | None = None,
    ) -> None:
        self._episodes = Episodes(
            num_envs,
            scenario,
            flow=flow,
            interval=interval,
            action=action,
            factor=factor,
            capacity=capacity,
            reward=reward,
            threads=threads,
        )
        self.num_envs = self._episodes.count
        self.single_observation_space = observation_space()
        self.single_action_space = action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._all = list(range(self.num_envs))
        # Places whose episodes have ended; None before the first reset.
        self._ended: NDArray[np.bool_] | None = None

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode at every place.

        Parameters
        ----------
        seed
            Seed of place 0, from which those of the others count up; or one for each place. Without one, the sequence of
            episodes goes on.
        options
            None.

        Returns
        -------
        tuple
            The observations of the first intervals, shape (n, 7), and ``info`` with arrays of shape (n,).
        """
        check_options(options)
        if seed is not None:
            seeds = [seed + place for place in self._all] if isinstance(seed, int) else list(seed)
            if len(seeds) != self.num_envs:
                raise refusal("seed", f"{len(seeds)} seeds", f"one or {self.num_envs}", quoted=False)
            for place, own in enumerate(seeds):
                if own is not None:
                    self._episodes.seed(place, seeding.np_random(own)[0])
        intervals = self._episodes.begin(self._all)
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        return observation(intervals), _info(intervals)

    def step(
        self, actions: Any
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Act at every place, and run each for an interval.

        Parameters
        ----------
        actions : array_like, shape (n, 1)
            Exponents of the factor, clipped to the range from -1 to 1.

        Returns
        -------
        tuple
            Observations, shape (n, 7), rewards, flags of flows and of scenarios that have ended, shape (n,), and ``info``.

        Raises
        ------
        ScenarioError
            The actions are not finite numbers, one for each place, or `reset` was not called.
        """
        if self._ended is None:
            raise refusal("step", "no episode runs", "a call of reset before it", quoted=False)
        exponents = actions_of(actions, self.num_envs)
        if self._ended.any():
            intervals, rewards = self._step_and_begin(exponents, self._ended)
        else:
            intervals = self._episodes.step(self._all, exponents)
            rewards = self._episodes.rewards(intervals)
        terminated = intervals["terminated"] > 0
        truncated = intervals["truncated"] > 0
        self._ended = terminated | truncated
        return observation(intervals), rewards, terminated, truncated, _info(intervals)

    def _step_and_begin(
        self, exponents: NDArray[np.float64], ended: NDArray[np.bool_]
    ) -> tuple[Intervals, NDArray[np.float64]]:
        """Begin new episodes where they have ended, and act on the others."""
        going, over = np.flatnonzero(~ended), np.flatnonzero(ended)
        begun = self._episodes.begin(over.tolist())
        values = np.empty((self.num_envs, begun.values.shape[1]))
        capacity = np.empty(self.num_envs)
        values[over], capacity[over] = begun.values, begun.capacity
        rewards = np.zeros(self.num_envs)
        if going.size:
            stepped = self._episodes.step(going.tolist(), exponents[going])
            values[going], capacity[going] = stepped.values, stepped.capacity
            rewards[going] = self._episodes.rewards(stepped)
        return Intervals(values, capacity), rewards


def _info(intervals: Intervals) -> dict[str, Any]:
    """Return the columns as arrays, each with the mask that Gymnasium puts beside it: every place has a value."""
    mask = np.ones(len(intervals), dtype=np.bool_)
    columns = intervals.columns()
    return columns | {f"_{name}": mask for name in columns}
