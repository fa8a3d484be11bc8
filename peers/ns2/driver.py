"""The driver: writes scripts, runs them in separate processes, and reads their output."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from dumbbell import Scenario
from dumbbell.crossvalidation import PeerAbsent, PeerRun, Rule

from . import outcome, rules
from .script import Script

PROGRAM = "ns"


@dataclass(frozen=True, kw_only=True)
class Ns2:
    """ns-2 2.35.

    Parameters
    ----------
    tuned
        Keep only the packet headers that are used, and schedule with a splay tree.
    counts_links
        Count what passes the links. Without it their columns are NaN, and the run costs what ns-2 itself costs.
    """

    name: ClassVar[str] = "ns2"
    title: ClassVar[str] = "ns-2"
    package: ClassVar[str] = "ns2"
    variants: ClassVar[tuple[str, ...]] = tuple(rules.AGENTS)
    rules: ClassVar[tuple[Rule, ...]] = rules.RULES

    tuned: bool = False
    counts_links: bool = True

    @cached_property
    def _program(self) -> str:
        found = shutil.which(PROGRAM)
        if found is None:
            raise PeerAbsent(self.title, self.package, f"no program {PROGRAM} on the path")
        return found

    @cached_property
    def _version(self) -> str:
        output = subprocess.run(
            [self._program], input="puts [ns-version]\nexit 0\n", capture_output=True, text=True, check=False
        )
        number = output.stdout.strip()
        if output.returncode != 0 or not number.startswith("2."):
            raise PeerAbsent(self.title, self.package, f"{self._program} is another program")
        return f"ns-{number}"

    def version(self) -> str:
        """Return its version, as ``"ns-2.35"``.

        Raises
        ------
        PeerAbsent
            It is not on this machine.
        """
        return self._version

    def tcp(self, variant: str, **changes: Any) -> dict[str, Any]:
        """Return the ``tcp`` table that states ns-2's rules for a variant, see `rules.tcp`."""
        return rules.tcp(variant, **changes)

    def identity(self) -> str:
        """Return a name of this very ns-2 and driver."""
        digest = hashlib.blake2b(digest_size=6)
        for file in sorted(Path(__file__).parent.iterdir()):
            if file.suffix in {".py", ".tcl"}:
                digest.update(file.read_bytes())
        return f"{self.version()} {digest.hexdigest()} {'tuned' if self.tuned else 'shipped'}"

    def prepare(self) -> None:
        """Make sure that it is there; nothing has to be built."""
        self.version()

    def script(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> str:
        """Return the Tcl script of a scenario.

        Raises
        ------
        ScenarioError
            ns-2 cannot express something in the scenario: the field and its value are named.
        """
        return self._script(scenario, seed, run).text

    def _script(self, scenario: Scenario, seed: int, run: int) -> Script:
        return Script.of(scenario, seed=seed, run=run, tuned=self.tuned, counts_links=self.counts_links)

    def run(self, scenario: Scenario, *, seed: int = 1, run: int = 0) -> PeerRun:
        """Run a scenario in a separate process.

        Raises
        ------
        ScenarioError
            ns-2 cannot express something in the scenario: the field and its value are named.
        PeerAbsent
            ns-2 is not on this machine.
        RuntimeError
            ns-2 stopped with an error.
        """
        script = self._script(scenario, seed, run)
        with tempfile.TemporaryDirectory(prefix="dumbbell-ns2-") as folder:
            place = Path(folder)
            (place / "script.tcl").write_text(script.text, encoding="utf-8")
            with (place / "said").open("wb") as said:
                process = subprocess.Popen(
                    [self._program, "script.tcl"],
                    cwd=place,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                )
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0 or not (place / "results").exists():
                words = (place / "said").read_text(encoding="utf-8", errors="replace").strip()
                raise RuntimeError(f"{self.title} ended with {process.returncode}: {words[-2000:]}")
            return outcome.read(script, place, cpu_s=usage.ru_utime + usage.ru_stime)
