"""ns-3 as a witness: its driver.

The scenario becomes statements that one small C++ program reads; the program is built with g++ and the libraries of
Debian's libns3-dev when it is needed first.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from dumbbell import Scenario
from dumbbell.witness import PeerRun

from . import build, counterparts, explanations
from .description import described
from .observations import read
from .rules import RULES

__all__ = ["PEER", "Ns3"]


class Ns3:
    """The driver of ns-3; see `dumbbell.witness.Peer`."""

    name = "ns3"
    title = build.TITLE
    package = build.PACKAGE
    variants = counterparts.VARIANTS
    rules = RULES
    slow = True

    def version(self) -> str:
        """Return the version of the libraries; PeerAbsent without them."""
        return build.version()

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table that states ns-3's rules for a variant, with some fields changed."""
        return counterparts.table(variant, **changes)

    def identity(self) -> str:
        """Return the version and a digest of the driver's files."""
        digest = hashlib.blake2b(digest_size=6)
        for file in sorted(Path(__file__).parent.glob("*.*")):
            if file.suffix in (".py", ".cc"):
                digest.update(file.read_bytes())
        return f"{self.version()} {digest.hexdigest()}"

    def prepare(self) -> None:
        """Build the program."""
        build.program()

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario; ScenarioError where ns-3 cannot express a field of it."""
        told = described(scenario, seed=seed, run=run)
        done = subprocess.run([build.program()], input=told.text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip() or f"it ended with {done.returncode} and said nothing"
            raise RuntimeError(f"{self.title} failed: {said}")
        return read(done.stdout, told)

    def explanation(self, disagreement: Mapping[str, Any], scenario: Scenario, runs: pd.DataFrame) -> str:
        """Return the stated difference of rules that a disagreement is traced to, or an empty text."""
        return explanations.explanation(disagreement, scenario, runs)


PEER = Ns3()
