"""The Linux kernel as a peer: the same scenarios, run by the TCP of an unmodified kernel in simulated time."""

from __future__ import annotations

from .driver import Linux

__all__ = ["PEER", "Linux"]

PEER = Linux()
