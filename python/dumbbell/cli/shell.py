"""``dumbbell shell``: a program behind an emulated link. This process becomes the binary ``dumbbell-shell``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import typer

import dumbbell
from dumbbell.cli.refusals import note

__all__ = ["find_binary", "shell"]

UNAVAILABLE = 3  # the machine lacks something

BINARY = "dumbbell-shell"
VARIABLE = "DUMBBELL_SHELL"
PACKAGE = "dumbbell-testbed"
BUILD = (
    *("cargo", "build", "--release", "--locked", "--package", PACKAGE),
    *("--features", "kernel", "--bin", BINARY),
)


def shell(arguments: Sequence[str]) -> NoReturn:
    """Become the binary, with these arguments."""
    binary = find_binary()
    sys.stdout.flush()
    os.execv(binary, [BINARY, *arguments])


def find_binary() -> Path:
    """Return the binary: the one that ``DUMBBELL_SHELL`` names, that of the checkout, or the installed one.

    A checkout builds it if it is missing or out of date, but not under sudo: the files would belong to root.

    Raises
    ------
    typer.Exit
        There is none, and none can be built.
    """
    stated = os.environ.get(VARIABLE)
    if stated:
        if not os.access(stated, os.X_OK) or Path(stated).is_dir():
            _fail(f"{VARIABLE} names {stated}, which is no program")
        return Path(stated)
    if sys.platform != "linux":
        _fail("it needs Linux")
    checkout = Path(dumbbell.__file__).resolve().parents[2]
    if (checkout / "crates" / PACKAGE).is_dir():
        return _of_checkout(checkout)
    installed = shutil.which(BINARY)
    if installed is None:
        _fail(
            f"{BINARY} is not installed; build it in a checkout with `{' '.join(BUILD)}` and name it in {VARIABLE}"
        )
    return Path(installed)


def _of_checkout(checkout: Path) -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR", checkout / "target"))
    existing = target / "release" / BINARY
    if shutil.which(BUILD[0]) is None or "SUDO_UID" in os.environ:
        if not existing.is_file():
            _fail(f"{existing} is missing; build it with `{' '.join(BUILD)}`")
        return existing
    if not existing.is_file():
        note(f"building {BINARY}, which takes a few minutes")
    command = [*BUILD, "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    executables = [message["executable"] for message in messages if message.get("executable")]
    if built.returncode != 0 or not executables:
        reasons = [line.strip() for line in built.stderr.splitlines() if "error" in line]
        _fail(f"`{' '.join(BUILD)}` failed ({reasons[0] if reasons else 'it built no program'})")
    return Path(executables[-1])


def _fail(reason: str) -> NoReturn:
    note(f"error: the shell cannot run: {reason}")
    raise typer.Exit(UNAVAILABLE)
