"""From a capture to a scenario: what happened on a path, and what would have happened with another algorithm.

`fit` reads one captured connection and returns the scenarios that explain it: rate, base round-trip
time, buffer, discipline, random loss and other flows, each with an interval, and the congestion controls that may have sent
it. ``docs/fit.md`` has the method and what it reaches.
"""

from dumbbell.inference.connection import Connection
from dumbbell.inference.fitted import Fit, fit, fit_connection
from dumbbell.inference.whatif import WhatIf

__all__ = ["Connection", "Fit", "WhatIf", "fit", "fit_connection"]
