"""A wheel has everything that is used without a checkout."""

from __future__ import annotations

import tomllib
from pathlib import Path

from dumbbell import checkout
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
