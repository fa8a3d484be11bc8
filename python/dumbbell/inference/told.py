"""The results of a fit in words and rows, as tables show them."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.inference.fitted import Fit
from dumbbell.inference.whatif import WhatIf

_UNITS = {"bit/s": (1e-6, "Mbit/s"), "s": (1e3, "ms"), "fraction": (100.0, "%")}
_QUANTITIES = {"goodput_bps": "goodput", "queueing_s": "queueing time, mean", "retransmitted": "segments retransmitted",
               "completion_s": "completion time"}  # fmt: skip


def changed(predicted: WhatIf) -> str:
    """Return what was changed, such as ``what if tcp=bbr``."""
    return "what if " + ", ".join(f"{key}={value}" for key, value in predicted.changes.items())


def known_as_far(found: Fit) -> str:
    """Return how many captures of known algorithms were as far from their scenario as this one is from the nearest."""
    as_far, count = found.known_as_far
    return f"{as_far} of {count} captures of known algorithms, on such paths, were as far from their scenario"


def lines(predicted: WhatIf) -> Iterator[tuple[str, str, str, str]]:
    """Yield each quantity with its unit, its value as it was and with the change, and its interval or range."""
    for one in predicted.predictions:
        factor, unit = _UNITS[one.unit]
        was, value, low, high = (
            f"{number * factor:.4g}" for number in (one.as_it_was, one.value, one.low, one.high)
        )
        over = "" if one.is_calibrated else " (over these paths)"
        yield f"{_QUANTITIES[one.name]} [{unit}]", was, value, f"{low} to {high}{over}"
