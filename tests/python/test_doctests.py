"""Every example in a docstring runs, and says what it shows."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import dumbbell

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(dumbbell.__path__, "dumbbell.")
    if not module.name.endswith("__main__")
)


@pytest.mark.parametrize("name", ["dumbbell", *MODULES])
def test_examples_in_docstrings_run(name):
    tested = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tested.failed == 0


def test_the_api_is_shown_by_examples():
    shown = sum(
        doctest.testmod(importlib.import_module(name)).attempted for name in ("dumbbell", "dumbbell.runs")
    )
    assert shown > 10
