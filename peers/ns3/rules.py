"""How ns-3's defaults and faults were matched, for the report."""

from __future__ import annotations

from dumbbell.witness import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = ()
