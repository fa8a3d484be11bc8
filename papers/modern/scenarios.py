"""All scenarios of the collection."""

from __future__ import annotations

from .assumptions import Assumptions
from .delay_scenarios import delay_cases
from .draft_scenarios import draft_cases
from .evaluation_scenarios import evaluation_cases
from .model_scenarios import model_cases
from .network import Case
from .queue_scenarios import queue_cases
from .sender_scenarios import sender_cases
from .sharing_scenarios import sharing_cases
from .window_scenarios import window_cases


def cases(assumptions: Assumptions, *, quick: bool) -> list[Case]:
    """Return the scenarios; quick ones are shorter."""
    return [
        case
        for group in (
            window_cases,
            sender_cases,
            model_cases,
            draft_cases,
            sharing_cases,
            delay_cases,
            queue_cases,
            evaluation_cases,
        )
        for case in group(assumptions, quick=quick)
    ]
