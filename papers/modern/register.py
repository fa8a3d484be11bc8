"""The register of the statements."""

from __future__ import annotations

from pathlib import Path

from dumbbell.claims import Register

from .evidence import Evidence

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))

claim, estimate = REGISTER.claim, REGISTER.estimate
