"""What a capture says about its TCP connections.

`reading`
    `inspect`, and the connections of a capture.
`captured`
    One connection: its row, its traces, its phases.
`told`
    What is found, in words.
`events`
    What the sender learned and did around a time.
`shown`
    What pictures and pages need of it.
`pictures`
    Data in flight, round-trip times, goodput and retransmissions over time.
`recognized`
    Whether a file is a capture.
`compared`
    Two connections beside each other.
`overlaid`
    Several connections over each other.
`page`
    A report.

The engine reads files and follows connections; `docs/captures.md` has its rules.
"""

from dumbbell.inspection.captured import Captured
from dumbbell.inspection.reading import Inspection, inspect

__all__ = ["Captured", "Inspection", "inspect"]
