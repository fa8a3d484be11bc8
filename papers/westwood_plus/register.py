"""The paper's claims: their register, and outcomes that several files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dumbbell.claims import Register
from dumbbell.judge.estimate import Outcome

from .evidence import Evidence

Measure = Callable[[Evidence], Outcome]

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))

claim, estimate = REGISTER.claim, REGISTER.estimate
