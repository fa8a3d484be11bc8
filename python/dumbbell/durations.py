"""Times that work takes, for people."""

from __future__ import annotations

LINE_S = 30.0
"""Time between two lines of progress where there is no terminal, s."""


def duration(seconds: float) -> str:
    """Return a time in words, as ``"4 s"``, ``"12 min"`` or ``"1 h 5 min"``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
