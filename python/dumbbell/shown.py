"""How scenarios and topologies show themselves in a notebook.

A drawing needs what knows both, which is above them: it is stated there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

HTML: dict[str, Callable[[Any], str]] = {}
"""Functions that show objects of a class, by its module and its name."""


def html_of(shown: object) -> str:
    """Return an object as HTML, by the function for its class."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(shown).__mro__)
    return next(HTML[name] for name in names if name in HTML)(shown)
