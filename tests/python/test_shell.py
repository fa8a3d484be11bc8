"""The command ``dumbbell shell`` without root: finding the binary, and passing on arguments and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dumbbell
from dumbbell.cli import shell
from dumbbell.errors import MachineError


def run(binary: Path | str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a stated binary."""
    command = [sys.executable, "-m", "dumbbell.cli", "shell", *arguments]
    environment = {**os.environ, "DUMBBELL_SHELL": str(binary)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    """A program that prints its arguments, one a line, and ends with 7."""
    path = tmp_path / "dumbbell-shell"
    path.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\nexit 7\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def test_arguments_are_passed_on_unread(binary: Path) -> None:
    """Also those that the command line itself would understand."""
    given = ["--rate", "10Mbit", "--help", "--", "curl", "--", "-h", "a b"]
    done = run(binary, *given)
    assert done.stdout.splitlines() == given
    assert done.returncode == 7
    assert run(binary).stdout == ""


def test_a_missing_binary_is_one_sentence_and_3(tmp_path: Path) -> None:
    """A path that is no program is named."""
    done = run(tmp_path / "missing", "--", "true")
    assert done.returncode == 3
    assert done.stderr == (
        f"error: the shell cannot run: DUMBBELL_SHELL names {tmp_path / 'missing'}, which is no program\n"
    )


def test_nothing_is_built_under_sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The binary of the checkout is used as it is."""
    (tmp_path / "crates" / "dumbbell-testbed").mkdir(parents=True)
    monkeypatch.setattr(dumbbell, "__file__", str(tmp_path / "python" / "dumbbell" / "__init__.py"))
    monkeypatch.setenv("SUDO_UID", "1000")
    for variable in ("DUMBBELL_SHELL", "CARGO_TARGET_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(MachineError, match="is missing; build it with `cargo build"):
        shell.BINARY.find("kernel")
    existing = tmp_path / "target" / "release" / "dumbbell-shell"
    existing.parent.mkdir(parents=True)
    existing.touch()
    assert shell.BINARY.find("kernel") == existing
