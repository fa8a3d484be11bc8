"""A substitute for the film that provided the exogenous traffic of Fig. 3.

Frames of a fixed pattern of types, a factor for the scene and one for the frame. The original trace can replace it:
`dumbbell.traffic.frames_from_file` reads one.
"""

from __future__ import annotations

import math

import numpy as np

from .scenarios import PACKET, VIDEO_SECONDS

FRAME_RATE = 24.0
"""Frames per second."""

MEAN_RATE = 100.0
"""Packets per second."""

PATTERN = "IBBPBBPBBPBB"
WEIGHTS = {"I": 3.0, "P": 1.2, "B": 0.6}
SCENE_SECONDS = 5.0
SCENE_VARIATION = 0.4
FRAME_VARIATION = 0.2


def film(seed: int) -> tuple[str, ...]:
    """Return the frame sizes of one film for the source `dumbbell.Frames`.

    A frame's size is the weight of its type times two lognormal factors, one per scene and one per frame, scaled to
    the mean rate of the film. Sizes are whole packets, rounded such that the total is exact.

    Parameters
    ----------
    seed
        Seed of the factors.
    """
    count = round(FRAME_RATE * VIDEO_SECONDS)
    random = np.random.default_rng(seed)
    weights = np.array([WEIGHTS[PATTERN[frame % len(PATTERN)]] for frame in range(count)])
    length = round(SCENE_SECONDS * FRAME_RATE)
    scenes = random.lognormal(0.0, _sigma(SCENE_VARIATION), size=math.ceil(count / length))
    frames = random.lognormal(0.0, _sigma(FRAME_VARIATION), size=count)
    sizes = weights * np.repeat(scenes, length)[:count] * frames
    reached = np.rint(np.cumsum(sizes) / sizes.sum() * MEAN_RATE * VIDEO_SECONDS)
    packets = np.diff(reached, prepend=0.0).astype(np.int64)
    return tuple(f"{number * PACKET} bytes" for number in packets)


def _sigma(variation: float) -> float:
    """Return the parameter of the lognormal distribution with a coefficient of variation."""
    return math.sqrt(math.log1p(variation**2))
