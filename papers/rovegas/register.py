"""The register that brings the claims of ``claims.toml`` and their measures together."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dumbbell.claims import Outcome, Register

from .evidence import Evidence, Values, outcome

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))
"""The claims of the paper."""


def above(margins: list[Values], limit: float = 0.0, note: str = "") -> Outcome:
    """Return the outcome of several inequalities: the smallest of the quantities, which must exceed `limit`."""
    least = np.minimum.reduce(margins)
    return outcome(least, holds=least > limit, note=note)


def listing(names: list[str], values: list[Values], form: str = "{:.2f}") -> str:
    """Return several values in a sentence."""
    return ", ".join(f"{name}: " + form.format(value[0]) for name, value in zip(names, values, strict=True))
