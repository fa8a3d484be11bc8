"""Two-level factorial designs with replications over any parameters of a scenario.

A $2^k r$ design runs every combination of k factors, each at a low and a high level, r times. Its analysis
gives the effect of every factor and of every interaction, how much of the variation each explains, and which
of them are significant [jain1991 chapters 17 and 18].

The standard order of the cells is that of counting in binary with the first factor slowest: 000, 001, 010,
..., 111 for three factors, 1 being the high level.
"""

from dumbbell.factorial._analysis import (
    Analysis,
    Effect,
    HalfWidths,
    analyse,
    cells_from_effects,
    half_widths,
)
from dumbbell.factorial._checks import Check
from dumbbell.factorial._design import Design, Experiment, Factor

__all__ = [
    "Analysis",
    "Check",
    "Design",
    "Effect",
    "Experiment",
    "Factor",
    "HalfWidths",
    "analyse",
    "cells_from_effects",
    "half_widths",
]
