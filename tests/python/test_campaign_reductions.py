"""The identity of a reduction that is defined at a prompt or in a script."""

import pytest

from dumbbell import ScenarioError
from dumbbell.campaign.reductions import function_identity

CODE = """
SCALE = 2.0
NAMES = ["a", "b"]

def scaled(value):
    return value * SCALE

def reduce(runs, *, least=0):
    def kept(value):
        return value > 10
    return [scaled(value) for value in runs if kept(value) and value in NAMES and value not in {1, 2}]
"""


def identity(code=CODE):
    """Return the identity of the function `reduce` of a script."""
    script = {"__name__": "__main__"}
    exec(code, script)
    return function_identity(script["reduce"])


def test_the_same_code_has_the_same_identity():
    assert identity() == identity()
    assert identity("import math\n" + CODE + "\nUNUSED = 1\n") == identity()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("value > 10", "value > 11"),
        ("value > 10", "value < 10"),
        ("value * SCALE", "value / SCALE"),
        ("SCALE = 2.0", "SCALE = 3.0"),
        ('["a", "b"]', '["a", "c"]'),
        ('["a", "b"]', '("a", "b")'),
        ("least=0", "least=1"),
        ("{1, 2}", "{1, 3}"),
    ],
)
def test_another_constant_operation_or_value_is_another_identity(before, after):
    assert CODE.count(before) == 1
    assert identity(CODE.replace(before, after)) != identity()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("reduce = lambda runs: runs", "<lambda>"),
        ("def outer(n):\n    return lambda runs: n\nreduce = outer(1)", "<lambda>"),
        ("VALUE = object()\ndef reduce(runs):\n    return VALUE", "uses VALUE, a object"),
    ],
)
def test_what_has_no_identity_is_refused(code, said):
    with pytest.raises(ScenarioError, match=said):
        identity(code)
