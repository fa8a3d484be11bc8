"""Adversarial search: the scenario, within stated bounds, in which an algorithm does worst."""

from dumbbell.search.dimensions import DIMENSIONS, PARTS
from dumbbell.search.objectives import OBJECTIVES
from dumbbell.search.searching import Found, search

__all__ = ["DIMENSIONS", "OBJECTIVES", "PARTS", "Found", "search"]
