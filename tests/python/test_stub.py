"""The hand-written stub against the built module."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell import _engine

ROOT = Path(__file__).resolve().parents[2]
STUB = ast.parse((ROOT / "python" / "dumbbell" / "_engine.pyi").read_text("utf-8"))
DEFINED = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
FUNCTIONS = [node for node in DEFINED.values() if isinstance(node, ast.FunctionDef)]


def test_the_stub_is_that_of_the_module(tmp_path):
    # The stub alone: below the package, mypy would check the whole package with it.
    stubs = tmp_path / "dumbbell"
    stubs.mkdir()
    (stubs / "__init__.pyi").touch()
    shutil.copy(ROOT / "python" / "dumbbell" / "_engine.pyi", stubs)
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "dumbbell._engine"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_error_has_the_stated_attributes():
    stub = DEFINED["ScenarioError"]
    assert issubclass(_engine.ScenarioError, ValueError)
    assert issubclass(_engine.EngineError, RuntimeError)
    with pytest.raises(_engine.ScenarioError) as caught:
        _engine.Stated(json.dumps({"durations": "1 s"}), "json")
    for node in stub.body:
        assert isinstance(node, ast.AnnAssign)
        assert hasattr(caught.value, node.target.id)


def test_every_function_of_the_engine_has_a_docstring():
    for node in FUNCTIONS:
        assert getattr(_engine, node.name).__doc__, f"{node.name} is not documented"


def test_the_package_wraps_every_function_of_the_module():
    package = Path(_engine.__file__).parent
    called = {
        node.func.attr
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "_engine"
    }
    assert {node.name for node in FUNCTIONS} <= called <= DEFINED.keys()
