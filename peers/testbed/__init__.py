"""The running kernel as a peer: the same scenarios, run by its TCP in real time on the testbed."""

from __future__ import annotations

from .driver import Testbed

__all__ = ["PEER", "Testbed"]

PEER = Testbed()
