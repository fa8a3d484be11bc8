"""Adversarial search: the scenario, within stated bounds, in which an algorithm does worst."""

from dumbbell.search.dimensions import DIMENSIONS, PARTS
from dumbbell.search.found import Found
from dumbbell.search.objectives import OBJECTIVES
from dumbbell.search.searching import search

__all__ = ["DIMENSIONS", "OBJECTIVES", "PARTS", "Found", "search"]
