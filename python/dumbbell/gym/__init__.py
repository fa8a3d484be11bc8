"""Environments of Gymnasium in which an agent controls the congestion window, or the pacing rate, of one flow.

`FlowEnv` runs one scenario, `FlowVectorEnv` many side by side in the engine's threads. A step is an interval of
simulated time or one acknowledgement. The package gymnasium is needed: ``pip install 'dumbbell[gym]'``.
"""

from __future__ import annotations

from dumbbell.errors import installation

try:
    import gymnasium
except ModuleNotFoundError as error:
    text = f"dumbbell.gym needs the package gymnasium: {installation('gym')}"
    raise ModuleNotFoundError(text, name=error.name) from None

from dumbbell.gym.environment import FlowEnv
from dumbbell.gym.intervals import FEATURES, Feature, Intervals, PowerReward, observation
from dumbbell.gym.vector import FlowVectorEnv

__all__ = ["FEATURES", "Feature", "FlowEnv", "FlowVectorEnv", "Intervals", "PowerReward", "observation"]

ID = "dumbbell/Flow-v0"

if ID not in gymnasium.registry:
    gymnasium.register(
        ID, entry_point="dumbbell.gym:FlowEnv", vector_entry_point="dumbbell.gym:FlowVectorEnv"
    )
