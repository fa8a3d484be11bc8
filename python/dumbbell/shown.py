"""How scenarios and topologies show themselves in a notebook.

A drawing needs what knows both, which is above them: it is stated there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HTML: dict[type, Callable[[Any], str]] = {}
"""Functions that show objects of a class."""


def html_of(shown: object) -> str:
    """Return an object as HTML, by the function for its class."""
    return next(HTML[kind] for kind in type(shown).__mro__ if kind in HTML)(shown)
