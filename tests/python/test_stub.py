"""The hand-written stub against the built module."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path

import pytest

from dumbbell import _engine

STUB = ast.parse(
    (Path(__file__).resolve().parents[2] / "python" / "dumbbell" / "_engine.pyi").read_text("utf-8")
)
DEFINED = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
FUNCTIONS = [node for node in DEFINED.values() if isinstance(node, ast.FunctionDef)]
CLASSES = [node for node in DEFINED.values() if isinstance(node, ast.ClassDef)]


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_stub_names_what_the_module_has():
    stated = next(
        node for node in STUB.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__"
    )
    assert set(ast.literal_eval(stated.value)) == set(DEFINED)
    assert public(vars(_engine)) == set(DEFINED)


@pytest.mark.parametrize("stub", FUNCTIONS, ids=lambda node: node.name)
def test_functions_take_what_the_stub_says(stub):
    parameters = inspect.signature(getattr(_engine, stub.name)).parameters.values()
    positional = [p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert positional == [argument.arg for argument in stub.args.posonlyargs + stub.args.args]
    keyword_only = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert keyword_only == [argument.arg for argument in stub.args.kwonlyargs]
    optional = sum(p.default is not inspect.Parameter.empty for p in parameters)
    assert optional == len(stub.args.defaults) + sum(default is not None for default in stub.args.kw_defaults)


@pytest.mark.parametrize(
    "stub",
    [node for node in CLASSES if not issubclass(getattr(_engine, node.name), Exception)],
    ids=lambda node: node.name,
)
def test_classes_have_what_the_stub_says(stub):
    stated = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
    built = getattr(_engine, stub.name)
    inherited = set(vars(object))
    assert stated == {
        name for name in vars(built) if name not in inherited and name not in ("__module__", "__doc__")
    }


def test_the_error_has_the_stated_attributes():
    stub = DEFINED["ScenarioError"]
    assert issubclass(_engine.ScenarioError, ValueError)
    assert issubclass(_engine.EngineError, RuntimeError)
    with pytest.raises(_engine.ScenarioError) as caught:
        _engine.normalize(json.dumps({"durations": "1 s"}), "json")
    for node in stub.body:
        assert isinstance(node, ast.AnnAssign)
        assert hasattr(caught.value, node.target.id)


def test_the_module_says_what_it_is():
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
    assert called == {node.name for node in FUNCTIONS}
