"""ns-3 as a peer: its driver.

The scenario becomes statements that one small C++ program reads; the program is built with g++ and the libraries of
Debian's libns3-dev when it is needed first.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from dumbbell import Scenario
from dumbbell.crossvalidation import Counterfactual, PeerRun

from . import build, counterparts, differences
from .description import described
from .differences import Difference
from .observations import read
from .rules import RULES

__all__ = ["PEER", "Ns3"]


class Ns3:
    """The driver of ns-3; see `dumbbell.crossvalidation.Peer`.

    Parameters
    ----------
    without
        Differences in which ns-3 follows our rule.
    """

    name = "ns3"
    package = build.PACKAGE
    variants = counterparts.VARIANTS
    rules = RULES
    slow = True

    def __init__(self, *, without: tuple[Difference, ...] = ()) -> None:
        self._without = without
        self.title = ", ".join([build.TITLE, *(f"{one.aspect} as ours" for one in without)])

    def version(self) -> str:
        """Return the version of the libraries; PeerAbsent without them."""
        return build.version()

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table that states ns-3's rules for a variant, with some fields changed."""
        return counterparts.table(variant, **changes)

    def identity(self) -> str:
        """Return the version and a digest of the driver's files, but for what the report says of rules."""
        digest = hashlib.blake2b(digest_size=6)
        for file in sorted(Path(__file__).parent.glob("*.*")):
            if file.suffix in (".py", ".cc", ".h") and file.name != "rules.py":
                digest.update(file.read_bytes())
        for one in self._without:
            digest.update(one.statement.encode())
        return f"{self.version()} {digest.hexdigest()}"

    def prepare(self) -> None:
        """Build the program."""
        build.program()

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario; ScenarioError where ns-3 cannot express a field of it."""
        program_input = described(scenario, seed=seed, run=run, without=self._without)
        done = subprocess.run(
            [build.program()], input=program_input.text, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            message = done.stderr.strip() or f"exit code {done.returncode} and said nothing"
            raise RuntimeError(f"{self.title} failed: {message}")
        return read(done.stdout, program_input)

    def counterfactuals(self, scenario: Scenario) -> list[Counterfactual]:
        """Return ns-3 under our rule, for each difference that remains in a scenario, and finally under all our rules."""
        remaining = differences.remaining(scenario.resolved()["flows"])
        sets: list[tuple[Difference, ...]] = [(one,) for one in remaining]
        if len(remaining) > 1:
            sets.append(remaining)
        return [
            Counterfactual(difference="; ".join(one.text for one in some), peer=Ns3(without=some))
            for some in sets
        ]


PEER = Ns3()
