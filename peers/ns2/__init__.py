"""ns-2 as a peer: a scenario becomes a Tcl script for ``ns``, what the script reports becomes a `PeerRun`."""

from __future__ import annotations

from .driver import Ns2

__all__ = ["PEER", "TUNED", "Ns2"]

PEER = Ns2()
"""ns-2 as it is shipped."""

TUNED = Ns2(tuned=True)
"""ns-2 with the headers that TCP needs and the fastest of its schedulers, two lines that any user can write."""
