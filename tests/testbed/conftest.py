"""Tests in real time: what they need of the machine, and a loud skip if it is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell import testbed
from dumbbell.binary import PACKAGE

ROOT = Path(__file__).resolve().parents[2]

# Development files that building the testbed with its twins needs, by their names for pkg-config.
LIBRARIES = ("libelf", "zlib")


def lacking() -> str:
    """Return what is missing to build and run the testbed, found out without building it; empty if nothing is."""
    if sys.platform != "linux":
        return "Linux"
    if os.geteuid() != 0:
        return "root"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun"
    if shutil.which("ip") is None:
        return "the command ip (Debian: iproute2)"
    if os.environ.get(testbed.VARIABLE):
        return ""
    for program in (os.environ.get("CLANG", testbed.CLANG), "pkg-config", "cargo"):
        if shutil.which(program) is None:
            return f"{program} (Debian: {testbed.NEEDS})"
    for library in LIBRARIES:
        if subprocess.run(["pkg-config", "--exists", library], check=False).returncode != 0:
            return f"the development files of {library} (Debian: {testbed.NEEDS})"
    return ""


def build() -> None:
    """Build the testbed with the crates that `cargo test --workspace` has compiled, and let the package use it."""
    if os.environ.get(testbed.VARIABLE):
        return
    command = (
        "cargo",
        "build",
        "--workspace",
        "--locked",
        "--quiet",
        "--features",
        f"{PACKAGE}/twins",
        "--bin",
        PACKAGE,
    )
    subprocess.run(command, cwd=ROOT, check=True)
    os.environ[testbed.VARIABLE] = str(
        ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug" / PACKAGE
    )


@pytest.fixture(scope="session")
def machine() -> list[testbed.Check]:
    """The checks of a machine that has everything; skips without.

    A twin that the kernel refuses although the machine has what twins need is a failure.
    """
    missing = lacking()
    if missing:
        pytest.skip(f"the testbed needs {missing}")
    build()
    checks = testbed.doctor()
    for check in checks:
        if check.status == "missing" and check.check != testbed.PROGRAMS:
            pytest.skip(f"the testbed cannot run: {check.check}: {check.detail}; {check.remedy}")
    for check in checks:
        assert check.check != testbed.PROGRAMS or check.status == "ok", check
    return checks
