"""An environment of Gymnasium: one flow of a scenario."""

from __future__ import annotations

import math
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from dumbbell.errors import refusal
from dumbbell.gym.episodes import Draw, Episodes, Given, actions_of
from dumbbell.gym.intervals import HIGH, LOW, Intervals, Reward, observation


def observation_space() -> spaces.Box[np.float32]:
    """Return the space of observations: `dumbbell.gym.FEATURES`, shape (7,)."""
    return spaces.Box(LOW.astype(np.float32), HIGH.astype(np.float32), dtype=np.float32)


def action_space() -> spaces.Box[np.float32]:
    """Return the space of actions: exponents of the factor, shape (1,)."""
    return spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)


def check_options(options: dict[str, Any] | None) -> None:
    """Refuse options of a reset: there are none.

    Raises
    ------
    ScenarioError
        There is an option.
    """
    if options:
        raise refusal("options", next(iter(options)), "no options")


class FlowEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A scenario in which an agent controls the window or the pacing rate of one flow.

    An action, from -1 to 1, multiplies the window or the rate by ``factor ** action``. The flow uses the result from
    its next event on. The window is at least two segments and at most what the buffers allow; with a rate, it is two
    round trips at that rate. Nothing else changes it: neither losses nor timeouts.

    An observation has the components of `dumbbell.gym.FEATURES`, of the last interval. ``info`` has the columns of
    `dumbbell.gym.Intervals`, ``None`` without a value. An episode begins with the first acknowledgement and one interval
    after it.
    It is terminated when the flow has completed or given up, and truncated when the scenario ends.

    Parameters
    ----------
    scenario
        The scenario, the name of its file, or a table of its fields; or a function of a generator of NumPy that returns
        the `dumbbell.Scenario` of each episode.
    flow
        Name of the agent's flow, one with TCP; the only one by default. The agent replaces its congestion control. Its
        recovery is SACK unless its ``tcp`` states another.
    interval
        Length of a step: round trips, as ``"1 rtt"`` (smoothed round-trip times, at least 1 ms), a time, as ``"20 ms"``,
        or ``"ack"``: until the next acknowledgement.
    action
        What an action multiplies: ``"window"`` or ``"rate"``.
    factor
        Largest change of a step, above 1.
    capacity
        Rate of the bottleneck, as ``"10 Mbit/s"``, for the reward; the smallest rate of all links by default.
    reward
        Function of `dumbbell.gym.Intervals` that returns an array of shape (n,); a `dumbbell.gym.PowerReward` by default.

    Raises
    ------
    ScenarioError
        The scenario or a parameter is not accepted.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> from dumbbell import Flow, topologies
    >>> from dumbbell.gym import FlowEnv
    >>> shape = topologies.dumbbell(pairs=1, rate="10 Mbit/s", delay="20 ms")
    >>> flow = Flow(name="fg", from_="s1", to="d1", tcp="reno")
    >>> environment = FlowEnv(shape.scenario(duration="10 s", flows=[flow]))
    >>> observed, info = environment.reset(seed=1)
    >>> observed, reward, terminated, truncated, info = environment.step([0.5])
    >>> observed.shape, 0 < reward <= 1, terminated, truncated
    ((7,), True, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(
        self,
        scenario: Given | Draw,
        *,
        flow: str | None = None,
        interval: str = "1 rtt",
        action: str = "window",
        factor: float = 2.0,
        capacity: str | None = None,
        reward: Reward | None = None,
    ) -> None:
        self._episodes = Episodes(
            1,
            scenario,
            flow=flow,
            interval=interval,
            action=action,
            factor=factor,
            capacity=capacity,
            reward=reward,
            threads=1,
        )
        self._runs = False
        self.observation_space = observation_space()
        self.action_space = action_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode.

        Parameters
        ----------
        seed
            Seed of this and all further episodes, at least 0; without one, the sequence of episodes goes on.
        options
            None.

        Returns
        -------
        tuple
            The observation of the first interval, and ``info``. The same seed gives the same bits.
        """
        super().reset(seed=seed)
        check_options(options)
        self._episodes.seed(0, self.np_random)
        intervals = self._episodes.begin([0])
        self._runs = True
        return observation(intervals)[0], _info(intervals)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act, and run for an interval.

        Parameters
        ----------
        action : array_like, shape (1,)
            Exponent of the factor, clipped to the range from -1 to 1.

        Returns
        -------
        tuple
            The observation, the reward, whether the flow has ended, whether the scenario has, and ``info``.

        Raises
        ------
        ScenarioError
            The action is not one finite number, or no episode runs: `reset` begins one.
        """
        if not self._runs:
            raise refusal("step", "no episode runs", "a call of reset before it", quoted=False)
        intervals = self._episodes.step([0], actions_of(action, 1))
        info = _info(intervals)
        terminated, truncated = bool(info["terminated"]), bool(info["truncated"])
        self._runs = not (terminated or truncated)
        reward = float(self._episodes.rewards(intervals)[0])
        return observation(intervals)[0], reward, terminated, truncated, info


def _info(intervals: Intervals) -> dict[str, Any]:
    """Return the columns as numbers, ``None`` for those without a value."""
    values = {name: float(column[0]) for name, column in intervals.columns().items()}
    return {name: None if math.isnan(value) else value for name, value in values.items()}
