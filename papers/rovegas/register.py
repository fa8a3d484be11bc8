"""The register that brings the claims of ``claims.toml`` and their measures together."""

from __future__ import annotations

from pathlib import Path

from dumbbell.claims import Register

from .evidence import Evidence

REGISTER: Register[Evidence] = Register(Path(__file__).with_name("claims.toml"))
"""The claims of the paper."""
