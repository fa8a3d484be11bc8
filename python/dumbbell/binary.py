"""The programs of `shell` and `testbed`: where they are, and how a checkout builds them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dumbbell
from dumbbell.errors import MachineError

PACKAGE = "dumbbell-testbed"
CARGO = "cargo"

INSTALLED = "programs"
"""The folder of the package in which a wheel for Linux has the programs."""


@dataclass(frozen=True, kw_only=True)
class Binary:
    """A binary of the crate ``dumbbell-testbed``.

    Parameters
    ----------
    name
        Its name.
    what
        What it is, for error messages.
    variable
        The environment variable that names another one.
    """

    name: str
    what: str
    variable: str

    def build(self, features: str) -> tuple[str, ...]:
        """Return the command that builds it in a checkout."""
        return (
            *(CARGO, "build", "--release", "--locked", "--package", PACKAGE),
            *("--bin", self.name, "--features", features),
        )

    def error(self, reason: str) -> MachineError:
        """Return the error that it cannot run."""
        return MachineError(f"{self.what} cannot run: {reason}")

    def find(
        self, features: str, *, told: Callable[[str], None] | None = None, without: str = "", needs: str = ""
    ) -> Path:
        """Return its path: the one that the variable names, that of the checkout, that of the wheel, or one on the path.

        A checkout builds it if it is missing or out of date, but not under sudo: the files would belong to root.

        Parameters
        ----------
        features
            Features of the crate to build it with.
        told
            Called with one sentence before a build, which takes minutes.
        without
            What a build with these features lacks, and why; part of that sentence.
        needs
            What a build needs; part of the error if it fails.

        Raises
        ------
        MachineError
            There is none, and none can be built.
        """
        stated = os.environ.get(self.variable)
        if stated:
            path = Path(stated)
            if not (path.is_file() and os.access(path, os.X_OK)):
                raise self.error(f"{self.variable} names {path}, which is no program")
            return path
        if sys.platform != "linux":
            raise self.error("it needs Linux")
        checkout = Path(dumbbell.__file__).resolve().parents[2]
        command = self.build(features)
        if not (checkout / "crates" / PACKAGE).is_dir():
            return self._installed(command)
        existing = Path(os.environ.get("CARGO_TARGET_DIR", checkout / "target")) / "release" / self.name
        if shutil.which(CARGO) is None or "SUDO_UID" in os.environ:
            if not existing.is_file():
                raise self.error(f"{existing} is missing; build it with `{' '.join(command)}`")
            return existing
        if told is not None and not existing.is_file():
            told(f"building {self.name}, which takes a few minutes{without}")
        return self._built(checkout, command, needs)

    def _installed(self, command: tuple[str, ...]) -> Path:
        own = Path(dumbbell.__file__).resolve().parent / INSTALLED / self.name
        found = str(own) if own.is_file() else shutil.which(self.name)
        if found is None:
            raise self.error(
                f"{self.name} is not installed: the wheels for Linux on x86-64 have it; or build it in a checkout with "
                f"`{' '.join(command)}` and name it in the environment variable {self.variable}"
            )
        if not os.access(found, os.X_OK):
            raise self.error(f"{found} may not be executed; `chmod +x {found}` allows it")
        return Path(found)

    def _built(self, checkout: Path, command: tuple[str, ...], needs: str) -> Path:
        built = subprocess.run(
            [*command, "--message-format", "json-render-diagnostics"],
            cwd=checkout,
            capture_output=True,
            text=True,
            check=False,
        )
        messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
        executables = [message["executable"] for message in messages if message.get("executable")]
        if built.returncode != 0 or not executables:
            reasons = [line.strip() for line in built.stderr.splitlines() if "error" in line]
            raise self.error(
                f"`{' '.join(command)}` failed ({reasons[0] if reasons else 'it built no program'}){needs}"
            )
        return Path(executables[-1])
