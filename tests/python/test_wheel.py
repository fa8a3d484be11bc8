"""A wheel has everything that is used without a checkout."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dumbbell import binary, checkout
from dumbbell.errors import MachineError
from dumbbell.scenario import stub

ROOT = Path(__file__).resolve().parents[2]


def test_papers_are_found_beside_the_package_without_a_checkout(tmp_path, monkeypatch):
    monkeypatch.delenv("DUMBBELL_PAPERS", raising=False)
    installed = tmp_path / "lib" / "site-packages"
    (installed / "dumbbell").mkdir(parents=True)
    (installed / "dumbbell_papers").mkdir()
    monkeypatch.setattr(checkout.dumbbell, "__file__", str(installed / "dumbbell" / "__init__.py"))
    assert checkout.folder_of("papers") == installed / "dumbbell_papers"


def test_the_checkout_comes_before_what_is_installed(monkeypatch):
    monkeypatch.delenv("DUMBBELL_PAPERS", raising=False)
    assert checkout.folder_of("papers") == ROOT / "papers"


def test_the_link_that_the_wheel_includes_leads_to_the_papers():
    link = ROOT / "python" / "dumbbell_papers"
    assert link.is_symlink()
    assert link.resolve() == ROOT / "papers"
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]
    assert {"path": "python/dumbbell_papers/**/*", "format": "wheel"} in settings["include"]


def test_the_wheel_includes_the_stub_that_is_not_in_the_repository():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["maturin"]
    assert {"path": "python/dumbbell/scenario/builders.pyi", "format": "wheel"} in settings["include"]
    assert (ROOT / "python" / "dumbbell" / "scenario" / "builders.pyi").read_text("utf-8") == stub.text()


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package without a checkout, and a program in it."""
    package = tmp_path / "site-packages" / "dumbbell"
    program = package / binary.INSTALLED / "dumbbell-shell"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n", "utf-8")
    monkeypatch.setattr(binary.dumbbell, "__file__", str(package / "__init__.py"))
    monkeypatch.delenv("DUMBBELL_SHELL", raising=False)
    monkeypatch.setattr(binary.sys, "platform", "linux")
    return program


SHELL = binary.Binary(name="dumbbell-shell", what="the shell", variable="DUMBBELL_SHELL")


def test_a_program_of_the_wheel_is_found_before_one_on_the_path(installed, tmp_path, monkeypatch):
    other = tmp_path / "bin" / "dumbbell-shell"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n", "utf-8")
    for program in (installed, other):
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert SHELL.find("kernel") == installed
    installed.unlink()
    assert SHELL.find("kernel") == other


def test_a_program_that_may_not_be_executed_is_named_with_the_remedy(installed):
    installed.chmod(0o644)
    with pytest.raises(MachineError, match=r"may not be executed; `chmod \+x .*dumbbell-shell` allows it"):
        SHELL.find("kernel")


def test_without_a_program_the_error_says_which_wheels_have_it(installed, monkeypatch):
    installed.unlink()
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MachineError, match="the wheels for Linux on x86-64 have it"):
        SHELL.find("kernel")
