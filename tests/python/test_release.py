"""A version is released from a clean checkout only, and every file that states the version gets it."""

from __future__ import annotations

import datetime
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name):
    found = importlib.util.spec_from_file_location(f"packaging_{name}", ROOT / "packaging" / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


release = load("release")

FILES = {
    "Cargo.toml": '[workspace.package]\nversion = "0.1.0"\nrust-version = "1.91"\n',
    "fuzz/Cargo.toml": '[package]\nversion = "0.1.0"\n',
    "pyproject.toml": '[project]\nversion = "0.1.0"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 0.1.0\n",
    "CHANGELOG.md": "# Changelog\n\n## 0.2.0 (unreleased)\n\nNew.\n",
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def clean(*arguments):
    """Answer as git does in a clean checkout of main without tags."""
    return "main" if arguments[0] == "rev-parse" else ""


def test_a_clean_checkout_with_the_heading_can_be_released(checkout):
    assert release.refusals("0.2.0", checkout, clean) == []


@pytest.mark.parametrize(
    ("version", "ask", "reason"),
    [
        ("0.2", clean, "three numbers"),
        ("0.02.0", clean, "three numbers"),
        ("0.3.0", clean, "no heading `## 0.3.0 (unreleased)`"),
        ("0.0.9", clean, "pyproject.toml states the version 0.1.0"),
        ("0.2.0", lambda *arguments: " M README.md" if arguments[0] == "status" else clean(*arguments), "changes"),
        ("0.2.0", lambda *arguments: "mine" if arguments[0] == "rev-parse" else clean(*arguments), "not main"),
        ("0.2.0", lambda *arguments: "v0.2.0" if arguments[0] == "tag" else clean(*arguments), "a tag v0.2.0"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_is_named(checkout, version, ask, reason):
    assert any(reason in text for text in release.refusals(version, checkout, ask))


def test_every_file_states_the_version_and_the_changelog_the_day(checkout):
    release.set_version("0.2.0", checkout, datetime.date(2026, 12, 1))
    assert set(release.stated(checkout).values()) == {"0.2.0"}
    assert "## 0.2.0 (2026-12-01)" in (checkout / "CHANGELOG.md").read_text("utf-8")
    assert 'rust-version = "1.91"' in (checkout / "Cargo.toml").read_text("utf-8")
    assert "cff-version: 1.2.0" in (checkout / "CITATION.cff").read_text("utf-8")


def test_the_files_of_the_project_state_one_version():
    assert len(set(release.stated(ROOT).values())) == 1


def test_a_wheel_of_an_unknown_platform_is_refused_with_those_that_are_known():
    done = subprocess.run(
        [sys.executable, ROOT / "packaging" / "wheels.py", "linux-riscv"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "PLATFORM is linux-riscv; accepted are linux-x86_64, linux-aarch64, local, all" in done.stderr
